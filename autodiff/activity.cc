#include <functional>

#include "autodiff/library_rules.h"
#include "autodiff/reverse.h"

namespace headrace::autodiff {
namespace {

// Sequences and optionals of floats do: that nothing differentiates through them is then an error, not a zero.
bool CarriesDerivative(const Container& c) {
  const DType t = c.dtype == DType::kNone ? c.type.dtype : c.dtype;
  return IsFloat(t) || IsComplex(t);
}

// Reads of an expression that a derivative can flow through: not in indices or conditions.
void DifferentiableReads(const Expr& e, std::vector<Name>* out) {
  if (!e) return;
  if (e.Is(ExprKind::kRead)) {
    out->push_back(e->name);
    if (e->has_default) DifferentiableReads(e->args.back(), out);
    return;
  }
  if (e.Is(ExprKind::kBinary) && e->op >= Op::kEq) return;
  for (size_t i = e.Is(ExprKind::kSelect) ? 1 : 0; i < e->args.size(); ++i) DifferentiableReads(e->args[i], out);
}

}  // namespace

Activity::Activity(const Program& p, const Sdfg& s, const Registry& r, const std::vector<Name>& outputs,
                   const std::vector<Name>& inputs)
    : s_(s) {
  std::vector<std::pair<Name, Name>> edges;  // from, to
  Callees callees(p);
  auto add = [&](Name from, Name to) {
    const Container *f = s.Find(RootOf(s, from)), *t = s.Find(RootOf(s, to));
    if (f && t && f->kind != ContainerKind::kConstant && CarriesDerivative(*f) && CarriesDerivative(*t))
      edges.push_back({f->name, t->name});
  };
  ForEachNode(s, [&](NodeId id) {
    const Body& b = s.nodes[id].body;
    if (auto* t = std::get_if<Tasklet>(&b)) {
      std::vector<Name> reads;
      DifferentiableReads(t->value, &reads);
      for (Name n : reads) add(n, t->target);
    } else if (auto* l = std::get_if<Library>(&b)) {
      std::unordered_map<std::string, int> seen;
      for (const Port& in : l->inputs) {
        if (in.container.empty() || !Differentiable(r, p, s, id, in.name.str())) continue;
        for (const Port& out : l->outputs)
          if (!out.container.empty()) add(in.container, out.container);
      }
    } else if (auto* c = std::get_if<Nested>(&b)) {
      for (const Argument& to : c->arguments) {
        const Direction d = callees.Of(c->callee, to.port);
        if (d != Direction::kOut && d != Direction::kInOut) continue;
        for (const Argument& from : c->arguments) add(from.container, to.container);
      }
    }
  });
  auto closure = [&](const std::vector<Name>& start, bool forward) {
    std::unordered_map<Name, std::vector<Name>> next;
    for (const auto& e : edges) forward ? next[e.first].push_back(e.second) : next[e.second].push_back(e.first);
    std::unordered_set<Name> seen;
    std::vector<Name> stack;
    for (Name n : start) stack.push_back(RootOf(s, n));
    while (!stack.empty()) {
      Name n = stack.back();
      stack.pop_back();
      if (!seen.insert(n).second) continue;
      for (Name m : next[n]) stack.push_back(m);
    }
    return seen;
  };
  std::unordered_set<Name> varied = closure(inputs, true), useful = closure(outputs, false);
  for (Name n : varied)
    if (useful.count(n)) active_.insert(n);
  for (Name n : inputs) active_.insert(RootOf(s, n));
}

bool Activity::operator()(Name container) const { return active_.count(RootOf(s_, container)) > 0; }

}  // namespace headrace::autodiff
