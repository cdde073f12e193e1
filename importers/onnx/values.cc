// Value inference: small integer tensors as symbolic elements, so that Shape → Gather → Concat → Reshape needs no run time.
#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "importers/onnx/onnx_types.h"
#include "importers/onnx/shapes.h"

namespace headrace::onnx_import {
namespace {

using Elements = std::optional<Shape>;
using ValueRule = Elements (*)(const NodeCall& c, const Shape& out);

// Literal sizes of a shape; nothing when one is symbolic.
std::optional<std::vector<int64_t>> Literal(const Shape& s) {
  std::vector<int64_t> out;
  for (const Expr& d : s) {
    auto v = d ? AsInt(d) : std::nullopt;
    if (!v) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

int64_t Count(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) {
    if (d != 0 && n > kMaxKnownElements / d) return kMaxKnownElements + 1;
    n *= d;
  }
  return n;
}

// Calls fn with the multi-index of every element, row-major.
void Each(const std::vector<int64_t>& dims, const std::function<void(const std::vector<int64_t>&)>& fn) {
  std::vector<int64_t> at(dims.size(), 0);
  for (int64_t n = Count(dims); n > 0; --n) {
    fn(at);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
}

// Element of `v` at `at` of a shape it broadcasts to.
const Expr& BroadcastAt(const Shape& v, const std::vector<int64_t>& dims, const std::vector<int64_t>& at) {
  int64_t flat = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t i = at[at.size() - dims.size() + d];
    flat = flat * dims[d] + (dims[d] == 1 ? 0 : i);
  }
  return v[static_cast<size_t>(flat)];
}

template <typename Fn>
Elements Nary(const NodeCall& c, const Shape& out, Fn&& fn) {
  auto dims = Literal(out);
  if (!dims) return std::nullopt;
  std::vector<std::vector<int64_t>> in;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.Known(i)) return std::nullopt;
    auto d = Literal(c.In(i)->shape);
    if (!d || d->size() > dims->size()) return std::nullopt;
    in.push_back(*d);
  }
  Shape result;
  bool ok = true;
  Each(*dims, [&](const std::vector<int64_t>& at) {
    std::vector<Expr> args;
    for (size_t i = 0; i < in.size(); ++i) args.push_back(BroadcastAt(*c.Known(i), in[i], at));
    Expr e = ok ? fn(args) : Expr();
    if (!e) ok = false;
    else result.push_back(e);
  });
  if (!ok) return std::nullopt;
  return result;
}

Elements Same(const NodeCall& c, const Shape&) { return c.Known(0) ? Elements(*c.Known(0)) : std::nullopt; }

Elements ShapeOf(const NodeCall& c, const Shape&) {
  const Shape& s = c.In(0)->shape;
  const int64_t r = static_cast<int64_t>(s.size());
  auto bound = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + r : v, 0, r); };
  const int64_t b = bound(c.Int("start", 0)), e = bound(c.Int("end", r));
  return b >= e ? Shape{} : Shape(s.begin() + b, s.begin() + e);
}
Elements SizeOf(const NodeCall& c, const Shape&) { return Shape{Product(c.In(0)->shape)}; }

Elements Concat(const NodeCall& c, const Shape& out) {
  if (out.size() != 1) return std::nullopt;
  Shape r;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.Known(i)) return std::nullopt;
    r.insert(r.end(), c.Known(i)->begin(), c.Known(i)->end());
  }
  return r;
}

Elements Gather(const NodeCall& c, const Shape& out) {
  const auto* data = c.Known(0);
  auto indices = c.KnownInts(1);
  auto dims = Literal(c.In(0)->shape), result = Literal(out);
  if (!data || !indices || !dims || !result || dims->size() != 1 || c.Int("axis", 0) > 0) return std::nullopt;
  Shape r;
  for (int64_t i : *indices) {
    if (i < 0) i += (*dims)[0];
    if (i < 0 || i >= (*dims)[0]) return std::nullopt;
    r.push_back((*data)[static_cast<size_t>(i)]);
  }
  return r;
}

