#include "autodiff/shared_parts.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"

namespace headrace::autodiff {
namespace {

constexpr int kLeastUses = 3;  // fewer are not worth an array
constexpr int kMostParts = 4;  // of one map

bool IsCostly(const Expr& e) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    found |= x.Is(ExprKind::kCall) || (x.Is(ExprKind::kBinary) && x->op == Op::kDiv);
    return !found && !x.Is(ExprKind::kRead);
  });
  return found;
}

// What is computed whatever else is chosen, largest first; `fn` says whether to look further into it.
void ForEachPart(const Expr& e, const std::function<bool(const Expr&)>& fn) {
  if (e.Is(ExprKind::kRead) || !fn(e)) return;
  const size_t always = e.Is(ExprKind::kSelect) ? 1 : e->args.size();
  for (size_t k = 0; k < always; ++k) ForEachPart(e->args[k], fn);
}

int UsesOf(const Expr& part, const std::vector<Tap*>& taps) {
  int n = 0;
  for (const Tap* t : taps) Visit(t->value, [&](const Expr& x) { return x == part ? (++n, false) : true; });
  return n;
}

// The largest that is used often enough and has the type of what is written.
std::optional<Expr> PartOf(const Sdfg& s, const std::vector<Tap*>& taps) {
  std::optional<Expr> found;
  for (const Tap* t : taps) {
    const DType type = s.Get(t->target).dtype;
    ForEachPart(t->value, [&](const Expr& e) {
      if (found || !IsCostly(e)) return false;
      if (UsesOf(e, taps) < kLeastUses) return true;
      const Result<Expr> typed = InferTypes(s, e, type);
      if (typed.ok() && (*typed)->dtype == type && ComputeType(type) == type) found = e;
      return !found;
    });
    if (found) break;
  }
  return found;
}

// By steps of 1.
bool SameRanges(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Range& x, const Range& y) {
    return x.index == y.index && x.begin == y.begin && x.end == y.end;
  });
}

bool AnyGathered(const std::vector<Tap*>& taps) {
  for (size_t k = 0; k < taps.size(); ++k)
    for (size_t m = 0; m < k; ++m)
      if (taps[k]->target == taps[m]->target && taps[k]->fixed == taps[m]->fixed) return true;
  return false;
}

class Sharer {
 public:
  Sharer(Sdfg* s, FreshNames* names) : s_(*s), names_(*names) {}

  // Whether there was one; its map joins `out`.
  bool Share(const std::vector<Tap*>& taps, std::vector<NodeId>* out) {
    const std::optional<Expr> part = PartOf(s_, taps);
    if (!part) return false;
    std::vector<Range> ranges;
    std::vector<Expr> index;
    Container c;
    for (const Range& r : taps[0]->ranges) {
      if (!Mentions(*part, r.index)) continue;
      const Expr extent = Simplify(r.end - r.begin);
      if (!AsInt(extent) || *AsInt(extent) < 1) return false;
      ranges.push_back(r), c.shape.push_back(extent), index.push_back(Simplify(SymbolExpr(r.index) - r.begin));
    }
    if (ranges.empty()) return false;
    c.name = names_("part");
    c.dtype = s_.Get(taps[0]->target).dtype;
    const Expr read = ReadExpr(c.name, index);
    Tasklet write;
    write.target = c.name, write.index = index, write.value = *part;
    const Origin origin = s_.nodes[taps[0]->node].origin;
    s_.Add(std::move(c));
    Map m;
    m.ranges = ranges, m.body = {s_.AddNode(std::move(write), origin)};
    out->push_back(s_.AddNode(std::move(m), origin.By("gather-adjoints")));
    for (Tap* t : taps) t->value = Transform(t->value, [&](const Expr& x) { return x == *part ? read : x; });
    return true;
  }

 private:
  Sdfg& s_;
  FreshNames& names_;
};

}  // namespace

std::vector<NodeId> ShareParts(Sdfg* s, FreshNames* names, std::vector<Tap>* taps) {
  std::vector<NodeId> out;
  for (size_t k = 0; k < taps->size();) {
    std::vector<Tap*> alike;  // over the same ranges
    const std::vector<Range> ranges = (*taps)[k].ranges;
    for (; k < taps->size() && SameRanges((*taps)[k].ranges, ranges); ++k) alike.push_back(&(*taps)[k]);
    const DType type = s->Get(alike[0]->target).dtype;
    const bool one_type = std::all_of(alike.begin(), alike.end(), [&](const Tap* t) { return s->Get(t->target).dtype == type; });
    for (int n = 0; one_type && AnyGathered(alike) && n < kMostParts && Sharer(s, names).Share(alike, &out); ++n) {}
  }
  return out;
}

}  // namespace headrace::autodiff
