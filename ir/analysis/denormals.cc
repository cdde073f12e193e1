#include "ir/analysis/denormals.h"

#include <algorithm>

namespace headrace {
namespace {

bool Exact(DType t) { return t == DType::kF64 || t == DType::kC128 || t == DType::kF8E8M0; }

const ValueType& Innermost(const ValueType& t) { return t.element ? Innermost(*t.element) : t; }
DType TypeOf(const Container& c) { return c.dtype == DType::kNone ? Innermost(c.type).dtype : c.dtype; }

bool Casts(const Expr& e) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    found |= x.Is(ExprKind::kCast) && Exact(x->dtype);
    return !found;
  });
  return found;
}

bool Casts(const Body& b) {
  if (const auto* choice = std::get_if<If>(&b)) return Casts(choice->condition);
  const auto* t = std::get_if<Tasklet>(&b);
  return t && (Casts(t->value) || std::any_of(t->index.begin(), t->index.end(), [](const Expr& e) { return Casts(e); }));
}

bool Casts(const Control& c) {
  if (const auto* l = std::get_if<Loop>(&c)) return Casts(l->init) || Casts(l->condition) || Casts(l->update);
  if (const auto* a = std::get_if<Assign>(&c)) return Casts(a->value);
  const auto* choice = std::get_if<Conditional>(&c);
  return choice && std::any_of(choice->branches.begin(), choice->branches.end(), [](const Branch& b) { return Casts(b.condition); });
}

}  // namespace

bool NeedsDenormals(const Sdfg& s) {
  for (Name n : s.order)
    if (Exact(TypeOf(s.Get(n)))) return true;
  bool casts = false;
  ForEachNode(s, [&](NodeId n) { casts = casts || Casts(s.nodes[n].body); });
  ForEachBlock(s, s.body, [&](BlockId b) { casts = casts || Casts(s.blocks[b].control); });
  return casts;
}

bool HasFloats(const Sdfg& s) {
  return std::any_of(s.order.begin(), s.order.end(), [&](Name n) {
    const DType t = TypeOf(s.Get(n));
    return IsFloat(t) || IsComplex(t);
  });
}

}  // namespace headrace
