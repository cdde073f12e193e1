// The memory of a program's large results outlives them: the next call's are written to pages that are there already. A page that the
// system has to find and clear takes longer than it takes to write it.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "python/extension/arrays.h"

namespace headrace::python {

// At most as much is kept as one call's results took. Safe from any thread: results go where they are used last.
class KeptMemory : public std::enable_shared_from_this<KeptMemory> {
 public:
  static constexpr size_t kLeast = size_t{1} << 17;  // bytes of a result whose memory is kept: smaller ones are no mappings of their own

  ~KeptMemory();
  // An array, not zeroed, whose memory comes back when it is gone; invalid where `dtype` is none that every array library has.
  nb::object NewArray(ArrayKind kind, DType dtype, int32_t rank, const int64_t* shape, size_t bytes, void** memory);
  // Of one call, all together.
  void Expect(size_t bytes);

 private:
  struct Block;
  void* Take(size_t bytes);
  void Give(void* memory, size_t bytes) noexcept;

  std::mutex mutex_;
  std::multimap<size_t, void*> idle_;  // by bytes
  size_t idle_bytes_ = 0, most_ = 0;
};

}  // namespace headrace::python
