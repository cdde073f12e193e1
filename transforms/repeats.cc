#include "transforms/repeats.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace headrace::transforms {
namespace {

constexpr size_t kMostPeriods = 16;  // that are tried

// Distances between an item and the next one equal to it, the frequent ones first.
std::vector<size_t> Distances(const std::vector<uint32_t>& items, size_t from, size_t to, size_t least) {
  std::unordered_map<uint32_t, size_t> last;
  std::unordered_map<size_t, size_t> times;
  for (size_t i = from; i < to; ++i) {
    if (items[i] == 0) continue;
    const auto [it, first] = last.emplace(items[i], i);
    if (!first && i - it->second >= least) ++times[i - it->second];
    it->second = i;
  }
  std::vector<std::pair<size_t, size_t>> order;
  for (const auto& [distance, count] : times) order.emplace_back(count, distance);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<size_t> out;
  for (size_t k = 0; k < order.size() && k < kMostPeriods; ++k) out.push_back(order[k].second);
  return out;
}

}  // namespace

std::optional<Repeat> BestRepeat(const std::vector<uint32_t>& items, size_t from, size_t to, size_t least) {
  std::optional<Repeat> best;
  for (const size_t period : Distances(items, from, to, least)) {
    size_t begin = from;
    for (size_t i = from; i + period <= to; ++i) {
      const bool equal = i + period < to && items[i] != 0 && items[i] == items[i + period];
      if (equal) continue;
      const size_t length = i - begin;  // items from `begin` that come again a period later
      if (length >= period) {
        Repeat r;
        r.begin = begin, r.period = period, r.count = length / period + 1, r.slack = length % period;
        if (!best || r.saved() > best->saved()) best = r;
      }
      begin = i + 1;
    }
  }
  return best;
}

}  // namespace headrace::transforms
