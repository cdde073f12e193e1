#include "transforms/affine.h"

#include <algorithm>
#include <cmath>

#include "ir/analysis/type_inference.h"

namespace headrace::transforms {
namespace {

Numbers One(double v) { return {{v}, {}}; }

template <typename Fn>
std::optional<Numbers> Each(const Numbers& a, const Numbers& b, Fn&& fn) {
  if (a.index && b.index && (a.index != b.index || a.values.size() != b.values.size())) return std::nullopt;
  Numbers out{std::vector<double>(std::max(a.values.size(), b.values.size())), a.index ? a.index : b.index};
  for (size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] = fn(a.values[a.index ? i : 0], b.values[b.index ? i : 0]);
    if (!std::isfinite(out.values[i])) return std::nullopt;
  }
  return out;
}

std::optional<Numbers> Product(const Numbers& a, const Numbers& b) {
  return Each(a, b, [](double x, double y) { return x * y; });
}

bool IsNarrow(DType t) {
  return t == DType::kU8 || t == DType::kI8 || t == DType::kI16 || t == DType::kI32 || t == DType::kI64;
}

// A constant scalar, or an element of a list of them.
std::optional<Numbers> Element(const Sdfg& s, const Expr& read) {
  const Container* c = s.Find(read->name);
  const bool known = c && c->kind == ContainerKind::kConstant && c->data.data && c->row_major() && c->shape.size() <= 1;
  if (!known || read->flat || read->has_default || read->args.size() != c->shape.size() || c->data.elements() == 0)
    return std::nullopt;
  if (!IsNarrow(c->dtype) && c->dtype != DType::kF32) return std::nullopt;
  Numbers out;
  for (int64_t i = 0; i < c->data.elements(); ++i) {
    out.values.push_back(c->data.GetDouble(i));
    if (!std::isfinite(out.values.back())) return std::nullopt;
  }
  if (read->args.empty()) return out;
  if (const auto at = AsInt(read->args[0])) {
    if (*at < 0 || *at >= c->data.elements()) return std::nullopt;
    return One(out.values[static_cast<size_t>(*at)]);
  }
  if (!IsIndexExpr(read->args[0])) return std::nullopt;
  out.index = read->args[0];
  return out;
}

// Integers that f32 is made of; what is taken off them is a constant.
std::optional<Affine> Integer(const Sdfg& s, const Expr& e) {
  const Result<Expr> typed = InferTypes(s, e);
  if (!typed.ok() || !IsNarrow((*typed)->dtype)) return std::nullopt;
  Affine out{{}, One(0)};
  Expr integer = e;
  if (e.Is(ExprKind::kBinary) && e->op == Op::kSub)
    if (auto less = NumbersOf(s, e->args[1])) {
      integer = e->args[0];
      for (double& v : less->values) v = -v;
      out.more = std::move(*less);
    }
  out.terms.push_back({CastExpr(DType::kF32, integer), One(1)});
  return out;
}

std::optional<Affine> Times(Affine a, const Numbers& by) {
  for (Affine::Term& t : a.terms) {
    auto times = Product(t.times, by);
    if (!times) return std::nullopt;
    t.times = std::move(*times);
  }
  auto more = Product(a.more, by);
  if (!more) return std::nullopt;
  a.more = std::move(*more);
  return a;
}

std::optional<Affine> Sum(Affine a, Affine b) {
  auto more = Each(a.more, b.more, [](double x, double y) { return x + y; });
  if (!more) return std::nullopt;
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  a.more = std::move(*more);
  return a;
}

}  // namespace

