#include "autodiff/widen_sums.h"

#include <unordered_set>

#include "autodiff/emit.h"

namespace headrace::autodiff {
namespace {

bool IsHalf(DType t) { return t == DType::kF16 || t == DType::kBF16; }

}  // namespace

void WidenSums(Program* p, size_t first) {
  const Sdfg& entry = p->Entry();
  std::unordered_set<Name> summed, refused;
  auto tasklet = [&](const Tasklet& t, bool forward) {
    if (forward) refused.insert(t.target);
    else if (t.op == WriteOp::kAdd && entry.Find(t.target) && IsHalf(entry.Get(t.target).dtype))
      summed.insert(t.target);
    auto reads = [&](const Expr& e) {
      if (forward && e)
        for (Name n : ReadContainers(e)) refused.insert(n);
    };
    reads(t.value);
    for (const Expr& e : t.index) reads(e);
  };
  for (size_t b = 0; b < entry.body.size(); ++b) {
    auto node = [&](NodeId root) {
      std::vector<NodeId> open{root};
      while (!open.empty()) {
        const Body& body = entry.nodes[open.back()].body;
        open.pop_back();
        if (auto* t = std::get_if<Tasklet>(&body)) tasklet(*t, b < first);
        else if (auto* m = std::get_if<Map>(&body)) open.insert(open.end(), m->body.begin(), m->body.end());
        else if (auto* call = std::get_if<Nested>(&body))
          for (const Argument& a : call->arguments) refused.insert(a.container);
        else if (auto* l = std::get_if<Library>(&body))
          for (const auto* ports : {&l->inputs, &l->outputs})
            for (const Port& port : *ports) refused.insert(port.container);
      }
    };
    ForEachBlock(entry, {entry.body[b]}, [&](BlockId block) {
      if (auto* st = std::get_if<State>(&entry.blocks[block].control))
        for (NodeId n : st->statements) node(n);
    });
  }
  for (Name n : entry.order)
    if (!entry.Get(n).base.empty()) refused.insert(entry.Get(n).base);

  std::vector<Name> chosen;
  for (Name n : entry.order) {
    const Container& c = entry.Get(n);
    const bool owned = (c.kind == ContainerKind::kTransient && c.storage == Storage::kArena) ||
                       (c.kind == ContainerKind::kParameter && !c.inout);
    if (summed.count(n) && !refused.count(n) && owned) chosen.push_back(n);
  }
  if (chosen.empty()) return;
  Sdfg& s = p->MutableEntry();
  FreshNames names(s);
  Renames shadows;
  std::vector<std::pair<Name, DType>> read_as;  // wide container → what its reads were
  for (Name n : chosen) {
    Container c = s.Get(n);
    const DType half = c.dtype;
    c.dtype = DType::kF32;
    Name wide = n;
    if (c.kind == ContainerKind::kParameter) {
      c.name = wide = names(n.str() + "_sum");
      c.kind = ContainerKind::kTransient;
      c.MakeRowMajor();
      shadows.push_back({n, wide});
      s.Add(std::move(c));
    } else {
      s.Mutable(n) = std::move(c);
    }
    read_as.push_back({wide, half});
  }
  RenameEverywhere(&s, shadows);
  // Tensors of two types don't mix: a wide value is rounded where it is read.
  for (uint32_t i = 0; i < s.nodes.size(); ++i) {
    const auto* t = std::get_if<Tasklet>(&s.nodes[NodeId{i}].body);
    if (!t) continue;
    Expr value = Transform(t->value, [&](const Expr& e) {
      if (e.Is(ExprKind::kRead))
        for (const auto& [wide, half] : read_as)
          if (e->name == wide) return CastExpr(half, e);
      return e;
    });
    if (value != t->value) std::get<Tasklet>(s.nodes.Mutable(NodeId{i}).body).value = value;
  }
  State last;
  for (const auto& [parameter, wide] : shadows) last.statements.push_back(CopyWhole(&s, &names, parameter, wide));
  if (!last.statements.empty()) s.body.push_back(s.AddBlock(std::move(last)));
}

}  // namespace headrace::autodiff
