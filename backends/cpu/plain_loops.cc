#include "backends/cpu/plain_loops.h"

#include <algorithm>

#include "backends/cpu/access.h"
#include "backends/cpu/ctypes.h"
#include "ir/analysis/layout.h"

namespace headrace::cpu {

bool IsKernel(const Sdfg& s, NodeId n) {
  const Body& body = s.nodes[n].body;
  if (const auto* m = std::get_if<Map>(&body))
    return std::all_of(m->body.begin(), m->body.end(), [&](NodeId c) { return IsKernel(s, c); });
  return std::holds_alternative<Tasklet>(body) || std::holds_alternative<std::monostate>(body);
}

void PlainLoops::DeclareRegisters(NodeId owner, NodeId first, Writer& w) {
  for (const Home& h : homes_)
    if (h.owner == owner && h.first == first) env_.DeclareRegister(s_.Get(h.container), w);
}

Status PlainLoops::Print(Writer& w) {
  DeclareRegisters({}, statement_, w);
  return Statement(statement_, w);
}

void PlainLoops::OpenLoops(const std::vector<Range>& ranges, std::vector<LoopDim>* opened, Writer& w) {
  for (const Range& r : ranges) {
    opened->push_back(DimOf(r));
    code_.Open(opened->back(), w);
    lowerer_.Push(r);
    if (depth_++ == 0) w.Line("if (hr_stopped(x)) " + leave);
  }
}

void PlainLoops::CloseLoops(const std::vector<LoopDim>& opened, Writer& w) {
  lowerer_.Pop(opened.size());
  for (size_t i = opened.size(); i-- > 0; --depth_) code_.Close(opened[i], w);
}

Status PlainLoops::Statement(NodeId n, Writer& w) {
  const Body& body = s_.nodes[n].body;
  if (std::holds_alternative<std::monostate>(body)) return {};
  if (const auto* t = std::get_if<Tasklet>(&body)) {
    HR_ASSIGN_OR_RETURN(const LoweredStmt s, lowerer_.Lower(*t));
    w.Open("{");
    code_.Store(s, w);
    w.Close();
    return {};
  }
  const auto* m = std::get_if<Map>(&body);
  if (!m) {
    HR_CHECK(call != nullptr, "a call inside a kernel");
    return call(n, w);
  }
  if (IsNarrowSum(*m)) return NarrowSum(*m, w);
  std::vector<LoopDim> opened;
  OpenLoops(m->ranges, &opened, w);
  for (NodeId c : m->body) {
    DeclareRegisters(n, c, w);
    HR_RETURN_IF_ERROR(Statement(c, w));
  }
  CloseLoops(opened, w);
  return {};
}

// One accumulation into an element that some ranges alone choose, none of them by way of another.
bool PlainLoops::IsNarrowSum(const Map& m) const {
  const auto* t = m.body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[m.body[0]].body) : nullptr;
  if (!t || t->op == WriteOp::kAssign || t->guarded) return false;
  const DType type = s_.Get(t->target).dtype;
  if (!IsFloat(type) || Computed(type) == type) return false;
  for (const RawAccess& a : AccessesOf(s_, m.body[0]))
    if (!a.write && a.op == WriteOp::kAssign && BaseOf(s_, a.container) == BaseOf(s_, t->target)) return false;
  for (const Expr& e : t->index)
    if (!IsIndexExpr(e)) return false;
  for (const Range& r : m.ranges)
    for (const Range& other : m.ranges)
      if (Mentions(r.begin, other.index) || Mentions(r.end, other.index) || (r.step && Mentions(r.step, other.index))) return false;
  return true;
}

Status PlainLoops::NarrowSum(const Map& m, Writer& w) {
  const Tasklet& t = std::get<Tasklet>(s_.nodes[m.body[0]].body);
  std::vector<Range> kept, terms;
  for (const Range& r : m.ranges) {
    const bool chooses = std::any_of(t.index.begin(), t.index.end(), [&](const Expr& e) { return Mentions(e, r.index); });
    (chooses ? kept : terms).push_back(r);
  }
  std::vector<LoopDim> outer, inner;
  OpenLoops(kept, &outer, w);
  Tasklet first = t;
  first.op = WriteOp::kAssign;
  first.value = ReadExpr(t.target, t.index);
  HR_ASSIGN_OR_RETURN(LoweredStmt result, lowerer_.Lower(t));
  HR_ASSIGN_OR_RETURN(const LoweredStmt before, lowerer_.Lower(first));
  const DType type = Computed(result.dtype);
  const std::string sum = "sum" + std::to_string(env_.next_temp++);
  w.Open("{");
  {
    ExprCode code(env_, w);
    code.Use(before.value);
    w.Line(std::string(ValueType(type)) + " " + sum + " = " + Bare(code.Value(before.value, type)) + ";");
  }
  OpenLoops(terms, &inner, w);
  {
    HR_ASSIGN_OR_RETURN(const LoweredStmt term, lowerer_.Lower(t));
    w.Open("{");
    ExprCode code(env_, w);
    code.Use(term.value);
    const std::string value = code.Value(term.value, type);
    w.Line(sum + " = " + Bare(code_.Combine(t.op, type, sum, value)) + ";");
    w.Close();
  }
  CloseLoops(inner, w);
  result.op = WriteOp::kAssign;
  result.value = LocalExpr(sum, type);
  code_.Store(result, w);
  w.Close();
  CloseLoops(outer, w);
  return {};
}

Result<Kernel> PlainKernel(const Sdfg& s, NodeId statement, Lowerer& lowerer, const KernelOptions& o) {
  KernelEnv env(s);
  Writer w(1);
  PlainLoops loops(s, statement, lowerer, env);
  HR_RETURN_IF_ERROR(loops.Print(w));
  Kernel k;
  k.pointers = env.pointers;
  k.symbols = env.symbols;
  k.may_fail = env.may_fail;
  k.parameters = env.Parameters(WrittenBy(s, {statement}), o);
  k.text = "void $K(" + k.parameters + ") {\n" + w.text() + "}\n";
  return k;
}

}  // namespace headrace::cpu
