// onnx.Softmax along the last dimension: blocks of rows, cut by sizes.
#include <cmath>

#include "plugins/xnnpack/kernels.h"

namespace headrace_xnnpack {
namespace {

class Softmax {
 public:
  explicit Softmax(const Node& n) {
    const Dims x = Sizes(n.input("input"));
    columns_ = x.back();
    const int64_t parts = Known(x) ? PartsOf(0, 8 * Product(x)) : kMostParts;
    const size_t columns = Z(columns_);
    for (int64_t part = 0; part < parts; ++part) parts_.push_back(Made(xnn_create_softmax_nc_f32, columns, columns, columns, 0u));
  }
  int32_t Run(hr_call* call) const {
    const int64_t rows = RowsOf(call->inputs[0]), count = static_cast<int64_t>(parts_.size()), each = Ratio(rows, count);
    const float* const x = static_cast<const float*>(call->inputs[0].data);
    float* const y = static_cast<float*>(call->outputs[0].data);
    return Chunks(call, count, [&](int64_t part) {
      const int64_t first = part * each, some = std::min(each, rows - first);
      if (some <= 0) return;
      RunRows(parts_[Z(part)], xnn_setup_softmax_nc_f32, columns_, columns_, x + first * columns_, x + rows * columns_,
              some, y + first * columns_);
      // Rows whose sum is NaN: XNNPACK's bounds make -inf of all their results.
      for (int64_t row = first; row < first + some; ++row)
        if (!std::isfinite(y[row * columns_])) std::fill_n(y + row * columns_, columns_, std::numeric_limits<float>::quiet_NaN());
    });
  }

 private:
  int64_t columns_;
  std::vector<Operator> parts_;
};

std::string WhyNot(const Node& n) {
  const hr_port* x = n.input("input");
  if (x->dtype != HR_F32) return "only f32";
  const int64_t axis = IntsOf(n, "axis", -1, 1)[0];
  if (x->rank < 1 || (axis != -1 && axis != x->rank - 1) || Node::Size(x, x->rank - 1) < 1)
    return "only along the last dimension, of a known size";
  return WhyNotHere();
}

}  // namespace

extern "C" HEADRACE_EXPORT int32_t xnnpack_softmax(hr_call* call) { return RunState<Softmax>(call); }

void RegisterRows(headrace_plugin::Registrar& r) {
  headrace_plugin::Contract c = headrace_plugin::Prepared<Softmax>();
  c.in_place = {{"Y", "input"}};
  r.external("xnnpack_softmax", "xnnpack_softmax", c);
  headrace_plugin::Registrar::Versions versions;
  versions.since = 13;
  r.impl("Softmax", "xnnpack", WhyNot, [](const Node& n) {
    const auto port = [](const char* name, const hr_port* p) { return std::string(name) + ": f32[" + Node::Shape(p) + "]"; };
    return "sdfg xnnpack_softmax(" + port("input", n.input("input")) + ", " + port("output", n.output("output")) +
           ") {\n  call.xnnpack_softmax(input = input) -> (Y = output)\n}\n";
  }, FloatCost, versions);
}

}  // namespace headrace_xnnpack
