// onnx.Conv of constant weights: grouped, depthwise, dilated, of one to three dimensions. Images are cut into slabs of rows, each a
// chunk; weights are reordered once for each kind of slab. Activations lie channels last.
#include <algorithm>
#include <stdexcept>

#include "plugins/onednn/kernels.h"

namespace headrace_onednn {
namespace {

constexpr int64_t kSlabOperations = int64_t{1} << 24;  // of one slab at least: a thread's while

struct Geometry {
  Dims x, w, y;  // x and y of one image
  Dims strides, dilations, begin, end;
  int64_t group;
};

Geometry GeometryOf(const Node& n) {
  Geometry g;
  g.x = Sizes(n.input("X")), g.w = Sizes(n.input("W")), g.y = Sizes(n.output("Y"));
  g.x[0] = g.y[0] = 1;
  const size_t spatial = g.x.size() - 2;
  g.strides = IntsOf(n, "strides", 1, spatial), g.dilations = IntsOf(n, "dilations", 1, spatial);
  const Dims pads = IntsOf(n, "pads", 0, 2 * spatial);
  g.begin.assign(pads.begin(), pads.begin() + static_cast<long>(spatial));
  g.end.assign(pads.begin() + static_cast<long>(spatial), pads.end());
  g.group = Ints(n.attribute("group", "1")).at(0);
  return g;
}

std::string WhyNot(const Node& n) {
  const hr_port *x = n.input("X"), *w = n.input("W"), *b = n.input("B"), *y = n.output("Y");
  if (x->dtype != HR_F32) return "only f32";
  if (x->rank < 3 || x->rank > 5) return "only one to three dimensions";
  if (!w->constant) return "W is no constant";
  if (b && !b->constant) return "B is no constant";
  if (!Known(Sizes(x), 1) || !Known(Sizes(y), 1)) return "only the batch may be a name";
  return PadsAsWritten(n) ? "" : "auto_pad";
}

std::string Expansion(const Node& n) {
  std::string parameters, arguments;
  const auto port = [&](const char* name, const hr_port* p) { parameters += std::string(name) + ": f32[" + Node::Shape(p) + "], "; };
  for (const char* name : {"X", "W", "B"})
    if (const hr_port* p = n.input(name))
      port(name, p), arguments += (arguments.empty() ? "" : ", ") + std::string(name) + " = " + name;
  return "sdfg onednn_conv(" + parameters + "Y: f32[" + Node::Shape(n.output("Y")) + "]) {\n  call.onednn_conv{" +
         AttributesOf(n, {"dilations", "group", "pads", "strides"}) + "}(" + arguments + ") -> (Y = Y)\n}\n";
}

// Rows [first, first + rows) of an image's result.
struct Slab {
  int64_t first, rows, x_first;
  size_t kind;
};

class Convolution {
 public:
  explicit Convolution(const Node& n) : g_(GeometryOf(n)) {
    const OneThread alone;
    const Dims x_image = StridesOf(n, false, 0, g_.x), y_image = StridesOf(n, true, 0, g_.y);
    x_step_ = x_image[0], y_step_ = y_image[0], x_row_ = x_image[2], y_row_ = y_image[2];
    const hr_port* b = n.input("B");
    if (b) bias_ = Packed(*b->constant, Desc({g_.y[1]}, {1}), Desc({g_.y[1]}, {1}));
    for (const auto& [first, rows] : Cut(Sizes(n.input("X"))[0])) AddSlab(n, first, rows, x_image, y_image);
  }

  int32_t Run(hr_call* call) const {
    const int64_t count = static_cast<int64_t>(slabs_.size());
    return Chunks(call, call->inputs[0].shape[0] * count,
                  [&](int64_t chunk) { RunSlab(call, chunk / count, slabs_[static_cast<size_t>(chunk % count)]); });
  }

 private:
  struct Kind {  // slabs with the same kernel
    Kernel kernel;
    dnnl::memory::desc x, y;
    dnnl::memory weights;
    PostOps post;
    int64_t rows, x_rows, above, below;
  };

