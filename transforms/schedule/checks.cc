#include "transforms/schedule/checks.h"

#include "ir/analysis/layout.h"

namespace headrace::schedule {
namespace {

void Add(const Sdfg& s, Name container, std::vector<Expr> index, bool flat, std::vector<Check>* out) {
  const Container& c = s.Get(container);
  const std::vector<Expr> shape = flat ? std::vector<Expr>{NumElements(c)} : c.shape;
  bool open = false;  // but for those that are clamped
  for (size_t d = 0; d < index.size(); ++d)
    open |= IsFromMemory(index[d]) && !UnprovenSides({}, index[d], shape[d], s.assumptions).none();
  if (!open) return;
  for (const Check& k : *out)
    if (k.container == container && k.index == index && k.flat == flat) return;
  out->push_back({container, std::move(index), flat});
}

void OfReads(const Sdfg& s, const Expr& e, std::vector<Check>* out) {
  if (!e) return;
  const bool choice = e.Is(ExprKind::kSelect) || (e.Is(ExprKind::kBinary) && (e->op == Op::kAnd || e->op == Op::kOr));
  if (choice) return OfReads(s, e->args[0], out);
  for (const Expr& a : e->args) OfReads(s, a, out);
  if (e.Is(ExprKind::kRead) && !e->has_default) Add(s, e->name, e->args, e->flat, out);
}

}  // namespace

bool IsFromMemory(const Expr& index) { return !ReadContainers(index).empty(); }

std::vector<Check> ChecksOf(const Sdfg& s, const Tasklet& t) {
  std::vector<Check> out;
  OfReads(s, t.value, &out);
  for (const Expr& e : t.index) OfReads(s, e, &out);
  if (!t.guarded) Add(s, t.target, t.index, t.flat, &out);
  return out;
}

}  // namespace headrace::schedule
