// Symbolic shape rules of windows and Fourier transforms.
#include "importers/onnx/shapes.h"

namespace headrace::onnx_import {
namespace {

Status WindowFunction(const NodeCall& c, std::vector<Inferred>* out) {
  const auto* n = c.Known(0);
  SetShape(out, 0, {n && n->size() == 1 ? (*n)[0] : Expr()});
  return {};
}

Status RankTwo(const NodeCall&, std::vector<Inferred>* out) {
  if (!(*out)[0].has_rank) SetShape(out, 0, Shape(2));
  return {};
}
// [batch, frames, bins, 2]
Status Stft(const NodeCall& c, std::vector<Inferred>* out) {
  const auto *step = c.Known(1), *length = c.Known(3);
  const ValueInfo* window = c.In(2);
  Expr n = length && length->size() == 1                     ? (*length)[0]
           : !c.In(3) && window && window->shape.size() == 1 ? window->shape[0]
                                                             : Expr();
  Shape s(4);
  s[0] = c.In(0)->shape[0];
  if (n && step && step->size() == 1 && c.In(0)->shape.size() >= 2) {
    s[1] = FloorDiv(c.In(0)->shape[1] - n, (*step)[0]) + 1;
    s[2] = c.Int("onesided", 1) ? FloorDiv(n, IntExpr(2)) + 1 : n;
  }
  s[3] = IntExpr(2);
  SetShape(out, 0, std::move(s));
  return {};
}

// The transformed axis has dft_length, all of the input or, one-sided, half of it; the last dimension holds real and imaginary parts.
Status Dft(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& in = c.In(0)->shape;
  using Numbers = std::optional<std::vector<int64_t>>;
  const Numbers given = c.since() < 20 ? Numbers({{c.Int("axis", 1)}}) : c.In(2) ? c.KnownInts(2) : Numbers({{-2}});
  if (!given || given->size() != 1 || in.size() < 2) return {};
  HR_ASSIGN_OR_RETURN(const int64_t axis, Axis((*given)[0], in.size()));
  const auto* length = c.Known(1);
  Expr n = !c.In(1) ? in[axis] : length && length->size() == 1 ? (*length)[0] : Expr();
  const bool onesided = c.Int("onesided", 0) != 0, inverse = c.Int("inverse", 0) != 0;
  if (n && onesided) n = !inverse ? FloorDiv(n, IntExpr(2)) + 1 : c.In(1) ? n : (n - 1) * IntExpr(2);
  Shape s = in;
  s[static_cast<size_t>(axis)] = n;
  s.back() = IntExpr(inverse && onesided ? 1 : 2);
  SetShape(out, 0, std::move(s));
  return {};
}

}  // namespace

void AddSignalRules(ShapeRules* rules) {
  for (const char* op : {"BlackmanWindow", "HannWindow", "HammingWindow"}) (*rules)[op] = WindowFunction;
  (*rules)["DFT"] = Dft;
  (*rules)["MelWeightMatrix"] = RankTwo;
  (*rules)["STFT"] = Stft;
}

}  // namespace headrace::onnx_import
