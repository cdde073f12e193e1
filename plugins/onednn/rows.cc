// onnx.Softmax and onnx.LayerNormalization along the last dimension: rows side by side, blocks of them are chunks.
#include <algorithm>
#include <stdexcept>

#include "plugins/onednn/kernels.h"

namespace headrace_onednn {
namespace {

constexpr int64_t kBlockElements = int64_t{1} << 15;

// One kernel for blocks of `rows` rows, one for single rows of what is left.
class Rows {
 public:
  int32_t Run(hr_call* call) const {
    int64_t rows = 1;
    for (int32_t d = 0; d + 1 < call->inputs[0].rank; ++d) rows *= call->inputs[0].shape[d];
    return Chunks(call, (rows + rows_ - 1) / rows_, [&](int64_t chunk) {
      const int64_t first = chunk * rows_, until = std::min(rows, first + rows_);
      if (first + rows_ <= rows) return Block(call, block_, first, rows_);
      for (int64_t r = first; r < until; ++r) Block(call, single_, r, 1);
    });
  }

 protected:
  void Sizes1(const Node& n) {
    columns_ = Sizes(n.input("X") ? n.input("X") : n.input("input")).back();
    rows_ = std::max<int64_t>(1, kBlockElements / columns_);
  }
  dnnl::memory::desc Of(int64_t rows) const { return Desc({rows, columns_}, {columns_, 1}); }
  int64_t columns_, rows_;
  Kernel block_, single_;
  std::vector<std::pair<int, dnnl::memory>> constants_;

 private:
  void Block(const hr_call* call, const Kernel& k, int64_t first, int64_t rows) const {
    const float* x = static_cast<const float*>(call->inputs[0].data) + first * columns_;
    float* y = static_cast<float*>(call->outputs[0].data) + first * columns_;
    std::vector<std::pair<int, dnnl::memory>> a = constants_;
    a.push_back({DNNL_ARG_SRC, At(Of(rows), x)}), a.push_back({DNNL_ARG_DST, At(Of(rows), y)});
    k.Run(std::move(a));
  }
};

class Softmax : public Rows {
 public:
  explicit Softmax(const Node& n) {
    const OneThread alone;
    Sizes1(n);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto make = [&](int64_t rows) {
      return Kernel::Of<dnnl::softmax_forward>(dnnl::softmax_forward::primitive_desc(
          Engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, Of(rows), Of(rows), 1, attr));
    };
    block_ = make(rows_), single_ = make(1);
  }
};

class LayerNorm : public Rows {
 public:
  explicit LayerNorm(const Node& n) {
    const OneThread alone;
    Sizes1(n);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::normalization_flags flags = dnnl::normalization_flags::use_scale;
    constants_.push_back({DNNL_ARG_SCALE, At(Desc({columns_}, {1}), n.input("Scale")->constant->data)});
    if (const hr_port* b = n.input("B")) {
      flags = flags | dnnl::normalization_flags::use_shift;
      constants_.push_back({DNNL_ARG_SHIFT, At(Desc({columns_}, {1}), b->constant->data)});
    }
    const float epsilon = std::stof(n.attribute("epsilon", "1e-5"));
    const auto make = [&](int64_t rows) {
      return Kernel::Of<dnnl::layer_normalization_forward>(dnnl::layer_normalization_forward::primitive_desc(
          Engine(), dnnl::prop_kind::forward_inference, Of(rows), Of(rows), epsilon, flags, attr));
    };
    block_ = make(rows_), single_ = make(1);
  }
};

bool LastAxis(const Node& n, const hr_port* x) {
  const Dims axis = Ints(n.attribute("axis", "-1"));
  return x->rank > 0 && !axis.empty() && (axis[0] == -1 || axis[0] == x->rank - 1) && Node::Size(x, x->rank - 1) > 0;
}
std::string WhyNotSoftmax(const Node& n) {
  const hr_port* x = n.input("input");
  if (x->dtype != HR_F32) return "only f32";
  return LastAxis(n, x) ? "" : "only along the last dimension, of a known size";
}
std::string WhyNotLayerNorm(const Node& n) {
  const hr_port *x = n.input("X"), *scale = n.input("Scale"), *b = n.input("B");
  if (x->dtype != HR_F32) return "only f32";
  if (n.output("Mean") || n.output("InvStdDev")) return "the mean is asked for";
  if (!scale->constant || (b && !b->constant)) return "Scale or B is no constant";
  const int64_t columns = scale->rank == 1 ? Node::Size(scale, 0) : -1;
  if (!LastAxis(n, x) || columns < 1 || columns != Node::Size(x, x->rank - 1) || (b && Node::Size(b, 0) != columns))
    return "only along the last dimension, of a known size";
  return "";
}

}  // namespace

extern "C" HEADRACE_EXPORT int32_t onednn_softmax(hr_call* call) { return RunState<Softmax>(call); }
extern "C" HEADRACE_EXPORT int32_t onednn_layer_norm(hr_call* call) { return RunState<LayerNorm>(call); }

void RegisterRows(headrace_plugin::Registrar& r) {
  headrace_plugin::Contract softmax = headrace_plugin::Prepared<Softmax>(), norm = headrace_plugin::Prepared<LayerNorm>();
  softmax.in_place = {{"Y", "input"}}, norm.in_place = {{"Y", "X"}};
  r.external("onednn_softmax", "onednn_softmax", softmax);
  r.external("onednn_layer_norm", "onednn_layer_norm", norm);
  headrace_plugin::Registrar::Versions versions;
  const auto cost = [](const Node& n) { return n.operations() * 1.001; };
  const auto port = [](const char* name, const hr_port* p) { return std::string(name) + ": f32[" + Node::Shape(p) + "]"; };
  versions.since = 13;
  r.impl("Softmax", "onednn", WhyNotSoftmax, [port](const Node& n) {
    return "sdfg onednn_softmax(" + port("input", n.input("input")) + ", " + port("output", n.output("output")) +
           ") {\n  call.onednn_softmax(input = input) -> (Y = output)\n}\n";
  }, cost, versions);
  versions.since = 17;
  r.impl("LayerNormalization", "onednn", WhyNotLayerNorm, [port](const Node& n) {
    const hr_port* b = n.input("B");
    return "sdfg onednn_layer_norm(" + port("X", n.input("X")) + ", " + port("Scale", n.input("Scale")) +
           (b ? ", " + port("B", b) : "") + ", " + port("Y", n.output("Y")) + ") {\n  call.onednn_layer_norm{epsilon = " +
           n.attribute("epsilon", "1e-05") + "}(X = X, Scale = Scale" + (b ? ", B = B" : "") + ") -> (Y = Y)\n}\n";
  }, cost, versions);
}

}  // namespace headrace_onednn
