// Symbolic shape rules of ops that move data: Reshape, Slice, Concat, Split, Tile, Pad, Resize, Range …
#include <algorithm>
#include <cmath>

#include "importers/onnx/shapes.h"

namespace headrace::onnx_import {
namespace {

// The number of elements when a shape-like input's length is literal.
std::optional<size_t> LengthOf(const ValueInfo* v) {
  if (!v || v->shape.size() != 1) return std::nullopt;
  auto n = AsInt(v->shape[0]);
  if (!n || *n < 0 || *n > 64) return std::nullopt;
  return static_cast<size_t>(*n);
}

Status Reshape(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& in = c.In(0)->shape;
  Shape target;
  if (auto attribute = c.Ints("shape")) {
    for (int64_t d : *attribute) target.push_back(IntExpr(d));
  } else if (const auto* known = c.Known(1)) {
    target = *known;
  } else {
    if (auto n = LengthOf(c.In(1))) SetShape(out, 0, Shape(*n));
    return {};
  }
  const bool allow_zero = c.Int("allowzero", 0) != 0;
  int infer = -1;
  for (size_t i = 0; i < target.size(); ++i) {
    auto v = AsInt(target[i]);
    if (v && *v == 0 && !allow_zero) {
      if (i >= in.size())
        return ShapeError("a zero in the target shape copies a dimension that is not there", ToString(target), "");
      target[i] = in[i];
    } else if (v && *v == -1) {
      if (infer >= 0) return ShapeError("the target shape holds more than one -1", ToString(target));
      infer = static_cast<int>(i);
    } else if (v && *v < -1) {
      return ShapeError("the target shape holds a negative size", ToString(target));
    }
  }
  if (infer >= 0) {
    Shape rest = target;
    rest.erase(rest.begin() + infer);
    Expr d = ExactDiv(in, rest);
    if (d && AsInt(d)) {
      Expr all = Product(in), product = Product(rest) * d;
      if (AsInt(all) && AsInt(product) && *AsInt(all) != *AsInt(product))
        return ShapeError("the elements don't fill the target shape", ToString(in), ToString(target));
    }
    target[infer] = d;
  } else {
    Expr a = Product(in), b = Product(target);
    if (AsInt(a) && AsInt(b) && *AsInt(a) != *AsInt(b))
      return ShapeError("the target shape has another number of elements", ToString(in), ToString(target));
  }
  SetShape(out, 0, std::move(target));
  return {};
}

Status Flatten(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& in = c.In(0)->shape;
  int64_t axis = c.Int("axis", 1), rank = static_cast<int64_t>(in.size());
  if (axis < -rank || axis > rank)
    return ShapeError("the axis is out of range", std::to_string(axis),
                      "within [-" + std::to_string(rank) + ", " + std::to_string(rank) + "]");
  if (axis < 0) axis += rank;
  SetShape(out, 0, {Product(in, 0, static_cast<size_t>(axis)), Product(in, static_cast<size_t>(axis))});
  return {};
}

Status Squeeze(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& in = c.In(0)->shape;
  Shape s;
  if (auto axes = AxesOf(c, 1)) {
    std::vector<bool> gone(in.size());
    for (int64_t a : *axes) {
      HR_ASSIGN_OR_RETURN(int64_t axis, Axis(a, in.size()));
      auto d = AsInt(in[axis]);
      if (d && *d != 1)
        return ShapeError("dimension " + std::to_string(axis) + " can't be squeezed", std::to_string(*d), "1");
      gone[axis] = true;
    }
    for (size_t i = 0; i < in.size(); ++i)
      if (!gone[i]) s.push_back(in[i]);
  } else if (c.In(1)) {
    if (auto n = LengthOf(c.In(1)); n && *n <= in.size()) SetShape(out, 0, Shape(in.size() - *n));
    return {};
  } else {
    for (const Expr& d : in) {
      if (!AsInt(d)) return {};
      if (*AsInt(d) != 1) s.push_back(d);
    }
  }
  SetShape(out, 0, std::move(s));
  return {};
}

Status Unsqueeze(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& in = c.In(0)->shape;
  auto axes = AxesOf(c, 1);
  if (!axes) {
    if (auto n = LengthOf(c.In(1))) SetShape(out, 0, Shape(in.size() + *n));
    return {};
  }
  Shape s(in.size() + axes->size());
  std::vector<bool> one(s.size());
  for (int64_t a : *axes) {
    HR_ASSIGN_OR_RETURN(int64_t axis, Axis(a, s.size()));
    if (one[axis]) return ShapeError("axis " + std::to_string(axis) + " is given twice");
    one[axis] = true;
  }
  for (size_t i = 0, j = 0; i < s.size(); ++i) s[i] = one[i] ? IntExpr(1) : in[j++];
  SetShape(out, 0, std::move(s));
  return {};
}

Status Concat(const NodeCall& c, std::vector<Inferred>* out) {
  Shape s = c.In(0)->shape;
  HR_ASSIGN_OR_RETURN(int64_t axis, Axis(c.Int("axis", c.since() < 4 ? 1 : 0), s.size()));
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    const Shape& t = c.In(i)->shape;
    if (t.size() != s.size())
      return ShapeError("the inputs' ranks differ", std::to_string(t.size()), std::to_string(s.size()));
    for (size_t d = 0; d < s.size(); ++d) {
      if (static_cast<int64_t>(d) == axis) {
        s[d] = s[d] + t[d];
        continue;
      }
      auto a = AsInt(s[d]), b = AsInt(t[d]);
      if (a && b && *a != *b)
        return ShapeError("dimension " + std::to_string(d) + " differs between the inputs", std::to_string(*b),
                          std::to_string(*a));
      if (!a && b) s[d] = t[d];
    }
  }
  SetShape(out, 0, std::move(s));
  return {};
}

// The extent a slice of a dimension keeps; null when it can't be said. Null where a start or end is not known.
Expr SliceExtent(const Expr& dim, const Expr& start, const Expr& end, int64_t step) {
  auto clamp = [&](const Expr& e, bool is_end) -> Expr {
    if (!e) return {};
    auto v = AsInt(e), d = AsInt(dim);
    const Expr zero = IntExpr(0);
    if (step > 0) {
      if (v && d) return IntExpr(std::clamp<int64_t>(*v < 0 ? *v + *d : *v, 0, *d));
      if (v && *v == 0) return zero;
      if (v && *v > (int64_t{1} << 30)) return dim;
      if (v && *v < -(int64_t{1} << 30)) return zero;
      if (v) return *v < 0 ? Max(dim + *v, zero) : Min(IntExpr(*v), dim);
      if (ProveLe(zero, e) == Truth::kYes) return ProveLe(e, dim) == Truth::kYes ? e : Min(e, dim);
      return {};
    }
    if (d && *d == 0) return IntExpr(-1);  // nothing to begin at
    if (v && d) return IntExpr(std::clamp<int64_t>(*v < 0 ? *v + *d : *v, is_end ? -1 : 0, *d - 1));
    if (v && (*v > (int64_t{1} << 30) || *v == -1) && !is_end) return dim - 1;
    if (v && *v < -(int64_t{1} << 30) && is_end) return IntExpr(-1);
    if (v && *v < 0 && is_end) return Max(dim + *v, IntExpr(-1));
    if (v) return Min(*v < 0 ? Max(dim + *v, zero) : IntExpr(*v), dim - 1);
    return {};
  };
  Expr b = clamp(start, false), e = clamp(end, true);
  // Whatever the other one is, nothing lies behind the last element or before the first.
  if (step > 0 ? (b && b == dim) || (e && AsInt(e) == 0) : (b && AsInt(b) == -1) || (e && e == dim - 1)) return IntExpr(0);
  if (!b || !e) return {};
  Expr n = step > 0 ? e - b : b - e;
  constexpr int64_t kLongest = int64_t{1} << 60;  // a longer step takes the first element, too
  const int64_t s = step > 0 ? std::min(step, kLongest) : -std::max(step, -kLongest);
  if (s > 1) n = FloorDiv(n + (s - 1), IntExpr(s));
  if (auto v = AsInt(n)) return IntExpr(std::max<int64_t>(*v, 0));
  return ProveLe(IntExpr(0), n) == Truth::kYes ? n : Max(n, IntExpr(0));
}

Status Slice(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& in = c.In(0)->shape;
  Shape s = in;
  Shape starts, ends, axes_in, steps_in;
  std::optional<std::vector<int64_t>> axes, steps;
  if (c.since() < 10) {
    for (int64_t v : c.Ints("starts").value_or(std::vector<int64_t>{})) starts.push_back(IntExpr(v));
    for (int64_t v : c.Ints("ends").value_or(std::vector<int64_t>{})) ends.push_back(IntExpr(v));
    axes = c.Ints("axes");
  } else {
    axes = c.KnownInts(3), steps = c.KnownInts(4);
    if (c.In(3) && !axes) {  // which dimensions are cut is not known
      SetShape(out, 0, Shape(in.size()));
      return {};
    }
    auto n = axes ? std::optional<size_t>(axes->size()) : LengthOf(c.In(1));
    if (!n) return {};
    starts = c.Known(1) ? *c.Known(1) : Shape(*n);
    ends = c.Known(2) ? *c.Known(2) : Shape(*n);
  }
  if (starts.size() != ends.size() || (axes && axes->size() != starts.size()) ||
      (steps && steps->size() != starts.size()))
    return ShapeError("starts, ends, axes and steps differ in length");
  for (size_t i = 0; i < starts.size(); ++i) {
    HR_ASSIGN_OR_RETURN(int64_t axis, Axis(axes ? (*axes)[i] : static_cast<int64_t>(i), in.size()));
    const int64_t step = steps ? (*steps)[i] : 1;
    if (step == 0) return ShapeError("a step is zero");
    const bool known = steps || !c.In(4);
    s[axis] = known ? SliceExtent(in[axis], starts[i], ends[i], step) : Expr();
  }
  SetShape(out, 0, std::move(s));
  return {};
}

Status Split(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& in = c.In(0)->shape;
  HR_ASSIGN_OR_RETURN(int64_t axis, Axis(c.Int("axis", 0), in.size()));
  Shape sizes(out->size());
  if (auto attribute = c.Ints("split")) {
    sizes.clear();
    for (int64_t v : *attribute) sizes.push_back(IntExpr(v));
  } else if (const auto* known = c.Known(1)) {
    sizes = *known;
  } else if (!c.In(1)) {
    // Equal parts; from opset 18 on the last may be smaller.
    const int64_t n = static_cast<int64_t>(out->size());
    Expr part = FloorDiv(in[axis] + (c.since() >= 18 ? n - 1 : 0), IntExpr(n)), left = in[axis];
    for (size_t i = 0; i < out->size(); ++i) {
      sizes[i] = i + 1 < out->size() ? part : left;
      left = left - part;
    }
  }
  if (sizes.size() != out->size())
    return ShapeError("the sizes are not as many as the outputs", std::to_string(sizes.size()),
                      std::to_string(out->size()));
  Expr sum = IntExpr(0);
  for (const Expr& e : sizes)
    if (e && sum) sum = sum + e;
    else sum = {};
  if (sum && AsInt(sum) && AsInt(in[axis]) && *AsInt(sum) != *AsInt(in[axis]))
    return ShapeError("the parts don't add up to the dimension", std::to_string(*AsInt(sum)),
                      std::to_string(*AsInt(in[axis])));
  for (size_t i = 0; i < out->size(); ++i) {
    Shape s = in;
    s[axis] = sizes[i];
    SetShape(out, i, std::move(s));
  }
  return {};
}

Status Tile(const NodeCall& c, std::vector<Inferred>* out) {
  Shape s = c.In(0)->shape;
  const auto* repeats = c.Known(1);
  if (c.since() < 6) return {};
  if (repeats && repeats->size() != s.size()) return ShapeError("repeats must hold one number per dimension");
  for (size_t i = 0; i < s.size(); ++i) s[i] = repeats ? s[i] * (*repeats)[i] : Expr();
  SetShape(out, 0, std::move(s));
  return {};
}

Status Pad(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& in = c.In(0)->shape;
  Shape pads;
  if (auto a = c.Ints(c.since() < 2 ? "paddings" : "pads"))
    for (int64_t v : *a) pads.push_back(IntExpr(v));
  else if (const auto* k = c.Known(1)) pads = *k;
  else {
    SetShape(out, 0, Shape(in.size()));
    return {};
  }
  std::vector<int64_t> axes;
  if (c.In(3)) {
    auto known = c.KnownInts(3);
    if (!known) {
      SetShape(out, 0, Shape(in.size()));
      return {};
    }
    axes = *known;
  } else {
    for (size_t i = 0; i < in.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (pads.size() != 2 * axes.size())
    return ShapeError("pads must hold two numbers per axis", std::to_string(pads.size()),
                      std::to_string(2 * axes.size()));
  Shape s = in;
  const std::string mode = c.Str("mode", "constant");
  for (size_t i = 0; i < axes.size(); ++i) {
    HR_ASSIGN_OR_RETURN(int64_t axis, Axis(axes[i], in.size()));
    s[axis] = in[axis] + pads[i] + pads[i + axes.size()];
    auto n = AsInt(in[axis]), lo = AsInt(pads[i]), hi = AsInt(pads[i + axes.size()]);
    if (mode == "constant" || !n || std::max(lo.value_or(0), hi.value_or(0)) <= 0) continue;
    const int64_t most = std::max(lo.value_or(0), hi.value_or(0));
    const int64_t removed = mode == "wrap" ? std::min<int64_t>(lo.value_or(0), 0) + std::min<int64_t>(hi.value_or(0), 0) : 0;
    if (mode == "reflect" && most >= *n)
      return ShapeError("axis " + std::to_string(axis) + " of " + std::to_string(*n) + " elements can't be mirrored by " +
                            std::to_string(most),
                        "", "less than it has elements");
    if (*n + removed <= 0) return ShapeError("axis " + std::to_string(axis) + " has no element to pad with");
  }
  SetShape(out, 0, std::move(s));
  return {};
}

Status Range(const NodeCall& c, std::vector<Inferred>* out) {
  const auto *start = c.Known(0), *limit = c.Known(1), *delta = c.Known(2);
  if (!start || !limit || !delta) return {};
  auto step = AsInt((*delta)[0]), first = AsInt((*start)[0]), end = AsInt((*limit)[0]);
  if (!step) return {};
  if (*step == 0) return ShapeError("the step of a range can't be zero");
  if (first && end) {
    const __int128 way = static_cast<__int128>(*end) - *first, by = *step;
    const __int128 n = std::max<__int128>((way + by - (by > 0 ? 1 : -1)) / by, 0);
    if ((way < 0) != (by < 0)) return SetShape(out, 0, {IntExpr(0)}), Status();
    if (n > INT64_MAX / 8)
      return ShapeError("a range has too many elements", std::to_string(*first) + " to " + std::to_string(*end));
    return SetShape(out, 0, {IntExpr(static_cast<int64_t>(n))}), Status();
  }
  if (*step == INT64_MIN) return {};
  Expr n = *step > 0 ? (*limit)[0] - (*start)[0] : (*start)[0] - (*limit)[0];
  const int64_t s = *step > 0 ? *step : -*step;
  if (s > 1) n = FloorDiv(n + (s - 1), IntExpr(s));
  if (AsInt(n)) n = IntExpr(std::max<int64_t>(*AsInt(n), 0));
  else if (ProveLe(IntExpr(0), n) != Truth::kYes) n = Max(n, IntExpr(0));
  SetShape(out, 0, {n});
  return {};
}

Status ConstantOfShape(const NodeCall& c, std::vector<Inferred>* out) {
  if (const auto* k = c.Known(0)) SetShape(out, 0, *k);
  else if (auto n = LengthOf(c.In(0))) SetShape(out, 0, Shape(*n));
  return {};
}

Status Gather(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& in = c.In(0)->shape;
  if (!c.In(1)) return {};
  HR_ASSIGN_OR_RETURN(int64_t axis, Axis(c.Int("axis", 0), in.size()));
  Shape s(in.begin(), in.begin() + axis);
  s.insert(s.end(), c.In(1)->shape.begin(), c.In(1)->shape.end());
  s.insert(s.end(), in.begin() + axis + 1, in.end());
  SetShape(out, 0, std::move(s));
  return {};
}

Status SpaceDepth(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& in = c.In(0)->shape;
  const int64_t b = c.Int("blocksize", 1);
  if (in.size() != 4 || b <= 0) return {};
  const bool to_depth = c.op() == "SpaceToDepth";
  const Expr e = IntExpr(b), sq = IntExpr(b * b);
  if (to_depth) SetShape(out, 0, {in[0], in[1] * sq, ExactDiv({in[2]}, {e}), ExactDiv({in[3]}, {e})});
  else SetShape(out, 0, {in[0], ExactDiv({in[1]}, {sq}), in[2] * e, in[3] * e});
  return {};
}

Status OneHot(const NodeCall& c, std::vector<Inferred>* out) {
  Shape s = c.In(0)->shape;
  HR_ASSIGN_OR_RETURN(int64_t axis, Axis(c.Int("axis", -1), s.size() + 1));
  const auto* depth = c.Known(1);
  s.insert(s.begin() + axis, depth && depth->size() == 1 ? (*depth)[0] : Expr());
  SetShape(out, 0, std::move(s));
  return {};
}

// Axes that are data still tell the rank by their number.
Status Reduce(const NodeCall& c, std::vector<Inferred>* out) {
  const Shape& in = c.In(0)->shape;
  const bool keep = c.Int("keepdims", 1) != 0;
  std::optional<std::vector<int64_t>> axes = AxesOf(c, 1);
  Shape s;
  if (axes || !c.In(1)) {
    std::vector<bool> gone(in.size());
    if (!axes || axes->empty()) gone.assign(in.size(), c.Int("noop_with_empty_axes", 0) == 0);
    else
      for (int64_t a : *axes) {
        HR_ASSIGN_OR_RETURN(int64_t axis, Axis(a, in.size()));
        gone[axis] = true;
      }
    for (size_t i = 0; i < in.size(); ++i)
      if (!gone[i]) s.push_back(in[i]);
      else if (keep) s.push_back(IntExpr(1));
  } else if (auto n = LengthOf(c.In(1)); n && *n == 0) {
    if (c.Int("noop_with_empty_axes", 0)) s = in;
    else if (keep) s.assign(in.size(), IntExpr(1));
  } else if (keep) {
    s.resize(in.size());
  } else if (n && *n <= in.size()) {
    s.resize(in.size() - *n);
  } else {
    return {};
  }
  SetShape(out, 0, std::move(s));
  return {};
}

Status ArgReduce(const NodeCall& c, std::vector<Inferred>* out) {
  Shape s = c.In(0)->shape;
  HR_ASSIGN_OR_RETURN(int64_t axis, Axis(c.Int("axis", 0), s.size()));
  if (AsInt(s[axis]) == int64_t{0}) return ShapeError("axis " + std::to_string(axis) + " has no element to choose from");
  if (c.Int("keepdims", 1)) s[axis] = IntExpr(1);
  else s.erase(s.begin() + axis);
  SetShape(out, 0, std::move(s));
  return {};
}

Status TopK(const NodeCall& c, std::vector<Inferred>* out) {
  Shape s = c.In(0)->shape;
  HR_ASSIGN_OR_RETURN(int64_t axis, Axis(c.Int("axis", -1), s.size()));
  const auto* k = c.Known(1);
  s[axis] = c.since() < 10 ? IntExpr(c.Int("k", 1)) : k && k->size() == 1 ? (*k)[0] : Expr();
  SetShape(out, 0, s);
  SetShape(out, 1, s);
  return {};
}

Status CenterCropPad(const NodeCall& c, std::vector<Inferred>* out) {
  Shape s = c.In(0)->shape;
  auto axes = c.Ints("axes");
  const auto* sizes = c.Known(1);
  for (size_t i = 0; i < (axes ? axes->size() : s.size()); ++i) {
    HR_ASSIGN_OR_RETURN(int64_t axis, Axis(axes ? (*axes)[i] : static_cast<int64_t>(i), s.size()));
    s[axis] = sizes && i < sizes->size() ? (*sizes)[i] : Expr();
  }
  SetShape(out, 0, std::move(s));
  return {};
}

Status AffineGrid(const NodeCall& c, std::vector<Inferred>* out) {
  auto n = LengthOf(c.In(1));
  if (!n || (*n != 4 && *n != 5)) return {};
  const auto* k = c.Known(1);
  Shape s = {c.In(0)->shape[0]};
  for (size_t d = 2; d < *n; ++d) s.push_back(k ? (*k)[d] : Expr());
  s.push_back(IntExpr(static_cast<int64_t>(*n) - 2));
  SetShape(out, 0, std::move(s));
  return {};
}

}  // namespace

void AddMovementRules(ShapeRules* rules) {
  (*rules)["Reshape"] = Reshape;
  (*rules)["Flatten"] = Flatten;
  (*rules)["Squeeze"] = Squeeze;
  (*rules)["Unsqueeze"] = Unsqueeze;
  (*rules)["Concat"] = Concat;
  (*rules)["Slice"] = Slice;
  (*rules)["Split"] = Split;
  (*rules)["Tile"] = Tile;
  (*rules)["Pad"] = Pad;
  (*rules)["Range"] = Range;
  (*rules)["ConstantOfShape"] = ConstantOfShape;
  (*rules)["Gather"] = Gather;
  (*rules)["SpaceToDepth"] = SpaceDepth;
  (*rules)["DepthToSpace"] = SpaceDepth;
  (*rules)["OneHot"] = OneHot;
  for (const char* op : {"Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"})
    (*rules)[std::string("Reduce") + op] = Reduce;
  (*rules)["ArgMax"] = ArgReduce;
  (*rules)["ArgMin"] = ArgReduce;
  (*rules)["TopK"] = TopK;
  (*rules)["CenterCropPad"] = CenterCropPad;
  (*rules)["AffineGrid"] = AffineGrid;
}

}  // namespace headrace::onnx_import
