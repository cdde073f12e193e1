// What the functions of this room share: operators of XNNPACK, the bytes that they read beyond their inputs, images, epilogues.
#pragma once
#include <xnnpack.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugins/kernels/nodes.h"

namespace headrace_xnnpack {

using namespace headrace_kernels;

// Numbers as XNNPACK takes them.
inline uint32_t U(int64_t v) { return static_cast<uint32_t>(v); }
inline size_t Z(int64_t v) { return static_cast<size_t>(v); }
inline int64_t Ratio(int64_t a, int64_t b) { return (a + b - 1) / b; }

// "" where XNNPACK runs on this processor. Initialises it.
std::string WhyNotHere();
void Check(xnn_status status, const char* doing);

// An operator with its packed weights. What it works on is set within it, so runs of one operator come after each other; chunks of a
// call have an operator each.
class Operator {
 public:
  Operator() = default;
  explicit Operator(xnn_operator_t op) : op_(op), mutex_(std::make_unique<std::mutex>()) {}

  // setup(xnn_operator_t) tells it inputs, outputs and sizes. On this thread alone: chunks take the place of XNNPACK's threads.
  template <typename Setup>
  void Run(const Setup& setup) const {
    const std::lock_guard<std::mutex> one_at_a_time(*mutex_);
    Check(setup(op_.get()), "set up an operator");
    Check(xnn_run_operator(op_.get(), /*threadpool=*/nullptr), "run an operator");
  }

 private:
  struct Delete {
    void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
  };
  std::unique_ptr<xnn_operator, Delete> op_;
  std::unique_ptr<std::mutex> mutex_;
};
// Made(xnn_create_…, arguments but the last…)
template <typename... Parameters, typename... Arguments>
Operator Made(xnn_status (*create)(Parameters...), Arguments... arguments) {
  const std::string why = WhyNotHere();  // an artifact may be on another processor
  if (!why.empty()) throw std::runtime_error(why);
  xnn_operator_t op = nullptr;
  Check(create(arguments..., &op), "create an operator");
  return Operator(op);
}

// XNNPACK reads up to XNN_EXTRA_BYTES beyond what it works on, and does nothing with them. They are there where the array goes on, or
// its last byte lies on the same page.
bool ReadableBeyond(const void* end, const void* array_end);
// Memory of this thread, of `bytes` and XNN_EXTRA_BYTES; there are two, "0" and "1".
void* Buffer(int which, int64_t bytes);
template <typename T>
T* BufferOf(int which, int64_t elements) {
  return static_cast<T*>(Buffer(which, elements * static_cast<int64_t>(sizeof(T))));
}

// How many parts work is cut into, by sizes alone: a part has at least so many operations, or so many bytes to move.
int64_t PartsOf(double operations, int64_t bytes);
constexpr int64_t kMostParts = 16;
// Weights of one part: they stay in a core's cache while rows go by.
constexpr int64_t kWeightBytes = 192 << 10;

// Rows of pixels. Vectors' images (rank 3) are one pixel wide.
struct Image {
  int64_t channels = 0, height = 0, width = 0;
  int64_t step = 0, c = 0, h = 0, w = 0;  // from image to image, channel to channel …, in elements

  bool Dense() const;  // as XNNPACK has images: channels last
  int64_t row() const { return width * channels; }
};
Image ImageOf(const Node& n, bool output, int port);

// "" where images of these ports, and the node's padding, are of a kind that XNNPACK has.
std::string WhyNotImages(const Node& n, const hr_port* x, const hr_port* y);

// Rows [first, first + rows) of an image in an array of `images`: where they lie, or a copy in a buffer of this thread.
template <typename T>
const T* RowsOf(const Image& i, const T* array, int64_t images, int64_t image, int64_t first, int64_t rows) {
  const T* from = array + image * i.step + first * i.h;
  if (i.Dense() && ReadableBeyond(from + rows * i.row(), array + (images - 1) * i.step + i.height * i.row())) return from;
  T* const copy = BufferOf<T>(0, rows * i.row());
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < i.width; ++x)
      for (int64_t c = 0; c < i.channels; ++c) copy[(y * i.width + x) * i.channels + c] = from[y * i.h + x * i.w + c * i.c];
  return copy;
}
// Rows of `depth` numbers each, to rows of `columns` numbers: setup(operator, rows, from, to) for those that lie where they may be read
// beyond, and for a copy of the last ones where not.
template <typename Setup, typename T>
void RunRows(const Operator& op, const Setup& setup, int64_t depth, int64_t columns, const T* a, const T* a_end, int64_t rows, T* y) {
  int64_t copied = 0;
  while (copied < rows && !ReadableBeyond(a + (rows - copied) * depth, a_end)) ++copied;
  const int64_t first = rows - copied;
  if (first > 0) op.Run([&](xnn_operator_t o) { return setup(o, Z(first), a, y, nullptr); });
  if (copied == 0) return;
  T* const copy = BufferOf<T>(0, copied * depth);
  std::copy(a + first * depth, a + rows * depth, copy);
  op.Run([&](xnn_operator_t o) { return setup(o, Z(copied), copy, y + first * columns, nullptr); });
}
int64_t RowsOf(const hr_value& a);  // all dimensions but the last

// Whether all are finite. XNNPACK's bounds make other numbers of NaN, so what such inputs give is computed here: `Direct…`.
bool Finite(const float* numbers, int64_t count);
// Whole numbers are.
template <typename T>
bool Finite(const T*, int64_t) {
  return true;
}

// Channels [channel, channel + count) of rows that lie densely, into an image that doesn't.
template <typename T>
void StoreRows(const Image& i, const T* rows_from, int64_t channel, int64_t count, T* image, int64_t first, int64_t rows) {
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < i.width; ++x)
      for (int64_t c = channel; c < channel + count; ++c)
        image[(first + y) * i.h + x * i.w + c * i.c] = rows_from[(y * i.width + x) * i.channels + c];
}

// A window that goes over images.
struct Window {
  int64_t height = 1, width = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;  // padding
};
// `sizes`: height and width, or the one of vectors.
Window WindowOf(const Node& n, const Dims& sizes);
// Rows [first, first + rows) of the result come from x_rows rows of the input from x_first, with padding around them.
struct Slab {
  int64_t first, rows, x_first, x_rows, above, below, right;
};
// `parts` slabs, or one where some would lie in the padding alone. Throws where even that one would.
std::vector<Slab> SlabsOf(const Window& w, const Image& x, const Image& y, int64_t parts);

// An epilogue that operators take: a constant vector at the front, then bounds.
struct Steps {
  std::vector<float> bias;  // with the node's own; empty: none
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();

  float Bias(int64_t i) const { return bias.empty() ? 0 : bias[Z(i)]; }
  float Bounded(float v) const { return v < low ? low : v > high ? high : v; }  // NaN stays
};
// "" = all of them can be done. `channel`: the dimension of the vector; -1: it can't be there.
std::string WhyNoSteps(const Node& n, int channel);
// `own`: the node's bias of `count` numbers, or null.
Steps StepsOf(const Node& n, int channel, const hr_value* own, int64_t count);

// Measured against the pure forms (README.md), in operations of theirs; negative: not known.
double FloatCost(const Node& n);
double QuantizedCost(const Node& n);

void RegisterConvolution(headrace_plugin::Registrar& r);
void RegisterProducts(headrace_plugin::Registrar& r);
void RegisterPooling(headrace_plugin::Registrar& r);
void RegisterRows(headrace_plugin::Registrar& r);  // softmax
void RegisterQuantized(headrace_plugin::Registrar& r);

}  // namespace headrace_xnnpack
