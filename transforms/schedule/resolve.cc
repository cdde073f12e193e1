#include "transforms/schedule/resolve.h"

#include <algorithm>
#include <vector>

#include "ir/analysis/layout.h"
#include "transforms/schedule/access_resolver.h"
#include "transforms/schedule/checks.h"

namespace headrace::schedule {
namespace {

class Resolver : public AccessResolver {
 public:
  Resolver(Sdfg* s, std::vector<NodeId>* before) : AccessResolver(s), before_(before) {}

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

  // Indices from memory are checked before.
  void Inside(Name container, std::vector<Expr> index, bool flat) override {
    if (!why_.empty()) return;
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
    Touch beyond{container, index, flat};
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

  std::vector<NodeId>* before_;  // statements that stand before all others
  std::string why_;
};

}  // namespace

std::string ResolveAccesses(Sdfg* kernel, std::vector<NodeId>* before) { return Resolver(kernel, before).Run(); }

}  // namespace headrace::schedule
