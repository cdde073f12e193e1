#include "transforms/schedule/resolve.h"

#include <algorithm>
#include <vector>

#include "ir/analysis/facts.h"
#include "ir/analysis/layout.h"
#include "transforms/schedule/checks.h"

namespace headrace::schedule {
namespace {

class Resolver {
 public:
  Resolver(Sdfg* s, std::vector<NodeId>* before) : s_(*s), ranges_(s->given), owners_(s->given.size()), before_(before) {}

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
      out.value = Resolved(out.value);
      for (Expr& e : out.index) e = Resolved(e);
      s_.nodes.Mutable(n).body = std::move(out);
      return;
    }
    const auto* m = std::get_if<Map>(&s_.nodes[n].body);
    if (!m) return;
    const std::vector<NodeId> body = m->body;
    const size_t outer = ranges_.size();
    ranges_.insert(ranges_.end(), m->ranges.begin(), m->ranges.end());
    owners_.resize(ranges_.size(), n);
    for (NodeId c : body) Statement(c);
    if (why_.empty()) {  // some may end earlier now
      Map& map = std::get<Map>(s_.nodes.Mutable(n).body);
      map.ranges.assign(ranges_.begin() + static_cast<long>(outer), ranges_.end());
    }
    ranges_.resize(outer), owners_.resize(outer);
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
      Sides open = UnprovenSides(ranges_, index[d], shape[d], s_.assumptions);
      if (!open.none() && !known_.empty() && IsIndexExpr(index[d]))
        open = UnprovenSides(CutByFacts(ranges_, known_), index[d], shape[d], s_.assumptions);
      if (open.lower) require(BinaryExpr(Op::kGe, index[d], Expr(0)));
      if (open.upper) require(BinaryExpr(Op::kLt, index[d], shape[d]));
    }
    return all;
  }
  // Indices from memory are checked before.
  void Inside(Name container, std::vector<Expr> index, bool flat) {
    for (Expr& e : index)
      if (IsFromMemory(e)) e = Expr();
    if (Outside(container, index, flat) && !EndsBefore(container, index, flat)) why_ = "'" + container.str() + "' may be accessed outside its bounds";
  }
  // A range that would go beyond the last element ends there, and the run stops with an error before:
  //   map i in 0:n { Y[i] = X[i] }  →  if m < n { check X[m] } ; map i in 0:min(n, m) { Y[i] = X[i] }
  bool EndsBefore(Name container, const std::vector<Expr>& index, bool flat) {
    const Container& c = s_.Get(container);
    const std::vector<Expr> shape = flat ? std::vector<Expr>{NumElements(c)} : c.shape;
    if (!known_.empty() || s_.Get(container).storage == Storage::kRegister) return false;
    for (size_t d = 0; d < index.size(); ++d) {
      if (!index[d]) return false;
      const Sides open = UnprovenSides(ranges_, index[d], shape[d], s_.assumptions);
      if (open.none()) continue;
      if (open.lower || !End(container, index, flat, d, shape[d])) return false;
    }
    return !Outside(container, index, flat);
  }
  bool End(Name container, const std::vector<Expr>& index, bool flat, size_t d, const Expr& extent) {
    size_t at = ranges_.size();
    for (size_t k = 0; k < ranges_.size(); ++k) {
      const Range& r = ranges_[k];
      if (owners_[k].valid() && (AsInt(r.begin) != 0 || (r.step && AsInt(r.step) != 1))) return false;
      for (const Range& o : ranges_)
        if (Mentions(r.end, o.index) || Mentions(extent, o.index)) return false;
      if (!Mentions(index[d], r.index)) continue;
      if (at != ranges_.size() || !owners_[k].valid()) return false;
      at = k;
    }
    const auto by = at < ranges_.size() ? Coefficient(index[d], ranges_[at].index) : std::nullopt;
    if (!by || AsInt(*by) != 1) return false;
    Range& r = ranges_[at];
    const Expr limit = extent - Substitute(index[d], {{r.index, Expr(0)}});
    Check beyond{container, index, flat};
    NodeId check;
    NameMap first = {{r.index, Max(limit, Expr(0))}};
    for (const Range& o : ranges_)
      if (o.index != r.index) first.push_back({o.index, o.begin});
    for (Expr& e : beyond.index) e = Substitute(e, first);
    check = s_.AddNode(beyond);
    Expr happens = BinaryExpr(Op::kLt, limit, r.end);
    for (size_t k = 0; k < ranges_.size(); ++k)
      if (k != at && owners_[k].valid() && AsInt(ranges_[k].end).value_or(0) < 1)
        happens = BinaryExpr(Op::kAnd, happens, BinaryExpr(Op::kLt, Expr(0), ranges_[k].end));
    before_->push_back(s_.AddNode(If{happens, {check}, {}}));
    r.end = Min(r.end, limit);
    return true;
  }

  Expr Resolved(const Expr& e) {
    if (!e || !why_.empty()) return e;
    if (e.Is(ExprKind::kRead)) {
      std::vector<Expr> index(e->args.begin(), e->args.end() - e->has_default);
      for (Expr& i : index) i = Resolved(i);
      if (!e->has_default) {
        Inside(e->name, index, e->flat);
        return WithArgs(e, std::move(index));
      }
      const Expr condition = Outside(e->name, index, e->flat), otherwise = Resolved(e->args.back());
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
      if (choice && i > 0) AddFacts(args[0], e.Is(ExprKind::kSelect) ? i == 1 : e->op == Op::kAnd, &known_);
      args.push_back(Resolved(e->args[i]));
      known_.resize(known);
    }
    return args.empty() ? e : WithArgs(e, std::move(args));
  }

  Sdfg& s_;
  std::vector<Range> ranges_;
  std::vector<NodeId> owners_;     // the map that each is of; invalid: what loops around calls say
  std::vector<NodeId>* before_;    // statements that stand before all others
  std::vector<Expr> known_;  // what holds where an expression is evaluated
  std::string why_;
};

}  // namespace

std::string ResolveAccesses(Sdfg* kernel, std::vector<NodeId>* before) { return Resolver(kernel, before).Run(); }

}  // namespace headrace::schedule
