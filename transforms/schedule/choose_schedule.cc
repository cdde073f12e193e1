#include "transforms/schedule/choose_schedule.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "ir/analysis/layout.h"
#include "ir/base/log.h"
#include "ir/graph/homes.h"
#include "ir/verify/verify.h"
#include "transforms/schedule/byte_lanes.h"
#include "transforms/schedule/grid.h"
#include "transforms/schedule/peel.h"
#include "transforms/schedule/resolve.h"
#include "transforms/schedule/scheduler.h"
#include "transforms/schedule/streamed.h"

namespace headrace {
namespace schedule {

Expr TripsOf(const std::vector<Range>& ranges) {
  Expr n(1);
  for (const Range& r : ranges)
    if (const Expr trips = TripsOf(r)) n = n * trips;
  return n;
}

Shared ShareOut(const Sdfg& s, const std::vector<Range>& outer, Expr work, const Device& d) {
  Shared out;
  for (size_t k = outer.size(); k-- > 0;) {
    const Range& r = outer[k];
    const Expr trips = TripsOf(r);
    const auto known = AsInt(work);
    const Expr most = known ? Expr(std::max<int64_t>(1, d.chunk_operations / std::max<int64_t>(1, *known)))
                            : Max(Expr(1), FloorDiv(Expr(d.chunk_operations), Max(Expr(1), work)));
    if (AsInt(most) == 1 || !trips) {
      out.units.insert(out.units.begin(), r);
    } else if (AsInt(most) && AsInt(trips) && *AsInt(trips) <= *AsInt(most)) {
      out.within.insert(out.within.begin(), r);
    } else {
      const Cut cut = Split(s, r, most * (r.step ? r.step : Expr(1)));
      out.units.insert(out.units.begin(), cut.parts);
      out.within.insert(out.within.begin(), cut.within);
    }
    if (trips) work = work * trips;
  }
  return out;
}

Name Scheduler::Local(const std::string& stem, DType t, std::vector<Expr> shape) {
  return schedule::Local(s_, stem, t, std::move(shape), Storage::kRegister);
}

bool Scheduler::Prepare(Nest* n) {
  for (size_t i = 0; i < n->ranges.size(); ++i)
    for (const Range& o : n->ranges)
      for (const Expr& e : {n->ranges[i].begin, n->ranges[i].end, n->ranges[i].step})
        if (e && Mentions(e, o.index)) return false;
  for (size_t i = 0; i < n->ranges.size(); ++i)
    if (!Normalize(s_, n, i)) return false;
  return true;
}

// Literal sizes count, others as 64.
Expr Scheduler::WorkOf(const std::vector<NodeId>& body) const {
  int64_t sum = OperationsOf(*s_, body);
  for (NodeId n : body) {
    const auto* m = std::get_if<Map>(&s_->nodes[n].body);
    if (!m) continue;
    int64_t trips = 1;
    for (const Range& r : m->ranges) {
      const Expr t = TripsOf(r);
      trips = std::min<int64_t>(1 << 24, trips * std::max<int64_t>(1, t ? AsInt(t).value_or(64) : 64));
    }
    sum = std::min<int64_t>(int64_t{1} << 40, sum + trips * AsInt(WorkOf(m->body)).value_or(1));
  }
  return Expr(sum);
}

// Of neighbours the outer one walks memory faster than the inner one, in all arrays that know: they change places.
void Scheduler::InMemoryOrder(const Nest& n, std::vector<Range>* outer) const {
  std::vector<Expr> offsets;
  for (NodeId id : n.body)
    for (const ElementAccess& a : AccessesOf(*s_, id))
      if (const Offset at = OffsetOf(*s_, a.container, a.index, a.flat); at.elements) offsets.push_back(at.elements);
  const auto is_slower = [&](const Range& a, const Range& b) {  // b than a, everywhere
    bool slower = false;
    for (const Expr& e : offsets) {
      const auto by_a = Coefficient(e, a.index), by_b = Coefficient(e, b.index);
      const auto x = by_a ? AsInt(*by_a) : std::nullopt, y = by_b ? AsInt(*by_b) : std::nullopt;
      if (!x || !y || std::abs(*x) > std::abs(*y)) return false;
      slower |= *x != 0 && std::abs(*x) < std::abs(*y);
    }
    return slower;
  };
  for (size_t end = outer->size(); end > 1; --end)
    for (size_t i = 0; i + 1 < end; ++i)
      if (is_slower((*outer)[i], (*outer)[i + 1])) std::swap((*outer)[i], (*outer)[i + 1]);
}

std::optional<Scheduler::Statements> Scheduler::Elementwise(Nest n, bool share) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t a = 0; a < n.ranges.size() && !changed; ++a)
      for (size_t b = 0; b < n.ranges.size() && !changed; ++b)
        if (a != b && MayCollapse(n, a, b)) Merge(&n, a, b), changed = true;
  }
  const int lane = LaneRange(*s_, n);
  if (lane < 0) return Declined("no range walks memory");
  std::vector<Range> outer = n.ranges;
  Range lanes = outer[lane];
  outer.erase(outer.begin() + lane);
  InMemoryOrder(n, &outer);
  const Schedule kind = TakesLanes(*s_, n.body) ? Schedule::kVector : Schedule::kSequential;
  const int64_t cost = OperationsOf(*s_, n.body);
  const auto in_lanes = [&] {
    return Walk(lanes, n.body, kind == Schedule::kVector, share);
  };
  // Lines that are read across memory are read in short parts, so that what a line brings is used before it is lost.
  std::optional<size_t> across;
  for (NodeId id : n.body)
    for (const ElementAccess& a : AccessesOf(*s_, id)) {
      const Offset at = OffsetOf(*s_, a.container, a.index, a.flat);
      const auto along = at.elements ? Coefficient(at.elements, lanes.index) : std::nullopt;
      if (along && (AsInt(*along) == 1 || AsInt(*along) == 0)) continue;
      for (size_t i = 0; i < outer.size() && !across && at.elements; ++i) {
        const auto c = Coefficient(at.elements, outer[i].index);
        if (c && AsInt(*c) == 1 && AsInt(outer[i].end).value_or(64) >= 8) across = i;
      }
    }
  if (across && kind == Schedule::kVector)
    if (auto squares = Transposed(n, lanes, outer, *across, share)) return squares;
  if (!share) return Wrap(s_, {{outer, Schedule::kSequential}}, in_lanes());
  std::vector<Range> inner;
  if (across) {
    inner.push_back(outer[*across]);
    outer.erase(outer.begin() + static_cast<long>(*across));
  }
  const auto length = AsInt(lanes.end);
  const int64_t rows = d_.row_elements, worth = d_.chunk_operations / cost / rows * rows;
  const int64_t part = across ? d_.transpose_elements : std::max(rows, worth);
  Expr work = Expr(cost) * TripsOf(inner) * (length ? Expr(std::min(*length, part)) : outer.empty() ? Expr(part) : Min(Expr(part), lanes.end));
  std::optional<Name> parts;
  if (!length || *length > part) {
    const Cut cut = Split(*s_, lanes, Expr(part));
    parts = cut.parts.index;
    outer.push_back(cut.parts);
  }
  Shared shared = ShareOut(*s_, outer, work, d_);
  for (const auto* list : {&shared.units, &shared.within})
    for (const Range& r : *list)
      if (parts && r.index == *parts) lanes = Within(r, lanes.index);
  shared.within.insert(shared.within.end(), inner.begin(), inner.end());
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, in_lanes());
}

