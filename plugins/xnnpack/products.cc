// onnx.MatMul and onnx.Gemm. A constant right side is packed once. Without one, a chunk packs what it works on: a block of columns of
// one product of the batch.
#include "plugins/xnnpack/products.h"

namespace headrace_xnnpack {
namespace {

Operator Packed(const Weighted<float>::Piece& p, const Steps& s) {
  return Made(xnn_create_fully_connected_nc_f32, Z(p.depth), Z(p.count), Z(p.depth), Z(p.columns), p.weights,
              s.bias.empty() ? nullptr : s.bias.data() + p.first, s.low, s.high, 0u);
}

// ---- with constant weights ----
class FloatProduct : public Weighted<float> {
 public:
  explicit FloatProduct(const Node& n)
      : FloatProduct(n, StepsOf(n, n.output("Y")->rank - 1, n.input("C") ? n.input("C")->constant : nullptr,
                                Node::Size(n.output("Y"), n.output("Y")->rank - 1))) {}

 private:
  FloatProduct(const Node& n, const Steps& s)
      : Weighted(n, 0, n.input("B"), n.attribute("transB", "0") == "1", s, xnn_setup_fully_connected_nc_f32,
                 [&](const Piece& p) { return Packed(p, s); }) {}
};

// ---- of two operands ----
class Batched {
 public:
  explicit Batched(const Node& n) {
    const Dims a = Sizes(n.input("A")), b = Sizes(n.input("B"));
    depth_ = a.back(), columns_ = b.back();
    together_ = b.size() == 2;  // one matrix for all rows
    rows_ = together_ ? 0 : a[a.size() - 2];
    const int64_t rows = together_ ? 256 : rows_;
    each_ = ColumnsOf(depth_, columns_, 4, PartsOf(2.0 * static_cast<double>(rows * depth_ * columns_), 0));
  }
  int32_t Run(hr_call* call) const {
    const int64_t all = RowsOf(call->inputs[0]), rows = together_ ? all : rows_;
    if (all == 0) return 0;
    const float *a = static_cast<const float*>(call->inputs[0].data), *b = static_cast<const float*>(call->inputs[1].data);
    float* y = static_cast<float*>(call->outputs[0].data);
    const int64_t blocks = Ratio(columns_, each_);
    return Chunks(call, all / rows * blocks, [&](int64_t chunk) {
      const int64_t i = chunk / blocks, first = chunk % blocks * each_, count = std::min(each_, columns_ - first);
      const float *rows_of = a + i * rows * depth_, *matrix = b + i * depth_ * columns_;
      float* const to = y + i * rows * columns_;
      float* const block = BufferOf<float>(1, count * depth_);
      Gather(matrix, depth_, columns_, false, first, count, block);
      if (!Finite(rows_of, rows * depth_) || !Finite(block, count * depth_))
        return Direct(rows_of, rows, depth_, columns_, matrix, false, first, count, Steps(), to);
      const Operator op = Packed({depth_, columns_, first, count, block}, Steps());
      RunRows(op, xnn_setup_fully_connected_nc_f32, depth_, columns_, rows_of, a + all * depth_, rows, to + first);
    });
  }

 private:
  int64_t depth_, columns_, rows_, each_;
  bool together_;
};

bool Weights(const Node& n) { return n.input("B")->constant && n.input("B")->rank == 2; }

std::string WhyNotMatMul(const Node& n) {
  const hr_port *a = n.input("A"), *b = n.input("B");
  if (a->dtype != HR_F32) return "only f32";
  const Dims x = Sizes(a), w = Sizes(b);
  if (a->rank < 2 || b->rank < 2) return "only matrices";
  if (!Known(w, w.size() - 2) || !Known(x, x.size() - 1)) return "only the batch may be a name";
  if (b->rank == 2) return WhyNotHere();
  if (a->rank != b->rank) return "only products of equal rank";
  for (int d = 0; d + 2 < a->rank; ++d)
    if (std::string(a->shape[d]) != b->shape[d]) return "a batch of different sizes";
  return Known(x, x.size() - 2) ? WhyNotHere() : "only the batch may be a name";
}
}  // namespace

extern "C" HEADRACE_EXPORT int32_t xnnpack_product(hr_call* call) { return RunState<FloatProduct>(call); }
extern "C" HEADRACE_EXPORT int32_t xnnpack_batched_product(hr_call* call) { return RunState<Batched>(call); }

void RegisterProducts(headrace_plugin::Registrar& r) {
  headrace_plugin::Contract weighted = headrace_plugin::Prepared<FloatProduct>();
  // Rows are one dimension here: vectors lie along the columns.
  weighted.epilogue = [](const Node& n) { return WhyNoSteps(n, n.output("Y")->rank - 1); };
  r.external("xnnpack_product", "xnnpack_product", weighted);
  r.external("xnnpack_batched_product", "xnnpack_batched_product", headrace_plugin::Prepared<Batched>());
  r.impl("MatMul", "xnnpack", WhyNotMatMul,
         [](const Node& n) { return ProductExpansion(n, Weights(n) ? "xnnpack_product" : "xnnpack_batched_product"); }, FloatCost, {});
  const auto why_not_gemm = [](const Node& n) {
    const std::string why = WhyNotPlainGemm(n);
    return why.empty() ? WhyNotHere() : why;
  };
  r.impl("Gemm", "xnnpack", why_not_gemm, [](const Node& n) { return ProductExpansion(n, "xnnpack_product"); }, FloatCost, {});
}

}  // namespace headrace_xnnpack