std::optional<Numbers> NumbersOf(const Sdfg& s, const Expr& e) {
  if (const auto n = AsInt(e)) return One(static_cast<double>(*n));
  if (e.Is(ExprKind::kFloat)) return std::isfinite(e->fvalue) ? std::optional<Numbers>(One(e->fvalue)) : std::nullopt;
  if (e.Is(ExprKind::kRead)) return Element(s, e);
  if (e.Is(ExprKind::kCast) && !e->saturate) {
    const Result<Expr> from = InferTypes(s, e->args[0]);
    const bool exact = from.ok() && (IsNarrow((*from)->dtype) || (*from)->dtype == e->dtype) &&
                       (e->dtype == DType::kF32 || e->dtype == DType::kI32 || e->dtype == DType::kI64);
    return exact ? NumbersOf(s, e->args[0]) : std::nullopt;
  }
  if (!e.Is(ExprKind::kBinary) || (e->op != Op::kMul && e->op != Op::kAdd && e->op != Op::kSub)) return std::nullopt;
  const auto a = NumbersOf(s, e->args[0]), b = NumbersOf(s, e->args[1]);
  if (!a || !b) return std::nullopt;
  return Each(*a, *b, [op = e->op](double x, double y) {
    return op == Op::kMul ? x * y : op == Op::kAdd ? x + y : x - y;
  });
}

std::optional<Affine> AffineOf(const Sdfg& s, const Expr& e, const Registers& registers) {
  if (auto n = NumbersOf(s, e)) return Affine{{}, std::move(*n)};
  if (e.Is(ExprKind::kRead)) {
    if (!e->args.empty() || e->has_default) return std::nullopt;
    if (registers.is_whole(e->name)) return Affine{{{e, One(1)}}, One(0)};
    const Expr value = registers.value(e->name);
    return value ? AffineOf(s, value, registers) : std::nullopt;
  }
  if (e.Is(ExprKind::kCast) && e->dtype == DType::kF32 && !e->saturate) {
    const Result<Expr> typed = InferTypes(s, e->args[0]);
    return typed.ok() && (*typed)->dtype == DType::kF32 ? AffineOf(s, e->args[0], registers) : Integer(s, e->args[0]);
  }
  if (!e.Is(ExprKind::kBinary)) return std::nullopt;
  if (e->op == Op::kMul)
    for (const size_t side : {0u, 1u})
      if (const auto by = NumbersOf(s, e->args[side])) {
        auto a = AffineOf(s, e->args[1 - side], registers);
        return a ? Times(std::move(*a), *by) : std::nullopt;
      }
  if (e->op == Op::kDiv) {
    const auto by = NumbersOf(s, e->args[1]);
    const auto a = by ? AffineOf(s, e->args[0], registers) : std::nullopt;
    return a ? Over(*a, *by) : std::nullopt;
  }
  if (e->op != Op::kAdd && e->op != Op::kSub) return std::nullopt;
  auto a = AffineOf(s, e->args[0], registers), b = AffineOf(s, e->args[1], registers);
  if (b && e->op == Op::kSub) b = Times(std::move(*b), One(-1));
  return a && b ? Sum(std::move(*a), std::move(*b)) : std::nullopt;
}

bool IsWhole(const Sdfg& s, const Expr& e) {
  if (AsInt(e)) return true;
  if (e.Is(ExprKind::kFloat)) return e->fvalue == std::trunc(e->fvalue);
  if (e.Is(ExprKind::kBinary) && (e->op == Op::kMul || e->op == Op::kAdd || e->op == Op::kSub))
    return IsWhole(s, e->args[0]) && IsWhole(s, e->args[1]);
  if (e.Is(ExprKind::kCast) && e->dtype == DType::kF32 && !e->saturate) {
    const Result<Expr> from = InferTypes(s, e->args[0]);
    return from.ok() && IsNarrow((*from)->dtype);
  }
  const Container* c = e.Is(ExprKind::kRead) && !e->has_default ? s.Find(e->name) : nullptr;
  if (!c || c->kind != ContainerKind::kConstant || !c->data.data || c->dtype != DType::kF32) return false;
  const float* data = c->data.as<float>();
  return std::all_of(data, data + c->data.elements(), [](float v) { return v == std::trunc(v); });
}

std::optional<Affine> Over(const Affine& a, const Numbers& by) {
  const auto inverse = Each(One(1), by, [](double one, double y) { return one / y; });
  return inverse ? Times(a, *inverse) : std::nullopt;
}

}  // namespace headrace::transforms
