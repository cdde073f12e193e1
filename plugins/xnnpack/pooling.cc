// onnx.MaxPool, AveragePool, GlobalAveragePool of one or two dimensions. Slabs of rows, or blocks of channels, and groups of images are
// cut by sizes; an operator has no weights here.
#include <algorithm>

#include "plugins/xnnpack/kernels.h"

namespace headrace_xnnpack {
namespace {

// What parts of both functions have: images [group, group + groups, …) are one part's.
class Pool {
 public:
  explicit Pool(const Node& n) : x_(ImageOf(n, false, 0)), y_(ImageOf(n, true, 0)) {
    images_ = std::max<int64_t>(1, Node::Size(n.input("X"), 0));
    parts_ = PartsOf(0, 4 * images_ * (x_.height * x_.row() + y_.height * y_.row()));
    steps_ = StepsOf(n, -1, nullptr, 0);
  }

 protected:
  const Image x_, y_;
  int64_t images_, parts_;
  Steps steps_;
};

class Windows : public Pool {
 public:
  explicit Windows(const Node& n) : Pool(n), window_(WindowOf(n, Ints(n.attribute("kernel_shape")))) {
    const Window& w = window_;
    const std::vector<Slab> slabs = SlabsOf(w, x_, y_, parts_);
    groups_ = std::min(images_, Ratio(parts_, static_cast<int64_t>(slabs.size())));
    max_ = n.attribute("kind") == "\"max\"";
    for (const Slab& s : slabs)
      for (int64_t group = 0; group < groups_; ++group)
        ops_.push_back({s, group, max_ ? Made(xnn_create_max_pooling2d_nhwc_f32, U(s.above), U(s.right), U(s.below), U(w.left), U(w.height),
                                              U(w.width), U(w.stride_h), U(w.stride_w), U(w.dilation_h), U(w.dilation_w), Z(x_.channels),
                                              Z(x_.channels), Z(x_.channels), steps_.low, steps_.high, 0u)
                                       : Made(xnn_create_average_pooling2d_nhwc_f32, U(s.above), U(s.right), U(s.below), U(w.left),
                                              U(w.height), U(w.width), U(w.stride_h), U(w.stride_w), Z(x_.channels), Z(x_.channels),
                                              Z(x_.channels), steps_.low, steps_.high, 0u)});
  }
  int32_t Run(hr_call* call) const {
    return Chunks(call, static_cast<int64_t>(ops_.size()), [&](int64_t chunk) { RunPart(call, ops_[Z(chunk)]); });
  }

 private:
  struct Part {
    Slab slab;
    int64_t group;
    Operator op;
  };
  void RunPart(const hr_call* call, const Part& p) const {
    const float* x = static_cast<const float*>(call->inputs[0].data);
    float* const y = static_cast<float*>(call->outputs[0].data);
    const int64_t images = call->inputs[0].shape[0];
    const auto setup = max_ ? xnn_setup_max_pooling2d_nhwc_f32 : xnn_setup_average_pooling2d_nhwc_f32;
    for (int64_t image = p.group; image < images; image += groups_) {
      const float* from = RowsOf(x_, x, images, image, p.slab.x_first, p.slab.x_rows);
      float* const to = y + image * y_.step;
      float* const rows = y_.Dense() ? to + p.slab.first * y_.row() : BufferOf<float>(1, p.slab.rows * y_.row());
      if (Finite(from, p.slab.x_rows * x_.row()))
        p.op.Run([&](xnn_operator_t op) { return setup(op, 1, Z(p.slab.x_rows), Z(x_.width), from, rows, nullptr); });
      else
        Direct(p.slab, from, rows);
      if (!y_.Dense()) StoreRows(y_, rows, 0, y_.channels, to, p.slab.first, p.slab.rows);
    }
  }
  // Of rows as an operator has them, one window after the other.
  void Direct(const Slab& s, const float* x, float* y) const {
    const Window& w = window_;
    for (int64_t i = 0; i < s.rows; ++i)
      for (int64_t j = 0; j < y_.width; ++j)
        for (int64_t c = 0; c < x_.channels; ++c) {
          float most = -std::numeric_limits<float>::infinity(), sum = 0;
          int64_t count = 0;
          for (int64_t k = 0; k < w.height; ++k)
            for (int64_t l = 0; l < w.width; ++l) {
              const int64_t h = i * w.stride_h + k * w.dilation_h - s.above, v = j * w.stride_w + l * w.dilation_w - w.left;
              if (h < 0 || h >= s.x_rows || v < 0 || v >= x_.width) continue;
              const float value = x[(h * x_.width + v) * x_.channels + c];
              sum += value, ++count;
              if (value > most || value != value) most = value;  // nothing is more than NaN
            }
          y[(i * y_.width + j) * x_.channels + c] = steps_.Bounded(max_ ? most : sum / static_cast<float>(count));
        }
  }

