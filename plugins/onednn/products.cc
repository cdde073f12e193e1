// onnx.MatMul and onnx.Gemm. A constant right side is reordered once; rows are cut into blocks. Without one, a chunk is a product of
// the batch.
#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>

#include "plugins/onednn/kernels.h"

namespace headrace_onednn {
namespace {

constexpr int64_t kRows = 64;                                // of a block at least
constexpr int64_t kBlockOperations = int64_t{1} << 24;       // and so many operations

// ---- with constant weights ----
class Weighted {
 public:
  explicit Weighted(const Node& n) {
    const hr_port* b = n.input("B");
    const Dims s = Sizes(b);
    const bool transposed = n.attribute("transB", "0") == "1";
    depth_ = s[transposed ? 1 : 0], columns_ = s[transposed ? 0 : 1];
    const hr_port* c = n.input("C");
    if (c) bias_ = At(Desc({1, columns_}, {columns_, 1}), c->constant->data);
    rows_ = kRows;
    while (2 * rows_ * depth_ * columns_ < kBlockOperations) rows_ *= 2;
    full_ = Make(n, rows_, transposed, b->constant);
    const Dims a = Sizes(n.input("A"));
    if (Known(a)) {
      const int64_t rest = (Product(a) / depth_) % rows_;
      if (rest) rest_ = Make(n, rest, transposed, b->constant), rest_rows_ = rest;
    }
  }

  int32_t Run(hr_call* call) const {
    int64_t rows = 1;
    for (int32_t d = 0; d + 1 < call->inputs[0].rank; ++d) rows *= call->inputs[0].shape[d];
    const int64_t rest = rows % rows_;
    if (rest == 0 || rest == rest_rows_) return Blocks(call, rows, rest_);
    const Block other = Other(rest);  // a size that was not known: made now, and kept by oneDNN's own cache
    return Blocks(call, rows, other);
  }

 private:
  struct Block {
    Kernel kernel;
    dnnl::memory::desc a, y;
    dnnl::memory weights;
    PostOps post;
  };

  int32_t Blocks(hr_call* call, int64_t rows, const Block& rest) const {
    return Chunks(call, (rows + rows_ - 1) / rows_, [&](int64_t chunk) {
      const int64_t first = chunk * rows_;
      RunBlock(call, first + rows_ <= rows ? full_ : rest, first);
    });
  }
  Block Make(const Node& n, int64_t rows, bool transposed, const hr_value* b) const {
    using dnnl::memory;
    const OneThread alone;
    Block k;
    k.a = Desc({rows, depth_}, {depth_, 1}), k.y = Desc({rows, columns_}, {columns_, 1});
    k.post = PostOpsOf(n, k.y, 1, !bias_);
    const memory::desc any({depth_, columns_}, memory::data_type::f32, memory::format_tag::any);
    const memory::desc vector = Desc({1, columns_}, {columns_, 1});
    const bool biased = bias_ || k.post.bias >= 0;
    const dnnl::matmul::primitive_desc pd(Engine(), k.a, any, biased ? vector : memory::desc(), k.y, k.post.attr);
    k.kernel = Kernel::Of<dnnl::matmul>(pd);
    const Dims strides = transposed ? Dims{1, depth_} : Dims{columns_, 1};
    if (full_.weights && pd.weights_desc() == full_.weights.get_desc()) k.weights = full_.weights;
    else k.weights = Packed(*b, Desc({depth_, columns_}, strides), pd.weights_desc());
    return k;
  }
  Block Other(int64_t rows) const {
    using dnnl::memory;
    const OneThread alone;
    Block k = full_;
    k.a = Desc({rows, depth_}, {depth_, 1}), k.y = Desc({rows, columns_}, {columns_, 1});
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops ops;
    const dnnl::post_ops given = full_.post.attr.get_post_ops();
    for (int i = 0; i < given.len(); ++i) {
      dnnl::algorithm algorithm;
      float alpha, beta;
      memory::desc operand;
      if (given.kind(i) == dnnl::primitive::kind::eltwise) {
        given.get_params_eltwise(i, algorithm, alpha, beta);
        ops.append_eltwise(algorithm, alpha, beta);
      } else {
        given.get_params_binary(i, algorithm, operand);
        ops.append_binary(algorithm, operand.get_dims()[0] == 1 ? operand : k.y);
      }
    }
    attr.set_post_ops(ops);
    const memory::desc bias = bias_ || k.post.bias >= 0 ? Desc({1, columns_}, {columns_, 1}) : memory::desc();
    const dnnl::matmul::primitive_desc pd(Engine(), k.a, full_.weights.get_desc(), bias, k.y, attr);
    k.kernel = Kernel::Of<dnnl::matmul>(pd);
    return k;
  }
  void RunBlock(const hr_call* call, const Block& k, int64_t first) const {
    const float* a = static_cast<const float*>(call->inputs[0].data) + first * depth_;
    float* y = static_cast<float*>(call->outputs[0].data) + first * columns_;
    std::vector<std::pair<int, dnnl::memory>> args = {
        {DNNL_ARG_SRC, At(k.a, a)}, {DNNL_ARG_WEIGHTS, k.weights}, {DNNL_ARG_DST, At(k.y, y)}};
    const dnnl::memory::desc vector = Desc({1, columns_}, {columns_, 1});
    if (bias_) args.push_back({DNNL_ARG_BIAS, bias_});
    else if (k.post.bias >= 0) args.push_back({DNNL_ARG_BIAS, At(vector, call->inputs[k.post.bias].data)});
    for (const PostOps::Operand& o : k.post.operands) {
      const float* e = static_cast<const float*>(call->inputs[o.input].data);
      args.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(o.number) | DNNL_ARG_SRC_1, o.vector ? At(vector, e) : At(k.y, e + first * columns_)});
    }
    k.kernel.Run(std::move(args));
  }