  // By sizes alone. Where the batch is large enough, images are not cut.
  std::vector<std::pair<int64_t, int64_t>> Cut(int64_t images) const {
    const int64_t rows = g_.y[2], operations = 2 * Product(g_.y) * Product(g_.w, 1);
    const int64_t most = images >= 8 ? 1 : std::min<int64_t>(8, rows / 4);
    const int64_t count = std::max<int64_t>(1, std::min(most, operations / kSlabOperations)), each = (rows + count - 1) / count;
    std::vector<std::pair<int64_t, int64_t>> out;
    for (int64_t first = 0; first < rows; first += each) out.push_back({first, std::min(each, rows - first)});
    return out;
  }
  void AddSlab(const Node& n, int64_t first, int64_t rows, const Dims& x_image, const Dims& y_image) {
    const int64_t from = first * g_.strides[0] - g_.begin[0], reach = (g_.w[2] - 1) * g_.dilations[0] + 1;
    const int64_t until = (first + rows - 1) * g_.strides[0] - g_.begin[0] + reach;
    const int64_t above = std::max<int64_t>(0, -from), below = std::max<int64_t>(0, until - g_.x[2]);
    const int64_t x_first = from + above, x_rows = until - below - x_first;
    if (x_rows < 1) throw std::invalid_argument("rows of padding alone");
    size_t kind = 0;
    const auto same = [&](const Kind& k) { return k.rows == rows && k.x_rows == x_rows && k.above == above && k.below == below; };
    while (kind < kinds_.size() && !same(kinds_[kind])) ++kind;
    if (kind == kinds_.size()) kinds_.push_back(MakeKind(n, rows, x_rows, above, below, x_image, y_image));
    slabs_.push_back({first, rows, x_first, kind});
  }
  Kind MakeKind(const Node& n, int64_t rows, int64_t x_rows, int64_t above, int64_t below, const Dims& x_image,
                const Dims& y_image) const {
    using dnnl::memory;
    Kind k{{}, {}, {}, {}, {}, rows, x_rows, above, below};
    Dims xs = g_.x, ys = g_.y, begin = g_.begin, end = g_.end, dilations = g_.dilations, x_strides = x_image, y_strides = y_image;
    xs[2] = x_rows, ys[2] = rows, begin[0] = above, end[0] = below;
    // With one image the step between images is free: what makes the slab dense tells oneDNN its format.
    if (x_strides[1] == 1) x_strides[0] = x_strides[2] * x_rows;
    if (y_strides[1] == 1) y_strides[0] = y_strides[2] * rows;
    for (int64_t& d : dilations) --d;
    for (size_t d = 0; d < end.size(); ++d)  // padding that no window reaches
      end[d] = (ys[d + 2] - 1) * g_.strides[d] + (g_.w[d + 2] - 1) * g_.dilations[d] + 1 - xs[d + 2] - begin[d];
    Dims w = g_.w;
    if (g_.group > 1) w.insert(w.begin(), g_.group), w[1] /= g_.group;
    k.x = Desc(xs, x_strides), k.y = Desc(ys, y_strides);
    k.post = PostOpsOf(n, k.y, 1, !bias_);
    const memory::desc any(w, memory::data_type::f32, memory::format_tag::any), vector = Desc({g_.y[1]}, {1});
    const bool biased = bias_ || k.post.bias >= 0;
    const dnnl::convolution_forward::primitive_desc pd(Engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                                       k.x, any, biased ? vector : memory::desc(), k.y, g_.strides, dilations, begin, end,
                                                       k.post.attr);
    k.kernel = Kernel::Of<dnnl::convolution_forward>(pd);
    k.weights = Packed(*n.input("W")->constant, Desc(w, RowMajor(w)), pd.weights_desc());
    return k;
  }
  void RunSlab(const hr_call* call, int64_t image, const Slab& s) const {
    const Kind& k = kinds_[s.kind];
    const float* x = static_cast<const float*>(call->inputs[0].data) + image * x_step_ + s.x_first * x_row_;
    const int64_t at = image * y_step_ + s.first * y_row_;
    const float* y = static_cast<float*>(call->outputs[0].data) + at;
    std::vector<std::pair<int, dnnl::memory>> a = {
        {DNNL_ARG_SRC, At(k.x, x)}, {DNNL_ARG_WEIGHTS, k.weights}, {DNNL_ARG_DST, At(k.y, y)}};
    const dnnl::memory::desc vector = Desc({g_.y[1]}, {1});
    if (bias_) a.push_back({DNNL_ARG_BIAS, bias_});
    else if (k.post.bias >= 0) a.push_back({DNNL_ARG_BIAS, At(vector, call->inputs[k.post.bias].data)});
    for (const PostOps::Operand& o : k.post.operands) {
      const float* e = static_cast<const float*>(call->inputs[o.input].data);
      Dims shape(g_.y.size(), 1);
      shape[1] = g_.y[1];
      const dnnl::memory operand = o.vector ? At(Desc(shape, RowMajor(shape)), e) : At(k.y, e + at);
      a.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(o.number) | DNNL_ARG_SRC_1, operand});
    }
    k.kernel.Run(std::move(a));
  }

  const Geometry g_;
  int64_t x_step_, y_step_, x_row_, y_row_;
  dnnl::memory bias_;
  std::vector<Kind> kinds_;
  std::vector<Slab> slabs_;
};

}  // namespace

extern "C" HEADRACE_EXPORT int32_t onednn_conv(hr_call* call) { return RunState<Convolution>(call); }

void RegisterConvolution(headrace_plugin::Registrar& r) {
  headrace_plugin::Contract c = headrace_plugin::Prepared<Convolution>();
  c.layout = [](const Node& n, int port) { return ImagesChannelsLast(n, port, "W"); };
  c.epilogue = [](const Node& n) { return WhyNoSteps(n, 1); };
  r.external("onednn_conv", "onednn_conv", c);
  headrace_plugin::Registrar::Versions versions;
  r.impl("Conv", "onednn", WhyNot, Expansion, /*cost=*/[](const Node& n) { return n.operations() * 1.001; }, versions);
}

}  // namespace headrace_onednn
