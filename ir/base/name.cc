#include "ir/base/name.h"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

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
    {
      std::shared_lock<std::shared_mutex> lock(mutex_);
      auto it = ids_.find(text);
      if (it != ids_.end()) return it->second;
    }
    std::unique_lock<std::shared_mutex> lock(mutex_);
    auto it = ids_.find(text);
    if (it != ids_.end()) return it->second;
    const uint32_t id = size_;
    HR_CHECK(id < kChunk * kChunks, "too many distinct names");
    auto& slot = chunks_[id / kChunk];
    std::string_view* chunk = slot.load(std::memory_order_relaxed);
    if (chunk == nullptr) {
      chunk = new std::string_view[kChunk];
      slot.store(chunk, std::memory_order_release);
    }
    char* copy = new char[text.size() + 1];
    if (!text.empty()) std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    chunk[id % kChunk] = std::string_view(copy, text.size());
    ids_.emplace(chunk[id % kChunk], id);
    ++size_;
    return id;
  }

  std::string_view View(uint32_t id) const { return chunks_[id / kChunk].load(std::memory_order_acquire)[id % kChunk]; }

 private:
  static constexpr uint32_t kChunk = 1 << 13, kChunks = 1 << 13;
  Interner() { Intern(""); }

  std::shared_mutex mutex_;
  std::unordered_map<std::string_view, uint32_t> ids_;
  std::array<std::atomic<std::string_view*>, kChunks> chunks_{};
  uint32_t size_ = 0;
};

}  // namespace

Name::Name(std::string_view text) : id_(text.empty() ? 0 : Interner::Get().Intern(text)) {}

std::string_view Name::view() const { return id_ == 0 ? std::string_view("") : Interner::Get().View(id_); }

}  // namespace headrace
