// Iterations that meet run in their order; indices that are read from memory are asked for before they are used.
#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "transforms/schedule/checks.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

bool MentionsIt(const Question& q, Name index) {
  const auto in = [&](const Expr& e) { return Mentions(e, index); };
  return std::any_of(q.check.index.begin(), q.check.index.end(), [&](const Expr& e) { return IsFromMemory(e) && in(e); }) ||
         std::any_of(q.where.begin(), q.where.end(), in);
}

}  // namespace

// An error names the array that the program has, so it is asked for before a view of it.
std::vector<Question> Scheduler::Questions(const Tasklet& t) const {
  std::vector<Question> out;
  for (const Question& q : QuestionsOf(*s_, t)) {
    Question whole = q;
    Touch& k = whole.check;
    while (collapsed_.count(k.container)) {
      const Container& view = s_->Get(k.container);
      const Container& base = s_->Get(view.base);
      size_t d = 0;
      while (d + 1 < view.shape.size() && view.shape[d] == base.shape[d]) ++d;
      k.index[d] = Expr(0);
      k.index.insert(k.index.begin() + static_cast<long>(d) + 1, Expr(0));
      k.container = view.base;
    }
    if (k.container != q.check.container) out.push_back(whole);
    out.push_back(q);
  }
  return out;
}

NodeId Scheduler::Asked(const Question& q) {
  NodeId out = s_->AddNode(q.check);
  for (size_t i = q.where.size(); i-- > 0;) out = s_->AddNode(If{q.where[i], {out}, {}});
  return out;
}

Scheduler::Statements Scheduler::WithChecks(const Statements& body) {
  Statements out;
  for (NodeId id : body) {
    if (const auto* t = std::get_if<Tasklet>(&s_->nodes[id].body))
      for (const Question& q : Questions(Tasklet(*t))) out.push_back(Asked(q));
    out.push_back(id);
  }
  return out;
}

// Tasklets over `lane`: in lanes where what they ask for doesn't depend on the lane, and is known before.
Scheduler::Statements Scheduler::Walk(const Range& lane, Statements body, bool lanes, bool whole_rows) {
  std::vector<Question> first;
  std::vector<Name> written;
  for (NodeId id : body)
    for (const ElementAccess& a : AccessesOf(*s_, id))
      if (a.write) written.push_back(a.root);
  const auto before = [&](const Expr& e) {  // whether it has its value before any of them
    const std::vector<Name> names = ReadContainers(e);
    return std::none_of(names.begin(), names.end(), [&](Name n) {
      return std::find(written.begin(), written.end(), RootOf(*s_, n)) != written.end();
    });
  };
  for (NodeId id : body)
    for (Question& q : Questions(std::get<Tasklet>(s_->nodes[id].body))) {
      lanes = lanes && !MentionsIt(q, lane.index);
      for (Expr& e : q.check.index) {
        lanes = lanes && before(e);
        e = Substitute(e, {{lane.index, lane.begin}});
      }
      for (const Expr& e : q.where) lanes = lanes && before(e);
      first.push_back(std::move(q));
    }
  if (!lanes) return Wrap(s_, {{{lane}, Schedule::kSequential}}, WithChecks(body));
  Statements out = Hoist(lane.index, &body);
  for (const Question& q : first) out.push_back(Asked(q));
  for (NodeId id : Lanes(lane, body, whole_rows)) out.push_back(id);
  if (first.empty() || lane.begin.Is(ExprKind::kSymbol)) return out;  // a part has an element
  if (const auto begin = AsInt(lane.begin), end = AsInt(lane.end); begin && end && *begin < *end) return out;
  return {s_->AddNode(If{BinaryExpr(Op::kLt, lane.begin, lane.end), out, {}})};
}

// The last index of everything it stands in, alone: lanes lie side by side.
bool Scheduler::LiesSideBySide(const Statements& body, Name lane) const {
  for (NodeId id : body)
    for (const ElementAccess& a : AccessesOf(*s_, id)) {
      if (s_->Get(a.root).storage == Storage::kRegister) continue;
      for (size_t d = 0; d < a.index.size(); ++d) {
        if (!Mentions(a.index[d], lane)) continue;
        const Container& c = s_->Get(a.container);
        const bool last = !a.flat && (c.row_major() ? d + 1 == a.index.size() : AsInt(StridesOf(c)[d]) == 1);
        if (!last || a.index[d] != SymbolExpr(lane)) return false;
      }
    }
  return true;
}

