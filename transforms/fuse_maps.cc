#include "transforms/fuse_maps.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/base/log.h"
#include "transforms/fill.h"
#include "transforms/uses.h"

namespace headrace {
namespace transforms {
namespace {

constexpr double kSmallBytes = 65536;  // of all arrays of a statement
constexpr size_t kMostMoved = 16;      // statements

// Bytes of a container, an unknown size counted as 64: good enough to compare one with another.
double RoughBytes(const Container& c) {
  NameMap sizes;
  for (const Expr& d : c.shape)
    for (Name n : FreeSymbols(d)) sizes.push_back({n, Expr(64)});
  double bytes = static_cast<double>(ByteSize(c.dtype));
  for (const Expr& d : c.shape)
    bytes *= static_cast<double>(std::max<int64_t>(1, AsInt(Substitute(d, sizes)).value_or(64)));
  return bytes;
}

// One list of statements: a state's, or the body of a fused map. A statement joins the latest kernel it depends on; the
// statements in between don't conflict with it, or they would be the latest. It jumps over them only if no more memory is
// in use meanwhile: what a planner of memory has put late, like a value computed again, stays late.
class ListFuser {
 public:
  // `uses`: of the whole SDFG, with the list's first statement at `first`; none for the body of a map.
  ListFuser(const Program& p, Sdfg* s, NameTable* names, const FusionLimits& limits, std::vector<Name> around,
            const UseIndex* uses, uint32_t first)
      : p_(p), s_(s), names_(names), limits_(limits), around_(std::move(around)), uses_(uses), first_(first) {}

  bool Run(std::vector<NodeId>* statements) {
    slots_.reserve(statements->size());
    for (NodeId id : *statements) {
      Kernel k = MakeKernel(p_, *s_, id);
      // What calls do to registers is not tracked: bodies with calls stay as they are.
      if (!around_.empty() && !k.fusable && !std::holds_alternative<Tasklet>(s_->nodes[id].body)) return false;
      slots_.push_back({std::move(k), {}, {}, static_cast<int>(slots_.size()), false});
    }
    for (size_t i = 0; i < slots_.size(); ++i) Place(i);
    std::vector<NodeId> out;
    for (size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].into == static_cast<int>(i) && !slots_[i].floating) Put(i, &out);
    // Initialisations that nothing reads: outputs filled with a constant.
    for (size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].into == static_cast<int>(i) && slots_[i].floating) Put(i, &out);
    if (changed_ || out != *statements) *statements = std::move(out);
    return changed_;
  }

 private:
  struct Slot {
    Kernel kernel;
    std::vector<int> deps;    // slots it must come after
    std::vector<int> before;  // floating ones that were put right before it
    int into;                 // itself, or the slot it was merged into
    bool floating;            // a constant that nobody needed yet
    int anchor = -1;          // where a formerly floating one stands
  };
  struct Last {
    int writer = -1;
    std::vector<int> readers;
  };

  int Find(int i) {
    while (slots_[i].into != i) i = slots_[i].into = slots_[slots_[i].into].into;
    return i;
  }
  // Where slot i stands in the order: its own place, or right before its anchor.
  int Place0(int i) {
    i = Find(i);
    while (slots_[i].anchor >= 0) i = Find(slots_[i].anchor);
    return i;
  }

  void Place(int i) {
    Slot& slot = slots_[i];
    slot.deps = Dependences(i);
    Kernel& k = slot.kernel;
    if (k.constant && slot.deps.empty()) {
      slot.floating = true;
      Note(i);
      return;
    }
    int at = i;
    int candidate = Candidate(i);
    if (candidate >= 0 && Merge(candidate, i)) at = candidate;
    else if (const int past = MergePast(candidate, i); past >= 0) at = past;
    Note(i);
    if (at != i) slots_[i].kernel = Kernel();
    bool grown = at != i;
    grown |= TakeFloating(at, slots_[i].deps);
    // A join of two branches, or a row that took its initialisation, may fit with what came before.
    for (int again; grown && (again = Candidate(at)) >= 0 && Merge(again, at);) at = again;
  }