Elements Slice(const NodeCall& c, const Shape& out) {
  const auto* data = c.Known(0);
  auto dims = Literal(c.In(0)->shape), result = Literal(out);
  if (!data || !dims || !result || result->size() != dims->size()) return std::nullopt;
  std::optional<std::vector<int64_t>> starts, axes, steps;
  if (c.since() < 10) starts = c.Ints("starts"), axes = c.Ints("axes");
  else starts = c.KnownInts(1), axes = c.KnownInts(3), steps = c.KnownInts(4);
  if (!starts || (c.In(3) && !axes) || (c.In(4) && !steps)) return std::nullopt;
  // Extents are those of the output; only where each dimension starts and its step matter.
  std::vector<int64_t> first(dims->size(), 0), step(dims->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes && i < axes->size() ? (*axes)[i] : static_cast<int64_t>(i);
    if (axis < 0) axis += static_cast<int64_t>(dims->size());
    if (axis < 0 || axis >= static_cast<int64_t>(dims->size())) return std::nullopt;
    const int64_t n = (*dims)[static_cast<size_t>(axis)], s = steps && i < steps->size() ? (*steps)[i] : 1;
    if (s == 0) return std::nullopt;
    const int64_t b = (*starts)[i] < 0 ? (*starts)[i] + n : (*starts)[i];
    first[static_cast<size_t>(axis)] = std::clamp<int64_t>(b, 0, s > 0 ? n : std::max<int64_t>(n - 1, 0));
    step[static_cast<size_t>(axis)] = s;
  }
  Shape r;
  bool ok = true;
  Each(*result, [&](const std::vector<int64_t>& at) {
    int64_t flat = 0;
    for (size_t d = 0; d < dims->size(); ++d) {
      const int64_t i = first[d] + at[d] * step[d];
      ok = ok && i >= 0 && i < (*dims)[d];
      flat = flat * (*dims)[d] + i;
    }
    if (ok) r.push_back((*data)[static_cast<size_t>(flat)]);
  });
  if (!ok) return std::nullopt;
  return r;
}

Elements Transpose(const NodeCall& c, const Shape& out) {
  const auto* data = c.Known(0);
  auto dims = Literal(c.In(0)->shape), result = Literal(out);
  if (!data || !dims || !result || result->size() != dims->size()) return std::nullopt;
  std::vector<int64_t> perm;
  if (auto p = c.Ints("perm")) perm = *p;
  else
    for (size_t d = dims->size(); d-- > 0;) perm.push_back(static_cast<int64_t>(d));
  if (perm.size() != dims->size()) return std::nullopt;
  Shape r;
  Each(*result, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> from(dims->size());
    for (size_t d = 0; d < perm.size(); ++d)
      from[static_cast<size_t>(perm[d] < 0 ? perm[d] + static_cast<int64_t>(perm.size()) : perm[d])] = at[d];
    int64_t flat = 0;
    for (size_t d = 0; d < dims->size(); ++d) flat = flat * (*dims)[d] + from[d];
    r.push_back((*data)[static_cast<size_t>(flat)]);
  });
  return r;
}

Elements Range(const NodeCall& c, const Shape& out) {
  auto n = Literal(out);
  if (!n || Count(*n) > 64 || !c.Known(0) || !c.Known(2)) return std::nullopt;
  Shape r;
  for (int64_t i = 0; i < (*n)[0]; ++i) r.push_back((*c.Known(0))[0] + (*c.Known(2))[0] * Expr(i));
  return r;
}

Elements ConstantOfShape(const NodeCall& c, const Shape& out) {
  auto n = Literal(out);
  const auto* value = c.Attr("value");
  if (!n || Count(*n) > 64 || !value || value->t().dims_size() > 1) return std::nullopt;
  const onnx::TensorProto& t = value->t();
  int64_t v = 0;
  if (t.data_type() != onnx::TensorProto::INT64) return std::nullopt;
  if (t.int64_data_size() == 1) v = t.int64_data(0);
  else if (t.raw_data().size() == 8) std::memcpy(&v, t.raw_data().data(), 8);
  else return std::nullopt;
  return Shape(static_cast<size_t>(Count(*n)), IntExpr(v));
}

// The whole tensor reduced: shapes are lists, so this is what ReduceProd(Shape(x)) needs.
Elements Reduce(const NodeCall& c, const Shape& out) {
  auto n = Literal(out);
  if (!n || Count(*n) != 1 || !c.Known(0) || c.Known(0)->empty() || c.In(0)->shape.size() > 1) return std::nullopt;
  Expr r = (*c.Known(0))[0];
  for (size_t i = 1; i < c.Known(0)->size(); ++i) {
    const Expr& e = (*c.Known(0))[i];
    r = c.op() == "ReduceProd" ? r * e : c.op() == "ReduceSum" ? r + e : c.op() == "ReduceMax" ? Max(r, e) : Min(r, e);
  }
  return Shape{r};
}

