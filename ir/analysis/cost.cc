#include "ir/analysis/cost.h"

#include <algorithm>
#include <map>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/tiles.h"
#include "ir/analysis/type_inference.h"

namespace headrace {
namespace {

int64_t Weight(const Expr& e) {
  const bool complex = IsComplex(e->dtype);
  if (!IsFloat(e->dtype) && !complex) return 0;
  if (e.Is(ExprKind::kCall)) return e->name.view() == "fma" ? 2 : 1;
  if (e.Is(ExprKind::kUnary)) return complex ? 2 : 1;
  if (!e.Is(ExprKind::kBinary)) return 0;
  if (e->op == Op::kMul || e->op == Op::kDiv) return complex ? 6 : 1;
  return complex ? 2 : 1;
}

// A length; none where the end comes before the begin.
Expr Length(Expr e, const Sdfg& s) { return ProveLe(Expr(0), e, s.assumptions) == Truth::kYes ? e : Max(e, Expr(0)); }

class OperationCounter {
 public:
  OperationCounter(const Program& p, const Sdfg& s) : p_(p), s_(s) {}

  // Null = not known.
  Expr Count(NodeId id) {
    const Body& body = s_.nodes[id].body;
    if (auto* t = std::get_if<Tasklet>(&body)) return OfTasklet(*t);
    if (auto* m = std::get_if<Map>(&body)) return OfMap(*m);
    if (auto* c = std::get_if<Nested>(&body)) return OfKernel(*c);
    if (auto* i = std::get_if<If>(&body)) return OfList(i->body);
    return std::holds_alternative<std::monostate>(body) ? Expr(0) : Expr();
  }

 private:
  Expr OfTasklet(const Tasklet& t) {
    Result<Expr> typed = TypedValue(s_, t);
    if (!typed.ok()) return {};
    int64_t count = 0;
    Visit(*typed, [&](const Expr& e) {
      if (!e.Is(ExprKind::kRead)) count += Weight(e);
      return true;
    });
    const DType type = s_.Get(t.target).dtype;
    if (t.op != WriteOp::kAssign) count += IsFloat(type) ? 1 : IsComplex(type) ? 2 : 0;
    return Expr(count);
  }

  // A kernel's statements, with the sizes of the call.
  Expr OfKernel(const Nested& call) {
    const Sdfg* kernel = p_.Find(call.callee);
    if (!kernel || !kernel->kernel) return {};
    Expr sum(0);
    for (BlockId b : kernel->body) {
      const auto* state = std::get_if<State>(&kernel->blocks[b].control);
      if (!state) return {};
      for (NodeId n : state->statements) {
        const Expr one = OperationCounter(p_, *kernel).Count(n);
        if (!one) return {};
        sum = sum + one;
      }
    }
    return Substitute(sum, NameMap(call.symbols.begin(), call.symbols.end()));
  }

  // A range that is cut into parts counts where its parts do.
  bool HasParts(const std::vector<NodeId>& body, const Range& r) const {
    for (NodeId n : body) {
      const auto* m = std::get_if<Map>(&s_.nodes[n].body);
      if (!m) continue;
      for (const Range& inner : m->ranges)
        if (IsPartOf(inner, r)) return true;
      if (HasParts(m->body, r)) return true;
    }
    return false;
  }

  Expr OfMap(const Map& m) {
    NameMap middle;
    Expr trips(1);
    for (Range r : m.ranges) {
      const Range written = r;
      const auto of = std::find_if(cut_.begin(), cut_.end(), [&](const Cut& o) { return IsPartOf(written, o.written); });
      if (of != cut_.end()) r.begin = of->whole.begin, r.end = of->whole.end;
      if (s_.kernel && HasParts(m.body, written)) {
        cut_.push_back({written, r});
        continue;
      }
      if (!IsIndexExpr(r.begin) || !IsIndexExpr(r.end) || (r.step && !IsIndexExpr(r.step))) return {};
      const Expr begin = Substitute(r.begin, middle), end = Substitute(r.end, middle), step = r.step ? r.step : Expr(1);
      const std::optional<int64_t> known = AsInt(step);
      if (!known || *known == 0) return {};
      const Expr length = *known > 0 ? FloorDiv(end - begin + Expr(*known - 1), step)
                                     : FloorDiv(begin - end + Expr(-*known - 1), Expr(-*known));
      trips = trips * Length(length, s_);
      middle.emplace_back(r.index, FloorDiv(begin + end - Expr(*known > 0 ? 1 : -1), Expr(2)));
    }
    const Expr inner = OfList(m.body);
    return inner ? Substitute(inner, middle) * trips : inner;
  }

  Expr OfList(const std::vector<NodeId>& body) {
    Expr sum(0);
    for (NodeId n : body) {
      const Expr one = Count(n);
      if (!one) return {};
      sum = sum + one;
    }
    return sum;
  }

  const Program& p_;
  const Sdfg& s_;
  struct Cut {
    Range written, whole;  // whole: all that it is a part of, where it is one
  };
  std::vector<Cut> cut_;  // ranges around the statement of which it has parts
};

Expr BytesOf(const Program& p, const Sdfg& s, NodeId statement) {
  std::map<std::pair<Name, bool>, Expr> touched;  // by array and direction
  for (const Memlet& m : MemletsOf(p, s, statement)) {
    Expr elements(1);
    for (const Range& r : m.subset.dims) {
      if (!IsIndexExpr(r.begin) || !IsIndexExpr(r.end)) return {};
      elements = elements * Length(r.end - r.begin, s);
    }
    const auto add = [&](bool write) {
      Expr& sum = touched[{RootOf(s, m.container), write}];
      sum = sum ? sum + elements : elements;
    };
    if (!m.write || m.op != WriteOp::kAssign) add(false);
    if (m.write) add(true);
  }
  Expr bytes(0);
  for (const auto& [key, elements] : touched) {
    const Container& c = s.Get(key.first);
    if (c.kind == ContainerKind::kSequence || c.dtype == DType::kString) return {};
    bytes = bytes + Min(elements, NumElements(c)) * Expr(ByteSize(c.dtype));
  }
  return bytes;
}

}  // namespace

Cost CostOf(const Program& p, const Sdfg& s, NodeId statement) {
  return {OperationCounter(p, s).Count(statement), BytesOf(p, s, statement)};
}

}  // namespace headrace
