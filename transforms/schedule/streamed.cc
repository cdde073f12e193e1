#include "transforms/schedule/streamed.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "transforms/schedule/steps.h"

namespace headrace::schedule {
namespace {

using Statements = std::vector<NodeId>;

// Memory is written in lines of so many bytes; the first element of a container lies where one begins (hr_stream.h asks).
constexpr int64_t kMemoryLine = 64;

class Streams {
 public:
  Streams(Sdfg* s, const Device& d) : s_(s), d_(d) {}

  void Run(const Sdfg& loops) {
    const auto* m = std::get_if<Map>(&loops.nodes[OnlyStatement(loops)].body);
    if (!m || m->schedule == Schedule::kSequential) return;  // of loops that go by one thread each step is small
    FindStreamed(loops);
    if (streamed_.empty()) return;
    Statements all;
    ForEachBlock(*s_, s_->body, [&](BlockId b) {
      if (const auto* state = std::get_if<State>(&s_->blocks[b].control)) Add(&all, state->statements);
    });
    for (NodeId n : all) In(n);
    if (changed_) Renumber(s_);
  }

 private:
  // Containers of which much is written, each element for itself, and nothing read; none where all that the kernel moves is little.
  void FindStreamed(const Sdfg& loops) {
    std::unordered_set<Name> read;
    std::unordered_map<Name, int64_t> bytes;
    for (const ElementAccess& a : AccessesOf(loops, OnlyStatement(loops))) {
      if (loops.Get(a.root).kind != ContainerKind::kParameter) continue;
      int64_t& most = bytes[a.root];
      most = std::max(most, BytesOf(loops, a));
      if (!a.write || a.op != WriteOp::kAssign) read.insert(a.root);
    }
    int64_t moved = 0;
    for (const auto& [n, size] : bytes) {
      moved += size;
      if (size >= d_.stream_bytes && read.count(n) == 0) streamed_.insert(n);
    }
    if (moved < d_.stream_moved) streamed_.clear();
  }

  // Of the elements that it reaches, as far as ranges are numbers.
  static int64_t BytesOf(const Sdfg& loops, const ElementAccess& a) {
    const Container& c = loops.Get(a.root);
    int64_t elements = AsInt(NumElements(c)).value_or(0), reached = 1;
    for (const Range& r : a.within ? *a.within : std::vector<Range>()) {
      const bool moves = std::any_of(a.index.begin(), a.index.end(), [&](const Expr& e) { return Mentions(e, r.index); });
      const Expr trips = moves ? TripsOf(r) : Expr(1);
      reached = std::min(elements, reached * std::max<int64_t>(0, trips ? AsInt(trips).value_or(0) : 0));
    }
    return reached * ByteSize(c.dtype);
  }

  void In(NodeId owner) {
    Body body = s_->nodes[owner].body;
    const size_t outside = place_.size();
    if (const auto* m = std::get_if<Map>(&body))
      for (const Range& r : m->ranges) Enter(r);
    bool changed = false;
    ForEachBody(&body, [&](Statements& list) {
      for (NodeId& n : list) {
        const auto lines = Lines(n);
        if (!lines) In(n);
        else n = *lines, changed = true;
      }
    });
    place_.resize(outside);
    changed_ |= changed;
    if (changed) s_->nodes.Mutable(owner).body = std::move(body);
  }

  // An index is a whole number of steps behind where its range begins.
  void Enter(const Range& r) {
    const Expr steps = SymbolExpr(Name("steps of " + r.index.str()));
    place_.push_back({r.index, Substitute(r.begin, place_) + (r.step ? r.step : Expr(1)) * steps});
  }

  // Whether it is a multiple of `of` wherever the loops around are.
  bool IsEverywhere(Expr e, int64_t of) const {
    for (size_t i = place_.size(); i-- > 0;) e = Substitute(e, {place_[i]});
    return IsMultiple(Simplify(e), of);
  }
  bool HasWholeLines(const Range& r, const Expr& end, int64_t count) const {
    if (end.Is(ExprKind::kCall) && end->name == Name("min"))
      return std::all_of(end->args.begin(), end->args.end(), [&](const Expr& e) { return HasWholeLines(r, e, count); });
    return IsEverywhere(end - r.begin, count);
  }

