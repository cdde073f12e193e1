#include "ir/base/name.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "ir/base/status.h"

namespace headrace {
namespace {

// Texts live in chunks that never move, so that view() needs no lock: a thread that holds an id got
// it after the text was stored.
class Interner {
 public:
  static Interner& Get() {
    static Interner* const interner = new Interner();  // never destroyed: names outlive static destructors
    return *interner;
  }

  uint32_t Intern(std::string_view text) {
    const uint32_t hash = static_cast<uint32_t>(std::hash<std::string_view>()(text));
    {
      std::shared_lock<std::shared_mutex> lock(mutex_);
      if (const Cell& c = CellOf(text, hash); c.id != 0) return c.id;
    }
    std::unique_lock<std::shared_mutex> lock(mutex_);
    if (const Cell& c = CellOf(text, hash); c.id != 0) return c.id;
    const uint32_t id = Store(text);
    CellOf(text, hash) = {hash, id};
    if (2 * size_ > cells_.size()) Grow();
    return id;
  }

  std::string_view View(uint32_t id) const { return chunks_[id / kChunk].load(std::memory_order_acquire)[id % kChunk]; }

 private:
  static constexpr uint32_t kChunk = 1 << 13, kChunks = 1 << 13;
  static constexpr size_t kTexts = 1 << 16;  // bytes of texts that are allocated at once
  // Of the table by text: open addressing, a power of two of cells, at most half of them in use.
  struct Cell {
    uint32_t hash = 0, id = 0;  // 0: empty, for no text but the empty one has it
  };
  Interner() : cells_(1 << 12) { Store(""); }

  // The one of the text, or the empty one where it belongs.
  Cell& CellOf(std::string_view text, uint32_t hash) {
    for (size_t i = hash;; ++i) {
      Cell& c = cells_[i & (cells_.size() - 1)];
      if (c.id == 0 || (c.hash == hash && View(c.id) == text)) return c;
    }
  }
  void Grow() {
    std::vector<Cell> old(2 * cells_.size());
    old.swap(cells_);
    for (const Cell& c : old) {
      size_t i = c.hash;
      while (cells_[i & (cells_.size() - 1)].id != 0) ++i;
      if (c.id != 0) cells_[i & (cells_.size() - 1)] = c;
    }
  }
  uint32_t Store(std::string_view text) {
    const uint32_t id = size_;
    HR_CHECK(id < kChunk * kChunks, "too many distinct names");
    auto& slot = chunks_[id / kChunk];
    std::string_view* chunk = slot.load(std::memory_order_relaxed);
    if (chunk == nullptr) {
      chunk = new std::string_view[kChunk];
      slot.store(chunk, std::memory_order_release);
    }
    chunk[id % kChunk] = std::string_view(Copied(text), text.size());
    ++size_;
    return id;
  }
  char* Copied(std::string_view text) {
    const size_t bytes = text.size() + 1;
    if (bytes > static_cast<size_t>(texts_end_ - texts_)) {
      const size_t most = std::max(bytes, kTexts);
      texts_ = new char[most];
      texts_end_ = texts_ + most;
    }
    char* copy = texts_;
    texts_ += bytes;
    if (!text.empty()) std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    return copy;
  }

  std::shared_mutex mutex_;
  std::vector<Cell> cells_;
  std::array<std::atomic<std::string_view*>, kChunks> chunks_{};
  char *texts_ = nullptr, *texts_end_ = nullptr;
  uint32_t size_ = 0;
};

}  // namespace

Name::Name(std::string_view text) : id_(text.empty() ? 0 : Interner::Get().Intern(text)) {}

std::string_view Name::view() const { return id_ == 0 ? std::string_view("") : Interner::Get().View(id_); }

}  // namespace headrace
