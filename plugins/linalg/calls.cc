// The implementations "eigen" of solves, determinants and Cholesky factors, and "kissfft" of Fourier transforms: calls of C
// functions.
#include "plugins/linalg/calls.h"

#include "plugins/linalg/fourier.h"

namespace linalg_ops {

using headrace_plugin::Node;

std::string CallOf(const std::string& function, const Node& node, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                   const std::string& attributes) {
  std::string parameters, given, taken;
  const auto add = [&](const std::string& name, const hr_port* p, std::string* list) {
    parameters += (parameters.empty() ? "" : ", ") + name + ": " + TypeName(p->dtype) + (p->rank > 0 ? "[" + Node::Shape(p) + "]" : "");
    *list += (list->empty() ? "" : ", ") + name + " = " + name;
  };
  for (const std::string& name : inputs) add(name, node.input(name), &given);
  for (const std::string& name : outputs) add(name, node.output(name), &taken);
  return "sdfg " + function + "_node(" + parameters + ") {\n  call." + function + attributes + "(" + given + ") -> (" + taken + ")\n}\n";
}

int32_t TakeMatrix(hr_call* call, bool square) {
  const hr_value& a = call->inputs[0];
  if (a.rank != 2) return Fail(call, "the first input is no matrix");
  return square && a.shape[0] != a.shape[1] ? Fail(call, "the matrix is not square") : 0;
}

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_solve(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    const hr_value &a = call->inputs[0], &b = call->inputs[1];
    if (b.rank != 2) return Fail(call, "the right side is no matrix");
    if (TakeMatrix(call, true) != 0 || Allocate(call, 0, {b.shape[0], b.shape[1]}) != 0) return 1;
    const int64_t n = a.shape[0];
    if (b.shape[0] != n) return Fail(call, std::to_string(n) + " equations, and a right side of " + std::to_string(b.shape[0]) + " rows");
    DenseOfThisProcessor().solve(a.dtype, n, b.shape[1], a.data, b.data, call->outputs[0].data);
    return 0;
  });
}

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_det(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    if (TakeMatrix(call, true) != 0 || Allocate(call, 0, {}) != 0) return 1;
    DenseOfThisProcessor().determinant(call->inputs[0].dtype, call->inputs[0].shape[0], call->inputs[0].data, call->outputs[0].data);
    return 0;
  });
}

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_cholesky(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    if (TakeMatrix(call, true) != 0) return 1;
    const int64_t n = call->inputs[0].shape[0];
    if (Allocate(call, 0, {n, n}) != 0) return 1;
    DenseOfThisProcessor().cholesky(call->inputs[0].dtype, n, call->inputs[0].data, call->outputs[0].data);
    return 0;
  });
}

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_fft(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    const hr_value& x = call->inputs[0];
    if (x.rank < 1 || (x.dtype != HR_C64 && x.dtype != HR_C128)) return Fail(call, "a Fourier transform takes an array of complex numbers");
    if (!call->outputs[0].data && call->allocate(call, 0, x.dtype, x.rank, x.shape) != 0) return 1;
    const int64_t n = x.shape[x.rank - 1];
    int64_t rows = 1;
    for (int32_t d = 0; d + 1 < x.rank; ++d) rows *= x.shape[d];
    const bool inverse = headrace_plugin::Attributes(call->attributes, call->n_attributes).number("inverse", 0) != 0;
    FourierTransforms(x.dtype == HR_C64, rows, n, inverse, x.data, call->outputs[0].data);
    return 0;
  });
}

void RegisterCalls(Registrar& r) {
  r.external("linalg_solve", "headrace_linalg_solve");
  r.impl("linalg.Solve", "eigen", WhyNotEigen, [](const Node& n) { return CallOf("linalg_solve", n, {"A", "B"}, {"X"}); });
  r.external("linalg_det", "headrace_linalg_det");
  r.impl("linalg.Det", "eigen", WhyNotEigen, [](const Node& n) { return CallOf("linalg_det", n, {"A"}, {"D"}); });
  r.external("linalg_cholesky", "headrace_linalg_cholesky");
  r.impl("linalg.Cholesky", "eigen", WhyNotEigen, [](const Node& n) { return CallOf("linalg_cholesky", n, {"A"}, {"L"}); });
  r.external("linalg_fft", "headrace_linalg_fft");
  r.impl("linalg.Fft", "kissfft", [](const Node&) { return std::string(); },
         [](const Node& n) { return CallOf("linalg_fft", n, {"X"}, {"Y"}, "{inverse = " + n.attribute("inverse", "0") + "}"); });
}

}  // namespace linalg_ops
