#include "ir/verify/verify_known.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"

namespace headrace::verify {

void Known::Forget(const Sdfg& s, Name root) {
  const auto reads = [&](const Expr& e) {
    const std::vector<Name> names = ReadContainers(e);
    return std::any_of(names.begin(), names.end(), [&](Name n) { return s.Find(n) && RootOf(s, n) == root; });
  };
  for (Expr& e : conditions)
    if (reads(e)) e = BoolExpr(true);
  for (Checked& k : checked)
    if (std::any_of(k.check.index.begin(), k.check.index.end(), reads) || std::any_of(k.where.begin(), k.where.end(), reads))
      k.check.container = {};
}

void Known::ForgetWritten(const Sdfg& s, const std::vector<NodeId>& body) {
  if (conditions.empty() && checked.empty()) return;
  for (NodeId n : body) {
    if (const auto* t = std::get_if<Tasklet>(&s.nodes[n].body); t && s.Find(t->target)) Forget(s, RootOf(s, t->target));
    ForEachBody(s.nodes[n].body, [&](const std::vector<NodeId>& inside) { ForgetWritten(s, inside); });
  }
}

}  // namespace headrace::verify