Elements Where(const NodeCall& c, const Shape& out) {
  return Nary(c, out, [](const std::vector<Expr>& a) {
    return AsInt(a[0]) ? (*AsInt(a[0]) ? a[1] : a[2]) : a[1] == a[2] ? a[1] : Expr();
  });
}

// Division as ONNX means it on integers truncates; on sizes, which are not negative, it floors.
Expr Divide(const Expr& a, const Expr& b) {
  auto x = AsInt(a), y = AsInt(b);
  if (y && *y == 0) return {};
  if (x && y) return *y == -1 && *x == INT64_MIN ? Expr() : IntExpr(*x / *y);
  if (ProveLe(IntExpr(0), a) != Truth::kYes || ProveLe(IntExpr(1), b) != Truth::kYes) {
    // Symbolic divisors are sizes; a zero one would fail in the model too.
    if (ProveLe(IntExpr(0), a) != Truth::kYes || ProveLe(IntExpr(0), b) != Truth::kYes) return {};
  }
  return ExactDiv({a}, {b});
}

Expr Truth01(Truth t) { return t == Truth::kUnknown ? Expr() : IntExpr(t == Truth::kYes); }
Expr Not01(const Expr& e) { return e && AsInt(e) ? IntExpr(!*AsInt(e)) : Expr(); }
// Less may be known false as well as known true.
Expr Less(const Expr& a, const Expr& b) {
  if (AsInt(a) && AsInt(b)) return IntExpr(*AsInt(a) < *AsInt(b));
  if (ProveLe(a + 1, b) == Truth::kYes) return IntExpr(1);
  if (ProveLe(b, a) == Truth::kYes) return IntExpr(0);
  return {};
}
Expr Equal(const Expr& a, const Expr& b) {
  if (AsInt(a) && AsInt(b)) return IntExpr(*AsInt(a) == *AsInt(b));
  Truth t = ProveEq(a, b);
  if (t != Truth::kUnknown) return Truth01(t);
  // Sizes are never negative: the usual test for -1 in exported Expand chains.
  if (Less(a, b) && AsInt(Less(a, b)) == 1) return IntExpr(0);
  if (Less(b, a) && AsInt(Less(b, a)) == 1) return IntExpr(0);
  return {};
}

template <Expr (*F)(const Expr&, const Expr&)>
Elements Binary(const NodeCall& c, const Shape& out) {
  return Nary(c, out, [](const std::vector<Expr>& a) {
    Expr r = a[0];
    for (size_t i = 1; i < a.size() && r; ++i) r = F(r, a[i]);
    return r;
  });
}
Expr Plus(const Expr& a, const Expr& b) { return a + b; }
Expr Minus(const Expr& a, const Expr& b) { return a - b; }
Expr Times(const Expr& a, const Expr& b) { return a * b; }
Expr Modulo(const Expr& a, const Expr& b) { return AsInt(b) && *AsInt(b) == 0 ? Expr() : Mod(a, b); }
Expr Larger(const Expr& a, const Expr& b) { return Max(a, b); }
Expr Smaller(const Expr& a, const Expr& b) { return Min(a, b); }
Expr Greater(const Expr& a, const Expr& b) { return Less(b, a); }
Expr LessEq(const Expr& a, const Expr& b) { return Not01(Less(b, a)); }
Expr GreaterEq(const Expr& a, const Expr& b) { return Not01(Less(a, b)); }
Expr And(const Expr& a, const Expr& b) { return AsInt(a) && AsInt(b) ? IntExpr(*AsInt(a) && *AsInt(b)) : Expr(); }
Expr Or(const Expr& a, const Expr& b) { return AsInt(a) && AsInt(b) ? IntExpr(*AsInt(a) || *AsInt(b)) : Expr(); }

Elements Neg(const NodeCall& c, const Shape& out) {
  return Nary(c, out, [](const std::vector<Expr>& a) { return IntExpr(0) - a[0]; });
}
Elements Not(const NodeCall& c, const Shape& out) {
  return Nary(c, out, [](const std::vector<Expr>& a) { return Not01(a[0]); });
}
Elements Abs(const NodeCall& c, const Shape& out) {
  return Nary(c, out, [](const std::vector<Expr>& a) {
    if (auto v = AsInt(a[0])) return IntExpr(*v < 0 ? -*v : *v);
    return ProveLe(IntExpr(0), a[0]) == Truth::kYes ? a[0] : Expr();
  });
}

