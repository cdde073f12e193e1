// Each kind of statement of a scheduled kernel as C++.
#include <cstdint>

#include "backends/cpu/ctypes.h"
#include "backends/cpu/kernel_printer_internal.h"
#include "ir/analysis/type_inference.h"

namespace headrace::cpu {
namespace {

constexpr int64_t kMostUnrolled = UINT16_MAX - 1;  // what compilers take

bool HasDefault(const Expr& e) {
  bool found = false;
  Visit(e, [&](const Expr& x) { return found |= x.Is(ExprKind::kRead) && x->has_default, !found; });
  return found;
}

bool IsPowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace

Status KernelPrinter::Statement(NodeId n, Writer& w) {
  const Body& body = s_.nodes[n].body;
  if (std::holds_alternative<std::monostate>(body)) return {};
  if (const auto* t = std::get_if<Tasklet>(&body)) return Store(n, *t, w);
  if (const auto* i = std::get_if<If>(&body)) return Choice(n, *i, w);
  if (const auto* k = std::get_if<Touch>(&body)) return k->kind == TouchKind::kCheck ? Checked(n, *k, w) : Prefetched(*k, w);
  const auto* m = std::get_if<Map>(&body);
  if (!m) return Unprintable(n, "a statement of a kind that has no code", "outline");
  switch (m->schedule) {
    case Schedule::kSequential: return Loops(n, *m, "", w);
    case Schedule::kVector: return Loops(n, *m, "#pragma omp simd", w);
    case Schedule::kStream: return Streamed(n, *m, w);
    case Schedule::kUnroll: return Unrolled(n, *m, w);
    case Schedule::kParallel: return Parallel(n, *m, w);
    case Schedule::kHalves: return Halves(n, *m, w);
    case Schedule::kApart: return Apart(n, *m, w);
    case Schedule::kDefault: return Unprintable(n, "a map without a schedule", "choose-schedule");
    default: break;
  }
  return Unprintable(n, "a map @" + std::string(ScheduleWord(m->schedule)) + " is of another device", "choose-schedule for cpu");
}

Status KernelPrinter::Store(NodeId n, const Tasklet& t, Writer& w) {
  if (t.guarded) return Unprintable(n, "a write that may be dropped", "resolve-accesses");
  if (HasDefault(t.value)) return Unprintable(n, "a read with a value for outside", "resolve-accesses");
  HR_ASSIGN_OR_RETURN(LoweredStmt stmt, lowerer_.Lower(t));
  w.Open("{");
  code_.Store(stmt, w);
  w.Close();
  return {};
}

Status KernelPrinter::Choice(NodeId n, const If& i, Writer& w) {
  if (HasDefault(i.condition)) return Unprintable(n, "a read with a value for outside", "resolve-accesses");
  HR_ASSIGN_OR_RETURN(Expr typed, InferTypes(s_, i.condition, DType::kBool));
  HR_ASSIGN_OR_RETURN(Expr condition, lowerer_.Lower(typed));
  w.Open("{");
  {
    ExprCode code(env_, w);
    code.Use(condition);
    w.Open("if (" + AloneCode(Bare(code.Value(condition, DType::kBool)), w) + ") {");
  }
  HR_RETURN_IF_ERROR(Statements(n, false, i.body, w));
  w.Close();
  if (!i.otherwise.empty()) {
    w.Open("else {");
    HR_RETURN_IF_ERROR(Statements(n, true, i.otherwise, w));
    w.Close();
  }
  w.Close();
  return {};
}

// Where the element is none the run is told so, and this function left: nothing goes on with such an index.
Status KernelPrinter::Checked(NodeId n, const Touch& k, Writer& w) {
  const Container& c = s_.Get(k.container);
  const std::vector<Expr> shape = k.flat ? std::vector<Expr>{NumElements(c)} : c.shape;
  std::vector<Expr> at;
  Expr inside;
  const auto require = [&](Expr condition) {
    condition = WithType(std::move(condition), DType::kBool);
    inside = inside ? WithType(BinaryExpr(Op::kAnd, inside, condition), DType::kBool) : condition;
  };
  for (size_t d = 0; d < k.index.size(); ++d) {
    if (HasDefault(k.index[d])) return Unprintable(n, "a read with a value for outside", "resolve-accesses");
    HR_ASSIGN_OR_RETURN(Expr typed, InferTypes(s_, k.index[d], DType::kIndex));
    HR_ASSIGN_OR_RETURN(Expr index, lowerer_.Lower(typed));
    require(BinaryExpr(Op::kGe, index, WithType(IntExpr(0), DType::kIndex)));
    require(BinaryExpr(Op::kLt, index, shape[d]));
    at.push_back(index);
  }
  if (!inside) return {};
  at.insert(at.end(), shape.begin(), shape.end());
  const Expr report = BadCall(at, c);
  w.Open("{");
  ExprCode code(env_, w);
  code.Use(inside);
  w.Open("if (!" + code.Value(inside, DType::kBool) + ") {");
  ExprCode bad(env_, w);
  bad.Use(report);
  w.Line("(void)" + bad.Value(report) + ";");
  w.Line("return;");
  w.Close();
  w.Close();
  return {};
}

// Of its address alone: an element that is none has one, too.
Status KernelPrinter::Prefetched(const Touch& k, Writer& w) {
  HR_ASSIGN_OR_RETURN(Expr typed, InferTypes(s_, ReadExpr(k.container, k.index, {}, k.flat), s_.Get(k.container).dtype));
  HR_ASSIGN_OR_RETURN(const Expr read, lowerer_.Lower(typed));
  w.Open("{");
  ExprCode code(env_, w);
  code.Use(read->args[0]);
  w.Line("hr_prefetch(&" + env_.Element(read->name, "0") + ", " + Bare(code.Index(read->args[0])) + ");");
  w.Close();
  return {};
}

// A function of its own. What it takes are arguments, not references: compilers store many of those as one vector, from which a single one
// can't be read before everything that was stored earlier is in the cache. Pointers of its own also show that bytes it writes are part of
// nothing else.
Status KernelPrinter::Apart(NodeId n, const Map& m, Writer& w) {
  if (!m.ranges.empty()) return Unprintable(n, "a map @apart has ranges", "separate-tiles");
  Writer inside(w.indent() + 1);
  env_.BeginTaking(WrittenBy(s_, statements_), options_);
  const Status body = Statements(n, false, m.body, inside);
  const Taken taken = env_.EndTaking();
  HR_RETURN_IF_ERROR(body);
  w.Open("[&](" + taken.formals + ") __attribute__((noinline)) {");
  w.Raw(inside.text());
  w.Close("}(" + taken.actuals + ");");
  return {};
}

bool KernelPrinter::HasLoop(const std::vector<NodeId>& body, bool or_lanes) const {
  return std::any_of(body.begin(), body.end(), [&](NodeId n) {
    const auto* m = std::get_if<Map>(&s_.nodes[n].body);
    bool found = m && (m->schedule == Schedule::kSequential || (or_lanes && m->schedule == Schedule::kVector));
    ForEachBody(s_.nodes[n].body, [&](const std::vector<NodeId>& inside) { found |= HasLoop(inside, or_lanes); });
    return found;
  });
}

Status KernelPrinter::Loops(NodeId n, const Map& m, const std::string& pragma, Writer& w) {
  if (m.schedule == Schedule::kVector) {
    HR_ASSIGN_OR_RETURN(const bool dots, Dots(m, w));
    if (dots) return {};
    HR_ASSIGN_OR_RETURN(const bool bytes, Bytes(m, w));
    if (bytes) return {};
  }
  std::vector<LoopDim> dims;
  for (const Range& r : m.ranges) dims.push_back(DimOf(r));
  // Loops of loops may take long: whoever cancels the run is heard in each round of the outermost, of lanes, too, where it is no
  // part of a loop that is shared out.
  const bool polls = !in_loop_ && m.schedule == Schedule::kSequential && (dims.size() > 1 || HasLoop(m.body, !in_part_));
  bool braces = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool last = i + 1 == dims.size();
    if (last && !pragma.empty() && !AsInt(dims[i].end)) {
      w.Open("{");
      braces = true;
      const std::string text = code_.IndexText(dims[i].end, w), end = "end" + std::to_string(env_.next_temp++);
      w.Line("const int64_t " + end + " = " + Bare(text) + ";");
      dims[i].end = LocalExpr(end, DType::kIndex);
    }
    code_.Open(dims[i], w, last ? pragma : "");
    if (i == 0 && polls) w.Line("if (hr_stopped(x)) return;");
  }
  const bool before = std::exchange(in_loop_, in_loop_ || m.schedule == Schedule::kSequential);
  HR_RETURN_IF_ERROR(Statements(n, false, m.body, w));
  in_loop_ = before;
  for (size_t i = dims.size(); i-- > 0;) code_.Close(dims[i], w);
  if (braces) w.Close();
  return {};
}

Status KernelPrinter::Unrolled(NodeId n, const Map& m, Writer& w) {
  HR_ASSIGN_OR_RETURN(const bool grouped, Grouped(m, w));
  if (grouped) return {};
  HR_ASSIGN_OR_RETURN(const bool squared, Squared(m, w));
  if (squared) return {};
  std::vector<LoopDim> dims;
  for (const Range& r : m.ranges) dims.push_back(DimOf(r));
  for (const LoopDim& d : dims) {
    const auto trip = AsInt(d.trip);
    if (!trip || *trip > kMostUnrolled)
      return Unprintable(n, "a map @unroll has no fixed number of iterations, or too many", "choose-schedule");
    code_.Open(d, w, *trip > 0 ? "#pragma GCC unroll " + std::to_string(*trip) : "");
  }
  HR_RETURN_IF_ERROR(Statements(n, false, m.body, w));
  for (size_t i = dims.size(); i-- > 0;) code_.Close(dims[i], w);
  return {};
}

// A line that is copied past the caches: one call of the prelude (hr_stream.h).
Status KernelPrinter::Streamed(NodeId n, const Map& m, Writer& w) {
  const auto* t = m.body.size() == 1 && m.ranges.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[m.body[0]].body) : nullptr;
  if (!t || t->guarded || HasDefault(t->value)) return Unprintable(n, "a map @stream of more than a copy", "choose-schedule");
  HR_ASSIGN_OR_RETURN(LoweredStmt stmt, lowerer_.Lower(*t));
  if (!stmt.value.Is(ExprKind::kRead) || stmt.condition) return Unprintable(n, "a map @stream of more than a copy", "choose-schedule");
  const Range& line = m.ranges[0];
  const NameMap begin = {{line.index, line.begin}};
  const Expr to = Substitute(stmt.linear, begin), from = Substitute(stmt.value->args[0], begin), count = Simplify(line.end - line.begin);
  streams_ = true;
  w.Open("{");
  ExprCode code(env_, w);
  for (const Expr& e : {to, from, count}) code.Use(e);
  const auto at = [&](Name of, const Expr& e) { return "&" + env_.Element(of, Bare(code.Index(e))); };
  w.Line("hr_stream(" + at(stmt.base, to) + ", " + at(stmt.value->name, from) + ", " + Bare(code.Index(count)) + ");");
  w.Close();
  return {};
}

