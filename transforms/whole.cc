#include "transforms/whole.h"

#include <algorithm>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"

namespace headrace::transforms {

bool ShowsAll(const Sdfg& s, const Container& c) {
  if (c.kind != ContainerKind::kView) return c.row_major();
  const Container& root = s.Get(RootOf(s, c.name));
  return c.base == root.name && root.row_major() && IsContiguous(c) && (!c.offset || AsInt(c.offset) == 0) &&
         ProveEq(NumElements(c), NumElements(root), s.assumptions) == Truth::kYes;
}

bool HasOneEach(const Container& c, const Map& m, const std::vector<Expr>& index) {
  if (index.size() != c.shape.size()) return false;
  std::unordered_set<Name> seen;
  for (size_t d = 0; d < index.size(); ++d) {
    if (AsInt(c.shape[d]) == 1 && AsInt(index[d]) == 0) continue;  // a range that is gone
    const auto r = std::find_if(m.ranges.begin(), m.ranges.end(),
                                [&](const Range& x) { return index[d].Is(ExprKind::kSymbol) && x.index == index[d]->name; });
    if (r == m.ranges.end() || !seen.insert(r->index).second) return false;
    if (AsInt(r->begin) != 0 || r->end != c.shape[d] || (r->step && AsInt(r->step) != 1)) return false;
  }
  return seen.size() == m.ranges.size();
}

int Innermost(const Container& c) { return c.order.row_major() ? static_cast<int>(c.shape.size()) - 1 : c.order.dims().back(); }

}  // namespace headrace::transforms