// Y[o] = a ; map k { Y[o] += v }: a sum that starts at `a`. Its lanes lie along o where that walks memory.
std::optional<Scheduler::Statements> Scheduler::InitialisedSum(const Nest& n, bool share) {
  return Try([&] { return TryInitialisedSum(n, share); });
}

std::optional<Scheduler::Statements> Scheduler::TryInitialisedSum(const Nest& n, bool share) {
  if (n.body.size() != 2) return std::nullopt;
  const auto* first = std::get_if<Tasklet>(&s_->nodes[n.body[0]].body);
  if (!first || first->op != WriteOp::kAssign || !std::holds_alternative<Map>(s_->nodes[n.body[1]].body)) return std::nullopt;
  const Tasklet init = *first;
  Nest all = NestOf(*s_, n.body[1]);
  const auto* sum = all.body.size() == 1 ? std::get_if<Tasklet>(&s_->nodes[all.body[0]].body) : nullptr;
  if (!sum || sum->op == WriteOp::kAssign || sum->target != init.target || sum->index != init.index || sum->flat != init.flat)
    return std::nullopt;
  for (const ElementAccess& a : AccessesOf(*s_, n.body[0]))
    if (!a.write && a.root == AccessesOf(*s_, n.body[0]).back().root) return std::nullopt;
  std::vector<bool> apart(n.ranges.size(), true);
  apart.resize(n.ranges.size() + all.ranges.size(), false);
  all.ranges.insert(all.ranges.begin(), n.ranges.begin(), n.ranges.end());
  if (!Prepare(&all)) return std::nullopt;
  const int lane = LaneRange(*s_, all);
  if (lane < 0 || !apart[lane]) return std::nullopt;
  return Sum(std::move(all), apart, share, {init.value});
}