  std::vector<int> Dependences(int i) {
    std::vector<int> deps;
    auto add = [&](int d) {
      if (d < 0) return;
      d = Find(d);
      if (d != i && std::find(deps.begin(), deps.end(), d) == deps.end()) deps.push_back(d);
    };
    for (const KernelAccess& a : slots_[i].kernel.accesses) {
      const Last* last = last_.Find(a.root);
      if (!last) continue;
      add(last->writer);
      if (a.write)
        for (int r : last->readers) add(r);
    }
    if (!definers_.empty())
      for (Name n : SymbolsOf(*s_, slots_[i].kernel)) {
        auto it = definers_.find(n);
        if (it != definers_.end()) add(it->second);
      }
    return deps;
  }
  void Note(int i) {
    for (bool write : {false, true})
      for (const KernelAccess& a : slots_[i].kernel.accesses) {
        if (a.write != write) continue;
        Last& l = last_[a.root];
        if (write) {
          l.writer = i;
          l.readers.clear();
        } else if (l.readers.empty() || l.readers.back() != i) {
          l.readers.push_back(i);
        }
      }
    if (auto* lib = std::get_if<Library>(&s_->nodes[slots_[i].kernel.statement].body))
      for (Name d : lib->defines) definers_[d] = i;
  }
  // The latest slot that i must follow; floating ones have no place yet and may come any time before.
  int Candidate(int i) {
    int latest = -1;
    for (int d : slots_[i].deps) {
      d = Find(d);
      if (d == i || slots_[d].floating) continue;
      d = Place0(d);
      if (d != i) latest = std::max(latest, d);
    }
    return latest;
  }

  // Bytes that are in use between `into` and `from` if `from` runs with `into`, less those that no longer are.
  double LongerInUse(int into, int from) {
    double bytes = 0;
    std::vector<Name> seen;
    for (const KernelAccess& a : slots_[from].kernel.accesses) {
      const Container& c = s_->Get(a.root);
      if (c.kind != ContainerKind::kTransient || c.storage != Storage::kArena) continue;
      if (std::find(seen.begin(), seen.end(), a.root) != seen.end()) continue;
      seen.push_back(a.root);
      const Usage& u = uses_->Of(a.root);
      bool earlier = false, between = false, later = false;
      for (const std::vector<uint32_t>* positions : {&u.reads, &u.writes})
        for (uint32_t at : *positions) {
          if (at < first_ || at - first_ >= slots_.size()) {
            // A loop around may bring back what was computed before it.
            (at < first_ ? earlier : later) = true;
            later |= uses_->positions()[first_].region >= 0;
            continue;
          }
          int slot = Find(static_cast<int>(at - first_));
          if (slot == from || slots_[slot].floating) continue;
          slot = Place0(slot);
          (slot <= into ? earlier : slot < from ? between : later) = true;
        }
      if (between || earlier == later) continue;  // in use there before and after, or only inside the kernel
      bytes += later ? RoughBytes(c) : -RoughBytes(c);
    }
    return bytes;
  }
  bool Adjacent(int into, int from, const std::vector<int>& moved) {
    for (int i = into + 1; i < from; ++i)
      if (slots_[i].into == i && !slots_[i].floating && Place0(i) > into && Place0(i) < from &&
          std::find(moved.begin(), moved.end(), i) == moved.end())
        return false;
    return true;
  }