// Between integers of 32 and 64 bits; anything to bool when literal. Sizes are assumed to fit 32 bits, as the model assumes.
Elements CastTo(const NodeCall& c, const Shape&) {
  if (!c.Known(0)) return std::nullopt;
  const DType to = c.op() == "Cast" ? CastTarget(c) : c.In(1) ? c.In(1)->type.dtype : DType::kNone;
  Shape r;
  for (const Expr& e : *c.Known(0)) {
    auto v = AsInt(e);
    if (to == DType::kBool) {
      if (!v) return std::nullopt;
      r.push_back(IntExpr(*v != 0));
    } else if (to == DType::kI64 || (to == DType::kI32 && (!v || (*v >= INT32_MIN && *v <= INT32_MAX)))) {
      r.push_back(e);
    } else {
      return std::nullopt;
    }
  }
  return r;
}

}  // namespace

std::optional<std::vector<Expr>> InferValue(const NodeCall& call, const Inferred& output) {
  static const std::unordered_map<std::string, ValueRule> rules = {{"Shape", ShapeOf},
                                                                   {"Size", SizeOf},
                                                                   {"Identity", Same},
                                                                   {"Reshape", Same},
                                                                   {"Squeeze", Same},
                                                                   {"Unsqueeze", Same},
                                                                   {"Flatten", Same},
                                                                   {"Cast", CastTo},
                                                                   {"CastLike", CastTo},
                                                                   {"Concat", Concat},
                                                                   {"Gather", Gather},
                                                                   {"Slice", Slice},
                                                                   {"Transpose", Transpose},
                                                                   {"Range", Range},
                                                                   {"ConstantOfShape", ConstantOfShape},
                                                                   {"ReduceProd", Reduce},
                                                                   {"ReduceSum", Reduce},
                                                                   {"ReduceMax", Reduce},
                                                                   {"ReduceMin", Reduce},
                                                                   {"Where", Where},
                                                                   {"Neg", Neg},
                                                                   {"Not", Not},
                                                                   {"Abs", Abs},
                                                                   {"Add", Binary<Plus>},
                                                                   {"Sub", Binary<Minus>},
                                                                   {"Mul", Binary<Times>},
                                                                   {"Div", Binary<Divide>},
                                                                   {"Mod", Binary<Modulo>},
                                                                   {"Max", Binary<Larger>},
                                                                   {"Min", Binary<Smaller>},
                                                                   {"Equal", Binary<Equal>},
                                                                   {"Less", Binary<Less>},
                                                                   {"Greater", Binary<Greater>},
                                                                   {"LessOrEqual", Binary<LessEq>},
                                                                   {"GreaterOrEqual", Binary<GreaterEq>},
                                                                   {"And", Binary<And>},
                                                                   {"Or", Binary<Or>}};
  if (!call.node->domain().empty() && call.node->domain() != "ai.onnx") return std::nullopt;
  auto it = rules.find(call.op());
  if (it == rules.end() || !output.has_rank || output.type.kind != ValueType::kTensor) return std::nullopt;
  // Wrapping at narrow widths is not ours to model.
  const DType t = output.type.dtype;
  if (t != DType::kI64 && t != DType::kI32 && t != DType::kBool) return std::nullopt;
  for (const Val& v : call.inputs)
    if (v && call.op() != "Shape" && call.op() != "Size" && call.op() != "Cast" && call.op() != "CastLike" &&
        v->type.kind == ValueType::kTensor && v->type.dtype != DType::kI64 && v->type.dtype != DType::kI32 &&
        v->type.dtype != DType::kBool)
      return std::nullopt;
  auto dims = Literal(output.shape);
  if (!dims || Count(*dims) > kMaxKnownElements || !call.In(0)) return std::nullopt;
  if (call.op() == "Mod" && call.Int("fmod", 0)) return std::nullopt;
  Elements r = it->second(call, output.shape);
  if (!r || static_cast<int64_t>(r->size()) != Count(*dims)) return std::nullopt;
  for (const Expr& e : *r)  // what wraps is left to the run
    if (auto v = AsInt(e); v && t == DType::kI32 && (*v < INT32_MIN || *v > INT32_MAX)) return std::nullopt;
  return r;
}

}  // namespace headrace::onnx_import
