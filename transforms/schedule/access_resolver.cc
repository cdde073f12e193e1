#include "transforms/schedule/access_resolver.h"

#include <algorithm>

#include "ir/analysis/facts.h"
#include "ir/analysis/layout.h"

namespace headrace::schedule {

Expr AccessResolver::Outside(Name container, const std::vector<Expr>& index, bool flat) const {
  const Container& c = s_.Get(container);
  const std::vector<Expr> shape = flat ? std::vector<Expr>{NumElements(c)} : c.shape;
  Expr all;
  const auto require = [&](const Expr& condition) {
    if (std::find(known_.begin(), known_.end(), condition) != known_.end()) return;
    all = all ? BinaryExpr(Op::kAnd, all, condition) : condition;
  };
  for (size_t d = 0; d < index.size(); ++d) {
    if (!index[d]) continue;  // it will be checked
    Sides open = UnprovenSides(ranges_, index[d], shape[d], s_.assumptions);
    if (!open.none() && !known_.empty() && IsIndexExpr(index[d]))
      open = UnprovenSides(CutByFacts(ranges_, known_), index[d], shape[d], s_.assumptions);
    if (open.lower) require(BinaryExpr(Op::kGe, index[d], Expr(0)));
    if (open.upper) require(BinaryExpr(Op::kLt, index[d], shape[d]));
  }
  return all;
}

Expr AccessResolver::Resolved(const Expr& e) {
  if (!e) return e;
  if (e.Is(ExprKind::kRead)) {
    std::vector<Expr> index(e->args.begin(), e->args.end() - e->has_default);
    for (Expr& i : index) i = Resolved(i);
    if (!e->has_default) {
      Inside(e->name, index, e->flat);
      return WithArgs(e, std::move(index));
    }
    const Expr condition = Outside(e->name, index, e->flat);
    ExprNode read = *e;
    read.has_default = false;
    read.args = std::move(index);
    const Expr inside{std::move(read)};
    if (!condition) return inside;
    const size_t known = known_.size();
    AddFacts(condition, false, &known_);  // the value for outside is only asked for there
    const Expr otherwise = Resolved(e->args.back());
    known_.resize(known);
    return SelectExpr(condition, inside, otherwise);
  }
  const bool choice = e.Is(ExprKind::kSelect) || (e.Is(ExprKind::kBinary) && (e->op == Op::kAnd || e->op == Op::kOr));
  std::vector<Expr> args;
  for (size_t i = 0; i < e->args.size(); ++i) {
    const size_t known = known_.size();
    if (choice && i > 0) AddFacts(args[0], e.Is(ExprKind::kSelect) ? i == 1 : e->op == Op::kAnd, &known_);
    args.push_back(Resolved(e->args[i]));
    known_.resize(known);
  }
  return args.empty() ? e : WithArgs(e, std::move(args));
}

}  // namespace headrace::schedule
