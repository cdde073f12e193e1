#include "transforms/fill.h"

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"

namespace headrace::transforms {
namespace {

// It shows the elements of its root, all of them and in their order.
bool ShowsAll(const Sdfg& s, Name name) {
  const Container& c = s.Get(name);
  if (c.kind != ContainerKind::kView) return c.row_major();
  const Container& root = s.Get(RootOf(s, name));
  return c.base == root.name && root.row_major() && IsContiguous(c) && (!c.offset || AsInt(c.offset) == 0) &&
         ProveEq(NumElements(c), NumElements(root), s.assumptions) == Truth::kYes;
}

// One constant for every element of a container that shows all of its root.
const Tasklet* WholeFill(const Sdfg& s, const Kernel& k) {
  const Tasklet* const t = k.constant && k.fusable && k.body.size() == 1 ? std::get_if<Tasklet>(&s.nodes[k.body[0]].body) : nullptr;
  if (!t || t->guarded || t->flat || t->op != WriteOp::kAssign || !ShowsAll(s, t->target)) return nullptr;
  const Container& c = s.Get(t->target);
  if (t->index.size() != c.shape.size()) return nullptr;
  size_t next = 0;
  for (size_t d = 0; d < c.shape.size(); ++d) {
    if (AsInt(c.shape[d]) == 1 && AsInt(t->index[d]) == 0) continue;  // a range that is gone
    if (next == k.ranges.size()) return nullptr;
    const Range& r = k.ranges[next++];
    if (t->index[d] != SymbolExpr(r.index) || AsInt(r.begin) != 0 || (r.step && AsInt(r.step) != 1) || r.end != c.shape[d] ||
        Mentions(t->value, r.index))
      return nullptr;
  }
  if (next != k.ranges.size()) return nullptr;
  return t;
}

}  // namespace

std::optional<Kernel> FillThroughView(const Program& p, Sdfg* s, NameTable* names, const Kernel& fill, const Kernel& user) {
  const Tasklet* const t = WholeFill(*s, fill);
  if (!t) return std::nullopt;
  Name view;
  for (uint32_t k : user.of(RootOf(*s, t->target))) {
    const KernelAccess& a = user.accesses[k];
    if (a.whole || a.flat || (view != Name() && a.container != view)) return std::nullopt;
    view = a.container;
  }
  if (view == Name() || view == t->target || !ShowsAll(*s, view)) return std::nullopt;
  Tasklet filled = *t;
  filled.target = view, filled.index.clear();
  Map m;
  std::vector<Name> taken;
  for (const Expr& extent : s->Get(view).shape) {
    if (AsInt(extent) == 1) {
      filled.index.push_back(Expr(0));
      continue;
    }
    const Name index = names->FreshIndex("d" + std::to_string(m.ranges.size()), taken);
    taken.push_back(index);
    m.ranges.push_back({index, Expr(0), extent, Expr(1)});
    filled.index.push_back(SymbolExpr(index));
  }
  if (m.ranges.empty()) return std::nullopt;
  m.body = {s->AddNode(std::move(filled), fill.origin)};
  return MakeKernel(p, *s, s->AddNode(std::move(m), fill.origin));
}

}  // namespace headrace::transforms
