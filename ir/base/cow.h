// Copy-on-write tables: copying one is copying a few hundred pointers, changing one element copies one chunk.
// That is what makes "try a rewrite on a copy" cheap at 10^5 nodes.
#pragma once
#include <algorithm>
#include <array>
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

// A hash map split in shards, each copied only when written through a shared copy. Order is kept elsewhere (Sdfg::order).
template <typename Key, typename T, int kShards = 256>
class CowMap {
 public:
  const T* Find(const Key& k) const {
    const auto& s = shards_[Shard(k)];
    if (!s) return nullptr;
    auto it =
        std::lower_bound(s->begin(), s->end(), k, [](const auto& e, const Key& key) { return Less(e.first, key); });
    return it != s->end() && it->first == k ? &it->second : nullptr;
  }
  // Null when absent; copies the shard when it is shared.
  T* FindMutable(const Key& k) {
    if (!Find(k)) return nullptr;
    auto& s = Own(Shard(k));
    auto it = std::lower_bound(s.begin(), s.end(), k, [](const auto& e, const Key& key) { return Less(e.first, key); });
    return &it->second;
  }
  void Set(const Key& k, T value) {
    auto& s = Own(Shard(k));
    auto it = std::lower_bound(s.begin(), s.end(), k, [](const auto& e, const Key& key) { return Less(e.first, key); });
    if (it != s.end() && it->first == k) it->second = std::move(value);
    else s.insert(it, {k, std::move(value)});
  }
  void Erase(const Key& k) {
    auto& s = Own(Shard(k));
    auto it = std::lower_bound(s.begin(), s.end(), k, [](const auto& e, const Key& key) { return Less(e.first, key); });
    if (it != s.end() && it->first == k) s.erase(it);
  }

 private:
  using Shards = std::vector<std::pair<Key, T>>;
  static size_t Shard(const Key& k) { return std::hash<Key>()(k) / 64 % kShards; }
  static bool Less(const Key& a, const Key& b) { return std::hash<Key>()(a) < std::hash<Key>()(b); }
  Shards& Own(size_t i) {
    auto& s = shards_[i];
    if (!s) s = std::make_shared<Shards>();
    else if (s.use_count() > 1) s = std::make_shared<Shards>(*s);
    return *s;
  }
  std::array<std::shared_ptr<Shards>, kShards> shards_;
};

}  // namespace headrace
