// How products with constant weights are cut and run, whatever their numbers are: blocks of columns are operators, and so are, where
// the weights are small, blocks of rows.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "plugins/xnnpack/kernels.h"

namespace headrace_xnnpack {

// Columns of a block, so that there are at least `blocks`, whose weights stay in the cache; `size`: bytes of a weight.
inline int64_t ColumnsOf(int64_t depth, int64_t columns, int64_t size, int64_t blocks) {
  constexpr int64_t kUnit = 16;  // a vector of the processor's
  return kUnit * Ratio(Ratio(columns, kUnit), std::max(blocks, Ratio(size * depth * columns, kWeightBytes)));
}
// Columns [first, first + count) of b, a row of `depth` numbers each.
template <typename T>
void Gather(const T* b, int64_t depth, int64_t columns, bool transposed, int64_t first, int64_t count, T* out) {
  for (int64_t j = 0; j < count; ++j)
    for (int64_t k = 0; k < depth; ++k) out[j * depth + k] = transposed ? b[(first + j) * depth + k] : b[k * columns + first + j];
}

// Columns [first, first + count) of `rows` rows, one sum after the other.
template <typename T>
void Direct(const T* a, int64_t rows, int64_t depth, int64_t columns, const T* b, bool transposed, int64_t first, int64_t count,
            const Steps& s, T* y) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = first; j < first + count; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += static_cast<float>(a[i * depth + k]) * static_cast<float>(transposed ? b[j * depth + k] : b[k * columns + j]);
      y[i * columns + j] = static_cast<T>(s.Bounded(sum + s.Bias(j)));
    }
}

template <typename T>
class Weighted {
 public:
  // What an operator is made of: results [first, first + count) of `columns`.
  struct Piece {
    int64_t depth, columns, first, count;
    const T* weights;  // [count, depth]
  };
  using Setup = xnn_status (*)(xnn_operator_t, size_t, const T*, T*, pthreadpool_t);

  // Of input number `a` and the constant `b`; make(piece) gives an operator. `steps`: of f32.
  template <typename Make>
  Weighted(const Node& n, int a, const hr_port* b, bool transposed, Steps steps, Setup setup, const Make& make)
      : input_(a), setup_(setup), weights_(static_cast<const T*>(b->constant->data)), transposed_(transposed),
        finite_(Finite(weights_, Product(Sizes(b)))), steps_(std::move(steps)) {
    const Dims s = Sizes(b), x = Sizes(&n.raw()->inputs[a]);
    const int64_t size = static_cast<int64_t>(sizeof(T));
    depth_ = s[transposed ? 1 : 0], columns_ = s[transposed ? 0 : 1];
    const int64_t rows = Known(x) ? Product(x) / depth_ : kUnknownRows, weights = size * depth_ * columns_;
    const int64_t data = size * rows * (depth_ + columns_);
    const int64_t parts = PartsOf(2.0 * static_cast<double>(rows) * static_cast<double>(depth_ * columns_), data);
    slabs_ = std::clamp<int64_t>(data / weights, 1, parts);
    const int64_t each = ColumnsOf(depth_, columns_, size, Ratio(parts, slabs_));
    std::vector<T> block(Z(each * depth_));
    for (int64_t first = 0; first < columns_; first += each) {
      const int64_t count = std::min(each, columns_ - first);
      Gather(weights_, depth_, columns_, transposed, first, count, block.data());
      for (int64_t slab = 0; slab < slabs_; ++slab)
        parts_.push_back({slab, first, count, make(Piece{depth_, columns_, first, count, block.data()})});
    }
  }
  int32_t Run(hr_call* call) const {
    const int64_t rows = RowsOf(call->inputs[input_]), each = Ratio(rows, slabs_);
    const T* const a = static_cast<const T*>(call->inputs[input_].data);
    T* const y = static_cast<T*>(call->outputs[0].data);
    const bool finite = Finite(a, rows * depth_);
    return Chunks(call, static_cast<int64_t>(parts_.size()), [&](int64_t chunk) {
      const Part& p = parts_[Z(chunk)];
      const int64_t first = p.slab * each, count = std::min(each, rows - first);
      if (count <= 0) return;
      if (!finite_ || (!finite && !Finite(a + first * depth_, count * depth_)))
        Direct(a + first * depth_, count, depth_, columns_, weights_, transposed_, p.column, p.columns, steps_, y + first * columns_);
      else
        RunRows(p.op, setup_, depth_, columns_, a + first * depth_, a + rows * depth_, count, y + first * columns_ + p.column);
    });
  }

 private:
  static constexpr int64_t kUnknownRows = 256;  // taken for a size that is a name
  struct Part {
    int64_t slab, column, columns;
    Operator op;
  };
  const int input_;
  const Setup setup_;
  const T* const weights_;  // as the node has them
  const bool transposed_, finite_;
  const Steps steps_;
  int64_t depth_, columns_, slabs_;
  std::vector<Part> parts_;
};

}  // namespace headrace_xnnpack
