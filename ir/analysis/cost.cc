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
  if (e.Is(ExprKind::kCall) && e->name.view() == "dot2") return 4;
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
    const bool none = std::holds_alternative<std::monostate>(body) || std::holds_alternative<Touch>(body);
    return none ? Expr(0) : Expr();
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
    const std::vector<Name> sizes = FreeSymbols(*kernel);
    for (Name n : FreeSymbols(sum))
      if (std::find(sizes.begin(), sizes.end(), n) == sizes.end()) return {};  // an index, which nobody knows outside
    return Substitute(sum, NameMap(call.symbols.begin(), call.symbols.end()));
  }

  // A range around the statement of which it has parts.
  struct Cut {
    Range written, whole;  // whole: all that it is a part of, where it is one
    Name share;            // stands for one of as many parts as there are iterations
  };

  bool HasParts(const std::vector<NodeId>& body, const Cut& c) const {
    bool found = false;
    for (NodeId n : body) {
      if (const auto* m = std::get_if<Map>(&s_.nodes[n].body))
        for (const Range& inner : m->ranges) found |= WholeOf(inner, c).has_value();
      ForEachBody(s_.nodes[n].body, [&](const std::vector<NodeId>& inside) { found = found || HasParts(inside, c); });
    }
    return found;
  }

  Expr OfMap(const Map& m) {
    NameMap middle;
    Expr trips(1);
    const size_t around = cut_.size();
    std::vector<Expr> cut_trips;
    for (Range r : m.ranges) {
      const Range written = r;
      for (const Cut& c : cut_) {
        const std::optional<Range> whole = WholeOf(written, c);
        if (!whole) continue;
        r = *whole;
        trips = trips * SymbolExpr(c.share);
        break;
      }
      if (!IsIndexExpr(r.begin) || !IsIndexExpr(r.end) || (r.step && !IsIndexExpr(r.step))) return {};
      const Expr begin = Substitute(r.begin, middle), end = Substitute(r.end, middle), step = r.step ? r.step : Expr(1);
      const std::optional<int64_t> known = AsInt(step);
      if (known ? *known == 0 : !s_.kernel) return {};  // parts of kernels go forwards
      const bool forwards = !known || *known > 0;
      const Expr length = Length(forwards ? FloorDiv(end - begin + step - Expr(1), step)
                                          : FloorDiv(begin - end + Expr(-*known - 1), Expr(-*known)), s_);
      middle.emplace_back(r.index, FloorDiv(begin + end - Expr(forwards ? 1 : -1), Expr(2)));
      if (s_.kernel && HasParts(m.body, {written, r, {}})) {
        cut_.push_back({written, r, Name("/" + std::to_string(cut_.size()))});
        cut_trips.push_back(length);
      } else {
        trips = trips * length;
      }
    }
    Expr sum = OfList(m.body);
    if (sum) sum = Substitute(sum, middle) * trips;
    for (; cut_.size() > around; cut_.pop_back(), cut_trips.pop_back())
      if (sum) sum = Joined(sum, cut_.back().share, cut_trips.back());
    return sum;
  }

  // What doesn't run over a part of a cut range counts for each of its iterations; what does, together.
  static Expr Joined(const Expr& sum, Name share, const Expr& trips) {
    const Expr outside = Substitute(sum, {{share, Expr(0)}});
    return outside * trips + (Substitute(sum, {{share, Expr(1)}}) - outside);
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

  // All of which `inner` runs over a part in each iteration of the range; or over a part of its quotients: under `i0 in 0:256 * n:1024`,
  // `i in i0 // 256:min(n, i0 // 256 + 4)` is one of 0:n.
  static std::optional<Range> WholeOf(const Range& inner, const Cut& c) {
    const auto is = [&](const Range& part, const Range& of, const Expr& begin, const Expr& end) -> std::optional<Range> {
      if (!IsPartOf(part, of)) return std::nullopt;
      return Range{inner.index, begin, end, inner.step};
    };
    if (auto whole = is(inner, c.written, c.whole.begin, c.whole.end)) return whole;
    const Range ends_with_it{c.written.index, c.whole.begin, c.whole.end, c.written.step};
    if (auto whole = is(inner, ends_with_it, c.whole.begin, c.whole.end)) return whole;
    if (!inner.begin.Is(ExprKind::kBinary) || inner.begin->op != Op::kFloorDiv) return std::nullopt;
    const Expr by = inner.begin->args[1], step = c.written.step ? c.written.step : Expr(1);
    if (!AsInt(by) || AsInt(Mod(step, by)) != 0 || AsInt(Mod(c.written.begin, by)) != 0) return std::nullopt;
    const NameMap quotient = {{c.written.index, SymbolExpr(c.written.index) * by}};
    const Range part{inner.index, Substitute(inner.begin, quotient), Substitute(inner.end, quotient), inner.step};
    const auto over = [&](const Expr& e) { return FloorDiv(e + by - Expr(1), by); };
    const Range of{c.written.index, over(c.written.begin), over(c.written.end), FloorDiv(step, by)};
    return is(part, of, over(c.whole.begin), over(c.whole.end));
  }

  const Program& p_;
  const Sdfg& s_;
  std::vector<Cut> cut_;
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
