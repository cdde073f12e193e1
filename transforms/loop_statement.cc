#include "transforms/loop_statement.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/graph/homes.h"
#include "transforms/loop_dependences.h"
#include "transforms/schedule/loop_blocks.h"
#include "transforms/schedule/nest.h"

namespace headrace::transforms {
namespace {

constexpr int kMostStatements = 200;     // of one kernel
constexpr int64_t kTileTerms = 1 << 12;  // of a product: more of them are worth its tiles
constexpr int64_t kCall = 1 << 10;       // operations beside which a call is much

std::optional<Range> PlainRange(const Loop& l) {
  const std::optional<Range> r = AsRange(l);
  if (!r || !IsIndexExpr(r->begin) || !IsIndexExpr(r->end) || (r->step && !AsInt(r->step))) return std::nullopt;
  return r;
}

// How often at most; nullopt: not known.
std::optional<int64_t> MostTrips(const Sdfg& s, const std::vector<Range>& ranges, std::vector<Range>* around) {
  int64_t product = 1;
  for (const Range& r : ranges) {
    const Expr trips = schedule::TripsOf(r);
    const Interval bounds = trips ? BoundsOf(trips, WithLoops(s.assumptions, *around)) : Interval{};
    if (!bounds.hi || __builtin_mul_overflow(product, std::max<int64_t>(0, *bounds.hi), &product)) return std::nullopt;
    around->push_back(r);
  }
  return product;
}

bool IsProduct(const Sdfg& s, const Map& m) {
  const auto* t = m.body.size() == 1 ? std::get_if<Tasklet>(&s.nodes[m.body[0]].body) : nullptr;
  return t && t->op == WriteOp::kAdd && m.ranges.size() >= 3 && t->index.size() >= 2;
}

// Scalar operations of a statement, at most, roughly; nullopt: not known, or it has a schedule of its own.
std::optional<int64_t> MostOperations(const Sdfg& s, NodeId n, std::vector<Range>* around) {
  const auto* m = std::get_if<Map>(&s.nodes[n].body);
  if (!m) return schedule::OperationsOf(s, {n});
  if (m->schedule != Schedule::kDefault) return std::nullopt;
  const size_t outer = around->size();
  const std::optional<int64_t> trips = MostTrips(s, m->ranges, around);
  int64_t sum = 0;
  bool known = trips && !(*trips >= kTileTerms && IsProduct(s, *m));
  for (NodeId c : m->body) {
    const std::optional<int64_t> each = known ? MostOperations(s, c, around) : std::nullopt;
    known = each && !__builtin_add_overflow(sum, *each, &sum);
  }
  around->resize(outer);
  int64_t product = 0;
  if (!known || __builtin_mul_overflow(sum, *trips, &product)) return std::nullopt;
  return product;
}

constexpr size_t kMostInOrder = 16;  // tasklets

// Whether all its iterations may meet where data say: one thread does them in their order, however many there are, and a statement
// beside it loses nothing.
bool RunsInOrder(const Sdfg& s, NodeId n) {
  const auto* m = std::get_if<Map>(&s.nodes[n].body);
  if (!m || m->schedule != Schedule::kDefault || m->body.size() > kMostInOrder) return false;
  bool in_order = false;
  for (NodeId c : m->body) {
    const auto* t = std::get_if<Tasklet>(&s.nodes[c].body);
    if (!t) return false;
    const auto from_data = [](const Expr& e) { return !ReadContainers(e).empty(); };
    const auto is_own = [&](const Expr& e) {
      return !from_data(e) && std::any_of(m->ranges.begin(), m->ranges.end(), [&](const Range& r) { return Mentions(e, r.index); });
    };
    in_order |= t->op != WriteOp::kAssign && std::any_of(t->index.begin(), t->index.end(), from_data) &&
                std::none_of(t->index.begin(), t->index.end(), is_own);
  }
  return in_order;
}

bool HasKnownTrips(const Sdfg& s, NodeId n) {
  const auto* m = std::get_if<Map>(&s.nodes[n].body);
  if (!m) return true;
  const auto known = [](const Range& r) { return AsInt(r.begin) && AsInt(r.end); };
  return std::all_of(m->ranges.begin(), m->ranges.end(), known) &&
         std::all_of(m->body.begin(), m->body.end(), [&](NodeId c) { return HasKnownTrips(s, c); });
}

// Sums and products of f16 or bf16 are of a larger type until their end. The loops of a statement on its own do without a schedule
// where none has that; a `for` does not.
bool AddsUpSmallFloats(const Sdfg& s, NodeId n) {
  const std::vector<schedule::ElementAccess> all = schedule::AccessesOf(s, n);
  return std::any_of(all.begin(), all.end(), [&](const schedule::ElementAccess& a) {
    const DType t = s.Get(a.container).dtype;
    return (a.op == WriteOp::kAdd || a.op == WriteOp::kMul) && a.write && IsFloat(t) && ByteSize(t) < 4;
  });
}

}  // namespace

bool LoopStatements::Fits(BlockId loop, const std::vector<Range>& around, int64_t operations,
                          const std::function<bool(NodeId)>& may) const {
  std::vector<Range> ranges = around;
  int statements = 0;
  return Fits(loop, &ranges, operations, may, &statements) && statements > 0;
}

bool LoopStatements::Fits(BlockId loop, std::vector<Range>* around, int64_t operations, const std::function<bool(NodeId)>& may,
                          int* statements) const {
  const Loop& l = std::get<Loop>(s_.blocks[loop].control);
  const std::optional<Range> range = PlainRange(l);
  if (!range) return false;
  around->push_back(*range);
  bool fits = true;
  for (BlockId b : l.body) {
    const Control& c = s_.blocks[b].control;
    if (const auto* state = std::get_if<State>(&c)) {
      for (NodeId n : state->statements) {
        const std::optional<int64_t> own = fits && may(n) && !AddsUpSmallFloats(s_, n) ? MostOperations(s_, n, around) : std::nullopt;
        fits = own && *own < operations && ++*statements <= kMostStatements;
      }
    } else {
      fits = fits && std::holds_alternative<Loop>(c) && Fits(b, around, operations, may, statements);
    }
    if (!fits) break;
  }
  around->pop_back();
  return fits;
}

// Its statements, and those of loops in it, in their order; false where there is anything else.
bool LoopStatements::Gather(BlockId loop, std::vector<NodeId>* statements, std::unordered_set<Name>* variables) const {
  const Loop& l = std::get<Loop>(s_.blocks[loop].control);
  if (!PlainRange(l) || !variables->insert(l.var).second) return false;
  return std::all_of(l.body.begin(), l.body.end(), [&](BlockId b) {
    const Control& c = s_.blocks[b].control;
    if (const auto* state = std::get_if<State>(&c)) statements->insert(statements->end(), state->statements.begin(), state->statements.end());
    return std::holds_alternative<State>(c) || (std::holds_alternative<Loop>(c) && Gather(b, statements, variables));
  });
}

// Whether tasklets among them set numbers only that every iteration of their loop sets before it reads them. `all_in_one`: loop.
bool LoopStatements::SetsOwnNumbers(const std::vector<NodeId>& statements, bool all_in_one) const {
  const auto is_tasklet = [&](NodeId n) { return std::holds_alternative<Tasklet>(s_.nodes[n].body); };
  if (std::none_of(statements.begin(), statements.end(), is_tasklet)) return true;
  std::unordered_set<uint32_t> ids;
  for (NodeId n : statements) ids.insert(n.value);
  const std::vector<Name> numbers = NumbersOf(ids);
  std::unordered_set<Name> set;
  for (NodeId n : statements) {
    for (const schedule::ElementAccess& a : schedule::AccessesOf(s_, n)) {
      const bool number = std::find(numbers.begin(), numbers.end(), a.root) != numbers.end();
      if (number && !a.write && !set.count(a.root)) return false;
    }
    const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body);
    if (!t) continue;
    const bool number = std::find(numbers.begin(), numbers.end(), t->target) != numbers.end();
    if (!all_in_one || !number || t->op != WriteOp::kAssign || t->guarded) return false;
    set.insert(t->target);
  }
  return true;
}

