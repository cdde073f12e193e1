#include "autodiff/layers.h"

#include <algorithm>

#include "autodiff/emit.h"
#include "autodiff/reverse.h"
#include "autodiff/statement_rules.h"

namespace headrace::autodiff {
namespace {

bool Holds(const std::vector<Name>& list, Name n) { return std::find(list.begin(), list.end(), n) != list.end(); }

const Nested* CallOf(const Sdfg& s, NodeId n, const std::vector<Name>& layers) {
  const auto* call = std::get_if<Nested>(&s.nodes[n].body);
  return call && Holds(layers, call->callee) ? call : nullptr;
}

// The same history, from other sources.
Origin Renamed(const Origin& o, const std::unordered_map<Name, Name>& names) {
  if (names.empty() || !o.named()) return o;
  if (const Name source = o.source(); !source.empty()) {
    const auto it = names.find(source);
    return it == names.end() ? o : Origin(it->second).WithOp(o.op());
  }
  std::vector<Origin> inputs;
  for (const Origin& in : o.inputs()) inputs.push_back(Renamed(in, names));
  if (inputs.empty()) return o;
  if (o.is_gradient()) return inputs[0].Gradient(o.pass()).WithOp(o.op());
  return (inputs.size() == 1 ? inputs[0].By(o.pass()) : Origin::Merged(inputs, o.pass())).WithOp(o.op());
}

// All calls of one layer, and what makes of them calls of the same layer with a tape.
class LayerReverser {
 public:
  LayerReverser(Program* p, Name layer, const Options& o, const std::shared_ptr<KnownCosts>& costs, const Registry& r)
      : p_(*p), layer_(*p->Find(layer)), o_(o), costs_(costs), r_(r), directions_(Directions(*p, layer_)) {}

  void AddCall(NodeId n) { calls_.push_back(n); }

  // `last`: where each root is used last; `seeded`: adjoints that hold something before any statement's adjoint runs.
  bool Suits(const Activity& active, const std::unordered_map<Name, NodeId>& last,
             const std::unordered_set<Name>& seeded) {
    for (const Direction d : directions_)
      if (d == Direction::kInOut) return false;
    for (NodeId n : calls_)
      if (!SuitsCall(n, active, last, seeded)) return false;
    return true;
  }
  bool IsActive() const { return !given_.empty(); }

  // False where the parts need what a call can't give.
  Result<bool> Reverse() {
    Program alone;
    alone.entry = layer_.name;
    alone.Add(layer_);
    HR_ASSIGN_OR_RETURN(parts_, BackwardOfLayer(std::move(alone), InOrder(given_), InOrder(required_), added_, o_, costs_, r_));
    if (parts_.forward.sdfgs.size() != 1 || parts_.program.sdfgs.size() != 1) return false;
    const std::vector<Name> known = FreeSymbols(layer_), callers = FreeSymbols(p_.Entry());
    const auto is_known = [&](Name n) {
      return Holds(known, n) && (Holds(callers, n) || !Symbol(n).Is(ExprKind::kSymbol));
    };
    for (const Sdfg* part : {&Forward(), &Backward()})
      if (!std::all_of(part->symbol_params.begin(), part->symbol_params.end(), is_known)) return false;
    for (Name n : Forward().parameters) {
      if (Holds(layer_.parameters, n)) continue;
      const Container& c = Forward().Get(n);
      if (c.kind == ContainerKind::kSequence || !c.row_major()) return false;
      for (const Expr& dim : c.shape)
        for (Name symbol : FreeSymbols(dim))
          if (!Holds(callers, symbol) || !Holds(known, symbol)) return false;
    }
    return true;
  }