// Rows: a body of several statements, each of which one thread does as it can.
std::optional<Scheduler::Statements> Scheduler::Rows(Nest n) {
  if (auto sum = InitialisedSum(n, /*share=*/true)) return sum;
  if (auto sum = CompletedSum(n)) return sum;
  if (auto pieces = Distributed(n)) return pieces;
  if (auto rows = ShortRows(n)) return rows;
  if (auto rows = RowsTogether(n)) return rows;
  const Expr work = WorkOf(n.body);
  Statements body;
  for (NodeId id : n.body) {
    auto inside = Inside(id);
    if (!inside) return std::nullopt;
    body.insert(body.end(), inside->begin(), inside->end());
  }
  const Shared shared = ShareOut(*s_, n.ranges, work, d_);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

// What is written is seen under one name all over the kernel, so that nobody has to show that two views agree. Scalars have no views.
bool Scheduler::MayCollapse(const Nest& n, size_t outer, size_t inner) const {
  if (!collapses_ || !CanCollapse(*s_, n, outer, inner)) return false;
  std::unordered_map<Name, int> here;
  std::unordered_set<Name> seen;  // under another name afterwards
  const auto moves = [&](const Expr& e) { return Mentions(e, n.ranges[outer].index) || Mentions(e, n.ranges[inner].index); };
  for (NodeId id : n.body)
    for (const ElementAccess& a : AccessesOf(*s_, id)) {
      ++here[a.root];
      if (std::any_of(a.index.begin(), a.index.end(), moves)) seen.insert(a.root);
    }
  return std::all_of(seen.begin(), seen.end(), [&](Name root) {
    const auto all = accesses_.find(root);
    return all == accesses_.end() || all->second <= here[root] || s_->Get(root).shape.empty();
  });
}

// Its ranges are split into groups and joined, in what is done around it, too.
std::optional<Scheduler::OneSum> Scheduler::OneSumOf(const Nest& n) {
  OneSum out;
  out.nest = n;
  std::optional<Elements> elements;
  if (n.body.size() > 1) {
    elements = ElementsOf(s_, n);
    if (!elements) return std::nullopt;
    out.nest = elements->nest;
    if (!Prepare(&out.nest)) return std::nullopt;
  } else if (!OfTasklets(n)) {
    return std::nullopt;
  }
  SplitGroups(s_, &out.nest);
  out.apart = ApartRanges(out.nest);
  CollapseWithin(&out.nest, &out.apart);
  out.sum = std::get<Tasklet>(s_->nodes[out.nest.body[elements ? elements->sum : 0]].body);
  if (elements) elements->nest = out.nest;
  out.completion = elements ? CompletionOf(*s_, *elements) : CompletionOf(out.sum);
  return out;
}

bool Scheduler::OfTasklets(const Nest& n) const {
  return std::all_of(n.body.begin(), n.body.end(),
                     [&](NodeId id) { return std::holds_alternative<Tasklet>(s_->nodes[id].body); });
}

// Whether the iterations of each range meet nowhere, `but` in these. Registers that live outside of the nest count, as where they meet.
std::vector<bool> Scheduler::ApartRanges(const Nest& n, const std::unordered_set<Name>& but) const {
  const auto is_own = [&](Name a) { return but.count(a) || (s_->Get(a).storage == Storage::kWorker && IsPrivate(a, n)); };
  std::vector<bool> apart = DisjointRanges(*s_, n, is_own);
  for (NodeId id : n.body)
    for (const ElementAccess& a : AccessesOf(*s_, id)) {
      if (!a.write || but.count(a.root) || s_->Get(a.root).storage != Storage::kRegister || IsPrivate(a.root, n)) continue;
      for (size_t i = 0; i < n.ranges.size(); ++i)
        apart[i] = apart[i] && std::find(a.index.begin(), a.index.end(), SymbolExpr(n.ranges[i].index)) != a.index.end();
    }
  return apart;
}

bool Scheduler::IsPrivate(Name local, const Nest& n) const {
  const auto it = homes_.find(local);
  if (it == homes_.end()) return false;
  bool within = it->second == n.owner.value;
  const std::function<void(NodeId)> visit = [&](NodeId id) {
    within |= it->second == id.value;
    ForEachBody(s_->nodes[id].body, [&](const Statements& inside) {
      for (NodeId c : inside) visit(c);
    });
  };
  for (NodeId id : n.body) visit(id);
  return within;
}

std::optional<Scheduler::Statements> Scheduler::Top(NodeId map) {
  Nest n = NestOf(*s_, map);
  if (n.ranges.empty()) return Declined("a map without an index");
  if (!Prepare(&n)) return Dependent(std::move(n), /*share=*/true);
  const std::vector<bool> apart = ApartRanges(n);
  const bool all = std::all_of(apart.begin(), apart.end(), [](bool x) { return x; });
  if (OfTasklets(n) && all) return Elementwise(std::move(n), /*share=*/true);
  if (auto windowed = Windowed(n)) return windowed;
  if (auto product = Product(n)) return product;
  if (OfTasklets(n) && n.body.size() == 1) {
    return IsSum(n, apart) ? Sum(std::move(n), apart, /*share=*/true) : InOrder(std::move(n), apart, /*share=*/true);
  }
  if (!all) {  // too little for a second thread: in one
    const auto trips = AsInt(TripsOf(n.ranges)), work = AsInt(WorkOf(n.body));
    const bool little = trips && work && *trips < d_.chunk_operations && *trips * *work < 4 * d_.chunk_operations;
    if (auto sums = SumsSideBySide(n, apart)) return sums;
    if (auto pieces = Distributed(n)) return pieces;
    if (!little) return Mixed(std::move(n), apart);
    return SumsWithin(std::move(n));
  }
  return Rows(std::move(n));
}

std::optional<Scheduler::Statements> Scheduler::Inside(NodeId statement) {
  if (std::holds_alternative<Tasklet>(s_->nodes[statement].body)) return WithChecks({statement});
  if (!std::holds_alternative<Map>(s_->nodes[statement].body)) return std::nullopt;
  Nest n = NestOf(*s_, statement);
  if (n.ranges.empty()) return Declined("a map without an index");
  if (!Prepare(&n)) return Dependent(std::move(n), /*share=*/false);
  const std::vector<bool> apart = ApartRanges(n);
  const bool all = std::all_of(apart.begin(), apart.end(), [](bool x) { return x; });
  if (OfTasklets(n) && all) return Elementwise(std::move(n), /*share=*/false);
  if (OfTasklets(n) && n.body.size() == 1) {
    return IsSum(n, apart) ? Sum(std::move(n), apart, /*share=*/false) : InOrder(std::move(n), apart, /*share=*/false);
  }
  return SumsWithin(std::move(n));
}

// A loop: each statement of its body as one thread does it.
std::optional<Scheduler::Statements> Scheduler::InLoop(NodeId loop) {
  const Map m = std::get<Map>(s_->nodes[loop].body);
  Statements body;
  for (NodeId id : m.body) {
    auto inside = IsLoop(id) ? InLoop(id) : Inside(id);
    if (!inside) return std::nullopt;
    body.insert(body.end(), inside->begin(), inside->end());
  }
  return Wrap(s_, {{m.ranges, Schedule::kSequential}}, body);
}

bool Scheduler::IsLoop(NodeId n) const {
  const auto* m = std::get_if<Map>(&s_->nodes[n].body);
  return m && m->schedule == Schedule::kSequential;
}

std::string Scheduler::Run(bool collapse) {
  collapses_ = collapse;
  const NodeId n = OnlyStatement(*s_);
  if (!n.valid()) return "it has several statements";
  Statements first;
  if (std::string why = ResolveAccesses(s_, &first); !why.empty()) return why;
  for (const Home& h : HomesOf(*s_, {n})) homes_[h.container] = h.owner.value;
  NoteRanges(n);
  std::unordered_set<Name> written;
  for (const ElementAccess& a : AccessesOf(*s_, n)) {
    ++accesses_[a.root];
    if (a.write) written.insert(a.root);
  }
  for (auto it = accesses_.begin(); it != accesses_.end();) it = written.count(it->first) ? std::next(it) : accesses_.erase(it);
  Statements body = WithChecks({n});
  if (std::holds_alternative<Map>(s_->nodes[n].body)) {
    std::optional<Statements> scheduled;
    if (IsLoop(n)) scheduled = InBlocks(n);
    if (!scheduled) scheduled = IsLoop(n) ? InLoop(n) : Top(n);
    if (!scheduled) return why_;
    body = std::move(*scheduled);
  }
  body.insert(body.begin(), first.begin(), first.end());
  Finish(std::move(body));
  return "";
}

void Scheduler::Finish(Statements body) {
  for (BlockId b : s_->body)
    if (std::holds_alternative<State>(s_->blocks[b].control)) std::get<State>(s_->blocks.Mutable(b).control).statements = body;
  s_->device = Name(d_.name);
  Renumber(s_);
}

}  // namespace schedule

