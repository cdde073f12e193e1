#include "plugins/xnnpack/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace headrace_xnnpack {

std::string WhyNotHere() {
  static const bool runs = xnn_initialize(/*allocator=*/nullptr) == xnn_status_success;
  return runs ? "" : "XNNPACK does not run on this processor";
}
void Check(xnn_status status, const char* doing) {
  if (status != xnn_status_success)
    throw std::runtime_error(std::string("XNNPACK can't ") + doing + ": status " + std::to_string(static_cast<int>(status)));
}

bool ReadableBeyond(const void* end, const void* array_end) {
  constexpr uintptr_t kPage = 4096;  // of the smallest pages that there are
  const uintptr_t last = reinterpret_cast<uintptr_t>(end) - 1, needed = last + XNN_EXTRA_BYTES;
  return needed < reinterpret_cast<uintptr_t>(array_end) || last / kPage == needed / kPage;
}
void* Buffer(int which, int64_t bytes) {
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  static thread_local std::unique_ptr<void, Free> memory[2];
  static thread_local size_t sizes[2] = {0, 0};
  const size_t wanted = static_cast<size_t>(bytes) + XNN_EXTRA_BYTES;
  if (sizes[which] < wanted) {
    memory[which].reset();
    sizes[which] = 0;
    memory[which].reset(std::aligned_alloc(64, (wanted + 63) / 64 * 64));
    if (!memory[which]) throw std::bad_alloc();
    sizes[which] = wanted;
  }
  return memory[which].get();
}

bool Finite(const float* numbers, int64_t count) {
  // What is not finite is not 0 times 0. Vectors of GCC's and Clang's, whatever the processor has.
  typedef float Four __attribute__((vector_size(16)));
  Four zeros[4] = {};
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int k = 0; k < 4; ++k) {
      Four v;
      __builtin_memcpy(&v, numbers + i + 4 * k, sizeof v);
      zeros[k] += v * 0;
    }
  const Four all = zeros[0] + zeros[1] + zeros[2] + zeros[3];
  float zero = all[0] + all[1] + all[2] + all[3];
  for (; i < count; ++i) zero += numbers[i] * 0;
  return zero == 0;
}

double FloatCost(const Node& n) { return n.operations() < 0 ? -1 : 1.5 * n.operations(); }
double QuantizedCost(const Node& n) {
  constexpr double kCall = 20000;
  // Where the processor adds up products of bytes, the pure forms do so, and this version of XNNPACK does not.
#if defined(__x86_64__)
  const bool faster = __builtin_cpu_supports("avx2") && !__builtin_cpu_supports("avx512vnni");
#else
  const bool faster = false;  // not measured
#endif
  return n.operations() < 0 ? -1 : faster ? 0.6 * n.operations() + kCall : 1.001 * n.operations();
}

int64_t RowsOf(const hr_value& a) {
  int64_t rows = 1;
  for (int32_t d = 0; d + 1 < a.rank; ++d) rows *= a.shape[d];
  return rows;
}

int64_t PartsOf(double operations, int64_t bytes) {
  constexpr double kOperations = 1 << 22;
  constexpr int64_t kBytes = 256 << 10;
  return std::clamp<int64_t>(std::max(static_cast<int64_t>(operations / kOperations), bytes / kBytes), 1, kMostParts);
}

bool Image::Dense() const {
  return (channels == 1 || c == 1) && (width == 1 || w == channels) && (height == 1 || h == row());
}
Image ImageOf(const Node& n, bool output, int port) {
  Dims shape = Sizes(output ? &n.raw()->outputs[port] : &n.raw()->inputs[port]);
  shape[0] = 1;
  const Dims s = StridesOf(n, output, port, shape);
  const bool wide = shape.size() > 3;
  return {shape[1], shape[2], wide ? shape[3] : 1, s[0], s[1], s[2], wide ? s[3] : 1};
}
std::string WhyNotImages(const Node& n, const hr_port* x, const hr_port* y) {
  if (x->rank < 3 || x->rank > 4) return "only one or two dimensions";
  if (!Known(Sizes(x), 1) || !Known(Sizes(y), 1)) return "only the batch may be a name";
  if (!PadsAsWritten(n)) return "auto_pad";
  for (const int64_t pad : Ints(n.attribute("pads")))
    if (pad < 0) return "negative pads";
  return WhyNotHere();
}

