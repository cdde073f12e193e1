#include "autodiff/plan_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "autodiff/plan_names.h"
#include "ir/analysis/dataflow.h"
#include "ir/analysis/sets.h"

namespace headrace::autodiff {
namespace {

// The loop over the same iterations from the last to the first.
Loop Reversed(const Range& r) {
  const int64_t step = *AsInt(r.step);
  const Expr trips = Max(Expr(0), step > 0 ? FloorDiv(r.end - r.begin + Expr(step - 1), Expr(step))
                                           : FloorDiv(r.begin - r.end + Expr(-step - 1), Expr(-step)));
  const Expr last = step == 1    ? r.end - Expr(1)
                    : step == -1 ? r.end + Expr(1)
                                 : r.begin + (trips - Expr(1)) * Expr(step);
  return RangeLoop(r.index, last, r.begin - Expr(step), Expr(-step));
}

Expr IterationOf(const Range& r) {
  const int64_t step = *AsInt(r.step);
  const Expr v = SymbolExpr(r.index);
  return step > 0 ? FloorDiv(v - r.begin, Expr(step)) : FloorDiv(r.begin - v, Expr(-step));
}

class Finder {
 public:
  Finder(const Combined& c, const Options& o) : c_(c), p_(c.program), s_(c.program.Entry()), sizes_(s_, o.sizes) {
    for (BlockId b : s_.body) touched_.push_back(TouchedBy(p_, s_, b));
  }

  std::vector<TapedLoop> Run() {
    std::vector<TapedLoop> out;
    for (size_t f = 0; f < c_.forward_blocks && f < s_.body.size(); ++f)
      for (size_t b = c_.forward_blocks; b < s_.body.size(); ++b) {
        TapedLoop l;
        if (Pair(f, b, &l)) out.push_back(std::move(l));
      }
    return out;
  }

 private:
  bool Pair(size_t f, size_t b, TapedLoop* l) {
    const auto* forward = std::get_if<Loop>(&s_.blocks[s_.body[f]].control);
    const auto* backward = std::get_if<Loop>(&s_.blocks[s_.body[b]].control);
    if (!forward || !backward || forward->var != backward->var || forward->do_while) return false;
    const auto range = AsRange(*forward);
    if (!range || !AsInt(range->step) || *AsInt(range->step) == 0 || !IsIndexExpr(range->begin) ||
        !IsIndexExpr(range->end))
      return false;
    l->range = *range;
    l->forward = s_.body[f];
    l->backward = s_.body[b];
    const Loop expected = Reversed(*range);
    if (expected.init != backward->init || expected.condition != backward->condition ||
        expected.update != backward->update)
      return false;
    l->iteration = IterationOf(*range);
    return Tapes(f, b, l) && Again(f, b, l);
  }

  // The tapes of this loop: written in the one block, read in the other, always in the slot of the iteration.
  bool Tapes(size_t f, size_t b, TapedLoop* l) {
    for (Name tape : c_.tapes) {
      bool here = false, elsewhere = false;
      for (size_t k = 0; k < touched_.size(); ++k)
        for (const Touched& t : touched_[k])
          if (t.root == tape) (k == f || k == b ? here : elsewhere) = true;
      if (!here) continue;
      if (elsewhere || !InSlots(s_.body[f], tape, l->iteration) || !InSlots(s_.body[b], tape, l->iteration))
        return false;
      l->tapes.push_back(tape);
    }
    for (Name n : s_.order)
      if (const Container& c = s_.Get(n); c.kind == ContainerKind::kView)
        for (Name tape : l->tapes)
          if (RootOf(s_, n) == tape) return false;
    if (l->tapes.empty()) return false;
    const Range& r = l->range;
    const double span =
        static_cast<double>(sizes_.Of(r.end) - sizes_.Of(r.begin)) / static_cast<double>(*AsInt(r.step));
    l->trips = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(span)));
    for (Name tape : l->tapes) {
      Container one = s_.Get(tape);
      one.shape[0] = Expr(1);
      l->tape_bytes += sizes_.BytesOf(one);
    }
    return true;
  }
  bool InSlots(BlockId block, Name tape, const Expr& slot) const {
    bool ok = true;
    auto read = [&](const Expr& e) {
      if (!e) return;
      Visit(e, [&](const Expr& x) {
        if (x.Is(ExprKind::kRead) && x->name == tape) ok &= !x->flat && !x->args.empty() && x->args[0] == slot;
        return ok;
      });
    };
    auto statement = [&](auto&& self, NodeId n) -> void {
      const Body& body = s_.nodes[n].body;
      if (const auto* t = std::get_if<Tasklet>(&body)) {
        read(t->value);
        for (const Expr& e : t->index) read(e);
        if (t->target == tape) ok &= !t->flat && !t->index.empty() && t->index[0] == slot;
      } else if (const auto* m = std::get_if<Map>(&body)) {
        for (const Range& r : m->ranges) read(r.begin), read(r.end), read(r.step);
        for (NodeId c : m->body) self(self, c);
      } else {
        for (const Touched& t : TouchedBy(p_, s_, n)) ok &= t.root != tape;
      }
    };
    ForEachBlock(s_, {block}, [&](BlockId b) {
      const Control& c = s_.blocks[b].control;
      if (const auto* st = std::get_if<State>(&c))
        for (NodeId n : st->statements) statement(statement, n);
      if (const auto* l = std::get_if<Loop>(&c))
        for (const Expr& e : {l->init, l->condition, l->update}) read(e);
      if (const auto* d = std::get_if<Conditional>(&c))
        for (const Branch& br : d->branches) read(br.condition);
      if (const auto* a = std::get_if<Assign>(&c)) read(a->value);
    });
    return ok;
  }

