#include "transforms/schedule/checks.h"

#include <algorithm>

#include "ir/analysis/facts.h"
#include "ir/analysis/layout.h"

namespace headrace::schedule {
namespace {

class Asker {
 public:
  explicit Asker(const Sdfg& s) : s_(s) {}

  void OfReads(const Expr& e) {
    if (!e) return;
    const bool choice = e.Is(ExprKind::kSelect) || (e.Is(ExprKind::kBinary) && (e->op == Op::kAnd || e->op == Op::kOr));
    for (size_t i = 0; i < e->args.size(); ++i) {
      const size_t known = where_.size();
      if (choice && i > 0) AddFacts(e->args[0], e.Is(ExprKind::kSelect) ? i == 1 : e->op == Op::kAnd, &where_);
      OfReads(e->args[i]);
      where_.resize(known);
    }
    if (e.Is(ExprKind::kRead) && !e->has_default) Add(e->name, e->args, e->flat);
  }

  void Add(Name container, std::vector<Expr> index, bool flat) {
    const Container& c = s_.Get(container);
    const std::vector<Expr> shape = flat ? std::vector<Expr>{NumElements(c)} : c.shape;
    bool open = false;  // but for those that are clamped, or compared
    for (size_t d = 0; d < index.size(); ++d)
      open |= IsFromMemory(index[d]) && !UnprovenSides({}, index[d], shape[d], s_.assumptions).none() &&
              !(Holds(BinaryExpr(Op::kGe, index[d], Expr(0))) && Holds(BinaryExpr(Op::kLt, index[d], shape[d])));
    if (!open) return;
    for (const Question& q : questions)
      if (q.check.container == container && q.check.index == index && q.check.flat == flat && q.where == where_) return;
    questions.push_back({{container, std::move(index), flat}, where_});
  }

  std::vector<Question> questions;

 private:
  bool Holds(const Expr& e) const { return std::find(where_.begin(), where_.end(), e) != where_.end(); }

  const Sdfg& s_;
  std::vector<Expr> where_;
};

}  // namespace

bool IsFromMemory(const Expr& index) { return !ReadContainers(index).empty(); }

std::vector<Question> QuestionsOf(const Sdfg& s, const Tasklet& t) {
  Asker asker(s);
  asker.OfReads(t.value);
  for (const Expr& e : t.index) asker.OfReads(e);
  if (!t.guarded) asker.Add(t.target, t.index, t.flat);
  return std::move(asker.questions);
}

}  // namespace headrace::schedule