Window WindowOf(const Node& n, const Dims& sizes) {
  const size_t d = sizes.size();
  const Dims strides = IntsOf(n, "strides", 1, d), dilations = IntsOf(n, "dilations", 1, d), pads = IntsOf(n, "pads", 0, 2 * d);
  Window w;
  w.height = sizes[0], w.stride_h = strides[0], w.dilation_h = dilations[0], w.top = pads[0], w.bottom = pads[d];
  if (d > 1) w.width = sizes[1], w.stride_w = strides[1], w.dilation_w = dilations[1], w.left = pads[1], w.right = pads[3];
  return w;
}

std::vector<Slab> SlabsOf(const Window& w, const Image& x, const Image& y, int64_t parts) {
  std::vector<Slab> out;
  parts = std::clamp<int64_t>(parts, 1, y.height);
  const int64_t each = Ratio(y.height, parts);
  // Padding that windows reach; what lies behind the last one is not asked for.
  const int64_t right = std::max<int64_t>(0, (y.width - 1) * w.stride_w + (w.width - 1) * w.dilation_w + 1 - x.width - w.left);
  for (int64_t first = 0; first < y.height; first += each) {
    const int64_t rows = std::min(each, y.height - first);
    const int64_t from = first * w.stride_h - w.top, until = from + (rows - 1) * w.stride_h + (w.height - 1) * w.dilation_h + 1;
    const int64_t above = std::max<int64_t>(0, -from), below = std::max<int64_t>(0, until - x.height);
    const int64_t x_first = from + above, x_rows = until - below - x_first;
    if (x_rows < 1 && parts > 1) return SlabsOf(w, x, y, 1);
    if (x_rows < 1) throw std::invalid_argument("windows in the padding alone");
    out.push_back({first, rows, x_first, x_rows, above, below, right});
  }
  return out;
}

namespace {

// The steps as what operators take; what they don't take is the answer.
std::string Fold(const Node& n, int channel, const hr_value** bias, Steps* out) {
  bool bounded = false;
  for (const hr_step& s : n.steps()) {
    const std::string op = s.op;
    if (op == "bias") {
      if (channel < 0 || s.dim != channel) return "a vector along another dimension than the channels'";
      const hr_value* v = n.raw()->inputs[s.input].constant;
      if (bounded || *bias || !v) return "only one constant vector, at the front";
      *bias = v;
    } else if (op == "relu" || op == "clip") {
      const float from = op == "relu" ? 0 : static_cast<float>(s.alpha);
      const float to = op == "relu" ? std::numeric_limits<float>::infinity() : static_cast<float>(s.beta);
      out->low = std::min(std::max(out->low, from), to), out->high = std::min(std::max(out->high, from), to), bounded = true;
      if (!(out->low < out->high)) return "bounds with nothing in between";
    } else {
      return "no " + op;
    }
  }
  return "";
}

}  // namespace

std::string WhyNoSteps(const Node& n, int channel) {
  const hr_value* bias = nullptr;
  Steps steps;
  return Fold(n, channel, &bias, &steps);
}
Steps StepsOf(const Node& n, int channel, const hr_value* own, int64_t count) {
  const hr_value* bias = nullptr;
  Steps out;
  const std::string why = Fold(n, channel, &bias, &out);
  if (!why.empty()) throw std::invalid_argument(why);
  for (const hr_value* v : {own, bias}) {
    if (!v) continue;
    out.bias.resize(Z(count), 0);
    for (int64_t i = 0; i < count; ++i) out.bias[Z(i)] += static_cast<const float*>(v->data)[i];
  }
  return out;
}

}  // namespace headrace_xnnpack
