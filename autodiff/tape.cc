// What is overwritten although the backward sweep needs it, and the tapes that hold it.
#include <algorithm>

#include "autodiff/reverse.h"

namespace headrace::autodiff {
namespace {

constexpr size_t kMaxUses = 48;  // of one root; more are taken to be all of it

bool Involves(const Subset& s, Name symbol) {
  for (const Range& r : s.dims)
    for (const Expr& e : {r.begin, r.end, r.step})
      if (e)
        for (Name n : FreeSymbols(e))
          if (n == symbol) return true;
  return false;
}

bool SameBox(const Subset& a, const Subset& b) {
  if (a.dims.size() != b.dims.size()) return false;
  for (size_t i = 0; i < a.dims.size(); ++i)
    if (a.dims[i].begin != b.dims[i].begin || a.dims[i].end != b.dims[i].end) return false;
  return true;
}

void AddUse(const Sdfg& s, std::unordered_map<Name, std::vector<Use>>* needed, Use u) {
  std::vector<Use>& uses = (*needed)[u.root];
  for (const Use& x : uses)
    if (SameBox(x.subset, u.subset)) return;
  if (uses.size() >= kMaxUses) {
    uses.clear();
    u.subset = FullSubset(s.Get(u.root).shape);
  }
  uses.push_back(std::move(u));
}

void AddAll(const Sdfg& s, std::unordered_map<Name, std::vector<Use>>* needed, const std::unordered_map<Name, std::vector<Use>>& more) {
  for (const auto& [root, uses] : more)
    for (const Use& u : uses) AddUse(s, needed, u);
}

// One range made plain: the box between the first and last element, ignoring the step.
Range Hull(const Range& r) {
  Range out = r;
  out.step = Expr(1);
  return out;
}

// The smallest box that holds both.
Subset BoxUnion(const Subset& a, const Subset& b) {
  Subset out;
  for (size_t i = 0; i < a.dims.size(); ++i)
    out.dims.push_back({Name(), Min(a.dims[i].begin, b.dims[i].begin), Max(a.dims[i].end, b.dims[i].end), Expr(1)});
  return out;
}

// One box for both costs little more than each of its own: they overlap, lie a few elements apart, or touch. Otherwise, such
// as the first and the last row, a box that holds both would hold what is between them.
bool Adjoin(const Subset& a, const Subset& b, const Assumptions& as) {
  constexpr int64_t kNear = 4;
  auto near = [](const Expr& x, const Expr& y) {
    const std::optional<int64_t> apart = AsInt(x - y);
    return apart && *apart >= -kNear && *apart <= kNear;
  };
  int apart = 0, touching = 0;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    const Range &x = a.dims[i], &y = b.dims[i];
    if (near(x.begin, y.begin) && near(x.end, y.end)) continue;
    ++apart;
    touching += x.end == y.begin || y.end == x.begin;
  }
  return apart == 0 || (apart == 1 && touching == 1) || Overlaps(a, b, as) == Truth::kYes;
}

}  // namespace

