// The adjoint of a call of an equal layer: a call of its reverse.
#include "autodiff/reverse.h"

namespace headrace::autodiff {

namespace {

const std::pair<Name, Name>* WithGradient(const std::vector<std::pair<Name, Name>>& ports, Name parameter) {
  for (const auto& p : ports)
    if (p.second == parameter) return &p;
  return nullptr;
}

}  // namespace

void Reversal::ReverseLayer(NodeId n, const ReversedLayer& layer, Adjoint* out) {
  const Nested call = std::get<Nested>(s_.nodes[n].body);
  const Sdfg& backward = *p_->Find(layer.backward);
  std::unordered_map<Name, Name> container;
  for (const Argument& a : call.arguments) container.emplace(a.port, a.container);
  Nested reverse;
  reverse.callee = layer.backward;
  std::vector<NodeId> add;
  for (Name parameter : backward.parameters) {
    Name is;
    if (const auto* given = WithGradient(layer.given, parameter)) is = GradientOfContainer(container.at(given->first));
    else if (const auto* required = WithGradient(layer.required, parameter))
      is = GradientOfCall(container.at(required->first), layer.added.count(required->first) > 0, out, &add);
    else is = container.at(parameter);
    reverse.arguments.push_back({parameter, is, {}});
  }
  for (Name symbol : backward.symbol_params) {
    Expr value = SymbolExpr(symbol);
    for (const auto& [of, bound] : call.symbols)
      if (of == symbol) value = bound;
    reverse.symbols.emplace_back(symbol, std::move(value));
  }
  out->statements.push_back(s_.AddNode(std::move(reverse)));
  for (const auto& given : layer.given)
    if (const Name y = container.at(given.first); NeedsZero(RootOf(s_, y), n))
      out->statements.push_back(FillWith(&s_, &names_, GradientOfContainer(y), FloatExpr(0)));
  out->statements.insert(out->statements.end(), add.begin(), add.end());
  for (const Touched& t : TouchedBy(s_, n, callees_))
    if (t.write) out->after.push_back({t.root, FullSubset(s_.Get(t.root).shape)});
}

// Where the reverse of a call leaves the gradient of an argument: added to the sum, or as a part that is added to it. What has no
// gradient in this call, but in others, is left to dead code elimination.
Name Reversal::GradientOfCall(Name argument, bool added, Adjoint* out, std::vector<NodeId>* add) {
  const bool active = (*active_)(argument);
  if (active && added) return GradientOfContainer(argument);
  Container part = s_.Get(active ? GradientOfContainer(argument) : argument);
  part.kind = ContainerKind::kTransient;
  part.MakeRowMajor(), part.offset = Expr(), part.base = Name();
  part.inout = part.optional = false;
  part.data = Tensor();
  part.name = names_("grad_" + argument.str() + "_part");
  const Name n = part.name;
  s_.Add(std::move(part));
  if (active) {
    add->push_back(CopyWhole(&s_, &names_, GradientOfContainer(argument), n, WriteOp::kAdd));
    partial_[add->back().value] = n;
  } else if (added) {
    out->statements.push_back(FillWith(&s_, &names_, n, FloatExpr(0)));
  }
  return n;
}

}  // namespace headrace::autodiff
