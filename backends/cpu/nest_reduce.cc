// Sums, products and extrema: how partial results are kept and combined.
#include "backends/cpu/ctypes.h"
#include "backends/cpu/lower.h"
#include "backends/cpu/nest.h"

namespace headrace::cpu {

std::string NestGen::Combine(WriteOp op, DType t, const std::string& a, const std::string& b) const {
  t = Computed(t);
  if (op == WriteOp::kMax) return std::string("hr_max<") + ValueType(t) + ">(" + a + ", " + b + ")";
  if (op == WriteOp::kMin) return std::string("hr_min<") + ValueType(t) + ">(" + a + ", " + b + ")";
  const std::string token = op == WriteOp::kAdd ? " + " : " * ";
  if (t == DType::kBool) return "(" + a + (op == WriteOp::kAdd ? " | " : " & ") + b + ")";
  if (IsInteger(t)) {
    const std::string u = ByteSize(t) == 8 ? "(uint64_t)" : "(uint32_t)";
    return ConvertCode("(int64_t)(" + u + a + token + u + b + ")", DType::kI64, t == DType::kI64 ? DType::kNone : t);
  }
  return a + token + b;
}

std::string NestGen::Identity(WriteOp op, DType t) const {
  t = Computed(t);
  if (op == WriteOp::kAdd) return IntLiteral(0, t);
  if (op == WriteOp::kMul) return IntLiteral(1, t);
  const bool max = op == WriteOp::kMax;
  if (IsFloat(t)) return FloatLiteral(max ? -__builtin_inf() : __builtin_inf(), t);
  if (t == DType::kBool) return max ? "false" : "true";
  if (max) return IntLiteral(LowestInt(t), t);
  return t == DType::kU64 ? "UINT64_MAX" : IntLiteral(static_cast<int64_t>(HighestInt(t)), t);
}

void NestGen::Reduce(const LoweredStmt& s, const std::vector<LoopDim>& dims, const std::string& acc, bool simd,
                     Writer& w) {
  const DType t = Computed(s.dtype);
  const LoopDim* last = dims.empty() ? nullptr : &dims.back();
  const int64_t trip = last ? AsInt(last->trip).value_or(INT64_MAX) : 0;
  const bool partial = simd && last && IsFloat(t) && AsInt(last->step) == 1 && trip >= 32;
  const std::string n = partial ? std::to_string(env_.next_temp++) : "";
  const std::string lanes = "lanes" + n, count = std::to_string((trip >= 256 ? 256 : 64) / ByteSize(t));
  if (partial) {
    w.Line(std::string(ValueType(t)) + " " + lanes + "[" + count + "];");
    w.Line("for (int64_t u = 0; u < " + count + "; ++u) " + lanes + "[u] = " + Identity(s.op, t) + ";");
  }
  for (const LoopDim& d : dims) {
    if (&d == last && partial) break;
    OpenLoop(d, w,
             simd && &d == last && IsFloat(t) && (s.op == WriteOp::kAdd || s.op == WriteOp::kMul)
                 ? std::string("#pragma omp simd reduction(") + (s.op == WriteOp::kAdd ? "+:" : "*:") + acc + ")"
                 : "");
  }
  auto step = [&](const Expr& value, const std::string& slot) {
    ExprCode code(env_, w);
    code.Use(value);
    const std::string v = code.Value(value, t);
    w.Line(slot + " = " + Bare(Combine(s.op, t, slot, v)) + ";");
  };
  if (!partial) {
    step(s.value, acc);
  } else {
    const std::string first = "first" + n, end = "end" + n;
    w.Line("int64_t " + first + " = " + IndexText(last->begin, w) + ";");
    w.Line("const int64_t " + end + " = " + IndexText(last->end, w) + ";");
    const Expr value = Hoist(s.value, *last, {s.base}, w, first + " < " + end);
    auto block = [&](const std::string& below) {
      w.Line("#pragma omp simd");
      w.Open("for (int64_t u = 0; u < " + below + "; ++u) {");
      const std::string i = env_.OpenIndex(last->index);
      w.Line("const int64_t " + i + " = " + first + " + u;");
      step(value, lanes + "[u]");
      w.Close();
      env_.CloseIndex(last->index);
    };
    w.Open("for (; " + end + " - " + first + " >= " + count + "; " + first + " += " + count + ") {");
    block(count);
    w.Close();
    if (trip == INT64_MAX || trip % std::stoll(count) != 0) block(end + " - " + first);
  }
  for (size_t i = dims.size() - (partial ? 1 : 0); i-- > 0;) CloseLoop(dims[i], w);
  if (!partial) return;
  w.Open("for (int64_t half = " + count + " / 2; half > 0; half /= 2) {");
  w.Line("for (int64_t u = 0; u < half; ++u) " + lanes +
         "[u] = " + Bare(Combine(s.op, t, lanes + "[u]", lanes + "[u + half]")) + ";");
  w.Close();
  w.Line(acc + " = " + Bare(Combine(s.op, t, acc, lanes + "[0]")) + ";");
}

namespace {

Expr Guarded(std::vector<Expr> args, DType t) { return WithType(CallExpr(kGuardFn, std::move(args)), t); }

// The value with reads that move with the index guarded by `within` as well.
Expr ReadOnlyWithin(const Expr& e, Name index, const Expr& within) {
  if (!e || !Mentions(e, index)) return e;
  if (e.Is(ExprKind::kRead)) return Guarded({within, e, FloatExpr(0)}, e->dtype);
  if (IsFn(e, kGuardFn))
    return Guarded({WithType(BinaryExpr(Op::kAnd, within, e->args[0]), DType::kBool), e->args[1],
                    ReadOnlyWithin(e->args[2], index, within)},
                   e->dtype);
  std::vector<Expr> args;
  for (const Expr& a : e->args) args.push_back(ReadOnlyWithin(a, index, within));
  return WithArgs(e, std::move(args));
}

bool IsFloatArithmetic(const Expr& value) {
  bool yes = true;
  Visit(value, [&](const Expr& e) {
    if (IsIndexExpr(e) || e->dtype == DType::kBool) return false;
    yes &= !e.Is(ExprKind::kCast) && (!e.Is(ExprKind::kRead) || IsFloat(e->dtype));
    return yes && !e.Is(ExprKind::kRead);
  });
  return yes;
}

// Rows a little shorter than vectors are summed in whole ones: 14 elements by 16 lanes, two of which read nothing.
std::optional<int64_t> WholeVectors(const LoweredStmt& s, const LoopDim& v) {
  const auto trip = AsInt(v.trip);
  const int64_t lanes = 64 / ByteSize(s.dtype);
  if (!trip || *trip < 5 || *trip >= 32 || *trip % lanes == 0 || !v.simple) return std::nullopt;
  if ((s.dtype != DType::kF32 && s.dtype != DType::kF64) || !IsFloatArithmetic(s.value)) return std::nullopt;
  return (*trip + lanes - 1) / lanes * lanes;
}

}  // namespace

void NestGen::ReduceTile(const LoweredStmt& s, const std::vector<LoopDim>& dims, const LoopDim& v,
                         const std::string& v_begin, const std::string& count, int64_t capacity, Writer& w) {
  const DType t = Computed(s.dtype);
  const std::string type = ValueType(t);
  const auto whole = Vectorisable(s) ? WholeVectors(s, v) : std::nullopt;
  const std::string lanes = whole ? std::to_string(*whole) : count;
  w.Line(type + " acc[" + std::to_string(std::max(capacity, whole.value_or(0))) + "];");
  w.Line("for (int64_t u = 0; u < " + lanes + "; ++u) acc[u] = " + Identity(s.op, t) + ";");
  for (const LoopDim& d : dims) OpenLoop(d, w);
  auto step = [&](const Expr& value, const std::string& i) {
    ExprCode code(env_, w);
    code.Use(value);
    const std::string slot = "acc[" + i + " - " + v_begin + "]";
    w.Line(slot + " = " + Bare(Combine(s.op, t, slot, code.Value(value, t))) + ";");
  };
  if (whole) {
    const Expr within = WithType(BinaryExpr(Op::kLt, SymbolExpr(v.index), v.end), DType::kBool);
    const Expr value = Hoist(ReadOnlyWithin(s.value, v.index, within), v, {}, w);
    const std::string i = env_.OpenIndex(v.index);
    w.Line("#pragma omp simd");
    w.Open("for (int64_t " + i + " = " + v_begin + "; " + i + " < " + v_begin + " + " + lanes + "; ++" + i + ") {");
    step(value, i);
    w.Close();
    env_.CloseIndex(v.index);
  } else {
    SplitLoop(v, v_begin, v_begin + " + " + count, s.value, Vectorisable(s), w, step);
  }
  for (size_t k = dims.size(); k-- > 0;) CloseLoop(dims[k], w);
  w.Open("for (int64_t u = 0; u < " + count + "; ++u) {");
  w.Line("const int64_t " + env_.OpenIndex(v.index) + " = " + v_begin + " + u;");
  ExprCode code(env_, w);
  code.Use(s.linear);
  if (s.initial) code.Use(s.initial);
  const std::string target = env_.Element(s.base, Bare(code.Index(s.linear)));
  const std::string start = s.initial ? code.Value(s.initial, t) : LoadCode(s.dtype, target);
  w.Line(target + " = " + Bare(StoreCode(s.dtype, Combine(s.op, t, start, "acc[u]"), t)) + ";");
  w.Close();
  env_.CloseIndex(v.index);
}

}  // namespace headrace::cpu
