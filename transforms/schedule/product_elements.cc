// What is done with each result of a product, where its sum is known: in the tile, or from a buffer of sums.
//   map i, j { S = 0 ; map k { S += A[i, k] * B[k, j] } ; Y[i, j] = max(S + b[j], 0) }
//     →  … for r in 0:12 { map u in 0:32 @vector { S = t[r, u] ; Y[i1 + r, j1 + u] = max(S + b[j1 + u], 0) } }
#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/product_schedule.h"
#include "transforms/schedule/steps.h"

namespace headrace::schedule {

// The accesses as places in views by the outer ranges, the row and the column, where they move with these evenly.
bool ProductScheduler::ViewElements() {
  column_ = p_.columns.size() == 1 ? p_.columns[0].index : FreshIn(*s_, "c");
  for (size_t k = 0; k < completion_.statements.size(); ++k) {
    Tasklet& t = completion_.statements[k];
    const auto value = ViewReads(t.value);
    if (!value || !std::all_of(t.index.begin(), t.index.end(), IsIndexExpr)) return false;
    t.value = *value;
    const auto view = ViewElement(t.target, t.flat, &t.index);
    if (!view) return false;
    t.target = *view, t.flat = false;
  }
  return true;
}

std::optional<Name> ProductScheduler::ViewElement(Name container, bool flat, std::vector<Expr>* index) {
  const Offset at = OffsetOf(*s_, container, *index, flat);
  if (s_->Get(at.root).storage == Storage::kRegister) return index->empty() ? std::optional<Name>(container) : std::nullopt;
  if (!at.elements) return std::nullopt;
  std::vector<Range> outer;
  std::vector<Dimension> inner;
  std::vector<Expr> placed;
  for (const Range& r : p_.outer)
    if (Mentions(at.elements, r.index)) outer.push_back(r), placed.push_back(SymbolExpr(r.index));
  if (Mentions(at.elements, p_.row.index)) {
    const Expr stride = StrideOf(at.elements, p_.row.index);
    if (!stride) return std::nullopt;
    inner.push_back({p_.row.end, stride});
    placed.push_back(SymbolExpr(p_.row.index));
  }
  if (std::any_of(p_.columns.begin(), p_.columns.end(), [&](const Range& r) { return Mentions(at.elements, r.index); })) {
    const Expr stride = StrideOf(at.elements, p_.columns.back().index);
    if (!stride) return std::nullopt;
    for (size_t k = 0; k < p_.columns.size(); ++k) {
      const Expr step = StrideOf(at.elements, p_.columns[k].index);
      if (!step || step != stride * CountOf({p_.columns.begin() + static_cast<long>(k) + 1, p_.columns.end()})) return std::nullopt;
    }
    inner.push_back({columns_.count, stride});
    placed.push_back(SymbolExpr(column_));
  }
  const auto view = View(container, *index, flat, outer, inner);
  *index = std::move(placed);
  return view;
}

// Null where something else than places depends on columns that are joined.
std::optional<Expr> ProductScheduler::ViewReads(const Expr& value) {
  bool fits = true;
  const Expr viewed = Transform(value, [&](const Expr& e) -> Expr {
    if (!e.Is(ExprKind::kRead)) return e;
    std::vector<Expr> index(e->args.begin(), e->args.end() - e->has_default);
    fits &= !e->has_default && std::all_of(index.begin(), index.end(), IsIndexExpr);
    const auto view = fits ? ViewElement(e->name, e->flat, &index) : std::nullopt;
    fits &= view.has_value();
    return fits ? ReadExpr(*view, index) : e;
  });
  if (p_.columns.size() > 1)
    for (const Range& r : p_.columns) fits &= !Mentions(viewed, r.index);
  return fits ? std::optional<Expr>(viewed) : std::nullopt;
}

ProductScheduler::Statements ProductScheduler::Result(const Expr& row, const Expr& column, const Expr& sum) {
  return CompletedAt(s_, completion_, {{p_.row.index, row}, {column_, column}}, sum);
}

}  // namespace headrace::schedule
