// Maps by name, compared with the standard library's.
#include "transforms/by_name.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>

namespace headrace::transforms {
namespace {

TEST(ByName, HoldsEntriesInTheOrderInWhichTheyCame) {
  ByName<int> map;
  EXPECT_EQ(map.Find("nobody"), nullptr);
  EXPECT_EQ(map.NumberOf("nobody"), ByName<int>::kNone);
  map["b"] = 1, map["a"] = 2, map["b"] += 10, map[Name()] = 3;
  ASSERT_EQ(map.size(), 3u);
  EXPECT_EQ(map.NumberOf("b"), 0u);
  EXPECT_EQ(map.NameOf(1), Name("a"));
  EXPECT_EQ(map.At(0), 11);
  EXPECT_EQ(*map.Find(Name()), 3);
  EXPECT_EQ(map.Find("nobody"), nullptr);
}

// Runs of neighbours, as programs have them, and names from all over.
TEST(ByName, FindsWhatAHashMapFinds) {
  for (const size_t reserved : {0, 1, 5000}) {
    ByName<size_t> map;
    std::unordered_map<Name, size_t> expected;
    map.Reserve(reserved);
    const auto add = [&](const std::string& text) { map[text] = expected[text] = expected.size(); };
    for (size_t i = 0; i < 2000; ++i) add("by_name_run_" + std::to_string(i));
    for (size_t i = 0; i < 2000; ++i) Name("by_name_other_" + std::to_string(i));  // numbers that are not asked for
    for (size_t i = 0; i < 2000; i += 3) add("by_name_far_" + std::to_string(i));
    ASSERT_EQ(map.size(), expected.size());
    for (const auto& [name, value] : expected) {
      ASSERT_NE(map.Find(name), nullptr);
      EXPECT_EQ(*map.Find(name), value);
      EXPECT_EQ(map.NameOf(map.NumberOf(name)), name);
    }
    for (size_t i = 0; i < 2000; ++i) EXPECT_EQ(map.Find("by_name_other_" + std::to_string(i)), nullptr);
  }
}

}  // namespace
}  // namespace headrace::transforms
