// Ctrl-C while a compiled program runs: Python's own handler only leaves a note, which its main thread reads once the run is over.
#pragma once
#include <atomic>
#include <functional>
#include <memory>

namespace headrace::python {

// Of one executable: how many of its runs Python's main thread waits for (one, or none).
struct MainThreadRuns {
  std::atomic<int> count{0};
};

// What backends poll, for compilations by this thread and for runs of what it compiles. True: stop. In the thread that compiles
// it lets Python's handlers run; in others it is true when Ctrl-C came while the main thread was in a run and
// signal.default_int_handler, which raises KeyboardInterrupt, is what Python will call. Other handlers run when the program is done.
std::function<bool()> Cancellation(std::shared_ptr<MainThreadRuns> runs);

// Around a run, with the GIL; costs a few nanoseconds.
class RunScope {
 public:
  explicit RunScope(MainThreadRuns& runs);
  ~RunScope();
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;
  bool in_main_thread() const { return main_; }

 private:
  MainThreadRuns& runs_;
  bool main_;
};

// Asks Python which thread is its main one; when the module is made.
void RememberMainThread();

}  // namespace headrace::python