  // Can a segment run again? What it reads and doesn't write must still be there; what it writes and may read before is kept
  // from the start of the segment.
  bool Again(size_t f, size_t, TapedLoop* l) {
    bool ok = true;
    ForEachBlock(s_, {l->forward}, [&](BlockId id) {
      if (const auto* st = std::get_if<State>(&s_.blocks[id].control))
        for (NodeId n : st->statements)
          if (const auto* lib = std::get_if<Library>(&s_.nodes[n].body))
            ok &= lib->defines.empty() && lib->domain != Name("call");
    });
    if (!ok) return false;
    for (const Touched& t : touched_[f]) {
      const Container& c = s_.Get(t.root);
      if (std::find(l->tapes.begin(), l->tapes.end(), t.root) != l->tapes.end()) continue;
      if (!t.write) {
        for (size_t k = f + 1; k < touched_.size(); ++k)
          for (const Touched& later : touched_[k])
            if (later.root == t.root && later.write) return false;
        continue;
      }
      if (c.kind == ContainerKind::kSequence || c.kind == ContainerKind::kState || c.dtype == DType::kString)
        return false;
      if (c.kind == ContainerKind::kParameter) l->outputs.push_back(t.root);
      bool before = c.inout;
      for (size_t k = 0; k < f; ++k)
        for (const Touched& earlier : touched_[k]) before |= earlier.root == t.root && earlier.write;
      if (before) {
        l->starts.push_back(t.root);
        l->start_bytes += sizes_.BytesOf(c);
      } else if (!MadeAnew(std::get<Loop>(s_.blocks[l->forward].control).body, t.root, *l)) {
        return false;
      }
    }
    return true;
  }
  // The first statement of an iteration that touches `root` writes all of it. What tapes take from the iteration before does
  // not count: only the adjoint of that one wants it back, and when its segment has run again it is there.
  bool MadeAnew(const std::vector<BlockId>& body, Name root, const TapedLoop& l) const {
    for (BlockId b : body) {
      const auto* st = std::get_if<State>(&s_.blocks[b].control);
      if (!st) {
        for (const Touched& t : TouchedBy(p_, s_, b))
          if (t.root == root) return false;
        continue;
      }
      for (NodeId n : st->statements) {
        const std::vector<Touched> touched = TouchedBy(p_, s_, n);
        if (std::all_of(touched.begin(), touched.end(), [&](const Touched& t) {
              return !t.write || std::find(l.tapes.begin(), l.tapes.end(), t.root) != l.tapes.end();
            }))
          continue;
        for (const Touched& t : touched) {
          if (t.root != root) continue;
          if (t.read) return false;
          for (const Memlet& m : MemletsOf(p_, s_, n))
            if (m.container == root && m.write && m.full && m.op == WriteOp::kAssign &&
                Covers(m.subset, FullSubset(s_.Get(root).shape), s_.assumptions) == Truth::kYes)
              return true;
          return false;
        }
      }
    }
    return false;
  }

  const Combined& c_;
  const Program& p_;
  const Sdfg& s_;
  Sizes sizes_;
  std::vector<std::vector<Touched>> touched_;
};

class Rewriter {
 public:
  Rewriter(Combined* c, const TapedLoop& l, int64_t segment)
      : c_(*c), s_(c->program.MutableEntry()), names_(&s_), l_(l), step_(*AsInt(l.range.step)), segment_(segment) {}

