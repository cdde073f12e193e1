#include "transforms/schedule/resolve.h"

#include <functional>
#include <vector>

#include "ir/analysis/layout.h"

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
        Inside(out.target, out.index, out.flat);
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

  // What must hold for the access to be inside, as far as it isn't proven; null: nothing.
  Expr Outside(Name container, const std::vector<Expr>& index, bool flat) const {
    const Container& c = s_.Get(container);
    const std::vector<Expr> shape = flat ? std::vector<Expr>{NumElements(c)} : c.shape;
    Expr all;
    const auto require = [&](const Expr& condition) { all = all ? BinaryExpr(Op::kAnd, all, condition) : condition; };
    for (size_t d = 0; d < index.size(); ++d) {
      const Sides open = UnprovenSides(ranges_, index[d], shape[d], s_.assumptions);
      if (open.lower) require(BinaryExpr(Op::kGe, index[d], Expr(0)));
      if (open.upper) require(BinaryExpr(Op::kLt, index[d], shape[d]));
    }
    return all;
  }
  void Inside(Name container, const std::vector<Expr>& index, bool flat) {
    if (Outside(container, index, flat)) why_ = "'" + container.str() + "' may be accessed outside its bounds";
  }

  Expr Resolved(const Expr& e, bool conditional) {
    if (!e || !why_.empty()) return e;
    if (e.Is(ExprKind::kRead)) {
      std::vector<Expr> index(e->args.begin(), e->args.end() - e->has_default);
      for (Expr& i : index) i = Resolved(i, conditional);
      if (!e->has_default) {
        Inside(e->name, index, e->flat);
        return WithArgs(e, std::move(index));
      }
      const Expr condition = Outside(e->name, index, e->flat), otherwise = Resolved(e->args.back(), true);
      ExprNode read = *e;
      read.has_default = false;
      read.args = std::move(index);
      const Expr inside{std::move(read)};
      return condition ? SelectExpr(condition, inside, otherwise) : inside;
    }
    std::vector<Expr> args;
    for (const Expr& a : e->args) args.push_back(Resolved(a, conditional));
    return args.empty() ? e : WithArgs(e, std::move(args));
  }

  Sdfg& s_;
  std::vector<Range> ranges_;
  std::string why_;
};

}  // namespace

std::string ResolveAccesses(Sdfg* kernel) { return Resolver(kernel).Run(); }

}  // namespace headrace::schedule
