// The implementations "eigen" of solves, determinants and Cholesky factors, and "kissfft" of Fourier transforms: calls of C
// functions.
#include <exception>
#include <string>

#include "plugins/linalg/dense.h"
#include "plugins/linalg/families.h"
#include "plugins/linalg/fourier.h"

namespace linalg_ops {
namespace {

using headrace_plugin::Node;

std::string TypeName(int32_t dtype) {
  switch (dtype) {
    case HR_F32: return "f32";
    case HR_F64: return "f64";
    case HR_C64: return "c64";
    case HR_C128: return "c128";
    default: return "";
  }
}

// A program that calls `function` with the node's ports.
std::string CallOf(const std::string& function, const Node& node, const std::vector<std::string>& inputs, const std::string& output,
                   const std::string& attributes = "") {
  auto declared = [](const std::string& name, const hr_port* p) {
    return name + ": " + TypeName(p->dtype) + (p->rank > 0 ? "[" + Node::Shape(p) + "]" : "");
  };
  std::string parameters, given;
  for (const std::string& name : inputs) {
    parameters += declared(name, node.input(name)) + ", ";
    given += (given.empty() ? "" : ", ") + name + " = " + name;
  }
  parameters += declared(output, node.output(output));
  return "sdfg " + function + "_node(" + parameters + ") {\n  call." + function + attributes + "(" + given + ") -> (" + output + " = " +
         output + ")\n}\n";
}

std::string Applies(const Node& node) {
  if (*WhyNotDense()) return WhyNotDense();
  return TypeName(node.input("A")->dtype).empty() ? "matrices are of f32, f64, c64 or c128" : "";
}
std::string AppliesToReal(const Node& node) {
  const int32_t t = node.input("A")->dtype;
  return t == HR_F32 || t == HR_F64 ? Applies(node) : "only of real matrices";
}

int32_t Fail(hr_call* call, const std::string& why) {
  call->fail(call, why.c_str());
  return 1;
}

// The outputs that the program has no memory for yet, and the square matrix.
int32_t Prepare(hr_call* call, const hr_value& shaped_like, int32_t rank, int64_t* n) {
  const hr_value& a = call->inputs[0];
  if (*WhyNotDense()) return Fail(call, std::string("Eigen: ") + WhyNotDense() + "; compile with implementation pure");
  if (a.rank != 2 || a.shape[0] != a.shape[1]) return Fail(call, "the matrix is not square");
  *n = a.shape[0];
  if (!call->outputs[0].data && call->allocate(call, 0, a.dtype, rank, shaped_like.shape) != 0) return 1;
  return 0;
}

template <typename Function>
int32_t Guarded(hr_call* call, Function&& function) {
  try {
    return function();
  } catch (const std::exception& e) {  // there is no memory
    return Fail(call, e.what());
  }
}

}  // namespace

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_solve(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    const hr_value &a = call->inputs[0], &b = call->inputs[1];
    int64_t n = 0;
    if (b.rank != 2) return Fail(call, "the right side is no matrix");
    if (Prepare(call, b, 2, &n) != 0) return 1;
    if (b.shape[0] != n) return Fail(call, std::to_string(n) + " equations, and a right side of " + std::to_string(b.shape[0]) + " rows");
    DenseSolve(a.dtype, n, b.shape[1], a.data, b.data, call->outputs[0].data);
    return 0;
  });
}

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_det(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    int64_t n = 0;
    if (Prepare(call, call->inputs[0], 0, &n) != 0) return 1;
    DenseDeterminant(call->inputs[0].dtype, n, call->inputs[0].data, call->outputs[0].data);
    return 0;
  });
}

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_cholesky(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    int64_t n = 0;
    if (Prepare(call, call->inputs[0], 2, &n) != 0) return 1;
    DenseCholesky(call->inputs[0].dtype, n, call->inputs[0].data, call->outputs[0].data);
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
  r.impl("linalg.Solve", "eigen", Applies, [](const Node& n) { return CallOf("linalg_solve", n, {"A", "B"}, "X"); });
  r.external("linalg_det", "headrace_linalg_det");
  r.impl("linalg.Det", "eigen", Applies, [](const Node& n) { return CallOf("linalg_det", n, {"A"}, "D"); });
  r.external("linalg_cholesky", "headrace_linalg_cholesky");
  r.impl("linalg.Cholesky", "eigen", AppliesToReal, [](const Node& n) { return CallOf("linalg_cholesky", n, {"A"}, "L"); });
  r.external("linalg_fft", "headrace_linalg_fft");
  r.impl("linalg.Fft", "kissfft", [](const Node&) { return std::string(); },
         [](const Node& n) { return CallOf("linalg_fft", n, {"X"}, "Y", "{inverse = " + n.attribute("inverse", "0") + "}"); });
}

}  // namespace linalg_ops
