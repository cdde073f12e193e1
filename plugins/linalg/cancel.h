// How a long call hears that its run is cancelled: what works asks now and then, and leaves by an exception.
#pragma once
#include <exception>

#include "plugins/api/headrace_plugin.h"

namespace linalg_ops {

struct RunCancelled : std::exception {
  const char* what() const noexcept override { return "the run is cancelled"; }
};

extern thread_local hr_call* call_of_this_thread;  // null: nobody can cancel what this thread does

inline void LeaveIfCancelled() {
  if (hr_call* call = call_of_this_thread; call && hr_call_cancelled(call)) throw RunCancelled();
}

// While it lives, LeaveIfCancelled asks this call.
class Cancellable {
 public:
  explicit Cancellable(hr_call* call) { call_of_this_thread = call; }
  ~Cancellable() { call_of_this_thread = nullptr; }
  Cancellable(const Cancellable&) = delete;
  Cancellable& operator=(const Cancellable&) = delete;
};

}  // namespace linalg_ops
