#include "transforms/schedule/resolve.h"

#include <algorithm>
#include <vector>

#include "ir/analysis/layout.h"
#include "transforms/schedule/checks.h"

namespace headrace::schedule {
namespace {

class Resolver {
 public:
  explicit Resolver(Sdfg* s) : s_(*s), ranges_(s->given) {}

  std::string Run() {
    for (Name n : s_.order)
      if (s_.Get(n).optional) return "'" + n.str() + "' may be absent";
    std::vector<NodeId> statements;
    for (BlockId b : s_.body)
      if (const auto* st = std::get_if<State>(&s_.blocks[b].control))
        statements.insert(statements.end(), st->statements.begin(), st->statements.end());
    for (NodeId n : statements) Statement(n);
    return why_;
  }

 private:
  void Statement(NodeId n) {
    if (!why_.empty()) return;
    if (const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body)) {
      Tasklet out = *t;
      if (out.guarded) {
        const Expr outside = Outside(out.target, out.index, out.flat);
        if (outside) why_ = "a write of '" + out.target.str() + "' may be dropped";
        out.guarded = false;
      } else {
        Inside(out.target, out.index, out.flat, false);
      }
      out.value = Resolved(out.value, false);
      for (Expr& e : out.index) e = Resolved(e, false);
      s_.nodes.Mutable(n).body = std::move(out);
      return;
    }
    const auto* m = std::get_if<Map>(&s_.nodes[n].body);
    if (!m) return;
    const std::vector<NodeId> body = m->body;
    const size_t outer = ranges_.size();
    ranges_.insert(ranges_.end(), m->ranges.begin(), m->ranges.end());
    for (NodeId c : body) Statement(c);
    ranges_.resize(outer);
  }

  // What must hold for the access to be inside, as far as it isn't proven or known where it stands; null: nothing.
  Expr Outside(Name container, const std::vector<Expr>& index, bool flat) const {
    const Container& c = s_.Get(container);
    const std::vector<Expr> shape = flat ? std::vector<Expr>{NumElements(c)} : c.shape;
    Expr all;
    const auto require = [&](const Expr& condition) {
      if (std::find(known_.begin(), known_.end(), condition) != known_.end()) return;
      all = all ? BinaryExpr(Op::kAnd, all, condition) : condition;
    };
    for (size_t d = 0; d < index.size(); ++d) {
      if (!index[d]) continue;  // it will be checked
      const Sides open = UnprovenSides(ranges_, index[d], shape[d], s_.assumptions);
      if (open.lower) require(BinaryExpr(Op::kGe, index[d], Expr(0)));
      if (open.upper) require(BinaryExpr(Op::kLt, index[d], shape[d]));
    }
    return all;
  }
  // Indices from memory are checked before, unless a condition decides whether the access happens at all.
  void Inside(Name container, std::vector<Expr> index, bool flat, bool conditional) {
    if (!conditional)
      for (Expr& e : index)
        if (IsFromMemory(e)) e = Expr();
    if (Outside(container, index, flat)) why_ = "'" + container.str() + "' may be accessed outside its bounds";
  }
  // The terms of a conjunction.
  void Know(const Expr& e) {
    if (e.Is(ExprKind::kBinary) && e->op == Op::kAnd) return Know(e->args[0]), Know(e->args[1]);
    known_.push_back(e);
  }

  Expr Resolved(const Expr& e, bool conditional) {
    if (!e || !why_.empty()) return e;
    if (e.Is(ExprKind::kRead)) {
      std::vector<Expr> index(e->args.begin(), e->args.end() - e->has_default);
      for (Expr& i : index) i = Resolved(i, conditional);
      if (!e->has_default) {
        Inside(e->name, index, e->flat, conditional);
        return WithArgs(e, std::move(index));
      }
      const Expr condition = Outside(e->name, index, e->flat), otherwise = Resolved(e->args.back(), true);
      ExprNode read = *e;
      read.has_default = false;
      read.args = std::move(index);
      const Expr inside{std::move(read)};
      return condition ? SelectExpr(condition, inside, otherwise) : inside;
    }
    const bool choice = e.Is(ExprKind::kSelect) || (e.Is(ExprKind::kBinary) && (e->op == Op::kAnd || e->op == Op::kOr));
    std::vector<Expr> args;
    for (size_t i = 0; i < e->args.size(); ++i) {
      const size_t known = known_.size();
      if (e.Is(ExprKind::kSelect) && i == 1) Know(args[0]);
      args.push_back(Resolved(e->args[i], conditional || (choice && i > 0)));
      known_.resize(known);
    }
    return args.empty() ? e : WithArgs(e, std::move(args));
  }

  Sdfg& s_;
  std::vector<Range> ranges_;
  std::vector<Expr> known_;  // what holds where an expression is evaluated
  std::string why_;
};

}  // namespace

std::string ResolveAccesses(Sdfg* kernel) { return Resolver(kernel).Run(); }

}  // namespace headrace::schedule