// The same of several; numbers are those of one loop.
bool LoopStatements::Gather(const std::vector<Part>& parts, std::vector<NodeId>* statements, std::unordered_set<Name>* variables) const {
  return std::all_of(parts.begin(), parts.end(), [&](const Part& p) {
    std::vector<NodeId> own{p.statement};
    std::unordered_set<Name> around;
    if (p.loop.valid()) {
      own.clear();
      if (!Gather(p.loop, &own, &around)) return false;
    }
    if (!SetsOwnNumbers(own, around.size() == 1)) return false;
    statements->insert(statements->end(), own.begin(), own.end());
    variables->insert(around.begin(), around.end());
    return true;
  });
}

bool LoopStatements::GoInBlocks(const std::vector<Part>& parts, const std::function<bool(NodeId)>& may) const {
  std::vector<NodeId> statements;
  std::unordered_set<Name> variables;
  if (!Gather(parts, &statements, &variables) || statements.size() > kMostStatements) return false;
  const bool fit = std::all_of(statements.begin(), statements.end(), [&](NodeId n) { return may(n) && !AddsUpSmallFloats(s_, n); });
  return fit && !schedule::BlocksOf(s_, statements, variables).empty();
}

std::vector<Name> LoopStatements::OfBlocks(const std::vector<Part>& parts) const {
  std::vector<NodeId> statements;
  std::unordered_set<Name> variables;
  if (!Gather(parts, &statements, &variables)) return {};
  const std::vector<schedule::LoopBlocks> blocks = schedule::BlocksOf(s_, statements, variables);
  std::unordered_set<uint32_t> ids;
  for (NodeId n : statements) ids.insert(n.value);
  std::vector<Name> out;
  for (Name n : s_.order) {
    const Container& c = s_.Get(n);
    const bool own = c.kind == ContainerKind::kTransient && c.storage == Storage::kArena && !c.output && !c.shape.empty();
    if (!own || uses_.Of(n).viewed || uses_.Of(n).writes.empty() || !IsInside(uses_.Of(n), ids)) continue;
    if (std::all_of(blocks.begin(), blocks.end(), [&](const schedule::LoopBlocks& b) { return b.MayKeep(s_, n); })) out.push_back(n);
  }
  return out;
}

