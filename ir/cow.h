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

// A growing array addressed by a strong 32-bit id. Elements are never removed; dead ones are reset by their owner.
template <typename Id, typename T, int kChunk = 256>
class CowTable {
 public:
  uint32_t size() const { return size_; }
  const T& operator[](Id id) const { return (*chunks_[id.value / kChunk])[id.value % kChunk]; }
  T& Mutable(Id id) { return (*Own(id.value / kChunk))[id.value % kChunk]; }
  Id Add(T value) {
    if (size_ % kChunk == 0) chunks_.push_back(std::make_shared<Chunk>());
    Id id{size_++};
    Mutable(id) = std::move(value);
    return id;
  }

 private:
  using Chunk = std::array<T, kChunk>;
  std::shared_ptr<Chunk>& Own(uint32_t c) {
    if (chunks_[c].use_count() > 1) chunks_[c] = std::make_shared<Chunk>(*chunks_[c]);
    return chunks_[c];
  }
  std::vector<std::shared_ptr<Chunk>> chunks_;
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