// Uses in one iteration → uses in all iterations before the current one (`whole`: in all of them).
Reversal::Needed Reversal::Project(const Needed& n, const Loop& l, bool whole) const {
  Needed out;
  std::optional<Range> range = AsRange(l);
  bool known = range && IsIndexExpr(range->begin) && IsIndexExpr(range->end) && AsInt(range->step);
  const auto project = [&](const Use& u) {
    const Container& c = s_.Get(u.root);
    if (l.var.empty() || !Involves(u.subset, l.var)) return AddUse(s_, &out, u);
    if (!known) return AddUse(s_, &out, {u.root, FullSubset(c.shape)});
    Range over = *range;
    Name previous("previous");
    NameMap rename{{l.var, SymbolExpr(previous)}};
    over.index = previous;
    // Iterations before the current one: begin … var. The stride is forgotten: a superset.
    if (AsInt(over.step) > 0) {
      if (!whole) over.end = SymbolExpr(l.var);
      over.step = Expr(1);
    } else {
      Expr low = whole ? over.end + Expr(1) : SymbolExpr(l.var) + Expr(1), high = over.begin + Expr(1);
      over.begin = low, over.end = high, over.step = Expr(1);
    }
    Subset box;
    bool first = true;
    for (bool upper : {false, true}) {  // the two corners of each dimension sweep a hull
      std::vector<Expr> index;
      for (const Range& r : u.subset.dims) index.push_back(Substitute(upper ? r.end - Expr(1) : r.begin, rename));
      Subset part = ImageBox({over}, index, c.shape, s_.assumptions).subset;
      for (Range& r : part.dims) r = Hull(r);
      box = first ? part : BoxUnion(box, part);
      first = false;
    }
    AddUse(s_, &out, {u.root, box});
  };
  for (const auto& [root, uses] : n)
    for (const Use& u : uses) project(u);
  return out;
}

bool Reversal::RunsAtMostOnce(const Loop& l) const {
  const std::optional<Range> r = AsRange(l);
  const std::optional<int64_t> step = r ? AsInt(r->step) : std::nullopt;
  if (!step) return false;
  const Expr next = r->begin + r->step;
  return (*step > 0 ? ProveLe(r->end, next, s_.assumptions) : ProveLe(next, r->end, s_.assumptions)) == Truth::kYes;
}

void Reversal::Order(const std::vector<BlockId>& body, bool in_loop) {
  for (BlockId b : body) {
    const Control c = s_.blocks[b].control;
    if (auto* st = std::get_if<State>(&c)) {
      for (NodeId n : st->statements) {
        int at = static_cast<int>(order_.size());
        order_[n.value] = at;
        in_loop_[n.value] = in_loop;
        for (const Touched& t : TouchedBy(s_, n, callees_)) {
          first_use_.emplace(t.root, at);
          if (t.write) results_[t.root] = s_.nodes[n].origin;
        }
      }
    } else if (auto* l = std::get_if<Loop>(&c)) {
      Order(l->body, true);
    } else if (auto* d = std::get_if<Conditional>(&c)) {
      for (const Branch& br : d->branches) Order(br.body, in_loop);
    }
  }
}

Status Reversal::AnalyseStatement(NodeId n, Needed* needed) {
  HR_ASSIGN_OR_RETURN(const Adjoint* a, AdjointOf(n));
  for (const Use& u : a->before) AddUse(s_, needed, u);
  std::vector<Push> pushes;
  std::vector<Memlet> memlets = MemletsOf(s_, n, callees_);
  for (const Memlet& m : memlets) {
    if (!m.write) continue;
    Name root = RootOf(s_, m.container);
    Subset box = root == m.container ? m.subset : FullSubset(s_.Get(root).shape);
    for (Range& r : box.dims) r = Hull(r);
    const auto of_root = needed->find(root);
    const bool hit = of_root != needed->end() && std::any_of(of_root->second.begin(), of_root->second.end(), [&](const Use& u) {
      return Overlaps(u.subset, box, s_.assumptions) != Truth::kNo;
    });
    if (!hit) continue;
    Push push{root, box};
    for (bool merged = true; merged;) {
      auto same = std::find_if(pushes.begin(), pushes.end(), [&](const Push& p) {
        return p.root == root && Adjoin(p.box, push.box, s_.assumptions);
      });
      merged = same != pushes.end();
      if (!merged) continue;
      push.box = BoxUnion(same->box, push.box);
      pushes.erase(same);
    }
    pushes.push_back(std::move(push));
  }
  for (const Push& p : pushes) {  // what the tape holds is safe from now on
    std::vector<Use>& uses = needed->at(p.root);
    uses.erase(std::remove_if(uses.begin(), uses.end(),
                              [&](const Use& u) { return Covers(p.box, u.subset, s_.assumptions) == Truth::kYes; }),
               uses.end());
  }
  if (pushes.empty()) pushes_.erase(n.value);
  else pushes_[n.value] = std::move(pushes);
  for (const Use& u : a->after) AddUse(s_, needed, u);
  return {};
}

