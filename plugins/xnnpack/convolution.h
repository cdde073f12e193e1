// How convolutions are cut and run, whatever their numbers are. The work is cut into slabs of rows, each with a copy of the weights,
// while these are small beside the images; else into blocks of channels. Every part is an operator.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "plugins/xnnpack/kernels.h"

namespace headrace_xnnpack {

// `T`: of the images' and the weights' elements, whose weights are shaped [results, channels of a group, height, width].
template <typename T>
class Convolution {
 public:
  // What an operator is made of.
  struct Piece {
    const Window& window;
    const Slab& slab;
    int64_t groups, group_channels, group_results;
    int64_t first;     // of its results among all
    const T* weights;  // [results, height, width, channels of a group]
    int64_t x_channels, y_channels;  // of a pixel
  };
  using Setup = xnn_status (*)(xnn_operator_t, size_t, size_t, size_t, const T*, T*, pthreadpool_t);

  // make(piece) gives an operator. `steps`: of f32.
  template <typename Make>
  Convolution(const Node& n, int x, const hr_port* weights, Steps steps, Setup setup, const Make& make)
      : x_(ImageOf(n, false, x)), y_(ImageOf(n, true, 0)), w_(Sizes(weights)), input_(x), setup_(setup),
        weights_(static_cast<const T*>(weights->constant->data)), finite_(Finite(weights_, Product(w_))), steps_(std::move(steps)) {
    group_ = IntsOf(n, "group", 1, 1)[0];
    window_ = WindowOf(n, Dims(w_.begin() + 2, w_.end()));
    const int64_t size = static_cast<int64_t>(sizeof(T));
    const int64_t bytes = size * Product(w_), images = size * (x_.height * x_.row() + y_.height * y_.row());
    const int64_t parts = PartsOf(2.0 * static_cast<double>(Product(w_, 1) * y_.height * y_.row()), images);
    const std::vector<Slab> slabs = SlabsOf(window_, x_, y_, std::min(parts, std::max<int64_t>(1, images / bytes)));
    const int64_t blocks = std::max(Ratio(parts, static_cast<int64_t>(slabs.size())), Ratio(bytes, kWeightBytes));
    // Blocks of channels are whole groups, or, with one group, whole vectors of the processor's.
    const int64_t unit = group_ > 1 ? w_[0] / group_ : 16, each = unit * Ratio(Ratio(w_[0], unit), blocks);
    for (int64_t first = 0; first < w_[0]; first += each) {
      const int64_t count = std::min(each, w_[0] - first), groups = group_ > 1 ? count / unit : 1;
      const std::vector<T> packed = ChannelsLastWeights(first, count);
      for (const Slab& s : slabs)
        parts_.push_back({s, first, count, group_ > 1 ? first / unit * w_[1] : 0,
                          make(Piece{window_, s, groups, w_[1], count / groups, first, packed.data(), x_.channels, y_.channels})});
    }
  }

  int32_t Run(hr_call* call) const {
    if (call->inputs[input_].shape[0] == 0) return 0;
    return Chunks(call, static_cast<int64_t>(parts_.size()), [&](int64_t chunk) { RunPart(call, parts_[static_cast<size_t>(chunk)]); });
  }

 private:
  struct Part {
    Slab slab;
    int64_t channel, count;  // of the result
    int64_t x_channel;       // the first that it reads
    Operator op;
  };

  // Results [first, first + count).
  std::vector<T> ChannelsLastWeights(int64_t first, int64_t count) const {
    const int64_t channels = w_[1], window = window_.height * window_.width;
    std::vector<T> out(static_cast<size_t>(count * channels * window));
    for (int64_t o = 0; o < count; ++o)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t k = 0; k < window; ++k)
          out[static_cast<size_t>((o * window + k) * channels + c)] = weights_[((first + o) * channels + c) * window + k];
    return out;
  }
  void RunPart(const hr_call* call, const Part& p) const {
    const T* x = static_cast<const T*>(call->inputs[input_].data);
    T* y = static_cast<T*>(call->outputs[0].data);
    const int64_t images = call->inputs[input_].shape[0];
    int64_t image = 0;
    if (Whole(p.slab)) {  // images follow each other as XNNPACK has them
      const T* end = x + images * x_.step;
      image = ReadableBeyond(end, end) ? images : images - 1;
      if (image > 0) RunOperator(p, image, x, y);
    }
    for (; image < images; ++image) {
      const T* from = RowsOf(x_, x, images, image, p.slab.x_first, p.slab.x_rows);
      T* const to = y + image * y_.step;
      if (y_.Dense()) {
        RunOperator(p, 1, from, to + p.slab.first * y_.row());
        continue;
      }
      T* const rows = BufferOf<T>(1, p.slab.rows * y_.row());
      RunOperator(p, 1, from, rows);
      StoreRows(y_, rows, p.channel, p.count, to, p.slab.first, p.slab.rows);
    }
  }
  bool Whole(const Slab& s) const {
    return s.x_rows == x_.height && s.rows == y_.height && x_.Dense() && y_.Dense() && x_.step == x_.height * x_.row() &&
           y_.step == y_.height * y_.row();
  }
  void RunOperator(const Part& p, int64_t images, const T* x, T* y) const {
    if (!finite_ || !Finite(x, images * p.slab.x_rows * x_.row())) {
      for (int64_t i = 0; i < images; ++i) Direct(p, x + i * p.slab.x_rows * x_.row(), y + i * p.slab.rows * y_.row());
      return;
    }
    p.op.Run([&](xnn_operator_t op) {
      return setup_(op, Z(images), Z(p.slab.x_rows), Z(x_.width), x + p.x_channel, y + p.channel, nullptr);
    });
  }

  // Of rows as an operator has them, one sum after the other.
  void Direct(const Part& p, const T* x, T* y) const {
    const int64_t results = w_[0] / group_;
    for (int64_t i = 0; i < p.slab.rows; ++i)
      for (int64_t j = 0; j < y_.width; ++j)
        for (int64_t o = p.channel; o < p.channel + p.count; ++o)
          y[(i * y_.width + j) * y_.channels + o] =
              static_cast<T>(steps_.Bounded(Sum(p.slab, x + o / results * w_[1], weights_ + o * Product(w_, 1), i, j) + steps_.Bias(o)));
  }
  float Sum(const Slab& s, const T* x, const T* w, int64_t i, int64_t j) const {
    float sum = 0;
    for (int64_t k = 0; k < window_.height; ++k)
      for (int64_t l = 0; l < window_.width; ++l) {
        const int64_t h = i * window_.stride_h + k * window_.dilation_h - s.above;
        const int64_t v = j * window_.stride_w + l * window_.dilation_w - window_.left;
        if (h < 0 || h >= s.x_rows || v < 0 || v >= x_.width) continue;
        for (int64_t c = 0; c < w_[1]; ++c)
          sum += static_cast<float>(x[(h * x_.width + v) * x_.channels + c]) *
                 static_cast<float>(w[(c * window_.height + k) * window_.width + l]);
      }
    return sum;
  }

  const Image x_, y_;
  const Dims w_;
  const int input_;
  const Setup setup_;
  const T* const weights_;  // as the node has them
  const bool finite_;       // they are
  const Steps steps_;
  int64_t group_;
  Window window_;
  std::vector<Part> parts_;
};

}  // namespace headrace_xnnpack