  void LogFusion(const Origin& first, const Origin& second) const {
    if (!LogsOn(LogTopic::kFusion)) return;
    auto text = [](const Origin& o) {
      return o.named() ? o.Label() : o.line() > 0 ? "line " + std::to_string(o.line()) : "a map";
    };
    Log(LogTopic::kFusion, s_->name.str() + ": " + text(first) + " and " + text(second) + " in one map");
  }
  // Whether it does nothing but round what a product adds up: an epilogue of the product, where nobody else reads the sums.
  bool RoundsProduct(int i) {
    const Kernel& k = slots_[i].kernel;
    const auto* t = uses_ && k.leaves == 1 && k.body.size() == 1 ? std::get_if<Tasklet>(&s_->nodes[k.body[0]].body) : nullptr;
    const bool rounds = t && t->op == WriteOp::kAssign && t->value.Is(ExprKind::kCast) && ByteSize(t->value->dtype) == 2 &&
                        t->value->args[0].Is(ExprKind::kRead);
    if (!rounds) return false;
    const Name sums = RootOf(*s_, t->value->args[0]->name);
    if (s_->Get(sums).kind != ContainerKind::kTransient || uses_->Of(sums).reads.size() != 1) return false;
    return std::any_of(slots_[i].deps.begin(), slots_[i].deps.end(), [&](int d) { return slots_[Find(d)].kernel.contraction; });
  }
  // `moved`: what stands between and won't, then.
  bool Merge(int into, int from, const std::vector<int>& moved = {}) {
    if (!limits_.product && RoundsProduct(into)) return false;
    if (uses_ && !Adjacent(into, from, moved) && LongerInUse(into, from) > 0) return false;
    if (!BringsAlong(into, from)) return false;
    const Origin first = slots_[into].kernel.origin, second = slots_[from].kernel.origin;
    if (!TryMerge(s_, names_, around_, limits_, &slots_[into].kernel, slots_[from].kernel)) return false;
    LogFusion(first, second);
    Slot &a = slots_[into], &b = slots_[from];
    b.into = into;
    a.deps.insert(a.deps.end(), b.deps.begin(), b.deps.end());
    Tidy(into);
    for (int f : b.before) slots_[f].anchor = into;
    a.before.insert(a.before.end(), b.before.begin(), b.before.end());
    b.before.clear();
    return changed_ = true;
  }
  // What i needs beside a slot that it could join, such as a normalisation's factors, may have been computed after that slot: small
  // values that don't depend on it go before it. The slot that i joined, or -1. `latest`: one that it can't join.
  int MergePast(int latest, int i) {
    if (!uses_ || latest < 0 || !slots_[i].kernel.fusable) return -1;
    std::vector<int> places;
    for (int d : slots_[i].deps) {
      d = Find(d);
      if (d < latest && !slots_[d].floating && Place0(d) == d && slots_[d].kernel.fusable && !Moves(d)) places.push_back(d);
    }
    std::sort(places.rbegin(), places.rend());
    for (int into : places) {
      std::vector<int> moved;
      const bool free = std::all_of(slots_[i].deps.begin(), slots_[i].deps.end(), [&](int d) {
        return Find(d) == into || slots_[Find(d)].floating || GoesBefore(into, Find(d), &moved);
      });
      if (!free || !Merge(into, i, moved)) continue;
      for (int m : moved) PutBefore(into, m);
      return into;
    }
    return -1;
  }
  // Whether d, with what it needs, can stand before `into`, and what has to move there, in its order. Nothing moves before what could
  // move itself, so that no two wait for each other.
  bool GoesBefore(int into, int d, std::vector<int>* moved) {
    if (d == into) return false;
    if (Place0(d) <= into || std::find(moved->begin(), moved->end(), d) != moved->end()) return true;
    if (slots_[d].floating || !Moves(d) || moved->size() >= kMostMoved) return false;
    for (int e : slots_[d].deps) {
      e = Find(e);
      if (e == d || slots_[e].anchor == d) continue;
      if (!GoesBefore(into, e, moved)) return false;
    }
    moved->push_back(d);
    return true;
  }
  // What was put before `from` can stand before `into`, too.
  bool BringsAlong(int into, int from) {
    for (int f : slots_[from].before)
      for (int d : slots_[f].deps) {
        d = Find(d);
        if (d == into || (Place0(d) > into && Place0(d) != from)) return false;
      }
    return true;
  }
  void PutBefore(int into, int m) {
    if (const int other = slots_[m].anchor; other >= 0) {
      std::vector<int>& list = slots_[Find(other)].before;
      list.erase(std::remove(list.begin(), list.end(), m), list.end());
    }
    slots_[m].anchor = into;
    slots_[into].before.push_back(m);
    slots_[into].deps.insert(slots_[into].deps.end(), slots_[m].deps.begin(), slots_[m].deps.end());
    Tidy(into);
  }
  bool Moves(int i) const {
    const Kernel& k = slots_[i].kernel;
    double bytes = 0;
    for (const KernelAccess& a : k.accesses) bytes += RoughBytes(s_->Get(a.root));
    return k.fusable && !k.contraction && bytes <= kSmallBytes;
  }
  void Tidy(int i) {
    std::vector<int>& deps = slots_[i].deps;
    for (int& d : deps) d = Find(d);
    std::sort(deps.begin(), deps.end());
    deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
    deps.erase(std::remove(deps.begin(), deps.end(), i), deps.end());
  }

