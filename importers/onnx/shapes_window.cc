// Symbolic spatial sizes of convolution, pooling and resampling. Where ONNX's function found a number, it stands.
#include <cmath>

#include "importers/onnx/shapes.h"

namespace headrace::onnx_import {
namespace {

// Dimensions that ONNX's function left open are taken from `shape`; it also sees a window where an empty input has none.
void Fill(std::vector<Inferred>* out, size_t i, const Shape& shape) {
  if (i >= out->size() || (*out)[i].type.kind != ValueType::kTensor) return;
  Inferred& o = (*out)[i];
  if (!o.has_rank || o.shape.size() != shape.size()) o.shape = Shape(shape.size());
  o.has_rank = true;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!o.shape[d] || AsInt(shape[d]) == 0) o.shape[d] = shape[d];
}

struct Window {
  std::vector<int64_t> strides, dilations, pads;
  std::string auto_pad;
  size_t n = 0;
};

Result<Window> WindowOf(const NodeCall& c, size_t n) {
  Window w;
  w.n = n;
  w.strides = c.Ints("strides").value_or(std::vector<int64_t>(n, 1));
  w.dilations = c.Ints("dilations").value_or(std::vector<int64_t>(n, 1));
  w.pads = c.Ints("pads").value_or(std::vector<int64_t>(2 * n, 0));
  w.auto_pad = c.Str("auto_pad", "NOTSET");
  if (w.auto_pad != "NOTSET" && w.auto_pad != "VALID" && w.auto_pad != "SAME_UPPER" && w.auto_pad != "SAME_LOWER")
    return ShapeError("there is no such auto_pad", w.auto_pad, "NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  if (w.strides.size() != n || w.dilations.size() != n || w.pads.size() != 2 * n)
    return ShapeError("strides, dilations and pads must have one entry per spatial dimension (pads two)");
  for (int64_t s : w.strides)
    if (s <= 0) return ShapeError("a stride is not positive", std::to_string(s));
  for (int64_t s : w.dilations)
    if (s <= 0) return ShapeError("a dilation is not positive", std::to_string(s));
  return w;
}

Expr WindowExtent(const Window& w, size_t i, const Expr& in, const Expr& kernel, bool ceil_mode) {
  const int64_t s = w.strides[i];
  const Expr eff = (kernel - 1) * Expr(w.dilations[i]) + 1, one = IntExpr(1);
  if (w.auto_pad == "SAME_UPPER" || w.auto_pad == "SAME_LOWER") return FloorDiv(in + (s - 1), IntExpr(s));
  const bool padded = w.auto_pad != "VALID";
  const Expr lo = IntExpr(padded ? w.pads[i] : 0), hi = IntExpr(padded ? w.pads[i + w.n] : 0);
  const Expr room = in + lo + hi - eff;
  if (!ceil_mode) return FloorDiv(room, IntExpr(s)) + one;
  // The last window must start inside the input or the padding before it.
  return Min(FloorDiv(room + (s - 1), IntExpr(s)), FloorDiv(in + lo - 1, IntExpr(s))) + one;
}

// ONNX's own functions round towards zero here and see one window where there is none.
Status CheckWindow(const Expr& in, const Expr& extent) {
  const auto size = AsInt(in), windows = AsInt(extent);
  if (!size || !windows || *windows > 0 || (*windows == 0 && *size == 0)) return {};
  return ShapeError("the window is larger than the padded input", std::to_string(*size) + " elements");
}

Status Conv(const NodeCall& c, std::vector<Inferred>* out) {
  const bool quantized = c.op() == "QLinearConv";
  const ValueInfo *x = c.In(0), *weights = c.In(quantized ? 3 : 1);
  if (!weights || x->shape.size() < 2 || weights->shape.size() != x->shape.size()) return {};
  const size_t n = x->shape.size() - 2;
  HR_ASSIGN_OR_RETURN(Window w, WindowOf(c, n));
  Shape kernel(weights->shape.begin() + 2, weights->shape.end());
  if (auto k = c.Ints("kernel_shape"))
    for (size_t i = 0; i < n; ++i) {
      auto size = AsInt(kernel[i]);
      if (k->size() != n || (size && *size != (*k)[i]))
        return ShapeError("kernel_shape is not the weights' size", "", ToString(kernel));
      kernel[i] = IntExpr((*k)[i]);
    }
  const int64_t group = c.Int("group", 1);
  if (group < 1) return ShapeError("group must be positive", std::to_string(group));
  auto channels = AsInt(x->shape[1]), of_group = AsInt(weights->shape[1]), made = AsInt(weights->shape[0]);
  if (channels && of_group && *channels != *of_group * group)
    return ShapeError("the weights are for another number of channels", std::to_string(*of_group * group),
                      std::to_string(*channels));
  if (made && *made % group != 0)
    return ShapeError("group does not divide the number of output channels", std::to_string(group));
  Shape s = {x->shape[0], weights->shape[0]};
  for (size_t i = 0; i < n; ++i) {
    s.push_back(WindowExtent(w, i, x->shape[i + 2], kernel[i], false));
    HR_RETURN_IF_ERROR(CheckWindow(x->shape[i + 2], s.back()));
  }
  Fill(out, 0, s);
  return {};
}

Status DeformConv(const NodeCall& c, std::vector<Inferred>* out) {
  const ValueInfo *x = c.In(0), *weights = c.In(1);
  if (!weights || x->shape.size() != 4 || weights->shape.size() != 4) return {};
  HR_ASSIGN_OR_RETURN(Window w, WindowOf(c, 2));
  Shape s = {x->shape[0], weights->shape[0]};
  for (size_t i = 0; i < 2; ++i) {
    s.push_back(WindowExtent(w, i, x->shape[i + 2], weights->shape[i + 2], false));
    HR_RETURN_IF_ERROR(CheckWindow(x->shape[i + 2], s.back()));
  }
  Fill(out, 0, s);
  return {};
}

Status Pool(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& x = c.In(0)->shape;
  auto kernel = c.Ints("kernel_shape");
  if (!kernel || x.size() != kernel->size() + 2) return {};
  HR_ASSIGN_OR_RETURN(Window w, WindowOf(c, kernel->size()));
  const bool ceil_mode = c.Int("ceil_mode", 0) != 0;
  Shape s = {x[0], x[1]};
  for (size_t i = 0; i < kernel->size(); ++i) {
    s.push_back(WindowExtent(w, i, x[i + 2], IntExpr((*kernel)[i]), ceil_mode));
    HR_RETURN_IF_ERROR(CheckWindow(x[i + 2], s.back()));
  }
  // Before opset 22 ONNX's function counts windows that lie in the padding behind; no runtime computes them.
  if (ceil_mode)
    for (Inferred& o : *out) o.shape.clear();
  Fill(out, 0, s);
  Fill(out, 1, s);
  return {};
}

Status MaxUnpool(const NodeCall& c, std::vector<Inferred>* out) {
  if (const auto* k = c.Known(2)) SetShape(out, 0, *k);
  else if (c.In(2)) SetShape(out, 0, Shape(c.In(0)->shape.size()));
  else if (const auto kernel = c.Ints("kernel_shape"); kernel && kernel->size() + 2 == c.In(0)->shape.size()) {
    const size_t n = kernel->size();
    const auto strides = c.Ints("strides").value_or(std::vector<int64_t>(n, 1));
    const auto pads = c.Ints("pads").value_or(std::vector<int64_t>(2 * n, 0));
    if (strides.size() != n || pads.size() != 2 * n)
      return ShapeError("strides and pads must have one entry per spatial dimension (pads two)");
    Shape s = c.In(0)->shape;
    for (size_t i = 0; i < n; ++i)
      s[i + 2] = (s[i + 2] - 1) * IntExpr(strides[i]) + IntExpr((*kernel)[i] - pads[i] - pads[n + i]);
    SetShape(out, 0, std::move(s));
  }
  return {};
}

Status ConvTranspose(const NodeCall& c, std::vector<Inferred>* out) {
  const ValueInfo *x = c.In(0), *weights = c.In(1);
  if (!weights || x->shape.size() < 2 || weights->shape.size() != x->shape.size()) return {};
  const size_t n = x->shape.size() - 2;
  HR_ASSIGN_OR_RETURN(Window w, WindowOf(c, n));
  const auto extra = c.Ints("output_padding").value_or(std::vector<int64_t>(n, 0));
  const auto fixed = c.Ints("output_shape");
  const auto kernel = c.Ints("kernel_shape");
  if (extra.size() != n || (kernel && kernel->size() != n))
    return ShapeError("output_padding and kernel_shape must have one entry per spatial dimension");
  Shape s = {x->shape[0], weights->shape[1] * Expr(c.Int("group", 1))};
  for (size_t i = 0; i < n; ++i) {
    const Expr k = kernel ? IntExpr((*kernel)[i]) : weights->shape[i + 2];
    const Expr stride(w.strides[i]), extent = (k - 1) * Expr(w.dilations[i]) + 1;
    const Expr room = (x->shape[i + 2] - 1) * stride + extra[i];
    if (fixed && fixed->size() >= n) s.push_back(IntExpr((*fixed)[fixed->size() - n + i]));
    else if (w.auto_pad == "SAME_UPPER" || w.auto_pad == "SAME_LOWER")
      s.push_back(room + Min(extent, stride));  // there is no padding to take away where a window is shorter than a step
    else
      s.push_back(room + extent - Expr(w.auto_pad == "VALID" ? 0 : w.pads[i] + w.pads[i + n]));
  }
  Fill(out, 0, s);
  return {};
}

// floor(dim * scale) for a scale that is a ratio of small integers, in integers; null otherwise.
Expr Scaled(const Expr& dim, double scale) {
  if (auto d = AsInt(dim)) return IntExpr(static_cast<int64_t>(std::floor(static_cast<double>(*d) * scale)));
  for (int64_t q : {1, 2, 4, 8, 16, 3, 5, 6, 10}) {
    const double p = std::round(scale * static_cast<double>(q));
    if (p > 0 && p < 1e6 && static_cast<float>(p / static_cast<double>(q)) == static_cast<float>(scale))
      return q == 1 ? dim * Expr(static_cast<int64_t>(p)) : FloorDiv(dim * Expr(static_cast<int64_t>(p)), IntExpr(q));
  }
  return {};
}

Status Resize(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& x = c.In(0)->shape;
  const bool upsample = c.op() == "Upsample", v10 = !upsample && c.since() == 10;
  std::vector<double> scales;
  if (const auto* a = c.Attr("scales")) scales.assign(a->floats().begin(), a->floats().end());
  if (const auto* h = c.Attr("height_scale"), *w = c.Attr("width_scale"); h && w && x.size() == 4)
    scales = {1, 1, h->f(), w->f()};  // Upsample-1
  const ValueInfo* given = c.In(upsample || v10 ? 1 : 2);
  if (given && given->constant)
    for (int64_t i = 0; i < given->constant->elements(); ++i) scales.push_back(given->constant->GetDouble(i));
  for (double scale : scales)
    if (!(scale > 0 && std::isfinite(scale)))
      return ShapeError("a scale must be positive and finite", std::to_string(scale));
  std::vector<int64_t> axes;
  if (auto a = c.Ints("axes")) axes = *a;
  else
    for (size_t i = 0; i < x.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  const std::string policy = c.Str("keep_aspect_ratio_policy", "stretch");
  const auto* sizes = upsample || v10 ? nullptr : c.Known(3);
  Shape s = x;
  if ((sizes && sizes->size() != axes.size()) || (!sizes && !scales.empty() && scales.size() != axes.size()))
    return ShapeError("sizes or scales must hold one number per axis");
  for (size_t i = 0; i < axes.size(); ++i) {
    HR_ASSIGN_OR_RETURN(int64_t axis, Axis(axes[i], x.size()));
    s[axis] = sizes && policy == "stretch" ? (*sizes)[i]
              : !sizes && !scales.empty()  ? Scaled(x[axis], scales[i])
                                           : Expr();
  }
  Fill(out, 0, s);
  return {};
}

// [batch, channels * block, blocks] → [batch, channels, image]
Status Col2Im(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& x = c.In(0)->shape;
  const auto* image = c.Known(1);
  const auto* block = c.Known(2);
  if (!image || x.size() != 3) return {};
  Shape s = {x[0], block && x[1] ? ExactDiv({x[1]}, *block) : Expr()};
  s.insert(s.end(), image->begin(), image->end());
  Fill(out, 0, s);
  return {};
}

// Before version 14 ONNX's function says nothing of the statistics, in version 1 nothing at all.
Status BatchNormalization(const NodeCall& c, std::vector<Inferred>* out) {
  Fill(out, 0, c.In(0)->shape);
  for (size_t i = 1; i < out->size() && c.In(1); ++i) {
    (*out)[i].type = c.In(i < 3 ? i + 2 : 1)->type;
    Fill(out, i, c.In(1)->shape);
  }
  return {};
}

// An image has as many channels as its format says; the other sizes are in the file.
Status ImageDecoder(const NodeCall& c, std::vector<Inferred>* out) {
  Fill(out, 0, {Expr(), Expr(), IntExpr(c.Str("pixel_format", "RGB") == "Grayscale" ? 1 : 3)});
  return {};
}

}  // namespace

void AddWindowRules(ShapeRules* rules) {
  for (const char* op : {"Conv", "ConvInteger", "QLinearConv"}) (*rules)[op] = Conv;
  (*rules)["DeformConv"] = DeformConv;
  (*rules)["MaxUnpool"] = MaxUnpool;
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) (*rules)[op] = Pool;
  (*rules)["BatchNormalization"] = BatchNormalization;
  (*rules)["Col2Im"] = Col2Im;
  (*rules)["ConvTranspose"] = ConvTranspose;
  (*rules)["ImageDecoder"] = ImageDecoder;
  (*rules)["Resize"] = Resize;
  (*rules)["Upsample"] = Resize;
}

}  // namespace headrace::onnx_import