// Ranges whose iterations meet keep their order; those that keep iterations apart are shared out, the one that walks memory
// in lanes. No partial results: what is accumulated is accumulated where it lies.
std::optional<Scheduler::Statements> Scheduler::InOrder(Nest n, const std::vector<bool>& apart, bool share) {
  Nest free = n;
  free.ranges.clear();
  std::vector<Range> ordered;
  for (size_t i = 0; i < n.ranges.size(); ++i) (apart[i] ? free.ranges : ordered).push_back(n.ranges[i]);
  const int at = free.ranges.empty() ? -1 : LaneRange(*s_, free);
  const bool lanes = at >= 0 && TakesLanes(*s_, n.body) && LiesSideBySide(n.body, free.ranges[at].index);
  if (!share || free.ranges.empty()) {
    if (!lanes) return Wrap(s_, {{n.ranges, Schedule::kSequential}}, WithChecks(n.body));
    const Range lane = free.ranges[at];
    std::vector<Range> around;
    for (const Range& r : n.ranges)
      if (r.index != lane.index) around.push_back(r);
    return Wrap(s_, {{around, Schedule::kSequential}}, Walk(lane, n.body, true, false));
  }
  const int64_t cost = OperationsOf(*s_, n.body);
  Expr work = Expr(cost) * TripsOf(ordered);
  std::vector<Range> outer = free.ranges;
  std::optional<Range> lane;
  std::optional<Name> parts;
  if (lanes) {
    lane = outer[at];
    outer.erase(outer.begin() + at);
    const auto length = AsInt(lane->end);
    work = work * (length ? Expr(std::min(*length, d_.sum_elements)) : Min(Expr(d_.sum_elements), lane->end));
    if (!length || *length > d_.sum_elements) {
      const Cut cut = Split(*s_, *lane, Expr(d_.sum_elements));
      parts = cut.parts.index;
      outer.push_back(cut.parts);
    }
  }
  const Shared shared = ShareOut(*s_, outer, work, d_);
  for (const auto* list : {&shared.units, &shared.within})
    for (const Range& r : *list)
      if (parts && r.index == *parts) lane = schedule::Within(r, lane->index);
  std::vector<Range> inside = shared.within;
  inside.insert(inside.end(), ordered.begin(), ordered.end());
  const Statements body = lane ? Walk(*lane, n.body, true, false) : WithChecks(n.body);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {inside, Schedule::kSequential}}, body);
}

// A map over some of the ranges of a nest, which is what lies in the others then.
NodeId Scheduler::Enclose(Nest* n, std::vector<Range> inner) {
  std::vector<Range> outer;
  for (const Range& r : n->ranges)
    if (std::none_of(inner.begin(), inner.end(), [&](const Range& i) { return i.index == r.index; })) outer.push_back(r);
  const NodeId map = s_->AddNode(Map{std::move(inner), n->body});
  for (auto& [local, home] : homes_)
    if (home == n->owner.value) home = map.value;
  n->ranges = std::move(outer);
  n->body = {map};
  n->owner = {};
  return map;
}

// Several statements: over the ranges that keep iterations apart each thread has its own; the others lie within.
std::optional<Scheduler::Statements> Scheduler::Mixed(Nest n, const std::vector<bool>& apart) {
  const int lane = LaneRange(*s_, n);
  if (lane >= 0 && apart[lane] && OfTasklets(n)) return InOrder(std::move(n), apart, /*share=*/true);
  std::vector<Range> meeting;
  for (size_t i = 0; i < n.ranges.size(); ++i)
    if (!apart[i]) meeting.push_back(n.ranges[i]);
  if (meeting.size() == n.ranges.size()) {
    if (auto parts = IterationsInParts(n)) return parts;
    return SumsWithin(std::move(n));  // in one thread
  }
  const NodeId map = Enclose(&n, meeting);
  const Expr work = WorkOf(n.body);
  auto body = SumsWithin(NestOf(*s_, map));
  if (!body) return std::nullopt;
  const Shared shared = ShareOut(*s_, n.ranges, work, d_);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, *body);
}

}  // namespace headrace::schedule
