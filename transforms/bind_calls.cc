#include "transforms/bind_calls.h"

#include <algorithm>
#include <map>
#include <set>

#include "ir/analysis/arena.h"
#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/registry/call_contract.h"
#include "transforms/each_sdfg.h"
#include "transforms/inline.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

using transforms::BlockRewriter;
using transforms::NameTable;
using Order = std::vector<int>;  // of dimensions, the slowest first; empty: row-major

bool IsCall(const Sdfg& s, NodeId id) {
  const auto* l = std::get_if<Library>(&s.nodes[id].body);
  return l && l->domain == Name("call");
}

std::vector<Expr> StridesOf(const std::vector<Expr>& shape, const Order& order) {
  std::vector<Expr> strides(shape.size());
  Expr step(1);
  for (size_t k = order.size(); k-- > 0; step = Simplify(step * shape[order[k]])) strides[order[k]] = step;
  return strides;
}

// Where a dimension of 1 begins anew does not matter.
bool SamePlaces(const std::vector<Expr>& shape, const std::vector<Expr>& a, const std::vector<Expr>& b) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (AsInt(shape[d]) != 1 && a[d] != b[d]) return false;
  return true;
}

// Which order each call wants of each container, and which containers cannot lie in any other than row-major.
class Wishes {
 public:
  Wishes(const Program& p, const Registry& r, const Sdfg& s) : p_(p), r_(r), s_(s) {}

  Status Collect() {
    for (Name n : s_.order)
      if (const Container& c = s_.Get(n); !MayLieInArena(c) || !c.row_major()) fixed_.insert(n);
      else if (c.kind == ContainerKind::kView) fixed_.insert(RootOf(s_, n));
    for (Name n : s_.order)
      if (s_.Get(n).kind == ContainerKind::kView) fixed_.insert(n), fixed_.insert(RootOf(s_, n));
    Status failed;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      const auto* state = std::get_if<State>(&s_.blocks[b].control);
      for (size_t i = 0; state && i < state->statements.size() && failed.ok(); ++i) failed = Statement(state->statements[i], true);
    });
    return failed;
  }
  // Arrays that lie as all their calls want it.
  std::map<Name, Order> Agreed() const {
    std::map<Name, Order> out;
    for (const auto& [name, orders] : wanted_)
      if (orders.size() == 1 && !orders.begin()->empty() && !fixed_.count(name)) out[name] = *orders.begin();
    return out;
  }
  const std::map<std::pair<uint32_t, int>, Order>& of_port() const { return of_port_; }

 private:
  void Fix(const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead) && x->flat) fixed_.insert(x->name);
      return true;
    });
  }
  Status Statement(NodeId id, bool outermost) {
    const Body& b = s_.nodes[id].body;
    if (const auto* t = std::get_if<Tasklet>(&b)) {
      if (t->flat) fixed_.insert(t->target);
      Fix(t->value);
      for (const Expr& e : t->index) Fix(e);
    } else if (const auto* m = std::get_if<Map>(&b)) {
      for (NodeId n : m->body) HR_RETURN_IF_ERROR(Statement(n, false));
    } else if (outermost && IsCall(s_, id)) {
      return Call(id, std::get<Library>(b));
    } else {
      for (const Touched& t : TouchedBy(s_, id, callees_)) fixed_.insert(t.root);
    }
    return {};
  }
  Status Call(NodeId id, const Library& l) {
    const ExternalFunction* f = FunctionOf(r_, l);
    HR_ASSIGN_OR_RETURN(const NodeView v, ViewOf(r_, p_, s_, id));
    const int inputs = static_cast<int>(l.inputs.size()), ports = inputs + static_cast<int>(l.outputs.size());
    for (int i = 0; i < ports; ++i) {
      const Port& p = i < inputs ? l.inputs[i] : l.outputs[i - inputs];
      if (p.container.empty() || p.name == Name(kScratchPort)) continue;
      Order order;
      const Container& c = s_.Get(p.container);
      const bool free = std::all_of(c.shape.begin(), c.shape.end(), [&](const Expr& e) {
        const std::vector<Name> symbols = FreeSymbols(e);
        return std::none_of(symbols.begin(), symbols.end(),
                            [&](Name n) { return std::find(l.defines.begin(), l.defines.end(), n) != l.defines.end(); });
      });
      if (f && free && c.kind != ContainerKind::kSequence && c.dtype != DType::kString) {
        HR_ASSIGN_OR_RETURN(order, OrderOf(*f, v, i));
      }
      if (!order.empty() && SamePlaces(c.shape, StridesOf(c.shape, order), RowMajorStrides(c.shape))) order.clear();
      wanted_[p.container].insert(order);
      if (!order.empty()) of_port_[{id.value, i}] = order;
    }
    return {};
  }

  const Program& p_;
  Callees callees_{p_};
  const Registry& r_;
  const Sdfg& s_;
  std::set<Name> fixed_;
  std::map<Name, std::set<Order>> wanted_;
  std::map<std::pair<uint32_t, int>, Order> of_port_;
};

class Binder {
 public:
  Binder(const Program& p, const Registry& r, Sdfg* s) : p_(p), r_(r), s_(*s), names_(*s) {}

  Result<bool> Run() {
    Wishes wishes(p_, r_, s_);
    HR_RETURN_IF_ERROR(wishes.Collect());
    for (const auto& [name, order] : wishes.Agreed()) {
      s_.Mutable(name).strides = StridesOf(s_.Get(name).shape, order);
      changed_ = true;
    }
    BlockRewriter rewriter(&s_);
    rewriter.Run([&](BlockRewriter& w, NodeId id) {
      if (!failed_.ok()) return false;
      if (std::holds_alternative<Map>(s_.nodes[id].body)) return failed_ = InMap(id), false;
      return IsCall(s_, id) && Call(w, id, wishes.of_port());
    });
    HR_RETURN_IF_ERROR(failed_);
    return changed_;
  }

