// What the files with C functions share: their nodes' expansions as text, and how they fail.
#pragma once
#include <exception>
#include <string>
#include <vector>

#include "plugins/linalg/cancel.h"
#include "plugins/linalg/dense.h"
#include "plugins/linalg/families.h"

namespace linalg_ops {

inline std::string TypeName(int32_t dtype) {
  switch (dtype) {
    case HR_F32: return "f32";
    case HR_F64: return "f64";
    case HR_C64: return "c64";
    case HR_C128: return "c128";
    default: return "";
  }
}

// A program that calls `function` with the node's ports.
std::string CallOf(const std::string& function, const headrace_plugin::Node& node, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs, const std::string& attributes = "");

// "" where Eigen takes this node's matrix A, else why not.
inline std::string WhyNotEigen(const headrace_plugin::Node& node) {
  return TypeName(node.input("A")->dtype).empty() ? "matrices are of f32, f64, c64 or c128" : "";
}

inline int32_t Fail(hr_call* call, const std::string& why) {
  call->fail(call, why.c_str());
  return 1;
}

// A matrix as the first input: 0 where Eigen takes it, else the call has failed.
int32_t TakeMatrix(hr_call* call, bool square);
// Memory for an output that the program has none for yet; 0 on success.
inline int32_t Allocate(hr_call* call, int32_t output, std::vector<int64_t> shape) {
  if (call->outputs[output].data) return 0;
  return call->allocate(call, output, call->inputs[0].dtype, static_cast<int32_t>(shape.size()), shape.data());
}

// Of a small matrix, asking would take a tenth of the time.
inline bool MayTakeLong(const hr_call& call) {
  constexpr int64_t kLong = 256;  // rows or columns
  for (int32_t i = 0; i < call.n_inputs; ++i)
    for (int32_t d = 0; d < call.inputs[i].rank; ++d)
      if (call.inputs[i].shape[d] >= kLong) return true;
  return false;
}

template <typename Function>
int32_t Guarded(hr_call* call, Function&& function) {
  try {
    const Cancellable cancellable(MayTakeLong(*call) ? call : nullptr);
    return function();
  } catch (const RunCancelled&) {
    return 1;
  } catch (const std::exception& e) {  // there is no memory
    return Fail(call, e.what());
  }
}

}  // namespace linalg_ops
