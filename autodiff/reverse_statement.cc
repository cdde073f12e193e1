// The adjoint of one statement at state level, and which primal values it reads.
#include <algorithm>

#include "autodiff/gradient_node.h"
#include "autodiff/library_rules.h"
#include "autodiff/reverse.h"

namespace headrace::autodiff {

Name Reversal::GradientOfContainer(Name n) {
  auto it = gradients_.find(n);
  if (it != gradients_.end()) return it->second;
  Container c = s_.Get(n);
  if (c.kind == ContainerKind::kView) {
    Name base = GradientOfContainer(c.base);
    c.base = base;
  } else {
    c.kind = ContainerKind::kTransient;
    c.inout = c.optional = false;
    c.data = Tensor();
  }
  c.name = names_("grad_" + n.str());
  gradients_[n] = c.name;
  if (c.kind != ContainerKind::kView) zeroed_.push_back(c.name);
  Name g = c.name;
  s_.Add(std::move(c));
  return g;
}

// The adjoint of an overwritten element must be cleared when an earlier statement's adjoint still adds to or reads it.
bool Reversal::NeedsZero(Name root, NodeId n) const {
  if (keep_zero_.count(root)) return true;
  auto in_loop = in_loop_.find(n.value);
  if (in_loop != in_loop_.end() && in_loop->second) return true;
  auto first = first_use_.find(root);
  auto at = order_.find(n.value);
  return first == first_use_.end() || at == order_.end() || first->second < at->second;
}

void Reversal::FindUses(const Adjoint& a, NodeId n, std::vector<Use>* before) const {
  (void)n;
  for (NodeId x : a.statements) {
    if (std::holds_alternative<Nested>(s_.nodes[x].body)) {  // takes whole arrays
      for (const Touched& t : TouchedBy(s_, x, callees_))
        if (const Container& c = s_.Get(t.root); t.read && c.kind != ContainerKind::kConstant)
          before->push_back({t.root, FullSubset(c.shape)});
      continue;
    }
    for (const Memlet& m : MemletsOf(s_, x, callees_)) {
      if (m.write) continue;
      Name root = RootOf(s_, m.container);
      const Container& c = s_.Get(root);
      if (c.kind == ContainerKind::kConstant) continue;
      before->push_back({root, root == m.container ? m.subset : FullSubset(c.shape)});
    }
  }
}

Result<const Adjoint*> Reversal::AdjointOf(NodeId n) {
  auto it = adjoints_.find(n.value);
  if (it != adjoints_.end()) return &it->second;
  Adjoint a;
  const Node& node = s_.nodes[n];
  const Origin origin = node.origin;
  uint32_t first = s_.nodes.size();
  bool writes_active = false;
  for (Name w : WrittenBy(s_, n)) writes_active |= (*active_)(w);
  const ReversedLayer* layer = nullptr;
  if (const auto* call = std::get_if<Nested>(&node.body)) {
    for (const Touched& t : TouchedBy(s_, n, callees_)) writes_active |= t.write && (*active_)(t.root);
    if (const auto reversed = layers_.find(call->callee); reversed != layers_.end()) layer = &reversed->second;
    if (writes_active && !layer)
      return UnsupportedError("E0808", "a call that could not be inlined has no gradient", "inline '" + call->callee.str() + "'");
  }
  if (writes_active) {
    if (layer) {
      ReverseLayer(n, *layer, &a);
    } else if (std::holds_alternative<Library>(node.body)) {
      HR_RETURN_IF_ERROR(ReverseLibrary(n, &a));
    } else {
      MapContext c{&s_, &names_, [this](Name x) { return (*active_)(x); },
                   [this](Name x) { return GradientOfContainer(x); },
                   [this, n](Name root) { return NeedsZero(root, n); }};
      const auto in_loop = in_loop_.find(n.value);
      if (in_loop != in_loop_.end() && !in_loop->second)  // in a loop, the next iteration may overwrite it
        c.result = [&](Name root) { a.after.push_back({root, FullSubset(s_.Get(root).shape)}); };
      HR_ASSIGN_OR_RETURN(a.statements, ReverseMap(c, n));
    }
    const Origin backward = origin.Gradient("backward");
    for (uint32_t k = first; k < s_.nodes.size(); ++k) s_.nodes.Mutable(NodeId{k}).origin = backward;
    std::vector<Use> before;
    FindUses(a, n, &before);
    // Values that this statement leaves, as its outputs, are read as it left them.
    for (Use& u : before) {
      bool after = false;
      for (const Use& x : a.after) after |= x.root == u.root;
      if (!after) a.before.push_back(std::move(u));
    }
  }
  return &adjoints_.emplace(n.value, std::move(a)).first->second;
}

Status Reversal::ReverseLibrary(NodeId n, Adjoint* out) {
  const Library l = std::get<Library>(s_.nodes[n].body);
  const OpSignature* signature = r_.FindOp(l.domain.str(), l.op.str(), l.version);
  std::vector<FlatPort> inputs = FlatPorts(l.inputs, signature ? &signature->inputs : nullptr);
  std::vector<FlatPort> outputs = FlatPorts(l.outputs, signature ? &signature->outputs : nullptr);
  std::vector<std::string> given, required;
  std::unordered_map<std::string, Name> container;
  for (const FlatPort& p : outputs) {
    if (p.container.empty()) continue;
    container[p.name] = p.container;
    if ((*active_)(p.container)) given.push_back(p.name);
  }
  for (const FlatPort& p : inputs) {
    if (p.container.empty()) continue;
    container[p.name] = p.container;
    if ((*active_)(p.container) && Differentiable(r_, *p_, s_, n, p.name)) required.push_back(p.name);
  }
  if (given.empty()) return {};
  for (const auto* ports : {&given, &required})
    for (const std::string& port : *ports) {
      const Container& c = s_.Get(container[port]);
      if (c.kind != ContainerKind::kSequence) continue;
      const bool optional = c.type.kind == ValueType::kOptional;
      return WithNode(UnsupportedError("E0806", (optional ? "optional '" : "sequence '") + c.name.str() +
                                           "' holds values that the output depends on, and no gradient flows through " +
                                           (optional ? "optionals" : "sequences"),
                                       "use tensors, or choose inputs that do not go through it"),
                      s_.nodes[n].origin.Label(), l.domain.str() + "." + l.op.str());
    }
  auto clear = [&] {
    for (const std::string& g : given)
      if (NeedsZero(RootOf(s_, container[g]), n))
        out->statements.push_back(FillWith(&s_, &names_, GradientOfContainer(container[g]), FloatExpr(0)));
  };
  if (required.empty()) {
    clear();
    return {};
  }
  HR_ASSIGN_OR_RETURN(LibraryGradient rule, GradientOf(r_, *p_, s_, n, given, required));
  Library g = rule.node;
  auto suffix = [](Name port) { return port.str().substr(5); };  // grad_X → X
  std::vector<NodeId> add;
  for (Port& p : g.inputs)
    if (p.container.empty() && IsGradientName(p.name.view())) {
      auto it = container.find(suffix(p.name));
      if (it != container.end()) p.container = GradientOfContainer(it->second);
    }
  for (Port& p : g.outputs) {
    auto it = container.find(suffix(p.name));
    if (it == container.end() || !p.container.empty()) continue;
    Name total = GradientOfContainer(it->second);
    Container part = s_.Get(total);
    part.kind = ContainerKind::kTransient;
    part.MakeRowMajor(), part.offset = Expr(), part.base = Name();
    part.name = names_(total.str() + "_part");
    p.container = part.name;
    Name from = part.name;
    s_.Add(std::move(part));
    add.push_back(CopyWhole(&s_, &names_, total, from, WriteOp::kAdd));
    partial_[add.back().value] = from;
  }
  out->statements.push_back(s_.AddNode(std::move(g)));
  clear();
  out->statements.insert(out->statements.end(), add.begin(), add.end());
  for (const std::string& port : rule.outputs_read) {
    auto it = container.find(port);
    if (it == container.end()) continue;
    Name root = RootOf(s_, it->second);
    out->after.push_back({root, FullSubset(s_.Get(root).shape)});
  }
  return {};
}

}  // namespace headrace::autodiff