  // The calls, those that nothing is differentiated by among them: so that one SDFG is left.
  ReversedLayer Replace(FreshNames* names, Name* forward_name) {
    Sdfg forward = Forward(), backward = Backward();
    forward.name = *forward_name = Free(layer_.name.str() + "_forward");
    backward.name = Free(layer_.name.str() + "_backward");
    RenameOrigins(&backward);
    ReversedLayer out;
    out.backward = backward.name;
    out.given = parts_.output_gradients, out.required = parts_.input_gradients, out.added = added_;
    Sdfg& s = p_.MutableEntry();
    for (NodeId n : calls_) {
      Nested call = std::get<Nested>(s.nodes[n].body);
      call.callee = forward.name;
      for (Name port : forward.parameters) {
        if (Holds(layer_.parameters, port)) continue;
        Container c = forward.Get(port);
        c.name = (*names)(port.view());
        c.kind = ContainerKind::kTransient;
        call.arguments.push_back({port, c.name, {}});
        s.Add(std::move(c));
      }
      call.symbols.clear();
      for (Name symbol : forward.symbol_params) call.symbols.emplace_back(symbol, Symbol(symbol));
      s.nodes.Mutable(n).body = std::move(call);
    }
    p_.Add(std::move(forward));
    p_.Add(std::move(backward));
    return out;
  }

 private:
  const Sdfg& Forward() const { return parts_.forward.Entry(); }
  const Sdfg& Backward() const { return parts_.program.Entry(); }

  bool SuitsCall(NodeId n, const Activity& active, const std::unordered_map<Name, NodeId>& last,
                 const std::unordered_set<Name>& seeded) {
    const Sdfg& s = p_.Entry();
    const Nested& call = std::get<Nested>(s.nodes[n].body);
    std::unordered_set<Name> roots;
    bool reaches = false;
    for (size_t k = 0; k < layer_.parameters.size(); ++k)
      if (const Argument* a = ArgumentOf(call, layer_.parameters[k]))
        reaches |= directions_[k] == Direction::kOut && active(a->container);
    if (reaches) last_active_ = n;
    for (size_t k = 0; k < layer_.parameters.size(); ++k) {
      const Name port = layer_.parameters[k];
      const Argument* a = ArgumentOf(call, port);
      const Container* c = a ? s.Find(a->container) : nullptr;
      if (!c || !a->index.empty() || c->kind == ContainerKind::kView || c->kind == ContainerKind::kSequence)
        return false;
      if (!roots.insert(c->name).second) return false;
      if (!reaches || !active(c->name)) continue;
      if (directions_[k] == Direction::kOut) given_.insert(port);
      if (directions_[k] != Direction::kIn || c->kind == ContainerKind::kConstant) continue;
      required_.insert(port);
      if (seeded.count(c->name) || !(last.at(c->name) == n)) added_.insert(port);
    }
    for (const auto& [symbol, value] : call.symbols)
      if (const auto [it, fresh] = symbols_.emplace(symbol, value); !fresh && it->second != value) return false;
    return true;
  }
  static const Argument* ArgumentOf(const Nested& call, Name port) {
    for (const Argument& a : call.arguments)
      if (a.port == port) return &a;
    return nullptr;
  }
  std::vector<Name> InOrder(const std::unordered_set<Name>& ports) const {
    std::vector<Name> out;
    for (Name n : layer_.parameters)
      if (ports.count(n)) out.push_back(n);
    return out;
  }
  Expr Symbol(Name n) const {
    const auto it = symbols_.find(n);
    return it == symbols_.end() ? SymbolExpr(n) : it->second;
  }
  // What inlines calls takes the origins in a callee for those of its first call, which in the backward part is the last layer's.
  void RenameOrigins(Sdfg* backward) const {
    const Sdfg& s = p_.Entry();
    const std::vector<Origin::Source> of = s.nodes[calls_.front()].origin.Sources(),
                                      is = s.nodes[last_active_].origin.Sources();
    if (of.size() != is.size()) return;
    std::unordered_map<Name, Name> names;
    for (size_t k = 0; k < of.size(); ++k)
      if (of[k].name != is[k].name) names.emplace(of[k].name, is[k].name);
    for (uint32_t k = 0; k < backward->nodes.size(); ++k) {
      const NodeId n{k};
      if (const Origin o = Renamed(backward->nodes[n].origin, names); o != backward->nodes[n].origin)
        backward->nodes.Mutable(n).origin = o;
    }
  }
  Name Free(const std::string& stem) const {
    Name n(stem);
    for (int k = 1; p_.Find(n); ++k) n = Name(stem + "_" + std::to_string(k));
    return n;
  }