  const Window window_;
  bool max_;
  int64_t groups_;
  std::vector<Part> ops_;
};

class Means : public Pool {
 public:
  explicit Means(const Node& n) : Pool(n) {
    groups_ = std::min(images_, parts_);
    constexpr int64_t kUnit = 16;
    const int64_t each = kUnit * Ratio(Ratio(x_.channels, kUnit), Ratio(parts_, groups_));
    for (int64_t first = 0; first < x_.channels; first += each)
      for (int64_t group = 0; group < groups_; ++group) {
        const int64_t count = std::min(each, x_.channels - first);
        ops_.push_back({first, count, group, Made(xnn_create_global_average_pooling_nwc_f32, Z(count), Z(x_.channels), Z(x_.channels),
                                                  steps_.low, steps_.high, 0u)});
      }
  }
  int32_t Run(hr_call* call) const {
    const float* x = static_cast<const float*>(call->inputs[0].data);
    float* const y = static_cast<float*>(call->outputs[0].data);
    const int64_t images = call->inputs[0].shape[0];
    return Chunks(call, static_cast<int64_t>(ops_.size()), [&](int64_t chunk) {
      const Part& p = ops_[Z(chunk)];
      for (int64_t image = p.group; image < images; image += groups_) {
        const float* from = RowsOf(x_, x, images, image, 0, x_.height) + p.channel;
        float* const to = y + image * x_.channels + p.channel;  // channels of one pixel lie densely
        if (!Finite(from - p.channel, x_.height * x_.row())) {
          for (int64_t c = 0; c < p.count; ++c) to[c] = steps_.Bounded(Mean(from + c));
          continue;
        }
        p.op.Run([&](xnn_operator_t op) {
          return xnn_setup_global_average_pooling_nwc_f32(op, 1, Z(x_.height * x_.width), from, to, nullptr);
        });
      }
    });
  }

 private:
  struct Part {
    int64_t channel, count, group;
    Operator op;
  };
  float Mean(const float* x) const {
    float sum = 0;
    for (int64_t i = 0; i < x_.height * x_.width; ++i) sum += x[i * x_.channels];
    return sum / static_cast<float>(x_.height * x_.width);
  }

  int64_t groups_;
  std::vector<Part> ops_;
};

std::string WhyNotMean(const Node& n) {
  if (n.input("X")->dtype != HR_F32) return "only f32";
  return WhyNotImages(n, n.input("X"), n.output("Y"));
}
std::string WhyNotWindows(const Node& n, bool max) {
  if (n.output("Indices")) return "Indices are asked for";
  if (n.attribute("ceil_mode", "0") != "0") return "ceil_mode";
  const std::string why = WhyNotMean(n);
  if (!why.empty()) return why;
  const Dims window = Ints(n.attribute("kernel_shape"));
  const size_t spatial = window.size();
  const Dims dilations = IntsOf(n, "dilations", 1, spatial);
  Dims pads = IntsOf(n, "pads", 0, 2 * spatial);
  if (n.attribute("auto_pad") == "\"VALID\"") pads.assign(2 * spatial, 0);
  const bool dilated = std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d > 1; });
  const bool padded = std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p != 0; });
  if (Product(window) == 1) return "windows of one element";
  if (dilated && (padded || !max)) return "windows with gaps";  // what lies in the padding is not left out then
  if (padded && !max && n.attribute("count_include_pad", "0") == "1") return "padding counts";
  for (size_t d = 0; d < 2 * spatial; ++d)
    if (pads[d] >= window[d % spatial]) return "windows in the padding alone";
  return "";
}
std::string Expansion(const Node& n, const char* function, const std::string& attributes) {
  return "sdfg xnnpack_pool(X: f32[" + Node::Shape(n.input("X")) + "], Y: f32[" + Node::Shape(n.output("Y")) + "]) {\n  call." + function +
         attributes + "(X = X) -> (Y = Y)\n}\n";
}
std::string WindowsOf(const Node& n, const std::string& kind) {
  const std::string attributes = AttributesOf(n, {"dilations", "kernel_shape", "pads", "strides"});
  return Expansion(n, "xnnpack_pool", "{kind = \"" + kind + "\", " + attributes + "}");
}

}  // namespace

extern "C" HEADRACE_EXPORT int32_t xnnpack_pool(hr_call* call) { return RunState<Windows>(call); }
extern "C" HEADRACE_EXPORT int32_t xnnpack_mean(hr_call* call) { return RunState<Means>(call); }

void RegisterPooling(headrace_plugin::Registrar& r) {
  const auto contract = [](headrace_plugin::Contract c) {
    c.layout = [](const Node& n, int port) { return ImagesChannelsLast(n, port, ""); };
    c.epilogue = [](const Node& n) { return WhyNoSteps(n, -1); };
    return c;
  };
  r.external("xnnpack_pool", "xnnpack_pool", contract(headrace_plugin::Prepared<Windows>()));
  r.external("xnnpack_mean", "xnnpack_mean", contract(headrace_plugin::Prepared<Means>()));
  r.impl("MaxPool", "xnnpack", [](const Node& n) { return WhyNotWindows(n, true); }, [](const Node& n) { return WindowsOf(n, "max"); },
         FloatCost, {});
  r.impl("AveragePool", "xnnpack", [](const Node& n) { return WhyNotWindows(n, false); },
         [](const Node& n) { return WindowsOf(n, "average"); }, FloatCost, {});
  r.impl("GlobalAveragePool", "xnnpack", WhyNotMean, [](const Node& n) { return Expansion(n, "xnnpack_mean", ""); }, FloatCost, {});
}

}  // namespace headrace_xnnpack