  void Run() {
    const Loop forward = std::get<Loop>(s_.blocks[l_.forward].control),
               backward = std::get<Loop>(s_.blocks[l_.backward].control);
    const Origin origin = s_.blocks[l_.forward].origin;
    const Name seg = s_.FreshName(l_.range.index.str() + "_segment");
    seg_ = SymbolExpr(seg);
    const Expr span = step_ > 0 ? l_.range.end - l_.range.begin : l_.range.begin - l_.range.end;
    const int64_t stride = segment_ * std::abs(step_);
    const Expr segments = FloorDiv(span + Expr(stride - 1), Expr(stride));
    const Expr begin = l_.range.begin + seg_ * Expr(segment_ * step_), next = begin + Expr(segment_ * step_);
    const Range inner{l_.range.index, begin, step_ > 0 ? Min(l_.range.end, next) : Max(l_.range.end, next),
                      l_.range.step};

    // Forward: starts, then the iterations without tapes.
    std::vector<NodeId> keep, restore;
    for (Name n : l_.starts) Start(n, segments, &keep, &restore);
    Loop plain = RangeLoop(inner.index, inner.begin, inner.end, inner.step);
    for (BlockId b : forward.body) plain.body.push_back(names_.Copy(b));
    for (BlockId b : plain.body) FreshRegisters(b);
    DropTapes(plain.body);
    Loop outer = RangeLoop(seg, Expr(0), segments);
    if (!keep.empty()) outer.body.push_back(s_.AddBlock(State{{}, keep}, origin));
    outer.body.push_back(s_.AddBlock(plain, origin));
    // Backward: from the last segment, each run again.
    Loop again = RangeLoop(inner.index, inner.begin, inner.end, inner.step), reversed = Reversed(inner);
    again.body = forward.body;
    reversed.body = backward.body;
    for (const auto* body : {&again.body, &reversed.body})
      for (BlockId b : *body) MoveSlots(b);
    for (Name tape : l_.tapes) s_.Mutable(tape).shape[0] = Expr(segment_);
    Loop back = RangeLoop(seg, segments - Expr(1), Expr(-1), Expr(-1));
    if (!restore.empty()) back.body.push_back(s_.AddBlock(State{{}, restore}, origin));
    back.body.push_back(s_.AddBlock(again, origin));
    back.body.push_back(s_.AddBlock(reversed, s_.blocks[l_.backward].origin));

    // Outputs hold their final value whatever runs again.
    std::vector<NodeId> save, put_back;
    for (Name n : l_.outputs) {
      const Name copy = Like(n, "final_", {});
      save.push_back(CopyAll(copy, {}, n, {}));
      put_back.push_back(CopyAll(n, {}, copy, {}));
    }
    std::vector<BlockId> body;
    size_t forward_blocks = 0;
    for (size_t i = 0; i < s_.body.size(); ++i) {
      if (i == c_.forward_blocks) forward_blocks = body.size();
      if (s_.body[i] == l_.forward) {
        body.push_back(s_.AddBlock(outer, origin));
      } else if (s_.body[i] == l_.backward) {
        if (!save.empty()) body.push_back(s_.AddBlock(State{{}, save}, origin));
        body.push_back(s_.AddBlock(back, s_.blocks[l_.backward].origin));
        if (!save.empty()) body.push_back(s_.AddBlock(State{{}, put_back}, origin));
      } else {
        body.push_back(s_.body[i]);
      }
    }
    c_.forward_blocks = forward_blocks;
    s_.body = std::move(body);
  }

 private:
  Name Like(Name n, const std::string& prefix, const std::vector<Expr>& leading) {
    Container c;
    const Container& of = s_.Get(n);
    c.name = s_.FreshName(prefix + n.str());
    c.dtype = of.dtype;
    c.shape = leading;
    c.shape.insert(c.shape.end(), of.shape.begin(), of.shape.end());
    const Name name = c.name;
    s_.Add(std::move(c));
    return name;
  }
  // to[leading…, i…] = from[leading…, i…]
  NodeId CopyAll(Name to, std::vector<Expr> to_index, Name from, std::vector<Expr> from_index) {
    const std::vector<Expr> shape = s_.Get(to_index.empty() ? to : from).shape;
    std::vector<Range> ranges;
    for (const Expr& d : shape) {
      ranges.push_back({s_.FreshName("i" + std::to_string(ranges.size())), Expr(0), d, Expr(1)});
      to_index.push_back(SymbolExpr(ranges.back().index));
      from_index.push_back(SymbolExpr(ranges.back().index));
    }
    Tasklet t;
    t.target = to;
    t.index = to_index;
    t.value = ReadExpr(from, from_index);
    const NodeId n = s_.AddNode(std::move(t));
    return ranges.empty() ? n : s_.AddNode(Map{ranges, {n}, {}});
  }
  void Start(Name n, const Expr& segments, std::vector<NodeId>* keep, std::vector<NodeId>* restore) {
    const Name start = Like(n, "start_", {Max(segments, Expr(0))});
    c_.tapes.push_back(start);
    keep->push_back(CopyAll(start, {seg_}, n, {}));
    restore->push_back(CopyAll(n, {}, start, {seg_}));
  }
  void FreshRegisters(BlockId b) {
    std::set<Name> used;
    names_.Collect(b, &used);
    Renames renames;
    for (Name n : used)
      if (const Container* c = s_.Find(n); c && c->storage == Storage::kRegister) {
        Container own = *c;
        own.name = renames[n] = s_.FreshName(n.str());
        s_.Add(std::move(own));
      }
    if (!renames.empty()) names_.Rename(b, renames);
  }