namespace {

bool AddsProducts(const Sdfg& s) {
  const auto negated = [](const Expr& e) { return e.Is(ExprKind::kUnary) && e->op == Op::kNeg; };
  bool found = false;
  ForEachNode(s, [&](NodeId n) {
    const auto* t = std::get_if<Tasklet>(&s.nodes[n].body);
    if (!t || t->op != WriteOp::kAdd) return;
    const Expr& value = negated(t->value) ? t->value->args[0] : t->value;
    found |= value.Is(ExprKind::kBinary) && value->op == Op::kMul;
  });
  return found;
}

// What stays inside, and races nowhere, as far as the verifier can tell; else the reason.
std::string WhyNotTaken(const Program& p, const Sdfg& kernel) {
  const Status verified = Verify(p, kernel);
  if (verified.ok()) return "";
  const std::string why = verified.diagnostics().front().message;
  if (LogsOn(LogTopic::kChoice)) Log(LogTopic::kChoice, kernel.name.str() + ": a schedule is not taken: " + why);
  return why;
}

// The best schedule that the verifier takes; nullopt: none, and why the last one was not taken. What can't be shown to stay
// inside, and to race nowhere, is no schedule. Plain loops in place of one that was refused say so (`unscheduled`).
std::optional<Sdfg> ScheduleOf(const Program& p, const Sdfg& s, const schedule::Device& device, std::string* why) {
  bool tiles = false;
  std::string refused;  // why the first was that the verifier didn't take
  const auto attempt = [&](const std::function<std::string(schedule::Scheduler&)>& run) -> std::optional<Sdfg> {
    Sdfg copy = s;
    schedule::Scheduler scheduler(&copy, device);
    *why = run(scheduler);
    if (why->empty() && device.block_threads > 1) *why = schedule::OntoGrid(&copy, device);
    else if (why->empty()) schedule::PartByteLanes(&copy, std::max<int64_t>(1, device.vector_bytes / ByteSize(DType::kI32)));
    if (why->empty()) schedule::StreamStores(&copy, s, device);
    if (why->empty() && !(*why = WhyNotTaken(p, copy)).empty() && refused.empty()) refused = *why;
    tiles = scheduler.tiles().has_value();
    return why->empty() ? std::optional<Sdfg>(std::move(copy)) : std::nullopt;
  };
  // Of ranges that are one where sizes are symbols, less can be shown; and a product may have tiles only where they aren't.
  auto joined = attempt([](schedule::Scheduler& x) { return x.Run(/*collapse=*/true); });
  if (joined && (tiles || !AddsProducts(s))) return joined;
  auto apart = attempt([](schedule::Scheduler& x) { return x.Run(/*collapse=*/false); });
  if (apart && (tiles || !joined)) return apart;
  if (joined) return joined;
  for (const bool share : {true, false})
    if (auto plain = attempt([share](schedule::Scheduler& x) { return x.Plain(share); })) {
      plain->unscheduled = refused;
      return plain;
    }
  return std::nullopt;
}

}  // namespace

