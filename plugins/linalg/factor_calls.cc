// The implementations "eigen" of factors.cc's ops: calls of C functions.
#include <algorithm>

#include "plugins/linalg/calls.h"

namespace linalg_ops {

using headrace_plugin::Attributes;
using headrace_plugin::Node;

namespace {
double Number(const hr_call* call, const char* name, double otherwise) { return Attributes(call->attributes, call->n_attributes).number(name, otherwise); }
}  // namespace

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_slogdet(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    if (TakeMatrix(call, true) != 0 || Allocate(call, 0, {}) != 0 || Allocate(call, 1, {}) != 0) return 1;
    const hr_value& a = call->inputs[0];
    DenseOfThisProcessor().log_determinant(a.dtype, a.shape[0], a.data, call->outputs[0].data, call->outputs[1].data);
    return 0;
  });
}

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_eigh(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    if (TakeMatrix(call, true) != 0) return 1;
    const hr_value& a = call->inputs[0];
    const int64_t n = a.shape[0];
    if (Allocate(call, 0, {n}) != 0 || Allocate(call, 1, {n, n}) != 0) return 1;
    DenseOfThisProcessor().eigen(a.dtype, n, a.data, call->outputs[0].data, call->outputs[1].data);
    return 0;
  });
}

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_svd(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    if (TakeMatrix(call, false) != 0) return 1;
    const hr_value& a = call->inputs[0];
    const int64_t m = a.shape[0], n = a.shape[1], k = std::min(m, n);
    const bool full = Number(call, "full", 0) != 0;
    if (Allocate(call, 0, {m, full ? m : k}) != 0 || Allocate(call, 1, {k}) != 0 || Allocate(call, 2, {full ? n : k, n}) != 0) return 1;
    DenseOfThisProcessor().singular(a.dtype, m, n, full, a.data, call->outputs[0].data, call->outputs[1].data, call->outputs[2].data);
    return 0;
  });
}

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_qr(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    if (TakeMatrix(call, false) != 0) return 1;
    const hr_value& a = call->inputs[0];
    const int64_t m = a.shape[0], n = a.shape[1];
    const bool complete = Number(call, "complete", 0) != 0;
    const int64_t k = complete ? m : std::min(m, n);
    if (Allocate(call, 0, {m, k}) != 0 || Allocate(call, 1, {k, n}) != 0) return 1;
    DenseOfThisProcessor().orthogonal(a.dtype, m, n, complete, a.data, call->outputs[0].data, call->outputs[1].data);
    return 0;
  });
}

extern "C" HEADRACE_EXPORT int32_t headrace_linalg_pinv(hr_call* call) {
  return Guarded(call, [&]() -> int32_t {
    if (TakeMatrix(call, false) != 0) return 1;
    const hr_value& a = call->inputs[0];
    if (Allocate(call, 0, {a.shape[1], a.shape[0]}) != 0) return 1;
    DenseOfThisProcessor().pseudo_inverse(a.dtype, a.shape[0], a.shape[1], Number(call, "rtol", -1), a.data, call->outputs[0].data);
    return 0;
  });
}

void RegisterFactorCalls(Registrar& r) {
  r.external("linalg_slogdet", "headrace_linalg_slogdet");
  r.impl("linalg.Slogdet", "eigen", WhyNotEigen, [](const Node& n) { return CallOf("linalg_slogdet", n, {"A"}, {"S", "L"}); });
  r.external("linalg_eigh", "headrace_linalg_eigh");
  r.impl("linalg.Eigh", "eigen", WhyNotEigen, [](const Node& n) { return CallOf("linalg_eigh", n, {"A"}, {"W", "V"}); });
  r.external("linalg_svd", "headrace_linalg_svd");
  r.impl("linalg.Svd", "eigen", WhyNotEigen, [](const Node& n) {
    return CallOf("linalg_svd", n, {"A"}, {"U", "S", "Vh"}, "{full = " + n.attribute("full", "0") + "}");
  });
  r.external("linalg_qr", "headrace_linalg_qr");
  r.impl("linalg.Qr", "eigen", WhyNotEigen, [](const Node& n) {
    return CallOf("linalg_qr", n, {"A"}, {"Q", "R"}, "{complete = " + n.attribute("complete", "0") + "}");
  });
  r.external("linalg_pinv", "headrace_linalg_pinv");
  r.impl("linalg.Pinv", "eigen", WhyNotEigen, [](const Node& n) {
    return CallOf("linalg_pinv", n, {"A"}, {"P"}, "{rtol = " + n.attribute("rtol", "-1") + "}");
  });
}

}  // namespace linalg_ops
