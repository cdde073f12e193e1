// Arenas: one piece of memory per program segment, aligned for vector loads. Large ones are mapped by themselves, so that
// they can have huge pages and go back to the system when they are freed.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "runtime/runtime_internal.h"

namespace headrace::runtime {
namespace {

constexpr int64_t kAlign = 64;
constexpr int64_t kHuge = int64_t{2} << 20;

bool Mapped(int64_t bytes) { return bytes >= 2 * kHuge; }

int64_t PhysicalMemory() {
  static const int64_t bytes = [] {
    const int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? pages * size : INT64_MAX;
  }();
  return bytes;
}

}  // namespace

void* ArenaNew(int64_t bytes) {
  // More than the machine has can't be filled, even where the system would promise it.
  if (bytes < 0 || bytes > PhysicalMemory()) return nullptr;
  if (!Mapped(bytes))
    return std::aligned_alloc(kAlign, static_cast<size_t>((bytes < 1 ? 1 : bytes) + kAlign - 1) / kAlign * kAlign);
  void* p = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  madvise(p, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // a wish: page faults cost more than the arithmetic otherwise
  return p;
}

void ArenaDelete(void* memory, int64_t bytes) {
  if (memory == nullptr) return;
  if (Mapped(bytes)) munmap(memory, static_cast<size_t>(bytes));
  else std::free(memory);
}

}  // namespace headrace::runtime

extern "C" const hr_runtime_api* hr_runtime(void) {
  using namespace headrace::runtime;
  static const hr_runtime_api kApi = {sizeof(hr_runtime_api), ParallelFor, MaxThreads, ArenaNew, ArenaDelete, GuardedCall};
  return &kApi;
}
