// onnx.MaxPool, AveragePool, GlobalAveragePool: an image is a chunk; activations lie channels last.
#include <stdexcept>

#include "plugins/onednn/kernels.h"

namespace headrace_onednn {
namespace {

class Pooling {
 public:
  explicit Pooling(const Node& n) {
    const OneThread alone;
    Dims x = Sizes(n.input("X")), y = Sizes(n.output("Y"));
    x[0] = y[0] = 1;
    const size_t spatial = x.size() - 2;
    const Dims xs = StridesOf(n, false, 0, x), ys = StridesOf(n, true, 0, y);
    x_step_ = xs[0], y_step_ = ys[0];
    const bool global = n.attribute("kernel_shape").empty();
    const Dims window = global ? Dims(x.begin() + 2, x.end()) : IntsOf(n, "kernel_shape", 1, spatial);
    const Dims strides = IntsOf(n, "strides", 1, spatial), pads = IntsOf(n, "pads", 0, 2 * spatial);
    Dims dilations = IntsOf(n, "dilations", 1, spatial), end;
    const Dims begin(pads.begin(), pads.begin() + static_cast<long>(spatial));
    for (size_t d = 0; d < spatial; ++d)
      end.push_back((y[d + 2] - 1) * strides[d] + (window[d] - 1) * dilations[d] + 1 - x[d + 2] - begin[d]);
    for (int64_t& d : dilations) --d;
    const std::string kind = n.attribute("kind");
    const dnnl::algorithm algorithm = kind == "\"max\"" ? dnnl::algorithm::pooling_max
                                      : kind == "\"all\"" ? dnnl::algorithm::pooling_avg_include_padding
                                                          : dnnl::algorithm::pooling_avg_exclude_padding;
    x_ = Desc(x, xs), y_ = Desc(y, ys);
    const PostOps post = PostOpsOf(n, y_, 1, false);
    operands_ = post.operands;
    kernel_ = Kernel::Of<dnnl::pooling_forward>(dnnl::pooling_forward::primitive_desc(
        Engine(), dnnl::prop_kind::forward_inference, algorithm, x_, y_, strides, window, dilations, begin, end, post.attr));
  }
  int32_t Run(hr_call* call) const {
    const float* x = static_cast<const float*>(call->inputs[0].data);
    float* y = static_cast<float*>(call->outputs[0].data);
    return Chunks(call, call->inputs[0].shape[0],
                  [&](int64_t i) { kernel_.Run({{DNNL_ARG_SRC, At(x_, x + i * x_step_)}, {DNNL_ARG_DST, At(y_, y + i * y_step_)}}); });
  }

 private:
  int64_t x_step_, y_step_;
  dnnl::memory::desc x_, y_;
  std::vector<PostOps::Operand> operands_;
  Kernel kernel_;
};

std::string WhyNot(const Node& n) {
  const hr_port *x = n.input("X"), *y = n.output("Y");
  if (x->dtype != HR_F32) return "only f32";
  if (x->rank < 3 || x->rank > 5) return "only one to three dimensions";
  if (n.output("Indices")) return "Indices are asked for";
  if (!Known(Sizes(x), 1) || !Known(Sizes(y), 1)) return "only the batch may be a name";
  if (!PadsAsWritten(n)) return "auto_pad";
  if (n.attribute("ceil_mode", "0") != "0") return "ceil_mode";
  return "";
}
std::string Expansion(const Node& n, const std::string& kind) {
  const std::string attributes = AttributesOf(n, {"dilations", "kernel_shape", "pads", "strides"});
  return "sdfg onednn_pool(X: f32[" + Node::Shape(n.input("X")) + "], Y: f32[" + Node::Shape(n.output("Y")) + "]) {\n" +
         "  call.onednn_pool{kind = \"" + kind + "\"" + (attributes.empty() ? "" : ", " + attributes) + "}(X = X) -> (Y = Y)\n}\n";
}

}  // namespace

extern "C" HEADRACE_EXPORT int32_t onednn_pool(hr_call* call) { return RunState<Pooling>(call); }

void RegisterPooling(headrace_plugin::Registrar& r) {
  headrace_plugin::Contract c = headrace_plugin::Prepared<Pooling>();
  c.layout = [](const Node& n, int port) { return ImagesChannelsLast(n, port, ""); };
  r.external("onednn_pool", "onednn_pool", c);
  const headrace_plugin::Registrar::Versions versions;
  const auto cost = [](const Node& n) { return n.operations() * 1.001; };
  r.impl("MaxPool", "onednn", WhyNot, [](const Node& n) { return Expansion(n, "max"); }, cost, versions);
  r.impl("AveragePool", "onednn", WhyNot, [](const Node& n) {
    return Expansion(n, n.attribute("count_include_pad", "0") == "1" ? "all" : "own");
  }, cost, versions);
  r.impl("GlobalAveragePool", "onednn", WhyNot, [](const Node& n) { return Expansion(n, "own"); }, cost, versions);
}

}  // namespace headrace_onednn
