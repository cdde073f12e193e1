// Columns of a product, or of a triangular system, some at a time, on the threads that the call of this thread may use. How many at a time
// their number and what each takes decide alone, so that bits are the same for any number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>

#include "plugins/linalg/cancel.h"

namespace linalg_ops {

struct ColumnParts {
  int64_t columns, width;
  int64_t count() const { return (columns + width - 1) / width; }
};
// `each`: multiplications and additions of a column. A part takes about a tenth of a second at most, and is worth a thread's while.
inline ColumnParts PartsOf(int64_t columns, double each) {
  constexpr double kMost = 1 << 29, kLeast = 1 << 21;
  constexpr int64_t kTogether = 16, kParts = 16;  // columns that kernels take at once; parts where there is enough to do
  const auto fit = [&](double operations) { return static_cast<int64_t>(operations / (each + 1)) / kTogether * kTogether; };
  const int64_t share = (columns + kParts - 1) / kParts, least = std::max(fit(kLeast) + kTogether, (share + kTogether - 1) / kTogether * kTogether);
  return {columns, std::max(kTogether, std::min(least, fit(kMost)))};
}

// part(first, count) for all columns; nothing else may need what one part does before all are done.
template <typename Part>
void InColumns(const ColumnParts& parts, const Part& part) {
  hr_call* const call = call_of_this_thread;
  if (!call || parts.count() < 2) {
    for (int64_t begin = 0; begin < parts.columns; begin += parts.width) {
      LeaveIfCancelled();
      part(begin, std::min(parts.width, parts.columns - begin));
    }
    return;
  }
  struct Work {
    const ColumnParts& parts;
    const Part& part;
    int64_t first;  // of the parts of this round
    std::mutex mutex;
    std::exception_ptr failure;
  } work{parts, part, 0, {}, nullptr};
  const auto one = [](void* context, int64_t chunk) {
    Work& w = *static_cast<Work*>(context);
    hr_call* const asked = call_of_this_thread;
    call_of_this_thread = nullptr;  // no part asks, or starts others
    try {
      const int64_t begin = (w.first + chunk) * w.parts.width;
      w.part(begin, std::min(w.parts.width, w.parts.columns - begin));
    } catch (...) {
      const std::lock_guard<std::mutex> lock(w.mutex);
      w.failure = std::current_exception();
    }
    call_of_this_thread = asked;
  };
  constexpr int64_t kRound = 8;  // parts between two questions whether the run is cancelled
  for (; work.first < parts.count(); work.first += kRound) {
    LeaveIfCancelled();
    hr_call_parallel_for(call, std::min(kRound, parts.count() - work.first), one, &work);
    if (work.failure) std::rethrow_exception(work.failure);
  }
}

}  // namespace linalg_ops
