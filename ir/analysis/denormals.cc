#include "ir/analysis/denormals.h"

#include <algorithm>

namespace headrace {
namespace {

bool Exact(DType t) { return t == DType::kF64 || t == DType::kC128 || t == DType::kF8E8M0; }

const ValueType& Innermost(const ValueType& t) { return t.element ? Innermost(*t.element) : t; }
DType TypeOf(const Container& c) { return c.dtype == DType::kNone ? Innermost(c.type).dtype : c.dtype; }

bool Exact(const Sdfg& s, Name n) {
  const Container* c = s.Find(n);
  return c && Exact(TypeOf(*c));
}

// `converted`: the value goes into a cast to another type.
bool Exact(const Sdfg& s, const Expr& e, bool converted = false) {
  if (!e) return false;
  if (e.Is(ExprKind::kCast)) return Exact(e->dtype) || Exact(s, e->args[0], true);
  if ((e.Is(ExprKind::kRead) || e.Is(ExprKind::kSymbol)) && Exact(s, e->name))
    if (!converted || TypeOf(s.Get(e->name)) == DType::kF8E8M0) return true;
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& a) { return Exact(s, a); });
}

bool Exact(const Sdfg& s, const Body& b) {
  if (const auto* choice = std::get_if<If>(&b)) return Exact(s, choice->condition);
  const auto* t = std::get_if<Tasklet>(&b);
  return t && (Exact(s, t->target) || Exact(s, t->value) ||
               std::any_of(t->index.begin(), t->index.end(), [&](const Expr& e) { return Exact(s, e); }));
}

bool Exact(const Sdfg& s, const Control& c) {
  if (const auto* l = std::get_if<Loop>(&c)) return Exact(s, l->init) || Exact(s, l->condition) || Exact(s, l->update);
  if (const auto* a = std::get_if<Assign>(&c)) return Exact(s, a->value);
  const auto* choice = std::get_if<Conditional>(&c);
  return choice && std::any_of(choice->branches.begin(), choice->branches.end(), [&](const Branch& b) { return Exact(s, b.condition); });
}

}  // namespace

bool NeedsDenormals(const Sdfg& s) {
  bool exact = false;
  ForEachNode(s, [&](NodeId n) { exact = exact || Exact(s, s.nodes[n].body); });
  ForEachBlock(s, s.body, [&](BlockId b) { exact = exact || Exact(s, s.blocks[b].control); });
  return exact;
}

bool HasFloats(const Sdfg& s) {
  return std::any_of(s.order.begin(), s.order.end(), [&](Name n) {
    const DType t = TypeOf(s.Get(n));
    return IsFloat(t) || IsComplex(t);
  });
}

}  // namespace headrace