  int64_t depth_, columns_, rows_, rest_rows_ = 0;
  dnnl::memory bias_;
  Block full_, rest_;
};

// ---- of two operands, one product after the other ----
class Batched {
 public:
  explicit Batched(const Node& n) {
    const OneThread alone;
    const Dims a = Sizes(n.input("A")), b = Sizes(n.input("B"));
    const size_t r = a.size();
    m_ = a[r - 2], k_ = a[r - 1], n_ = b[r - 1];
    a_ = Desc({m_, k_}, {k_, 1}), b_ = Desc({k_, n_}, {n_, 1}), y_ = Desc({m_, n_}, {n_, 1});
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    kernel_ = Kernel::Of<dnnl::matmul>(dnnl::matmul::primitive_desc(Engine(), a_, b_, y_, attr));
  }
  int32_t Run(hr_call* call) const {
    int64_t count = 1;
    for (int32_t d = 0; d + 2 < call->inputs[0].rank; ++d) count *= call->inputs[0].shape[d];
    const float *a = static_cast<const float*>(call->inputs[0].data), *b = static_cast<const float*>(call->inputs[1].data);
    float* y = static_cast<float*>(call->outputs[0].data);
    return Chunks(call, count, [&](int64_t i) {
      kernel_.Run({{DNNL_ARG_SRC, At(a_, a + i * m_ * k_)},
                   {DNNL_ARG_WEIGHTS, At(b_, b + i * k_ * n_)},
                   {DNNL_ARG_DST, At(y_, y + i * m_ * n_)}});
    });
  }

 private:
  int64_t m_, k_, n_;
  dnnl::memory::desc a_, b_, y_;
  Kernel kernel_;
};

std::string WhyNotMatMul(const Node& n) {
  const hr_port *a = n.input("A"), *b = n.input("B");
  if (a->dtype != HR_F32) return "only f32";
  const Dims x = Sizes(a), w = Sizes(b);
  if (b->constant && b->rank == 2 && a->rank >= 2) return Known(w) ? "" : "an empty matrix";
  if (a->rank < 2 || a->rank != b->rank) return "only products of equal rank";
  for (int d = 0; d + 2 < a->rank; ++d)
    if (std::string(a->shape[d]) != b->shape[d]) return "a batch of different sizes";
  return Known(x, x.size() - 2) && Known(w, w.size() - 2) ? "" : "only the batch may be a name";
}
// Rows are one dimension here: vectors lie along the columns.
std::string WhyNoProductSteps(const Node& n) { return WhyNoSteps(n, n.output("Y")->rank - 1); }

}  // namespace

extern "C" HEADRACE_EXPORT int32_t onednn_product(hr_call* call) { return RunState<Weighted>(call); }
extern "C" HEADRACE_EXPORT int32_t onednn_batched_product(hr_call* call) { return RunState<Batched>(call); }

void RegisterProducts(headrace_plugin::Registrar& r) {
  headrace_plugin::Contract weighted = headrace_plugin::Prepared<Weighted>();
  weighted.epilogue = WhyNoProductSteps;
  r.external("onednn_product", "onednn_product", weighted);
  r.external("onednn_batched_product", "onednn_batched_product", headrace_plugin::Prepared<Batched>());
  const headrace_plugin::Registrar::Versions versions;
  const auto cost = [](const Node& n) { return n.operations() * 1.001; };
  r.impl("MatMul", "onednn", WhyNotMatMul, [](const Node& n) {
    return ProductExpansion(n, n.input("B")->constant && n.input("B")->rank == 2 ? "onednn_product" : "onednn_batched_product");
  }, cost, versions);
  r.impl("Gemm", "onednn", WhyNotPlainGemm, [](const Node& n) { return ProductExpansion(n, "onednn_product"); }, cost, versions);
}

}  // namespace headrace_onednn
