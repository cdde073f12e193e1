#include "transforms/forward_registers.h"

#include <algorithm>
#include <unordered_map>

#include "ir/analysis/dataflow.h"
#include "transforms/by_name.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

class Forwarder {
 public:
  Forwarder(Sdfg* s, const Ask& ask) : s_(*s), ask_(ask) {}

  bool Run() {
    const auto in_register = [&](Name n) { return s_.Get(n).storage == Storage::kRegister; };
    if (std::none_of(s_.order.begin(), s_.order.end(), in_register)) return false;
    for (Name n : s_.order)
      if (IsRegister(n)) occurs_[n];
    std::vector<NodeId> maps;
    ForEachNode(s_, [&](NodeId id) {
      const auto* m = std::get_if<Map>(&s_.nodes[id].body);
      if (!m) return;
      Count(id, *m);
      maps.push_back(id);
    });
    bool changed = false;
    for (NodeId id : maps) changed |= Forward(id);
    if (changed) transforms::RemoveEmptied(&s_);
    return changed;
  }

 private:
  bool IsRegister(Name n) const {
    const Container* c = s_.Find(n);
    return c && c->storage == Storage::kRegister && c->shape.empty();
  }
  // In how many maps' own statements each register occurs.
  void Count(NodeId map, const Map& m) {
    const auto use = [&](Name n) {
      Occurrences* of = occurs_.Find(n);
      if (of && !(of->last == map)) of->last = map, ++of->maps;
    };
    const auto reads = [&](const Expr& e) {
      Visit(e, [&](const Expr& x) {
        if (x.Is(ExprKind::kRead)) use(x->name);
        return true;
      });
    };
    for (NodeId n : m.body) {
      const Body& body = s_.nodes[n].body;
      if (const auto* t = std::get_if<Tasklet>(&body)) {
        use(t->target), reads(t->value);
        for (const Expr& e : t->index) reads(e);
      } else if (const auto* call = std::get_if<Nested>(&body)) {
        for (const Argument& a : call->arguments) {
          use(a.container);
          for (const Expr& e : a.index) reads(e);
        }
      } else if (const auto* op = std::get_if<Library>(&body)) {
        for (const auto* ports : {&op->inputs, &op->outputs})
          for (const Port& port : *ports) use(port.container);
      }
    }
  }
  bool OccursOnce(Name n) const {
    const Occurrences* of = occurs_.Find(n);
    return of && of->maps == 1;
  }
  // `t = X[…]` with a register that occurs in this map alone: the element, of its type, that it stands for.
  std::optional<Expr> Held(const Tasklet& t, const std::unordered_map<Name, Expr>& held) const {
    if (t.op != WriteOp::kAssign || t.guarded || t.flat || !OccursOnce(t.target)) return std::nullopt;
    Expr value = Replaced(t.value, held);
    const bool element = value.Is(ExprKind::kRead) && !value->has_default && !IsRegister(value->name);
    const DType type = s_.Get(t.target).dtype;
    if (!element || held.count(t.target) || s_.Get(value->name).dtype != type) return std::nullopt;
    return IsFloat(type) || IsComplex(type) ? std::optional<Expr>(value) : std::nullopt;
  }
  static Expr Replaced(const Expr& e, const std::unordered_map<Name, Expr>& held) {
    return Transform(e, [&](const Expr& x) {
      auto it = x.Is(ExprKind::kRead) ? held.find(x->name) : held.end();
      return it == held.end() ? x : it->second;
    });
  }
  bool Forward(NodeId id) {
    const std::vector<NodeId> body = std::get<Map>(s_.nodes[id].body).body;
    if (body.size() < 2) return false;
    std::unordered_map<Name, Expr> held;
    for (size_t k = 0; k + 1 < body.size(); ++k) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[body[k]].body);
      const auto element = t ? Held(*t, held) : std::nullopt;
      if (!element) return false;
      held.emplace(t->target, *element);
    }
    const auto* last = std::get_if<Tasklet>(&s_.nodes[body.back()].body);
    if (!last || IsRegister(last->target)) return false;
    for (const Expr& e : last->index)
      for (Name r : ReadContainers(e))
        if (held.count(r)) return false;
    // A sum that reads what it adds to would keep the order of its iterations.
    for (const auto& [name, element] : held)
      if (RootOf(s_, element->name) == RootOf(s_, last->target) && last->op != WriteOp::kAssign) return false;
    if (!ask_(Match{s_.name, {id}, {}, {}, "", true})) return false;
    Tasklet& t = std::get<Tasklet>(s_.nodes.Mutable(body.back()).body);
    t.value = Replaced(t.value, held);
    for (size_t k = 0; k + 1 < body.size(); ++k) s_.nodes.Mutable(body[k]).body = std::monostate{};
    return true;
  }

  Sdfg& s_;
  const Ask& ask_;
  struct Occurrences {
    NodeId last;  // the map that was looked at last
    int maps = 0;
  };
  transforms::ByName<Occurrences> occurs_;  // registers of one element
};

}  // namespace

Result<bool> ForwardRegisters(Program& p, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i)
    if (!p.sdfgs[i]->kernel) changed |= Forwarder(&p.Mutable(p.sdfgs[i]->name), ask).Run();
  return changed;
}

}  // namespace headrace
