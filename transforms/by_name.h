// A hash map from names for walks over large graphs: entries in one array, in the order in which they came, and an index of open
// addressing beside it. Names are numbered as they come up and asked for in about that order: those of one group stay in one cache line.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "ir/base/name.h"

namespace headrace::transforms {

template <typename T>
class ByName {
 public:
  static constexpr uint32_t kNone = ~0u;

  void Reserve(size_t entries) {
    entries_.reserve(entries);
    if (2 * entries > cells_.size()) Index(2 * entries);
  }
  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
  // The entry's number, by which it is found from then on; kNone: no such name.
  uint32_t NumberOf(Name n) const {
    if (cells_.empty()) return kNone;
    for (uint32_t at = HomeOf(n);; at = Next(at))
      if (cells_[at].entry == kNone || cells_[at].name == n) return cells_[at].entry;
  }
  Name NameOf(uint32_t number) const { return entries_[number].first; }
  T& At(uint32_t number) { return entries_[number].second; }
  const T& At(uint32_t number) const { return entries_[number].second; }

  T* Find(Name n) {
    const uint32_t number = NumberOf(n);
    return number == kNone ? nullptr : &entries_[number].second;
  }
  const T* Find(Name n) const {
    const uint32_t number = NumberOf(n);
    return number == kNone ? nullptr : &entries_[number].second;
  }
  // What is there, or a new entry at the end; it stays where it is until the next one.
  T& operator[](Name n) {
    if (2 * (entries_.size() + 1) > cells_.size()) Index(4 * (entries_.size() + 1));
    uint32_t at = HomeOf(n);
    while (cells_[at].entry != kNone && cells_[at].name != n) at = Next(at);
    if (cells_[at].entry == kNone) {
      cells_[at] = {n, size()};
      entries_.emplace_back(n, T());
    }
    return entries_[cells_[at].entry].second;
  }

 private:
  static constexpr uint32_t kGroupBits = 3, kGroup = 1u << kGroupBits;
  struct Cell {
    Name name;
    uint32_t entry = kNone;
  };

  // The upper bits of the name's number choose the group of cells, the lowest the place in it.
  uint32_t HomeOf(Name n) const {
    const uint64_t spread = (n.id() >> kGroupBits) * uint64_t{0x9E3779B97F4A7C15} >> 32;
    return static_cast<uint32_t>(spread * (cells_.size() / kGroup) >> 32) * kGroup + n.id() % kGroup;
  }
  uint32_t Next(uint32_t at) const { return at + 1 == cells_.size() ? 0 : at + 1; }
  void Index(size_t least) {
    cells_.assign((least + 2 * kGroup - 1) / kGroup * kGroup, Cell());
    for (uint32_t i = 0; i < size(); ++i) {
      uint32_t at = HomeOf(entries_[i].first);
      while (cells_[at].entry != kNone) at = Next(at);
      cells_[at] = {entries_[i].first, i};
    }
  }

  std::vector<std::pair<Name, T>> entries_;
  std::vector<Cell> cells_;  // at most half of them in use
};

}  // namespace headrace::transforms
