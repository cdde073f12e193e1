// A library of kernels whose functions are wrong, each in one way (vendor_test.py): call.NAME(X) -> (Y) copies X.
#include <cstring>
#include <stdexcept>

#include "headrace_plugin.hpp"

using headrace_plugin::Contract;
using headrace_plugin::Node;

extern "C" HEADRACE_EXPORT int32_t bad_copy(hr_call* call) {
  const hr_value& x = call->inputs[0];
  int64_t bytes = 4;
  for (int32_t d = 0; d < x.rank; ++d) bytes *= x.shape[d];
  std::memcpy(call->outputs[0].data, x.data, static_cast<size_t>(bytes));
  return 0;
}
extern "C" HEADRACE_EXPORT int32_t bad_overrun(hr_call* call) {
  if (call->scratch_bytes != 32) return call->fail(call, "the scratch has another size"), 1;
  std::memset(call->scratch, 0, 33);
  return bad_copy(call);
}

extern "C" HEADRACE_EXPORT int32_t bad_throw(hr_call*) { throw std::runtime_error("no kernel today"); }
extern "C" HEADRACE_EXPORT int32_t bad_throw_number(hr_call*) { throw 7; }
extern "C" HEADRACE_EXPORT int32_t bad_nothing(hr_call*) { return 0; }
extern "C" HEADRACE_EXPORT int32_t bad_type(hr_call* call) {
  const int64_t four = 4;
  return call->allocate(call, 0, HR_I64, 1, &four);
}
extern "C" HEADRACE_EXPORT int32_t bad_rank(hr_call* call) {
  const int64_t shape[] = {2, 3};
  return call->allocate(call, 0, HR_F32, 2, shape);
}
extern "C" HEADRACE_EXPORT int32_t bad_size(hr_call* call) {
  const int64_t less = -5;
  return call->allocate(call, 0, HR_F32, 1, &less);
}

// Of 100 chunks 40 throw; the first of them is told.
extern "C" HEADRACE_EXPORT int32_t bad_chunks(hr_call* call) {
  hr_call_parallel_for(
      call, 100, [](void*, int64_t c) { if (c >= 60) throw std::runtime_error("chunk " + std::to_string(c)); }, nullptr);
  return bad_copy(call);
}
extern "C" HEADRACE_EXPORT int32_t bad_caught(hr_call* call) {
  try {
    hr_call_parallel_for(call, 100, [](void*, int64_t) { throw 7; }, nullptr);
  } catch (int) {
    return bad_copy(call);
  }
  return 0;
}

struct NoState {
  explicit NoState(const headrace_plugin::Attributes&) { throw std::runtime_error("no class today"); }
};

HEADRACE_PLUGIN("bad_kernels", "1.0") {
  for (const char* name : {"bad_throw", "bad_throw_number", "bad_nothing", "bad_type", "bad_rank", "bad_size", "bad_chunks", "bad_caught"})
    r.external(name, name);
  r.external("bad_create", "bad_copy", [](const hr_attribute*, int32_t) -> void* { throw std::runtime_error("no state today"); }, nullptr);
  r.external("bad_destroy", "bad_copy", [](const hr_attribute*, int32_t) -> void* { return new int; }, [](void*) { throw 7; });
  r.external<NoState>("bad_class", "bad_copy");
  Contract release;
  release.prepare = [](const Node&) -> void* { return nullptr; };
  release.release = [](void*) { throw std::runtime_error("too late"); };
  r.external("bad_release", "bad_copy", release);
  Contract overrun;
  overrun.scratch = [](const Node&) { return "32"; };
  r.external("bad_overrun", "bad_overrun", overrun);
  Contract refuses;
  refuses.prepare = [](const Node& n) -> void* {
    throw std::runtime_error("no kernel for " + std::string(n.input("X")->shape[0]) + " rows");
  };
  r.external("bad_prepare", "bad_copy", refuses);
  Contract layout;
  layout.layout = [](const Node&, int) -> std::vector<int> { return {0, 0}; };
  r.external("bad_layout", "bad_copy", layout);
  Contract scratch;
  scratch.scratch = [](const Node&) { return "4 * nobody"; };
  r.external("bad_scratch", "bad_copy", scratch);
}