  Program& p_;
  const Sdfg layer_;
  const Options& o_;
  const std::shared_ptr<KnownCosts> costs_;
  const Registry& r_;
  const std::vector<Direction> directions_;
  std::vector<NodeId> calls_;
  NodeId last_active_;
  std::unordered_set<Name> given_, required_, added_;
  std::unordered_map<Name, Expr> symbols_;
  BackwardPrograms parts_;
};

}  // namespace

bool MayShareLayers(const Program& p, const Options& o, const Registry& r) {
  if (o.memory_limit || !o.store.empty() || !o.recompute.empty() || o.keep == Keep::kRecomputeAll) return false;
  if (OrdinaryDerivatives::Now()) return false;  // the body of an op, which becomes a part of its caller
  if (r.FindPass("share-layers") == nullptr || r.FindPass("inline-nested") == nullptr) return false;
  for (const auto& s : p.sdfgs)
    for (Name n : s->order)
      if (IsHalf(s->Get(n).dtype)) return false;
  return true;
}

Result<std::vector<Name>> ShareLayers(Program* p, const Registry& r) {
  HR_RETURN_IF_ERROR(RunPipeline(r, "inline-nested{everywhere=true}", *p));
  std::vector<Name> before, layers;
  for (const auto& s : p->sdfgs) before.push_back(s->name);
  HR_RETURN_IF_ERROR(RunPipeline(r, "share-layers", *p));
  for (const auto& s : p->sdfgs)
    if (!Holds(before, s->name)) layers.push_back(s->name);
  return layers;
}

Result<std::optional<ReversedLayers>> ReverseLayers(Program* p, const std::vector<Name>& layers,
                                                    const std::vector<Name>& outputs, const std::vector<Name>& inputs,
                                                    const Options& o, const std::shared_ptr<KnownCosts>& costs,
                                                    const Registry& r) {
  const std::optional<ReversedLayers> unsuitable;
  const Sdfg& s = p->Entry();
  std::vector<LayerReverser> reversers;
  for (Name layer : layers) {
    if (!p->Find(layer)) return unsuitable;  // nothing needs its calls
    reversers.emplace_back(p, layer, o, costs, r);
  }
  std::unordered_map<Name, NodeId> last;
  Callees callees(*p);
  ForEachBlock(s, s.body, [&](BlockId b) {
    const auto* state = std::get_if<State>(&s.blocks[b].control);
    if (!state) return;
    for (NodeId n : state->statements) {
      for (const Touched& t : TouchedBy(s, n, callees)) last[t.root] = n;
      if (const Nested* call = CallOf(s, n, layers))
        reversers[static_cast<size_t>(std::find(layers.begin(), layers.end(), call->callee) - layers.begin())].AddCall(
            n);
    }
  });
  std::unordered_set<Name> seeded;
  for (Name n : outputs) seeded.insert(RootOf(s, n));
  const Activity active(*p, s, r, outputs, inputs);
  for (LayerReverser& x : reversers)
    if (!x.Suits(active, last, seeded)) return unsuitable;
  for (LayerReverser& x : reversers) {
    if (!x.IsActive()) continue;
    HR_ASSIGN_OR_RETURN(const bool done, x.Reverse());
    if (!done) return unsuitable;
  }
  FreshNames names(s);
  ReversedLayers out;
  for (LayerReverser& x : reversers) {
    if (!x.IsActive()) continue;
    Name forward;
    ReversedLayer reversed = x.Replace(&names, &forward);
    out.emplace(forward, std::move(reversed));
  }
  return std::optional<ReversedLayers>(std::move(out));
}

}  // namespace headrace::autodiff
