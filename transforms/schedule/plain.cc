// The schedule of a kernel that no other strategy fits: loops as they are written. Ranges that keep iterations apart are shared out
// to threads, innermost ones run in lanes where nothing is asked in them; every access that isn't shown to be inside is checked
// before, every write that may be dropped stands under its condition.
//   map i in 0:n { Y[I[i] - 1] ?? += X[2 * i] }
//     →  for i in 0:n { check X[2 * i] ; check I[…] ; if I[i] - 1 >= 0 && I[i] - 1 < m { Y[I[i] - 1] += X[2 * i] } }
#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/access_resolver.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {

class Scheduler::PlainStatements : public AccessResolver {
 public:
  // `lanes`: whether some ranges run in lanes.
  PlainStatements(Scheduler* of, bool lanes) : AccessResolver(of->s_), of_(*of), lanes_(lanes) {}

  Statements Of(const std::vector<Range>& around, const Statements& body) {
    ranges_.insert(ranges_.end(), around.begin(), around.end());
    Statements out;
    for (NodeId n : body) Statement(n, &out);
    return out;
  }

 private:
  void Inside(Name container, std::vector<Expr> index, bool flat) override {
    if (!Outside(container, index, flat)) return;
    questions_.push_back({{container, std::move(index), flat}, known_});
  }

  void Statement(NodeId n, Statements* out) {
    const Body body = s_.nodes[n].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) return Assignment(*t, out);
    const auto* m = std::get_if<Map>(&body);
    if (!m) return;
    const size_t outer = ranges_.size();
    ranges_.insert(ranges_.end(), m->ranges.begin(), m->ranges.end());
    Statements inside;
    for (NodeId c : m->body) Statement(c, &inside);
    ranges_.resize(outer);
    std::vector<Level> levels = {{m->ranges, Schedule::kSequential}};
    if (lanes_ && RunsInLanes(n, *m, inside)) {
      levels[0].ranges.pop_back();
      levels.push_back({{m->ranges.back()}, Schedule::kVector});
    }
    for (NodeId c : Wrap(&s_, levels, inside)) out->push_back(c);
  }

  // The last range keeps iterations apart, walks memory, and nothing is asked in it.
  bool RunsInLanes(NodeId n, const Map& m, const Statements& inside) const {
    if (of_.IsLoop(n)) return false;
    const Range& last = m.ranges.back();
    if (!TakesLanes(s_, inside) || (last.step && AsInt(last.step) != 1)) return false;
    Nest nest{m.ranges, m.body, n};
    if (!of_.ApartRanges(nest).back()) return false;
    nest.ranges = {last};
    return of_.LiesSideBySide(inside, last.index);
  }

  void Assignment(Tasklet t, Statements* out) {
    questions_.clear();
    t.value = Resolved(t.value);
    for (Expr& e : t.index) e = Resolved(e);
    const Expr kept = t.guarded ? Outside(t.target, t.index, t.flat) : Expr();
    if (!t.guarded) Inside(t.target, t.index, t.flat);
    t.guarded = false;
    for (const Question& q : questions_) out->push_back(of_.Asked(q));
    const NodeId write = s_.AddNode(std::move(t));
    out->push_back(kept ? s_.AddNode(If{kept, {write}, {}}) : write);
  }

  Scheduler& of_;
  bool lanes_;
  std::vector<Question> questions_;  // of the statement at hand
};

// A sum of f16 or bf16 is of a larger type until its end: not here, where it is added up where it lies. A maximum is of any type.
bool Scheduler::SumsSmallFloats(NodeId statement) const {
  const std::vector<ElementAccess> all = AccessesOf(*s_, statement);
  return std::any_of(all.begin(), all.end(), [&](const ElementAccess& a) {
    const DType t = s_->Get(a.container).dtype;
    return a.write && (a.op == WriteOp::kAdd || a.op == WriteOp::kMul) && IsFloat(t) && ByteSize(t) < 4 && std::none_of(a.index.begin(), a.index.end(), IsFromMemory);
  });
}

// In their order, all of it: `share` says whether iterations that are kept apart may run at once.
std::string Scheduler::Plain(bool share) {
  const NodeId only = OnlyStatement(*s_);
  if (!only.valid()) return "it has several statements";
  for (Name n : s_->order)
    if (s_->Get(n).optional) return "'" + n.str() + "' may be absent";
  if (SumsSmallFloats(only)) return "sums of small floats in their order";
  for (const Home& h : HomesOf(*s_, {only})) homes_[h.container] = h.owner.value;
  Nest n{{}, {only}, {}};
  std::vector<Range> apart, ordered;
  if (share && std::holds_alternative<Map>(s_->nodes[only].body) && !IsLoop(only)) {
    n = NestOf(*s_, only);
    const auto depends = [&](const Range& r) {
      return std::any_of(n.ranges.begin(), n.ranges.end(), [&](const Range& o) {
        return Mentions(r.begin, o.index) || Mentions(r.end, o.index) || (r.step && Mentions(r.step, o.index));
      });
    };
    std::vector<bool> own = ApartRanges(n);
    for (size_t i = 0; i < n.ranges.size(); ++i) own[i] = own[i] && !depends(n.ranges[i]) && Normalize(s_, &n, i);
    for (size_t i = 0; i < n.ranges.size(); ++i) (own[i] ? apart : ordered).push_back(n.ranges[i]);
  }
  const Expr work = WorkOf(n.body) * TripsOf(ordered);
  PlainStatements plain(this, share);
  Statements body = plain.Of(n.ranges, n.body);
  const Shared shared = ShareOut(*s_, apart, work, d_);
  Finish(Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}, {ordered, Schedule::kSequential}}, body));
  return "";
}

}  // namespace headrace::schedule
