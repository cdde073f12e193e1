// Copy-on-write tables: copying one is copying the pointers to its chunks, changing one element copies one chunk.
// That is what makes "try a rewrite on a copy" cheap at 10^5 nodes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace headrace {

// A growing array addressed by a strong 32-bit id. Elements are never removed (dead ones are reset by their owner) and stay
// where they are while others are added. The first chunks are small, doubling up to 256 elements: most programs are small.
template <typename Id, typename T>
class CowTable {
 public:
  uint32_t size() const { return size_; }
  const T& operator[](Id id) const {
    const Place p = PlaceOf(id.value);
    return chunks_[p.chunk][p.at];
  }
  T& Mutable(Id id) {
    const Place p = PlaceOf(id.value);
    return Own(p.chunk)[p.at];
  }
  Id Add(T value) {
    const Place p = PlaceOf(size_);
    if (p.chunk == chunks_.size()) chunks_.push_back(New(p.chunk));
    Own(p.chunk)[p.at] = std::move(value);
    return Id{size_++};
  }

 private:
  using Chunk = std::shared_ptr<T[]>;
  struct Place {
    uint32_t chunk, at;
  };
  // Elements per chunk: 8, 8, 16, 32, 64, 128, then 256 each.
  static constexpr uint32_t kFirst = 8, kLargest = 256, kSmallChunks = 6;
  static uint32_t SizeOf(uint32_t chunk) {
    return chunk == 0 ? kFirst : chunk < kSmallChunks ? kFirst << (chunk - 1) : kLargest;
  }
  static Place PlaceOf(uint32_t i) {
    if (i >= kLargest) return {kSmallChunks - 1 + i / kLargest, i % kLargest};
    if (i < kFirst) return {0, i};
    const uint32_t log2 = 31 - static_cast<uint32_t>(__builtin_clz(i));
    return {log2 - 2, i - (1u << log2)};
  }
  static Chunk New(uint32_t chunk) { return Chunk(new T[SizeOf(chunk)]()); }
  Chunk& Own(uint32_t c) {
    if (chunks_[c].use_count() > 1) {
      Chunk copy = New(c);
      std::copy_n(chunks_[c].get(), std::min(SizeOf(c), size_ - FirstOf(c)), copy.get());
      chunks_[c] = std::move(copy);
    }
    return chunks_[c];
  }
  static uint32_t FirstOf(uint32_t c) {
    return c == 0 ? 0 : c < kSmallChunks ? kFirst << (c - 1) : (c - kSmallChunks + 1) * kLargest;
  }
  std::vector<Chunk> chunks_;
  uint32_t size_ = 0;
};

// A hash map: entries in a CowTable, and an index of them in another, with open addressing. Entries stay where they are while
// others are added or erased; writing to a map of which there is a copy moves the entries of one chunk. Order is kept elsewhere
// (Sdfg::order).
template <typename Key, typename T>
class CowMap {
 public:
  const T* Find(const Key& k) const {
    const uint32_t at = Search(k);
    return at == kNone ? nullptr : &entries_[cells_[Cell{at}].entry].value;
  }
  // Null when absent; copies the chunk when it is shared.
  T* FindMutable(const Key& k) {
    const uint32_t at = Search(k);
    return at == kNone ? nullptr : &entries_.Mutable(cells_[Cell{at}].entry).value;
  }
  void Set(const Key& k, T value) {
    if (T* there = FindMutable(k)) {
      *there = std::move(value);
      return;
    }
    if (2 * (used_ + 1) > cells_.size()) Grow();
    Insert({Hash(k), Add({k, std::move(value), kNone})});
    ++used_;
  }
  void Erase(const Key& k) {
    const uint32_t at = Search(k);
    if (at == kNone) return;
    const Entry entry = cells_[Cell{at}].entry;
    entries_.Mutable(entry) = {Key(), T(), free_};
    free_ = entry.value;
    --used_;
    CloseGap(at);
  }

 private:
  static constexpr uint32_t kNone = ~0u, kFirstCells = 16;
  struct Entry {
    uint32_t value = kNone;
  };
  struct Cell {
    uint32_t value;
  };
  struct Held {
    Key key;
    T value;
    uint32_t next_free = kNone;  // of an erased entry, whose place is taken again
  };
  // Keys are asked for in about the order in which they were numbered: those of one group stay in one cache line.
  static constexpr uint32_t kGroupBits = 3, kGroup = 1u << kGroupBits;
  static_assert(kFirstCells % kGroup == 0, "whole groups");
  // 32 bits of the hash tell cells apart without a look at the entries, and where a cell belongs in an index of any size: the
  // upper ones the group of cells, the lowest three the place in it.
  struct Indexed {
    uint32_t hash = 0;
    Entry entry;
    bool empty() const { return entry.value == kNone; }
  };

  static uint32_t Hash(const Key& k) {
    uint64_t h = std::hash<Key>()(k);  // of numbers often themselves
    h ^= h >> 32;
    const uint64_t group = (h >> kGroupBits) * 0x9E3779B97F4A7C15ull;
    return static_cast<uint32_t>(group >> 32 & ~uint64_t{kGroup - 1}) | static_cast<uint32_t>(h & (kGroup - 1));
  }
  uint32_t HomeOf(uint32_t hash) const {
    const uint64_t groups = cells_.size() / kGroup, upper = hash >> kGroupBits;
    return static_cast<uint32_t>(upper * groups >> (32 - kGroupBits)) * kGroup + (hash & (kGroup - 1));
  }
  uint32_t Next(uint32_t at) const { return at + 1 == cells_.size() ? 0 : at + 1; }

  uint32_t Search(const Key& k) const {
    if (cells_.size() == 0) return kNone;
    const uint32_t hash = Hash(k);
    for (uint32_t at = HomeOf(hash);; at = Next(at)) {
      const Indexed& cell = cells_[Cell{at}];
      if (cell.empty()) return kNone;
      if (cell.hash == hash && entries_[cell.entry].key == k) return at;
    }
  }
  Entry Add(Held held) {
    if (free_ == kNone) return entries_.Add(std::move(held));
    const Entry entry{free_};
    free_ = entries_[entry].next_free;
    entries_.Mutable(entry) = std::move(held);
    return entry;
  }
  void Insert(const Indexed& cell) {
    uint32_t at = HomeOf(cell.hash);
    while (!cells_[Cell{at}].empty()) at = Next(at);
    cells_.Mutable(Cell{at}) = cell;
  }
  void Grow() {
    const CowTable<Cell, Indexed> old = std::move(cells_);
    cells_ = {};
    for (uint32_t n = std::max(kFirstCells, 2 * old.size()); n > 0; --n) cells_.Add({});
    for (uint32_t i = 0; i < old.size(); ++i)
      if (const Indexed& cell = old[Cell{i}]; !cell.empty()) Insert(cell);
  }
  // Cells behind an emptied one move up, as far as they belong there, so that no search ends too early.
  void CloseGap(uint32_t gap) {
    for (uint32_t at = Next(gap);; at = Next(at)) {
      const Indexed cell = cells_[Cell{at}];
      if (cell.empty()) break;
      const uint32_t size = cells_.size(), home = HomeOf(cell.hash);
      if ((at + size - home) % size < (at + size - gap) % size) continue;
      cells_.Mutable(Cell{gap}) = cell;
      gap = at;
    }
    cells_.Mutable(Cell{gap}) = {};
  }

  CowTable<Entry, Held> entries_;
  CowTable<Cell, Indexed> cells_;
  uint32_t used_ = 0, free_ = kNone;
};

}  // namespace headrace
