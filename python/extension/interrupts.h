// Ctrl-C while a compiled program runs: Python's own handler only leaves a note, which its main thread reads once the run is over.
#pragma once
#include <atomic>
#include <functional>
#include <memory>

namespace headrace::python {

// Of one executable: whether it is still being made, and how many of its runs Python's main thread waits for (one, or none).
struct Progress {
  std::atomic<bool> compiled{false};
  std::atomic<int> main_thread_runs{0};
};

// What backends poll. True: stop. In the thread that compiles, and in the main thread, Python's handlers run; what they end there ends
// compilations beside it, too. In others it is true when Ctrl-C came while the main thread was in a run, and
// signal.default_int_handler, which raises KeyboardInterrupt, is what Python will call. Other handlers run when the program is done.
std::function<bool()> Cancellation(std::shared_ptr<Progress> progress);

// Around a run, with the GIL; costs a few nanoseconds.
class RunScope {
 public:
  explicit RunScope(Progress& progress);
  ~RunScope();
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;
  bool in_main_thread() const { return main_; }

 private:
  Progress& progress_;
  bool main_;
};

// Asks Python which thread is its main one; when the module is made.
void RememberMainThread();

}  // namespace headrace::python