  // Floating slots that `at` needs are merged in front of it, or put right before it.
  bool TakeFloating(int at, const std::vector<int>& deps_in) {
    bool grown = false;
    std::vector<int> deps = deps_in;
    for (int d : deps) {
      d = Find(d);
      if (!slots_[d].floating) continue;
      slots_[d].floating = false;
      const std::optional<Kernel> viewed = FillThroughView(p_, s_, names_, slots_[d].kernel, slots_[at].kernel);
      Kernel merged = viewed ? *viewed : slots_[d].kernel;
      if (TryMerge(s_, names_, around_, limits_, &merged, slots_[at].kernel)) {
        LogFusion(slots_[d].kernel.origin, slots_[at].kernel.origin);
        slots_[at].kernel = std::move(merged);
        slots_[d].into = at;
        Tidy(at);
        grown = changed_ = true;
      } else {
        slots_[d].anchor = at;
        slots_[at].before.push_back(d);
      }
    }
    return grown;
  }

  void Put(size_t i, std::vector<NodeId>* out) {
    if (slots_[i].anchor >= 0 && !putting_) return;
    bool saved = putting_;
    putting_ = true;
    for (int b : slots_[i].before) Put(b, out);
    putting_ = saved;
    out->push_back(Emit(s_, slots_[i].kernel));
  }

  const Program& p_;
  Sdfg* s_;
  NameTable* names_;
  const FusionLimits& limits_;
  std::vector<Name> around_;
  const UseIndex* uses_;
  uint32_t first_;
  std::vector<Slot> slots_;
  ByName<Last> last_;
  std::unordered_map<Name, int> definers_;
  bool changed_ = false, putting_ = false;
};

class Fuser {
 public:
  Fuser(const Program& p, Sdfg* s, const FusionLimits& limits) : p_(p), s_(s), names_(*s), limits_(limits) {}
  bool Run() {
    std::vector<BlockId> states;
    ForEachBlock(*s_, s_->body, [&](BlockId b) {
      if (std::holds_alternative<State>(s_->blocks[b].control)) states.push_back(b);
    });
    const UseIndex uses(p_, *s_);
    std::unordered_map<uint32_t, uint32_t> first;  // by block
    for (uint32_t at = 0; at < uses.positions().size(); ++at)
      if (uses.positions()[at].statement.valid()) first.try_emplace(uses.positions()[at].block.value, at);
    for (BlockId b : states) {
      std::vector<NodeId> list = std::get<State>(s_->blocks[b].control).statements;
      if (list.empty() || !List(&list, {}, &uses, first.at(b.value))) continue;
      std::get<State>(s_->blocks.Mutable(b).control).statements = std::move(list);
      changed_ = true;
    }
    return changed_;
  }

 private:
  bool List(std::vector<NodeId>* list, const std::vector<Name>& around, const UseIndex* uses, uint32_t first) {
    bool changed = false;
    if (list->size() > 1) changed = ListFuser(p_, s_, &names_, limits_, around, uses, first).Run(list);
    for (NodeId n : *list) {
      if (!std::holds_alternative<Map>(s_->nodes[n].body)) continue;
      const Map& m = std::get<Map>(s_->nodes[n].body);
      bool has_maps = false;
      for (NodeId b : m.body) has_maps |= std::holds_alternative<Map>(s_->nodes[b].body);
      if (!has_maps) continue;
      std::vector<Name> inside = around;
      for (const Range& r : m.ranges) inside.push_back(r.index);
      std::vector<NodeId> body = m.body;
      if (!List(&body, inside, nullptr, 0)) continue;
      std::get<Map>(s_->nodes.Mutable(n).body).body = std::move(body);
      changed = true;
    }
    return changed;
  }

  const Program& p_;
  Sdfg* s_;
  NameTable names_;
  FusionLimits limits_;
  bool changed_ = false;
};

}  // namespace
}  // namespace transforms

Result<bool> FuseMaps(Program& p, const transforms::FusionLimits& limits) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i)
    if (!p.sdfgs[i]->kernel) changed |= transforms::Fuser(p, &p.Mutable(p.sdfgs[i]->name), limits).Run();
  return changed;
}

}  // namespace headrace
