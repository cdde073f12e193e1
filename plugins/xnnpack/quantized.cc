// onnx.QLinearConv and onnx.QLinearMatMul of constant weights, scales and zero points: data of i8 with weights of i8 around 0, data of u8
// with weights of either kind.
#include <cmath>

#include "plugins/xnnpack/convolution.h"
#include "plugins/xnnpack/products.h"

namespace headrace_xnnpack {
namespace {

// The number `i` of a constant of f32, i8 or u8; of one number: that one.
double NumberOf(const hr_port* p, int64_t i = 0) {
  const hr_value& v = *p->constant;
  int64_t count = 1;
  for (int32_t d = 0; d < v.rank; ++d) count *= v.shape[d];
  const int64_t at = count == 1 ? 0 : i;
  if (v.dtype == HR_F32) return static_cast<double>(static_cast<const float*>(v.data)[at]);
  return v.dtype == HR_I8 ? static_cast<const int8_t*>(v.data)[at] : static_cast<const uint8_t*>(v.data)[at];
}
int64_t CountOf(const hr_port* p) { return Product(Sizes(p)); }

// Names of the ports of both ops.
struct Names {
  const char *x, *x_scale, *x_zero, *w, *w_scale, *w_zero, *y_scale, *y_zero, *y;
};
constexpr Names kConv = {"x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "y"};
constexpr Names kProduct = {"a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point", "y"};

struct Scales {
  float x, y;
  std::vector<float> w;  // of each result, or one
  int x_zero, w_zero, y_zero;
};
Scales ScalesOf(const Node& n, const Names& names) {
  Scales s;
  s.x = static_cast<float>(NumberOf(n.input(names.x_scale))), s.y = static_cast<float>(NumberOf(n.input(names.y_scale)));
  const hr_port* w = n.input(names.w_scale);
  for (int64_t i = 0; i < CountOf(w); ++i) s.w.push_back(static_cast<float>(NumberOf(w, i)));
  s.x_zero = static_cast<int>(NumberOf(n.input(names.x_zero))), s.y_zero = static_cast<int>(NumberOf(n.input(names.y_zero)));
  s.w_zero = static_cast<int>(NumberOf(n.input(names.w_zero)));
  return s;
}
// As u8: weights of i8 lie 128 higher, and so does their zero point.
struct Unsigned {
  std::vector<uint8_t> moved;
  const uint8_t* weights;
  uint8_t zero;
  Unsigned(const uint8_t* w, int64_t count, const Scales& s, bool is_signed) : weights(w), zero(static_cast<uint8_t>(s.w_zero)) {
    if (!is_signed) return;
    for (int64_t i = 0; i < count; ++i) moved.push_back(static_cast<uint8_t>(w[i] ^ 0x80));
    weights = moved.data(), zero = static_cast<uint8_t>(s.w_zero + 128);
  }
};
const int32_t* BiasOf(const Node& n) { return n.input("B") ? static_cast<const int32_t*>(n.input("B")->constant->data) : nullptr; }

// ---- convolutions ----
class SignedConvolution : public Convolution<int8_t> {
 public:
  explicit SignedConvolution(const Node& n) : SignedConvolution(n, ScalesOf(n, kConv)) {}

 private:
  SignedConvolution(const Node& n, Scales s)
      : Convolution(n, 0, n.input("w"), Steps(), xnn_setup_convolution2d_nhwc_qc8, [&](const Piece& p) {
          s.w.resize(Z(Node::Size(n.input("w"), 0)), s.w[0]);
          const Window& w = p.window;
          return Made(xnn_create_convolution2d_nhwc_qc8, U(p.slab.above), U(p.slab.right), U(p.slab.below), U(w.left), U(w.height),
                      U(w.width), U(w.stride_h), U(w.stride_w), U(w.dilation_h), U(w.dilation_w), U(p.groups), Z(p.group_channels),
                      Z(p.group_results), Z(p.x_channels), Z(p.y_channels), static_cast<int8_t>(s.x_zero), s.x,
                      static_cast<const float*>(s.w.data() + p.first), p.weights, BiasOf(n) ? BiasOf(n) + p.first : nullptr,
                      static_cast<int8_t>(s.y_zero), s.y, static_cast<int8_t>(-128), static_cast<int8_t>(127), 0u);
        }) {}
};
class UnsignedConvolution : public Convolution<uint8_t> {
 public:
  explicit UnsignedConvolution(const Node& n) : UnsignedConvolution(n, ScalesOf(n, kConv)) {}

 private:
  UnsignedConvolution(const Node& n, const Scales& s)
      : Convolution(n, 0, n.input("w"), Steps(), xnn_setup_convolution2d_nhwc_qu8, [&](const Piece& p) {
          const Window& w = p.window;
          const int64_t weights = p.groups * p.group_results * p.group_channels * w.height * w.width;
          const Unsigned u(p.weights, weights, s, n.input("w")->dtype == HR_I8);
          return Made(xnn_create_convolution2d_nhwc_qu8, U(p.slab.above), U(p.slab.right), U(p.slab.below), U(w.left), U(w.height),
                      U(w.width), U(w.stride_h), U(w.stride_w), U(w.dilation_h), U(w.dilation_w), U(p.groups), Z(p.group_channels),
                      Z(p.group_results), Z(p.x_channels), Z(p.y_channels), static_cast<uint8_t>(s.x_zero), s.x, u.zero, s.w[0], u.weights,
                      BiasOf(n) ? BiasOf(n) + p.first : nullptr, static_cast<uint8_t>(s.y_zero), s.y, static_cast<uint8_t>(0),
                      static_cast<uint8_t>(255), 0u);
        }) {}
};

// ---- products ----
class SignedProduct : public Weighted<int8_t> {
 public:
  explicit SignedProduct(const Node& n) : SignedProduct(n, ScalesOf(n, kProduct)) {}

 private:
  SignedProduct(const Node& n, const Scales& s)
      : Weighted(n, 0, n.input("b"), false, Steps(), xnn_setup_fully_connected_nc_qs8, [&](const Piece& p) {
          return Made(xnn_create_fully_connected_nc_qs8, Z(p.depth), Z(p.count), Z(p.depth), Z(p.columns), static_cast<int8_t>(s.x_zero),
                      s.x, s.w[0], p.weights, static_cast<const int32_t*>(nullptr), static_cast<int8_t>(s.y_zero), s.y,
                      static_cast<int8_t>(-128), static_cast<int8_t>(127), 0u);
        }) {}
};
class UnsignedProduct : public Weighted<uint8_t> {
 public:
  explicit UnsignedProduct(const Node& n) : UnsignedProduct(n, ScalesOf(n, kProduct)) {}

 private:
  UnsignedProduct(const Node& n, const Scales& s)
      : Weighted(n, 0, n.input("b"), false, Steps(), xnn_setup_fully_connected_nc_qu8, [&](const Piece& p) {
          const Unsigned u(p.weights, p.count * p.depth, s, n.input("b")->dtype == HR_I8);
          return Made(xnn_create_fully_connected_nc_qu8, Z(p.depth), Z(p.count), Z(p.depth), Z(p.columns), static_cast<uint8_t>(s.x_zero),
                      s.x, u.zero, s.w[0], u.weights, static_cast<const int32_t*>(nullptr), static_cast<uint8_t>(s.y_zero), s.y,
                      static_cast<uint8_t>(0), static_cast<uint8_t>(255), 0u);
        }) {}
};

// ---- conditions and expansions ----
std::string WhyNotNumbers(const Node& n, const Names& names, bool scales_of_results) {
  const hr_port *x = n.input(names.x), *w = n.input(names.w), *y = n.output(names.y);
  if (x->dtype != y->dtype || (x->dtype != HR_I8 && x->dtype != HR_U8)) return "only u8 to u8, and i8 to i8";
  if (w->dtype != HR_I8 && (x->dtype == HR_I8 || w->dtype != HR_U8)) return "weights of another type";
  for (const char* name : {names.x_scale, names.x_zero, names.w, names.w_scale, names.w_zero, names.y_scale, names.y_zero}) {
    const hr_port* p = n.input(name);
    if (!p || !p->constant || !Known(Sizes(p))) return std::string(name) + " is no constant";
    if (p->rank > 1 && name != names.w) return std::string(name) + " is of another rank";
    if (std::string(name).find("scale") != std::string::npos && p->dtype != HR_F32) return "only scales of f32";
  }
  for (const char* name : {names.x_scale, names.x_zero, names.y_scale, names.y_zero})
    if (CountOf(n.input(name)) != 1) return std::string(name) + " is a vector";
  if (CountOf(n.input(names.w_scale)) != 1 && (x->dtype == HR_U8 || !scales_of_results)) return "scales of each result";
  const hr_port* zero = n.input(names.w_zero);
  for (int64_t i = 0; i < CountOf(zero); ++i)
    if (NumberOf(zero, i) != NumberOf(zero) || (x->dtype == HR_I8 && NumberOf(zero, i) != 0)) return "zero points of weights";
  const Scales s = ScalesOf(n, names);
  for (const float scale : s.w) {
    const auto usable = [](float v) { return std::isnormal(v) && v > 0; };
    const float all = s.x * scale / s.y;
    if (!usable(s.x) || !usable(scale) || !usable(s.y) || all >= 256 || all < 0x1p-31f) return "scales that XNNPACK does not take";
  }
  return "";
}
std::string WhyNotConv(const Node& n) {
  const std::string why = WhyNotNumbers(n, kConv, true);
  if (!why.empty()) return why;
  if (n.input("B") && !n.input("B")->constant) return "B is no constant";
  return WhyNotImages(n, n.input("x"), n.output("y"));
}
std::string WhyNotMatMul(const Node& n) {
  const std::string why = WhyNotNumbers(n, kProduct, false);
  if (!why.empty()) return why;
  if (n.input("b")->rank != 2 || n.input("a")->rank < 2) return "only matrices";
  return Known(Sizes(n.input("a")), Sizes(n.input("a")).size() - 1) ? WhyNotHere() : "only the batch may be a name";
}

const char* TypeOf(const hr_port* p) {
  return p->dtype == HR_F32 ? "f32" : p->dtype == HR_I32 ? "i32" : p->dtype == HR_I8 ? "i8" : "u8";
}
std::string Expansion(const Node& n, const Names& names, const std::string& function, const std::string& attributes) {
  const std::string signedness = n.input(names.x)->dtype == HR_I8 ? "i8" : "u8";
  std::string parameters, arguments;
  for (const char* name :
       {names.x, names.x_scale, names.x_zero, names.w, names.w_scale, names.w_zero, names.y_scale, names.y_zero, "B"}) {
    const hr_port* p = n.input(name);
    if (!p) continue;
    parameters += std::string(name) + ": " + TypeOf(p) + (p->rank ? "[" + Node::Shape(p) + "]" : "") + ", ";
    arguments += (arguments.empty() ? "" : ", ") + std::string(name) + " = " + name;
  }
  const hr_port* y = n.output(names.y);
  return "sdfg " + function + "(" + parameters + names.y + ": " + TypeOf(y) + "[" + Node::Shape(y) + "]) {\n  call." + function + "_" +
         signedness + "{" + attributes + "}(" + arguments + ") -> (Y = " + names.y + ")\n}\n";
}

}  // namespace

extern "C" HEADRACE_EXPORT int32_t xnnpack_qconv_i8(hr_call* call) { return RunState<SignedConvolution>(call); }
extern "C" HEADRACE_EXPORT int32_t xnnpack_qconv_u8(hr_call* call) { return RunState<UnsignedConvolution>(call); }
extern "C" HEADRACE_EXPORT int32_t xnnpack_qproduct_i8(hr_call* call) { return RunState<SignedProduct>(call); }
extern "C" HEADRACE_EXPORT int32_t xnnpack_qproduct_u8(hr_call* call) { return RunState<UnsignedProduct>(call); }

void RegisterQuantized(headrace_plugin::Registrar& r) {
  const auto conv = [&](const char* name, headrace_plugin::Contract c) {
    c.layout = [](const Node& n, int port) { return ImagesChannelsLast(n, port, "w"); };
    r.external(name, name, c);
  };
  conv("xnnpack_qconv_i8", headrace_plugin::Prepared<SignedConvolution>());
  conv("xnnpack_qconv_u8", headrace_plugin::Prepared<UnsignedConvolution>());
  r.external("xnnpack_qproduct_i8", "xnnpack_qproduct_i8", headrace_plugin::Prepared<SignedProduct>());
  r.external("xnnpack_qproduct_u8", "xnnpack_qproduct_u8", headrace_plugin::Prepared<UnsignedProduct>());
  r.impl("QLinearConv", "xnnpack", WhyNotConv, [](const Node& n) {
    return Expansion(n, kConv, "xnnpack_qconv", AttributesOf(n, {"dilations", "group", "pads", "strides"}));
  }, QuantizedCost, {});
  r.impl("QLinearMatMul", "xnnpack", WhyNotMatMul, [](const Node& n) { return Expansion(n, kProduct, "xnnpack_qproduct", ""); },
         QuantizedCost, {});
}

}  // namespace headrace_xnnpack
