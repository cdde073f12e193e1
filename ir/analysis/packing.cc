#include "ir/analysis/packing.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace headrace {
namespace {

// Best-fit over free byte ranges, neighbours merged.
class FreeList {
 public:
  int64_t Take(int64_t bytes) {
    auto it = by_size_.lower_bound({bytes, 0});
    if (it == by_size_.end()) {
      int64_t at = top_;
      if (!by_offset_.empty() &&
          by_offset_.rbegin()->first + by_offset_.rbegin()->second == top_) {  // grow the last hole
        at = by_offset_.rbegin()->first;
        Erase(at);
      }
      top_ = at + bytes;
      return at;
    }
    const int64_t size = it->first, at = it->second;
    Erase(at);
    if (size > bytes) Insert(at + bytes, size - bytes);
    return at;
  }
  void Give(int64_t at, int64_t bytes) {
    auto next = by_offset_.lower_bound(at);
    if (next != by_offset_.end() && next->first == at + bytes) {
      bytes += next->second;
      Erase(next->first);
    }
    auto prev = by_offset_.lower_bound(at);
    if (prev != by_offset_.begin()) {
      --prev;
      if (prev->first + prev->second == at) {
        at = prev->first;
        bytes += prev->second;
        Erase(at);
      }
    }
    Insert(at, bytes);
  }
  int64_t top() const { return top_; }

 private:
  void Insert(int64_t at, int64_t size) { by_offset_[at] = size, by_size_.insert({size, at}); }
  void Erase(int64_t at) {
    auto it = by_offset_.find(at);
    by_size_.erase({it->second, at});
    by_offset_.erase(it);
  }
  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t top_ = 0;
};

// By first use, with everything that died before given back.
Packing InOrder(const std::vector<PackedItem>& items) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return items[a].begin < items[b].begin; });
  Packing p;
  p.at.resize(items.size());
  FreeList free_list;
  std::multimap<int64_t, size_t> alive;  // by end
  for (size_t i : order) {
    for (; !alive.empty() && alive.begin()->first < items[i].begin; alive.erase(alive.begin())) {
      const size_t gone = alive.begin()->second;
      free_list.Give(p.at[gone], items[gone].bytes);
    }
    p.at[i] = free_list.Take(items[i].bytes);
    alive.insert({items[i].end, i});
  }
  p.bytes = free_list.top();
  return p;
}

// The highest rank first, each at the lowest place that is free all its life: leaves fewer holes.
constexpr size_t kMostItems = 6000, kManyItems = 2000;  // beyond: one order, and one rank
Packing ByRank(const std::vector<PackedItem>& items, const std::function<double(const PackedItem&)>& rank) {
  std::vector<size_t> order(items.size()), placed;  // placed: by place
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const double x = rank(items[a]), y = rank(items[b]);
    return x != y ? x > y : items[a].begin < items[b].begin;
  });
  Packing p;
  p.at.resize(items.size());
  for (size_t i : order) {
    int64_t at = 0;
    for (size_t o : placed) {
      if (items[o].begin > items[i].end || items[i].begin > items[o].end) continue;
      if (p.at[o] - at >= items[i].bytes) break;
      at = std::max(at, p.at[o] + items[o].bytes);
    }
    p.at[i] = at;
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at, [&](int64_t v, size_t o) { return v < p.at[o]; }), i);
    p.bytes = std::max(p.bytes, at + items[i].bytes);
  }
  return p;
}

}  // namespace

int64_t MostInUse(const std::vector<PackedItem>& items) {
  std::map<int64_t, int64_t> change;
  for (const PackedItem& i : items) change[i.begin] += i.bytes, change[i.end + 1] -= i.bytes;
  int64_t in_use = 0, most = 0;
  for (const auto& [at, bytes] : change) most = std::max(most, in_use += bytes);
  return most;
}

Packing Pack(const std::vector<PackedItem>& items) {
  Packing best = InOrder(items);
  if (items.size() > kMostItems) return best;
  const int64_t least = MostInUse(items);
  using Rank = std::function<double(const PackedItem&)>;
  const Rank size = [](const PackedItem& i) { return static_cast<double>(i.bytes); };
  const Rank life = [](const PackedItem& i) { return static_cast<double>(i.end - i.begin + 1); };
  const Rank both = [&](const PackedItem& i) { return size(i) * life(i); };
  const Rank ranks[] = {size, both, life};
  for (const Rank& rank : ranks) {
    if (best.bytes <= least || (&rank != &ranks[0] && items.size() > kManyItems)) break;
    if (Packing other = ByRank(items, rank); other.bytes < best.bytes) best = std::move(other);
  }
  return best;
}

}  // namespace headrace