// s op= a[u] over u in 0:n: u and u + n/2 are combined, again and again, then s with what is left.
Status KernelPrinter::Halves(NodeId n, const Map& m, Writer& w) {
  const auto* t = m.body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[m.body[0]].body) : nullptr;
  const LoopDim d = m.ranges.size() == 1 ? DimOf(m.ranges[0]) : LoopDim();
  const int64_t count = d.simple ? AsInt(d.end).value_or(0) : 0;
  if (!t || t->guarded || t->op == WriteOp::kAssign || !IsPowerOfTwo(count))
    return Unprintable(n, "@halves of more than one accumulation over 0:n, n a power of two", "choose-schedule");
  if (HasDefault(t->value)) return Unprintable(n, "a read with a value for outside", "resolve-accesses");
  HR_ASSIGN_OR_RETURN(LoweredStmt stmt, lowerer_.Lower(*t));
  const DType type = Computed(stmt.dtype);
  const std::string of = "half" + std::to_string(env_.next_temp++), size = std::to_string(count);
  w.Open("{");
  w.Line(std::string(ValueType(type)) + " " + of + "[" + size + "];");
  code_.Open(d, w, "#pragma omp simd");
  {
    ExprCode code(env_, w);
    code.Use(stmt.value);
    w.Line(of + "[" + env_.Symbol(d.index) + "] = " + Bare(code.Value(stmt.value, type)) + ";");
  }
  code_.Close(d, w);
  for (int64_t half = count / 2; half > 0; half /= 2) {  // each of known length: they stay in registers
    if (half <= kMostUnrolled) w.Line("#pragma GCC unroll " + std::to_string(half));
    w.Line("for (int64_t u = 0; u < " + std::to_string(half) + "; ++u) " + of + "[u] = " +
           Bare(code_.Combine(stmt.op, type, of + "[u]", of + "[u + " + std::to_string(half) + "]")) + ";");
  }
  stmt.value = LocalExpr(of + "[0]", type);
  code_.Store(stmt, w);
  w.Close();
  return {};
}

}  // namespace headrace::cpu
