// A tier-1 plugin: one op with its meaning, backward rule and samples, and a second implementation that calls C++.
// Needs nothing but headrace_plugin.h(pp); any C++17 compiler builds it (README.md).
#include <cmath>

#include "headrace_plugin.hpp"

namespace {
double Softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
}  // namespace

// What compiled programs call when "external" is chosen: f32 tensors of equal shape; attributes lo and hi.
extern "C" HEADRACE_EXPORT int32_t example_smooth_clip(hr_call* call) {
  double lo = 0, hi = 1;
  for (int i = 0; i < call->n_attributes; ++i)
    (call->attributes[i].name == std::string("lo") ? lo : hi) = std::stod(call->attributes[i].text);
  const hr_value& x = call->inputs[0];
  int64_t n = 1;
  for (int i = 0; i < x.rank; ++i) n *= x.shape[i];
  if (!call->outputs[0].data && call->allocate(call, 0, x.dtype, x.rank, x.shape) != 0) return 1;
  const float* in = static_cast<const float*>(x.data);
  float* out = static_cast<float*>(call->outputs[0].data);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(lo + Softplus(in[i] - lo) - Softplus(in[i] - hi));
  return 0;
}

HEADRACE_PLUGIN("example_smooth_clip", "1.0") {
  r.op("example.SmoothClip")
      .Doc("Clamp to [lo, hi] with rounded corners.")
      .Input("X", "float")
      .Output("Y", "float")
      .Attribute("lo", "float", "0")
      .Attribute("hi", "float", "1")
      .Shape("shape Y[dims(X)]")
      .Pure(
          "let softplus(v) = max(v, 0) + log1p(exp(-abs(v)))\n"
          "Y = lo + softplus(X - lo) - softplus(X - hi)")
      .Backward(
          "let sigmoid(v) = v < 0 ? exp(v) / (1 + exp(v)) : 1 / (1 + exp(-v))\n"
          "dX = dY * (sigmoid(X - lo) - sigmoid(X - hi))")
      .Sample("X: f32[2, 3] in [-100, 100]; at 0, -0, 1, 1e-30, 100")
      .Sample("X: f64[4] in [-3, 3]; attr lo = -1, hi = 2");
  r.external("example_smooth_clip", "example_smooth_clip");
  headrace_plugin::Registrar::Versions after_pure;
  after_pure.priority = -1;  // only when asked for: --impl SmoothClip=external
  r.impl(
      "example.SmoothClip", "external",
      [](const headrace_plugin::Node& n) { return n.input("X")->dtype == HR_F32 ? "" : "X must be f32"; },
      [](const headrace_plugin::Node& n) {
        std::string type = "f32[" + n.Shape(n.input("X")) + "]";
        return "sdfg smooth_clip(X: " + type + ", Y: " + type +
               ") {\n  state {\n    call.example_smooth_clip{hi = " + n.attribute("hi") +
               ", lo = " + n.attribute("lo") + "}(X = X) -> (Y = Y)\n  }\n}\n";
      },
      after_pure);
}