Status Reversal::Analyse(const std::vector<BlockId>& body, Needed* needed) {
  for (BlockId b : body) {
    const Control c = s_.blocks[b].control;
    if (auto* st = std::get_if<State>(&c)) {
      for (NodeId n : st->statements) HR_RETURN_IF_ERROR(AnalyseStatement(n, needed));
    } else if (auto* l = std::get_if<Loop>(&c)) {
      Needed one;  // what one iteration leaves needed
      HR_RETURN_IF_ERROR(Analyse(l->body, &one));
      Needed head = *needed;
      if (!RunsAtMostOnce(*l))
        AddAll(s_, &head, Project(one, *l, false));
      HR_RETURN_IF_ERROR(Analyse(l->body, &head));
      AddAll(s_, needed, Project(one, *l, true));
    } else if (auto* d = std::get_if<Conditional>(&c)) {
      Needed before = *needed;
      for (const Branch& br : d->branches) {
        Needed branch = before;
        HR_RETURN_IF_ERROR(Analyse(br.body, &branch));
        AddAll(s_, needed, branch);
      }
    }
  }
  return {};
}

// ---- tapes ----

bool Reversal::Varies(const Expr& e) const {
  for (Name n : FreeSymbols(e))
    if (inner_lets_.count(n)) return true;
  return false;
}

bool Reversal::IsTheSameAgain(const Expr& e) const {
  for (Name n : ReadContainers(e)) {
    const ContainerKind kind = s_.Get(RootOf(s_, n)).kind;
    if (written_.count(RootOf(s_, n)) || (kind != ContainerKind::kParameter && kind != ContainerKind::kConstant)) return false;
  }
  const std::vector<Name> symbols = FreeSymbols(e);
  return std::none_of(symbols.begin(), symbols.end(), [&](Name n) { return let_count_.count(n) > 0 || defined_.count(n) > 0; });
}

// An upper bound of `e` over all iterations of frames[0, until).
Result<Expr> Reversal::Largest(const Expr& e, const std::vector<Frame>& frames, size_t until, bool* exact) {
  Expr out = e;
  *exact = true;
  for (size_t k = until; k-- > 0;) {
    const Frame& f = frames[k];
    if (f.loop.var.empty()) continue;
    bool uses = false;
    for (Name n : FreeSymbols(out)) uses |= n == f.loop.var;
    if (!uses) continue;
    *exact = false;
    if (!f.range) return Expr();
    const Range& r = *f.range;
    Expr v = SymbolExpr(r.index), next = Substitute(out, {{r.index, v + Expr(1)}});
    bool down = AsInt(r.step).value_or(1) < 0;
    Expr low = down ? r.end + Expr(1) : r.begin, high = down ? r.begin : r.end - Expr(1);
    if (ProveLe(out, next, s_.assumptions) == Truth::kYes) out = Substitute(out, {{r.index, high}});
    else if (ProveLe(next, out, s_.assumptions) == Truth::kYes) out = Substitute(out, {{r.index, low}});
    else return Expr();
  }
  if (Varies(out)) return Expr();
  return out;
}

