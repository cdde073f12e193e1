#include <unordered_set>

#include "autodiff/reverse_pieces.h"
#include "autodiff/taps.h"
#include "ir/analysis/sets.h"

namespace headrace::autodiff {
namespace {

// The arrays of at least so many dimensions that a register is made of.
std::unordered_set<Name> SourcesOf(const Sdfg& s, NodeId statement, Name reg, size_t dims) {
  std::unordered_set<Name> registers{reg}, arrays;
  for (size_t known = 0; known != registers.size();) {
    known = registers.size();
    ForEachTasklet(s, statement, [&](NodeId, const Tasklet& t) {
      if (!registers.count(t.target)) return;
      Visit(t.value, [&](const Expr& e) {
        if (!e.Is(ExprKind::kRead)) return true;
        if (IsRegister(s, e->name)) registers.insert(e->name);
        else if (IndexOf(e).size() >= dims) arrays.insert(RootOf(s, e->name));
        return true;
      });
    });
  }
  return arrays;
}

// x <= 0 ? 0 : x, of a register x.
bool IsPositivePart(const Sdfg& s, const Expr& e) {
  if (!e.Is(ExprKind::kSelect) || !e->args[2].Is(ExprKind::kRead) || !IsRegister(s, e->args[2]->name)) return false;
  const Expr& condition = e->args[0];
  return condition.Is(ExprKind::kBinary) && condition->op == Op::kLe && condition->args[0] == e->args[2] && IsZero(condition->args[1]) &&
         IsZero(e->args[1]);
}

}  // namespace

bool IsPositivePartOfSeveral(const Sdfg& s, NodeId statement, const Tasklet& t, const std::vector<Range>& around) {
  if (IsRegister(s, t.target) || t.op != WriteOp::kAssign || t.flat || t.guarded || !IsPositivePart(s, t.value)) return false;
  const Name part = t.value->args[2]->name;
  return s.Get(part).dtype == s.Get(t.target).dtype && SourcesOf(s, statement, part, t.index.size()).size() > 1 &&
         IsInjective(around, t.index, s.assumptions) == Truth::kYes;
}

}  // namespace headrace::autodiff
