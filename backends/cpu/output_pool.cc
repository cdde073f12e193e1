#include "backends/cpu/output_pool.h"

#include <algorithm>

#include "runtime/headrace_runtime.h"

namespace headrace::cpu {
namespace {
constexpr int64_t kSmall = 64 * 1024;  // below, malloc is as good
}

OutputPool::~OutputPool() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->closed = true;
  for (const auto& [bytes, memory] : state_->free) hr_runtime()->arena_delete(memory, bytes);
  state_->free.clear();
}

std::shared_ptr<Buffer> OutputPool::Take(int64_t bytes) {
  if (bytes < kSmall) return Buffer::Allocate(bytes);
  int64_t size = bytes;
  void* memory = nullptr;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    const auto it = state_->free.lower_bound(bytes);
    if (it != state_->free.end() && it->first / 2 <= bytes) {
      size = it->first;
      memory = it->second;
      state_->kept -= size;
      state_->free.erase(it);
    }
  }
  if (!memory) memory = hr_runtime()->arena_new(size);
  if (!memory) return nullptr;
  return Buffer::Wrap(memory, bytes,
                      std::shared_ptr<void>(memory, [state = state_, size](void* p) { Give(*state, p, size); }));
}

void OutputPool::Give(State& s, void* memory, int64_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(s.mutex);
    if (!s.closed && s.kept + bytes <= 2 * s.most) {
      s.free.emplace(bytes, memory);
      s.kept += bytes;
      return;
    }
  }
  hr_runtime()->arena_delete(memory, bytes);
}

void OutputPool::EndRun(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->most = std::max(state_->most, bytes);
}

}  // namespace headrace::cpu