  bool IsTape(Name n) const { return std::find(l_.tapes.begin(), l_.tapes.end(), n) != l_.tapes.end(); }
  // Without the statements that fill tapes. Conditions may read one (the number of the branch taken): such a tape is filled
  // all the same, and every segment overwrites it.
  void DropTapes(const std::vector<BlockId>& body) {
    std::set<Name> read;
    for (BlockId b : body)
      for (const Touched& t : TouchedBy(c_.program, s_, b))
        if (t.read && IsTape(t.root)) read.insert(t.root);
    std::vector<BlockId> all;
    ForEachBlock(s_, body, [&](BlockId b) { all.push_back(b); });
    for (BlockId b : all) {
      if (!std::holds_alternative<State>(s_.blocks[b].control)) continue;
      std::vector<NodeId> kept;
      for (NodeId n : std::get<State>(s_.blocks[b].control).statements) {
        bool fills = false;
        for (const Touched& t : TouchedBy(c_.program, s_, n)) fills |= t.write && IsTape(t.root) && !read.count(t.root);
        if (!fills) kept.push_back(n);
      }
      std::get<State>(s_.blocks.Mutable(b).control).statements = std::move(kept);
    }
    for (BlockId b : body) MoveSlots(b);
  }

  // tape[iteration, …] → tape[iteration - segment's first, …]
  Expr Moved(const Expr& e) const {
    if (!e) return e;
    return Transform(e, [&](const Expr& x) {
      if (!x.Is(ExprKind::kRead) || !IsTape(x->name)) return x;
      std::vector<Expr> args = x->args;
      args[0] = args[0] - seg_ * Expr(segment_);
      return WithArgs(x, std::move(args));
    });
  }
  void MoveSlots(NodeId n) {
    if (const auto* m = std::get_if<Map>(&s_.nodes[n].body))
      for (NodeId c : std::vector<NodeId>(m->body)) MoveSlots(c);
    Body& body = s_.nodes.Mutable(n).body;
    if (auto* t = std::get_if<Tasklet>(&body)) {
      t->value = Moved(t->value);
      for (Expr& e : t->index) e = Moved(e);
      if (IsTape(t->target)) t->index[0] = t->index[0] - seg_ * Expr(segment_);
    } else if (auto* m = std::get_if<Map>(&body)) {
      for (Range& r : m->ranges) r.begin = Moved(r.begin), r.end = Moved(r.end), r.step = Moved(r.step);
    }
  }
  void MoveSlots(BlockId top) {
    std::vector<BlockId> all;
    ForEachBlock(s_, {top}, [&](BlockId b) { all.push_back(b); });
    for (BlockId b : all) {
      Control& c = s_.blocks.Mutable(b).control;
      if (auto* l = std::get_if<Loop>(&c))
        l->init = Moved(l->init), l->condition = Moved(l->condition), l->update = Moved(l->update);
      if (auto* d = std::get_if<Conditional>(&c))
        for (Branch& br : d->branches) br.condition = Moved(br.condition);
      if (auto* a = std::get_if<Assign>(&c)) a->value = Moved(a->value);
      if (const auto* st = std::get_if<State>(&s_.blocks[b].control))
        for (NodeId n : std::vector<NodeId>(st->statements)) MoveSlots(n);
    }
  }

  Combined& c_;
  Sdfg& s_;
  ContainerNames names_;
  const TapedLoop& l_;
  const int64_t step_, segment_;
  Expr seg_;
};

}  // namespace

std::vector<TapedLoop> FindTapedLoops(const Combined& c, const Options& o) { return Finder(c, o).Run(); }

int64_t BestSegment(const TapedLoop& l) {
  const double per_tape = std::max<double>(1, static_cast<double>(l.tape_bytes)),
               per_start = std::max<double>(1, static_cast<double>(l.start_bytes));
  const auto best = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(l.trips) * per_start / per_tape)));
  return std::clamp<int64_t>(best, 1, std::max<int64_t>(1, l.trips));
}

void CheckpointLoop(Combined* c, const TapedLoop& l, int64_t segment) { Rewriter(c, l, segment).Run(); }

}  // namespace headrace::autodiff
