#include "ir/analysis/packing.h"

#include <gtest/gtest.h>

#include <random>

namespace headrace {
namespace {

// By first use, the third item finds only the hole that the first left, too small, and goes on top; largest first, nothing is
// lost.
TEST(Packing, HolesAreAvoidedWhereTheyCan) {
  const Packing p = Pack({{1, 2, 1024}, {2, 3, 1024}, {3, 4, 2048}});
  EXPECT_EQ(p.bytes, 3072);  // the second and the third are in use at once
  EXPECT_TRUE(p.at[1] + 1024 <= p.at[2] || p.at[2] + 2048 <= p.at[1]);
  EXPECT_TRUE(p.at[0] + 1024 <= p.at[1] || p.at[1] + 1024 <= p.at[0]);
}

TEST(Packing, NothingTakesNothing) { EXPECT_EQ(Pack({}).bytes, 0); }

TEST(Packing, WhatIsInUseAtOnceNeverOverlaps) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<PackedItem> items;
    for (int i = 0; i < 60; ++i) {
      const int64_t begin = random() % 50;
      items.push_back({begin, begin + static_cast<int64_t>(random() % 12), 64 * static_cast<int64_t>(1 + random() % 20)});
    }
    const Packing p = Pack(items);
    EXPECT_GE(p.bytes, MostInUse(items));
    for (size_t a = 0; a < items.size(); ++a) {
      EXPECT_EQ(p.at[a] % kArenaAlignment, 0);
      EXPECT_LE(p.at[a] + items[a].bytes, p.bytes);
      for (size_t b = 0; b < a; ++b)
        EXPECT_TRUE(items[a].end < items[b].begin || items[b].end < items[a].begin || p.at[a] + items[a].bytes <= p.at[b] ||
                    p.at[b] + items[b].bytes <= p.at[a]);
    }
  }
}

}  // namespace
}  // namespace headrace