 private:
  bool Call(BlockRewriter& w, NodeId id, const std::map<std::pair<uint32_t, int>, Order>& orders) {
    Library l = std::get<Library>(s_.nodes[id].body);
    std::vector<NodeId> behind;
    const int inputs = static_cast<int>(l.inputs.size());
    bool copied = false;
    for (int i = 0; i < inputs + static_cast<int>(l.outputs.size()); ++i) {
      const auto wish = orders.find({id.value, i});
      if (wish == orders.end()) continue;
      Port& port = i < inputs ? l.inputs[i] : l.outputs[i - inputs];
      const std::vector<Expr> strides = StridesOf(s_.Get(port.container).shape, wish->second);
      const Container& c = s_.Get(port.container);
      if (SamePlaces(c.shape, headrace::StridesOf(c), strides)) continue;
      const Name copy = Like(port.container, strides);
      if (i < inputs) w.AppendStatement(CopyOf(port.container, copy, wish->second, s_.nodes[id].origin));
      else behind.push_back(CopyOf(copy, port.container, wish->second, s_.nodes[id].origin));
      port.container = copy;
      copied = true;
    }
    if (copied) s_.nodes.Mutable(id).body = l;
    failed_ = Scratch(id);
    if (!copied) return false;
    changed_ = true;
    w.AppendStatement(id);
    for (NodeId n : behind) w.AppendStatement(n);
    return true;
  }
  Name Like(Name of, const std::vector<Expr>& strides) {
    Container c;
    c.name = names_.Fresh(Name(of.str() + "_laid"));
    c.dtype = s_.Get(of).dtype, c.shape = s_.Get(of).shape, c.strides = strides, c.origin = s_.Get(of).origin;
    const Name name = c.name;
    s_.Add(std::move(c));
    return name;
  }
  // In the order of the memory that is written, or read where that is row-major.
  NodeId CopyOf(Name from, Name to, const Order& order, const Origin& origin) {
    const std::vector<Expr> shape = s_.Get(from).shape;
    Tasklet t;
    t.target = to;
    for (size_t d = 0; d < shape.size(); ++d) t.index.push_back(Expr(names_.FreshIndex(Name("i" + std::to_string(d)), {})));
    t.value = ReadExpr(from, t.index);
    Map m;
    const bool laid = !s_.Get(to).row_major();
    for (size_t k = 0; k < shape.size(); ++k) {
      const size_t d = laid ? static_cast<size_t>(order[k]) : k;
      m.ranges.push_back({t.index[d]->name, Expr(0), shape[d], Expr(1)});
    }
    m.body = {s_.AddNode(std::move(t), origin.By("bind-calls"))};
    return s_.AddNode(std::move(m), origin.By("bind-calls"));
  }
  Status Scratch(NodeId id) {
    Library l = std::get<Library>(s_.nodes[id].body);
    const ExternalFunction* f = FunctionOf(r_, l);
    if (!f || !f->scratch || (!l.outputs.empty() && l.outputs.back().name == Name(kScratchPort))) return {};
    HR_ASSIGN_OR_RETURN(const NodeView v, ViewOf(r_, p_, s_, id));
    HR_ASSIGN_OR_RETURN(const Expr bytes, ScratchOf(*f, v));
    if (!bytes) return {};
    Container c;
    c.name = names_.Fresh(Name("scratch"));
    c.dtype = DType::kU8, c.shape = {Simplify(bytes + Expr(kCanaryBytes))}, c.origin = s_.nodes[id].origin;
    l.outputs.push_back({Name(kScratchPort), c.name});
    s_.Add(std::move(c));
    s_.nodes.Mutable(id).body = std::move(l);
    changed_ = true;
    return {};
  }
  // Iterations may run side by side: there is no scratch for them.
  Status InMap(NodeId map) const {
    for (NodeId id : std::get<Map>(s_.nodes[map].body).body) {
      if (std::holds_alternative<Map>(s_.nodes[id].body)) HR_RETURN_IF_ERROR(InMap(id));
      if (!IsCall(s_, id)) continue;
      const ExternalFunction* f = FunctionOf(r_, std::get<Library>(s_.nodes[id].body));
      if (!f || !f->scratch) continue;
      HR_ASSIGN_OR_RETURN(const NodeView v, ViewOf(r_, p_, s_, id));
      HR_ASSIGN_OR_RETURN(const Expr bytes, ScratchOf(*f, v));
      if (bytes) return Refused(f->name, "it needs scratch, and is called within a map", v.name);
    }
    return {};
  }

  const Program& p_;
  const Registry& r_;
  Sdfg& s_;
  NameTable names_;
  Status failed_;
  bool changed_ = false;
};

bool CallsAny(const Sdfg& s, const Registry& r) {
  bool found = false;
  ForEachNode(s, [&](NodeId n) {
    const auto* l = std::get_if<Library>(&s.nodes[n].body);
    const ExternalFunction* f = l ? FunctionOf(r, *l) : nullptr;
    found |= f && (f->scratch || f->layout);
  });
  return found;
}

}  // namespace

Result<bool> BindCalls(Program& p, const Registry& r) {
  return transforms::TryChangeEach(p, [&](Sdfg* s) -> Result<bool> {
    if (!CallsAny(*s, r)) return false;
    return Binder(p, r, s).Run();
  });
}

}  // namespace headrace