// The number of slots a tape needs for loop k: its largest trip count.
Result<Expr> Reversal::Extent(const std::vector<Frame>& frames, size_t k) {
  const Frame& f = frames[k];
  if (f.range) {
    bool exact;
    int64_t step = *AsInt(f.range->step);
    HR_ASSIGN_OR_RETURN(Expr span, Largest(step > 0 ? f.range->end - f.range->begin : f.range->begin - f.range->end,
                                           frames, k, &exact));
    if (span) {
      Expr count = TripCount({f.range->index, Expr(0), span, Expr(step > 0 ? step : -step)});
      bool redefined = false;
      for (Name n : FreeSymbols(count)) redefined |= let_count_[n] > 1;
      if (AsInt(count) == 0) return Expr(1);  // it never runs; what it would write has a place
      if (!redefined) return count;
      // The size of a tape must not change when the backward sweep gives a symbol an earlier value back.
      Name n = names_("trips");
      sizes_.push_back({n, count});
      return SymbolExpr(n);
    }
  }
  Name& bound = trip_bounds_[f.block.value];
  if (bound.empty()) bound = names_("trips");
  return SymbolExpr(bound);
}

Result<Name> Reversal::Tape(std::string_view stem, DType t, const std::vector<Expr>& inner,
                            const std::vector<Frame>& frames) {
  Container c;
  for (size_t k = 0; k < frames.size(); ++k) {
    HR_ASSIGN_OR_RETURN(Expr e, Extent(frames, k));
    c.shape.push_back(e);
  }
  c.shape.insert(c.shape.end(), inner.begin(), inner.end());
  c.name = names_(stem);
  c.dtype = t;
  tapes_.push_back(c.name);
  Name n = c.name;
  s_.Add(std::move(c));
  return n;
}

std::vector<Expr> Reversal::Slot(const std::vector<Frame>& frames, std::vector<Expr> inner) const {
  std::vector<Expr> out;
  for (const Frame& f : frames) out.push_back(f.iteration);
  out.insert(out.end(), inner.begin(), inner.end());
  return out;
}

// tape[iterations…, i…] = root[begin + i…] before the statement; the reverse afterwards.
Status Reversal::EmitPush(const Push& push, const std::vector<Frame>& frames, BlockList* forward, BlockList* backward) {
  const Container c = s_.Get(push.root);
  std::vector<Expr> extents, inner, index, held;
  std::vector<Range> ranges;
  for (size_t d = 0; d < push.box.dims.size(); ++d) {
    const Range& r = push.box.dims[d];
    Expr extent = r.end - r.begin, begin = r.begin;
    bool exact;
    HR_ASSIGN_OR_RETURN(Expr largest, Largest(extent, frames, frames.size(), &exact));
    if (!largest || !IsIndexExpr(begin)) begin = Expr(0), extent = largest = c.shape[d];
    if (AsInt(largest) == 1 && AsInt(extent) == 1) {
      index.push_back(begin);
      continue;
    }
    Name i = names_("i");
    ranges.push_back({i, Expr(0), extent, Expr(1)});
    held.push_back(Max(Expr(0), largest));
    inner.push_back(Expr(i));
    index.push_back(begin + Expr(i));
  }
  HR_ASSIGN_OR_RETURN(Name tape, Tape("tape_" + push.root.str(), c.dtype, held, frames));
  std::vector<NodeId> save, restore;
  AddMap(&s_, ranges, {AddTasklet(&s_, tape, Slot(frames, inner), ReadExpr(push.root, index))}, &save);
  AddMap(&s_, ranges, {AddTasklet(&s_, push.root, index, ReadExpr(tape, Slot(frames, inner)))}, &restore);
  forward->Statements(save);
  backward->Statements(restore);
  return {};
}

