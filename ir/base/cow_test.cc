#include "ir/base/cow.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace headrace {
// A key with a few hashes only: most searches pass by others.
struct Crowded {
  int value = 0;
  friend bool operator==(Crowded a, Crowded b) { return a.value == b.value; }
};
}  // namespace headrace

template <>
struct std::hash<headrace::Crowded> {
  size_t operator()(headrace::Crowded k) const { return static_cast<size_t>(k.value % 7); }
};

namespace headrace {
namespace {

template <typename Key>
struct Pair {
  CowMap<Key, std::string> map;
  std::unordered_map<Key, std::string> expected;
};

template <typename Key>
void ExpectEqual(const Pair<Key>& p, int keys) {
  for (int k = 0; k < keys; ++k) {
    const std::string* got = p.map.Find(Key{k});
    const auto it = p.expected.find(Key{k});
    ASSERT_EQ(got != nullptr, it != p.expected.end()) << k;
    if (!got) continue;
    ASSERT_EQ(*got, it->second) << k;
  }
}

// Random operations on maps that are copies of each other, each beside one of the standard library's.
template <typename Key>
void RunRandom(int keys, int steps, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Pair<Key>> all(1);
  for (int i = 0; i < steps; ++i) {
    Pair<Key>& p = all[random() % all.size()];
    const Key k{static_cast<int>(random() % static_cast<unsigned>(keys))};
    const std::string value = std::to_string(i);
    switch (random() % 8) {
      case 0:
      case 1:
      case 2: p.map.Set(k, value), p.expected[k] = value; break;
      case 3:
      case 4: p.map.Erase(k), p.expected.erase(k); break;
      case 5:
        if (std::string* there = p.map.FindMutable(k)) *there += "m", p.expected.at(k) += "m";
        break;
      case 6:
        if (all.size() < 5) all.push_back(Pair<Key>(p));
        break;
      default:
        if (all.size() > 1 && random() % 2 == 0) all.erase(all.begin() + static_cast<std::ptrdiff_t>(random() % all.size()));
    }
    if (i % (steps / 20) == 0)
      for (const Pair<Key>& each : all) ExpectEqual(each, keys);
  }
  for (const Pair<Key>& each : all) ExpectEqual(each, keys);
}

TEST(CowMap, AsAHashMapWithCopiesAlive) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    RunRandom<int>(20, 2000, seed);
    RunRandom<int>(3000, 40000, seed);
  }
}

TEST(CowMap, EqualHashes) {
  for (unsigned seed = 0; seed < 8; ++seed) RunRandom<Crowded>(100, 4000, seed);
}

TEST(CowMap, NothingIsThere) {
  CowMap<int, int> m;
  EXPECT_EQ(m.Find(1), nullptr);
  EXPECT_EQ(m.FindMutable(1), nullptr);
  m.Erase(1);
  m.Set(1, 2);
  m.Erase(1);
  EXPECT_EQ(m.Find(1), nullptr);
}

TEST(CowMap, EntriesStayWhileOthersComeAndGo) {
  CowMap<int, int> m;
  std::vector<const int*> places;
  for (int i = 0; i < 1000; ++i) m.Set(i, i), places.push_back(m.Find(i));
  for (int i = 1; i < 1000; i += 2) m.Erase(i);
  for (int i = 1000; i < 3000; ++i) m.Set(i, i);
  for (int i = 0; i < 1000; i += 2) {
    EXPECT_EQ(m.Find(i), places[static_cast<size_t>(i)]);
    EXPECT_EQ(*m.Find(i), i);
  }
}

TEST(CowMap, CopiesShareWhatNeitherChanged) {
  CowMap<int, int> m;
  for (int i = 0; i < 10000; ++i) m.Set(i, i);
  CowMap<int, int> copy = m;
  copy.Set(0, -1);
  int apart = 0;
  for (int i = 0; i < 10000; ++i) apart += m.Find(i) != copy.Find(i) ? 1 : 0;
  EXPECT_LE(apart, 256);
  EXPECT_EQ(*m.Find(0), 0);
  EXPECT_EQ(*copy.Find(0), -1);
}

// Keys that lie apart as regularly as the cells of an index do: each search still ends soon.
TEST(CowMap, KeysAtRegularDistances) {
  constexpr int kKeys = 1 << 16;
  for (const int distance : {7, 8, 64, 4096, 16384}) {
    CowMap<int, int> m;
    for (int i = 0; i < kKeys; ++i) m.Set(i * distance, i);
    for (int i = 0; i < kKeys; ++i) ASSERT_EQ(*m.Find(i * distance), i) << distance;
    for (int i = 0; i < kKeys; i += 2) m.Erase(i * distance);
    for (int i = 0; i < kKeys; ++i) ASSERT_EQ(m.Find(i * distance) != nullptr, i % 2 == 1) << distance;
  }
}

// What is erased gives its value back at once.
TEST(CowMap, ErasedValuesAreGone) {
  CowMap<int, std::shared_ptr<int>> m;
  const auto value = std::make_shared<int>(1);
  m.Set(1, value);
  EXPECT_EQ(value.use_count(), 2);
  m.Erase(1);
  EXPECT_EQ(value.use_count(), 1);
}

}  // namespace
}  // namespace headrace
