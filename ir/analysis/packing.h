// Where things of known sizes and lifetimes lie in one piece of memory.
#pragma once
#include <cstdint>
#include <vector>

namespace headrace {

struct PackedItem {
  int64_t begin, end;  // from the first to the last position at which it is in use
  int64_t bytes;
};
struct Packing {
  std::vector<int64_t> at;  // of each item
  int64_t bytes = 0;        // in all
};
// No two items that are in use at once overlap. Best fit in the order of use, or the largest or the longest-lived first where that
// takes less.
Packing Pack(const std::vector<PackedItem>& items);
// The bytes in use where they are most: no packing takes less.
int64_t MostInUse(const std::vector<PackedItem>& items);

// Memory is given out in units of this: what a vector register wants.
constexpr int64_t kArenaAlignment = 64;
inline int64_t Aligned(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

}  // namespace headrace