namespace schedule {

std::optional<Tiles> TilesOf(const Program& p, const Sdfg& kernel, const Device& d) {
  for (const bool collapse : {true, false}) {
    Sdfg copy = kernel;
    Scheduler scheduler(&copy, d);
    if (scheduler.Run(collapse).empty() && scheduler.tiles() && WhyNotTaken(p, copy).empty()) return scheduler.tiles();
  }
  return std::nullopt;
}

}  // namespace schedule

Result<bool> ChooseSchedule(Program& p, const schedule::Device& device, const Ask& ask, const Plan& plan) {
  for (const Plan::Kernel& k : plan.kernels) HR_RETURN_IF_ERROR(schedule::With(device, k.numbers).status());
  bool changed = false;
  for (auto& s : p.sdfgs) {
    if (!s->kernel || !s->device.empty()) continue;
    std::string why;
    const Plan::Kernel* planned = plan.kernels.empty() ? nullptr : plan.Find(KernelKey(*s));
    std::optional<Sdfg> scheduled = ScheduleOf(p, *s, planned ? *schedule::With(device, planned->numbers) : device, &why);
    if (!scheduled) {
      Sdfg copy = *s;
      copy.unscheduled = why;
      s = std::make_shared<Sdfg>(std::move(copy));
      continue;
    }
    Match m;
    m.sdfg = s->name;
    m.statements = {schedule::OnlyStatement(*s)};
    if (!ask(m)) continue;
    s = std::make_shared<Sdfg>(std::move(*scheduled));
    changed = true;
  }
  return changed;
}

}  // namespace headrace
