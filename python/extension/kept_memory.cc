#include "python/extension/kept_memory.h"

#include <algorithm>
#include <vector>

#include "python/extension/array_types.h"
#include "runtime/headrace_runtime.h"

namespace headrace::python {
namespace {

// Large ones have huge pages, as arenas have.
void* New(size_t bytes) { return hr_runtime()->arena_new(static_cast<int64_t>(bytes)); }
void Delete(void* memory, size_t bytes) { hr_runtime()->arena_delete(memory, static_cast<int64_t>(bytes)); }

}  // namespace

// A result's: it goes home with the last that knows the result.
struct KeptMemory::Block {
  Block(std::shared_ptr<KeptMemory> h, size_t n) : home(std::move(h)), bytes(n), memory(home->Take(n)) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    if (memory) home->Give(memory, bytes);
  }
  std::shared_ptr<KeptMemory> home;
  size_t bytes;
  void* memory;
};

KeptMemory::~KeptMemory() {
  for (const auto& [bytes, memory] : idle_) Delete(memory, bytes);
}

void KeptMemory::Expect(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  most_ = std::max(most_, bytes);
}

// Where none has the size, sizes have changed: what is kept for others is of no more use.
void* KeptMemory::Take(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto same = idle_.find(bytes); same != idle_.end()) {
    void* memory = same->second;
    idle_.erase(same);
    idle_bytes_ -= bytes;
    return memory;
  }
  for (const auto& [size, memory] : idle_) Delete(memory, size);
  idle_.clear();
  idle_bytes_ = 0;
  return New(bytes);
}

void KeptMemory::Give(void* memory, size_t bytes) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_bytes_ + bytes > most_) return Delete(memory, bytes);
  idle_.emplace(bytes, memory);
  idle_bytes_ += bytes;
}

nb::object KeptMemory::NewArray(ArrayKind kind, DType dtype, int32_t rank, const int64_t* shape, size_t bytes, void** memory) {
  const auto type = ToDlpack(dtype);
  if (!type) return {};
  auto block = std::make_unique<Block>(shared_from_this(), bytes);
  if (!block->memory) return {};
  const nb::capsule owner(block.get(), [](void* b) noexcept { delete static_cast<Block*>(b); });
  void* const taken = *memory = block.release()->memory;
  const std::vector<size_t> sizes(shape, shape + rank);
  const auto array = [&](auto library) {
    return nb::cast(nb::ndarray<decltype(library)>(taken, sizes.size(), sizes.data(), owner, nullptr, *type), nb::rv_policy::reference);
  };
  return kind == ArrayKind::kTorch ? array(nb::pytorch()) : array(nb::numpy());
}

}  // namespace headrace::python
