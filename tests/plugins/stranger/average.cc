// An external function with a state, and an op that is nothing but its call: written from docs/plugins.md.
#include "headrace_plugin.hpp"
using headrace_plugin::Attributes;
using headrace_plugin::Node;

struct Average {
  explicit Average(const Attributes& a) : decay(a.number("decay", 0.5)) {}
  double decay, value = 0;
};

extern "C" HEADRACE_EXPORT int32_t acme_average(hr_call* call) {
  auto* state = static_cast<Average*>(call->state);
  const hr_value& x = call->inputs[0];
  int64_t n = 1;
  for (int i = 0; i < x.rank; ++i) n *= x.shape[i];
  if (!call->outputs[0].data && call->allocate(call, 0, x.dtype, x.rank, x.shape) != 0) return 1;
  for (int64_t i = 0; i < n; ++i) {
    state->value = state->decay * state->value + (1 - state->decay) * static_cast<const float*>(x.data)[i];
    static_cast<float*>(call->outputs[0].data)[i] = static_cast<float>(state->value);
  }
  return 0;
}

HEADRACE_PLUGIN("acme_average", "0.1") {
  r.external<Average>("acme_average", "acme_average", /*thread_safe=*/false);
  r.op("acme.Average").Doc("A running average, over all runs.")
      .Input("X", "f32").Output("Y", "f32").Attribute("decay", "float", "0.5").Shape("shape Y[dims(X)]");
  r.impl("acme.Average", "call", nullptr, [](const Node& n) {
    const std::string type = "f32[" + Node::Shape(n.input("X")) + "]";
    return "sdfg average(X: " + type + ", Y: " + type + ") {\n  call.acme_average{decay = " + n.attribute("decay") + "}(X = X) -> (Y = Y)\n}\n";
  });
}
