#include "python/extension/interrupts.h"

#include <nanobind/nanobind.h>

#include <csignal>
#include <mutex>
#include <thread>

namespace headrace::python {
namespace {

namespace nb = nanobind;

static_assert(std::atomic<int>::is_always_lock_free, "a signal handler writes it");
std::atomic<int> arrived{0};
std::atomic<int> stopped{0};  // compilations that a handler ended, in whatever thread
struct sigaction next_handler = {};
unsigned long main_thread = 0;

void OnInterrupt(int signal, siginfo_t* info, void* context) {
  arrived.store(1, std::memory_order_relaxed);
  if (next_handler.sa_flags & SA_SIGINFO) next_handler.sa_sigaction(signal, info, context);
  else next_handler.sa_handler(signal);
}

// Puts OnInterrupt before the handler that is there. Python installs its own again whenever signal.signal is called: so this is
// looked at anew while runs last.
void Listen() {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  struct sigaction now;
  if (sigaction(SIGINT, nullptr, &now) != 0) return;
  const bool ours = (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == OnInterrupt;
  const bool function = (now.sa_flags & SA_SIGINFO) || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
  if (ours || !function) return;
  next_handler = now;
  now.sa_flags |= SA_SIGINFO;
  now.sa_sigaction = OnInterrupt;
  sigaction(SIGINT, &now, nullptr);
}

// Programs whose own handler takes note of Ctrl-C, to end in order, want their run whole.
bool RaisesKeyboardInterrupt() {
  nb::gil_scoped_acquire gil;
  try {
    const nb::object signal = nb::module_::import_("signal");
    return signal.attr("getsignal")(SIGINT).is(signal.attr("default_int_handler"));
  } catch (nb::python_error&) {
    return false;
  }
}

bool RunHandlers() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

bool RunInterrupted(const Progress& progress) {
  if (PyThread_get_thread_ident() == main_thread) return RunHandlers();  // the interpreter polls in the thread that it runs in
  if (progress.main_thread_runs.load() == 0) return false;
  Listen();
  if (!arrived.load()) return false;
  if (RaisesKeyboardInterrupt()) return true;
  arrived = 0;
  return false;
}

}  // namespace

std::function<bool()> Cancellation(std::shared_ptr<Progress> progress) {
  return [progress = std::move(progress), caller = std::this_thread::get_id(), before = stopped.load()] {
    if (progress->compiled) return RunInterrupted(*progress);
    if (stopped.load() != before) return true;
    if (std::this_thread::get_id() != caller || !RunHandlers()) return false;
    stopped.fetch_add(1);
    return true;
  };
}

RunScope::RunScope(Progress& progress) : progress_(progress), main_(PyThread_get_thread_ident() == main_thread) {
  if (!main_) return;
  arrived.store(0, std::memory_order_relaxed);
  progress_.main_thread_runs.fetch_add(1);
}
RunScope::~RunScope() {
  if (main_) progress_.main_thread_runs.fetch_sub(1);
}

void RememberMainThread() {
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}

}  // namespace headrace::python