// Loops whose largest trip count no formula gives: the whole block runs once on copies, only to count.
void Reversal::CountTrips(BlockId top, BlockList* prologue) {
  for (const auto& size : sizes_) prologue->Let(size.first, size.second);
  sizes_.clear();
  if (trip_bounds_.empty()) return;
  // Copies of everything the block writes, and of views of it.
  std::vector<Name> written;
  Renames renames;
  int start = static_cast<int>(order_.size());
  ForEachBlock(s_, {top}, [&](BlockId b) {
    if (auto* st = std::get_if<State>(&s_.blocks[b].control))
      for (NodeId n : st->statements)
        if (auto it = order_.find(n.value); it != order_.end()) start = std::min(start, it->second);
  });
  std::unordered_set<Name> registers;
  ForEachBlock(s_, {top}, [&](BlockId b) {
    if (auto* st = std::get_if<State>(&s_.blocks[b].control))
      for (NodeId n : st->statements)
        ForEachTasklet(s_, n, [&](NodeId, const Tasklet& t) {
          if (s_.Get(t.target).storage == Storage::kRegister) registers.insert(t.target);
        });
  });
  for (const Touched& t : TouchedBy(s_, top, callees_))
    if (t.write) written.push_back(t.root);
  const std::vector<Name> order = s_.order;
  for (Name n : order) {
    Name root = RootOf(s_, n);
    Container c = s_.Get(n);
    if (c.storage == Storage::kRegister ? !registers.count(n)
                                        : std::find(written.begin(), written.end(), root) == written.end())
      continue;
    c.name = names_("count_" + n.str());
    renames.push_back({n, c.name});
  }
  auto renamed = [&](Name n) {
    for (const auto& r : renames)
      if (r.first == n) return r.second;
    return n;
  };
  for (const auto& r : renames) {
    Container c = s_.Get(r.first);
    c.name = r.second;
    if (c.kind == ContainerKind::kView) c.base = renamed(c.base);
    else c.kind = ContainerKind::kTransient, c.inout = false;
    s_.Add(std::move(c));
    const Container& original = s_.Get(r.first);
    if (original.kind == ContainerKind::kView || original.storage == Storage::kRegister) continue;
    auto first = first_use_.find(r.first);
    bool has_value = original.inout || original.kind == ContainerKind::kState ||
                     (first != first_use_.end() && first->second < start);
    if (has_value) prologue->Statement(CopyWhole(&s_, &names_, r.second, r.first));
  }
  std::unordered_map<uint32_t, Name> largest;
  auto scalar = [&](const char* stem) {
    Container c;
    c.name = names_(stem);
    c.dtype = DType::kI64;
    Name n = c.name;
    s_.Add(std::move(c));
    return n;
  };
  std::vector<uint32_t> loops;
  for (const auto& b : trip_bounds_) loops.push_back(b.first);
  std::sort(loops.begin(), loops.end());
  for (uint32_t b : loops) {
    largest[b] = scalar("largest");
    prologue->Statement(AddTasklet(&s_, largest[b], {}, Expr(0)));
  }
  std::function<std::vector<BlockId>(const std::vector<BlockId>&)> clone = [&](const std::vector<BlockId>& body) {
    BlockList out(&s_);
    for (BlockId b : body) {
      if (auto* l = std::get_if<Loop>(&s_.blocks[b].control)) {
        Loop copy = *l;
        std::vector<BlockId> inner = clone(copy.body);
        if (largest.count(b.value)) {
          Name count = scalar("count");
          out.Statement(AddTasklet(&s_, count, {}, Expr(0)));
          BlockList more(&s_);
          more.Blocks(inner);
          more.Statement(AddTasklet(&s_, count, {}, BinaryExpr(Op::kAdd, ReadExpr(count, {}), Expr(1))));
          more.Statement(AddTasklet(&s_, largest[b.value], {}, ReadExpr(count, {}), WriteOp::kMax));
          inner = more.Take();
        }
        copy.body = inner;
        out.Block(s_.AddBlock(copy));
      } else if (auto* d = std::get_if<Conditional>(&s_.blocks[b].control)) {
        Conditional copy = *d;
        for (Branch& br : copy.branches) br.body = clone(br.body);
        out.Block(s_.AddBlock(copy));
      } else {
        out.Block(b);
      }
    }
    return out.Take();
  };
  prologue->Blocks(CloneBlocks(&s_, clone({top}), renames));
  for (uint32_t b : loops) prologue->Let(trip_bounds_[b], ReadExpr(largest[b], {}));
}

}  // namespace headrace::autodiff