  // Whether lanes of `range` write their elements side by side, beginning where a line of memory does.
  bool IsStreamed(const Tasklet& t, const Range& range) const {
    if (t.op != WriteOp::kAssign || streamed_.count(RootOf(*s_, t.target)) == 0) return false;
    const Offset at = OffsetOf(*s_, t.target, t.index, t.flat);
    const auto step = at.elements ? Coefficient(at.elements, range.index) : std::nullopt;
    return step && AsInt(*step) == 1 && IsEverywhere(Substitute(at.elements, {{range.index, range.begin}}), std::max<int64_t>(1, kMemoryLine / SizeOf(t)));
  }
  int64_t SizeOf(const Tasklet& t) const { return ByteSize(s_->Get(t.target).dtype); }

  // The map in lines; nullopt: its lanes write nothing that goes past the caches.
  std::optional<NodeId> Lines(NodeId n) {
    const auto* m = std::get_if<Map>(&s_->nodes[n].body);
    if (!m || m->schedule != Schedule::kVector || m->ranges.size() != 1) return std::nullopt;
    const Range range = m->ranges[0];
    std::vector<Tasklet> body;
    int64_t widest = 0;
    for (NodeId inner : m->body) {
      const auto* t = std::get_if<Tasklet>(&s_->nodes[inner].body);
      if (!t || t->guarded) return std::nullopt;
      body.push_back(*t);
      if (IsStreamed(*t, range)) widest = std::max(widest, SizeOf(*t));
    }
    if (widest == 0) return std::nullopt;
    int64_t count = std::max<int64_t>(1, d_.stream_line / widest);
    if (const auto length = AsInt(Simplify(range.end - range.begin)); length && *length < count) {
      if (*length * widest % kMemoryLine != 0) return std::nullopt;
      count = *length;
    }

    const Name begin = FreshIn(*s_, range.index.str() + "_0");
    const Expr end = SymbolExpr(begin) + Expr(count);
    Statements line = Line(range, SymbolExpr(begin), body, count);
    if (!HasWholeLines(range, range.end, count)) {
      const Range rest{range.index, SymbolExpr(begin), Min(end, range.end), Expr(1)};
      line = {s_->AddNode(If{BinaryExpr(Op::kLe, end, range.end), line, Lanes(rest, WithOwnRegisters(s_, body))})};
    }
    return Wrap(s_, {{{{begin, range.begin, range.end, Expr(count)}}, Schedule::kSequential}}, line)[0];
  }

  // So many lanes: what they stream is held, and copied behind them.
  Statements Line(const Range& range, const Expr& begin, std::vector<Tasklet> body, int64_t count) {
    const Range lanes = UpTo(FreshIn(*s_, "u"), count);
    std::vector<Tasklet> copies;
    for (Tasklet& t : body) {
      if (!IsStreamed(t, range)) continue;
      const Name held = Local(s_, "t", s_->Get(t.target).dtype, {Expr(count)}, Storage::kRegister);
      const std::vector<Expr> place = {SymbolExpr(lanes.index)};
      copies.push_back(t);
      copies.back().value = ReadExpr(held, place);
      t.target = held, t.index = place, t.flat = false;
    }
    Statements out = Lanes(lanes, body);
    for (const Tasklet& t : copies) Add(&out, Wrap(s_, {{{lanes}, Schedule::kStream}}, {s_->AddNode(t)}));
    SubstituteIn(s_, out, {{range.index, begin + SymbolExpr(lanes.index)}});
    return out;
  }

  Statements Lanes(const Range& range, const std::vector<Tasklet>& body) {
    Statements inside;
    for (const Tasklet& t : body) inside.push_back(s_->AddNode(t));
    return Wrap(s_, {{{range}, Schedule::kVector}}, inside);
  }

  Sdfg* s_;
  const Device& d_;
  std::unordered_set<Name> streamed_;
  NameMap place_;  // of the indices around, outermost first
  bool changed_ = false;
};

}  // namespace

void StreamStores(Sdfg* s, const Sdfg& loops, const Device& d) { Streams(s, d).Run(loops); }

}  // namespace headrace::schedule
