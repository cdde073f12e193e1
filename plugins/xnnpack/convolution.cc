// onnx.Conv of constant weights: grouped, depthwise, dilated, of one or two dimensions.
#include "plugins/xnnpack/convolution.h"

namespace headrace_xnnpack {
namespace {

class FloatConvolution : public Convolution<float> {
 public:
  explicit FloatConvolution(const Node& n) : FloatConvolution(n, StepsOf(n, 1, Bias(n), Size(n))) {}

 private:
  FloatConvolution(const Node& n, const Steps& s)
      : Convolution(n, 0, n.input("W"), s, xnn_setup_convolution2d_nhwc_f32, [&](const Piece& p) {
          const Window& w = p.window;
          return Made(xnn_create_convolution2d_nhwc_f32, U(p.slab.above), U(p.slab.right), U(p.slab.below), U(w.left), U(w.height),
                      U(w.width), U(w.stride_h), U(w.stride_w), U(w.dilation_h), U(w.dilation_w), U(p.groups), Z(p.group_channels),
                      Z(p.group_results), Z(p.x_channels), Z(p.y_channels), p.weights, s.bias.empty() ? nullptr : s.bias.data() + p.first,
                      s.low, s.high, 0u);
        }) {}
  static const hr_value* Bias(const Node& n) { return n.input("B") ? n.input("B")->constant : nullptr; }
  static int64_t Size(const Node& n) { return Node::Size(n.input("W"), 0); }
};

std::string WhyNot(const Node& n) {
  const hr_port *x = n.input("X"), *w = n.input("W"), *b = n.input("B"), *y = n.output("Y");
  if (x->dtype != HR_F32) return "only f32";
  if (!w->constant) return "W is no constant";
  if (b && !b->constant) return "B is no constant";
  return WhyNotImages(n, x, y);
}

std::string Expansion(const Node& n) {
  std::string parameters, arguments;
  for (const char* name : {"X", "W", "B"})
    if (const hr_port* p = n.input(name)) {
      parameters += std::string(name) + ": f32[" + Node::Shape(p) + "], ";
      arguments += (arguments.empty() ? "" : ", ") + std::string(name) + " = " + name;
    }
  return "sdfg xnnpack_conv(" + parameters + "Y: f32[" + Node::Shape(n.output("Y")) + "]) {\n  call.xnnpack_conv{" +
         AttributesOf(n, {"dilations", "group", "pads", "strides"}) + "}(" + arguments + ") -> (Y = Y)\n}\n";
}

}  // namespace

extern "C" HEADRACE_EXPORT int32_t xnnpack_conv(hr_call* call) { return RunState<FloatConvolution>(call); }

void RegisterConvolution(headrace_plugin::Registrar& r) {
  headrace_plugin::Contract c = headrace_plugin::Prepared<FloatConvolution>();
  c.layout = [](const Node& n, int port) { return ImagesChannelsLast(n, port, "W"); };
  c.epilogue = [](const Node& n) { return WhyNoSteps(n, 1); };
  r.external("xnnpack_conv", "xnnpack_conv", c);
  r.impl("Conv", "xnnpack", WhyNot, Expansion, FloatCost, {});
}

}  // namespace headrace_xnnpack
