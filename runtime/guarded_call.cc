// External functions are C, and compiled programs have no exceptions: those of functions in C++ end here.
#include <exception>

#include "runtime/runtime_internal.h"

namespace headrace::runtime {

int32_t GuardedCall(hr_function fn, hr_call* c) {
  try {
    return fn(c);
  } catch (const std::exception& e) {
    c->fail(c, e.what());
  } catch (...) {
    c->fail(c, "unknown exception");
  }
  return 1;
}

}  // namespace headrace::runtime