NodeId LoopStatements::MapOf(BlockId loop, std::unordered_set<uint32_t>* statements) {
  const Loop l = std::get<Loop>(s_.blocks[loop].control);
  Map map{{*PlainRange(l)}, {}, Schedule::kSequential};
  for (BlockId b : l.body) {
    if (std::holds_alternative<Loop>(s_.blocks[b].control)) {
      map.body.push_back(MapOf(b, statements));
      continue;
    }
    for (NodeId n : std::get<State>(s_.blocks[b].control).statements) {
      statements->insert(n.value);
      map.body.push_back(n);
    }
  }
  return s_.AddNode(std::move(map), s_.blocks[loop].origin);
}

// Whether nothing else uses it.
bool LoopStatements::IsInside(const Usage& u, const std::unordered_set<uint32_t>& statements) const {
  const auto inside = [&](const std::vector<uint32_t>& at) {
    return std::all_of(at.begin(), at.end(), [&](uint32_t k) {
      const NodeId n = uses_.positions()[k].statement;
      return n.valid() && statements.count(n.value);
    });
  };
  return inside(u.reads) && inside(u.writes);
}

// Transients without a dimension that nothing else uses.
std::vector<Name> LoopStatements::NumbersOf(const std::unordered_set<uint32_t>& statements) const {
  std::vector<Name> out;
  for (Name n : s_.order) {
    const Container& c = s_.Get(n);
    if (c.kind != ContainerKind::kTransient || c.storage != Storage::kArena || !c.shape.empty()) continue;
    const Usage& u = uses_.Of(n);
    if (!u.viewed && !u.writes.empty() && IsInside(u, statements)) out.push_back(n);
  }
  return out;
}

// Whether the first statement of `owner` with the number sets it, whatever it held.
bool LoopStatements::SetFirst(Name number, NodeId owner, NodeId first) const {
  const auto* t = std::get_if<Tasklet>(&s_.nodes[first].body);
  if (!owner.valid() || !t || t->target != number || t->op != WriteOp::kAssign || t->guarded) return false;
  const std::vector<Name> reads = ReadContainers(t->value);
  return std::find(reads.begin(), reads.end(), number) == reads.end();
}

bool LoopStatements::IsSmall(NodeId statement, const std::vector<Range>& around, int64_t operations) const {
  if (AddsUpSmallFloats(s_, statement)) return false;
  if (RunsInOrder(s_, statement)) return true;
  std::vector<Range> ranges = around;
  const std::optional<int64_t> own = MostOperations(s_, statement, &ranges);
  return own && *own < (HasKnownTrips(s_, statement) ? std::min(operations, kCall) : operations);
}

NodeId LoopStatements::Make(BlockId loop) {
  std::unordered_set<uint32_t> statements;
  const NodeId map = MapOf(loop, &statements);
  return WithRegisters(map, statements);
}

NodeId LoopStatements::Make(const std::vector<Part>& parts) {
  std::unordered_set<uint32_t> ids;
  std::vector<NodeId> body;
  for (const Part& p : parts) {
    if (!p.loop.valid()) ids.insert(p.statement.value);
    body.push_back(p.loop.valid() ? MapOf(p.loop, &ids) : p.statement);
  }
  const Range once{s_.FreshName("once"), Expr(0), Expr(1), Expr(1)};
  const Origin origin = s_.nodes[body[0]].origin;
  return WithRegisters(s_.AddNode(Map{{once}, std::move(body), Schedule::kSequential}, origin), ids);
}

NodeId LoopStatements::WithRegisters(NodeId map, const std::unordered_set<uint32_t>& statements) {
  const std::vector<Name> numbers = NumbersOf(statements);
  for (Name n : numbers) s_.Mutable(n).storage = Storage::kRegister;
  for (const Home& h : HomesOf(s_, {map})) {
    const bool one_of_them = std::find(numbers.begin(), numbers.end(), h.container) != numbers.end();
    if (one_of_them && !SetFirst(h.container, h.owner, h.first)) s_.Mutable(h.container).storage = Storage::kArena;
  }
  return map;
}

}  // namespace headrace::transforms
