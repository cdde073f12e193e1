// Single loops: guards at their borders, what they don't change, checks made once before them.
#include <cstdlib>

#include "backends/cpu/guards.h"
#include "backends/cpu/hoist.h"
#include "backends/cpu/nest.h"

namespace headrace::cpu {
namespace {

// Whether a loop from a small number in small steps: one that came near 2^63 would never get there.
bool StaysSmall(const LoopDim& d) {
  constexpr int64_t kSmall = 1 << 20;
  const auto begin = AsInt(d.begin), step = AsInt(d.step);
  return begin && std::abs(*begin) < kSmall && std::abs(*step) < kSmall;
}

}  // namespace

void NestGen::OpenLoop(const LoopDim& d, Writer& w, const std::string& pragma) {
  const std::string begin = IndexText(d.begin, w), end = IndexText(d.end, w), step = IndexText(d.step, w);
  const std::string i = env_.OpenIndex(d.index);
  const auto known = AsInt(d.step);
  const auto open = [&](const std::string& header) {
    if (!pragma.empty() && known) w.Line(pragma);  // lanes want to know the direction
    w.Open("for (int64_t " + header + ") {");
  };
  if (known && *known == 1) return open(i + " = " + begin + "; " + i + " < " + end + "; ++" + i);
  if (known && *known == -1) return open(i + " = " + begin + "; " + i + " > " + end + "; --" + i);
  if (known && *known > 0 && StaysSmall(d))
    return open(i + " = " + begin + "; " + i + " < " + end + "; " + i + " += " + step);
  // The variable may not step over the end of 64 bits; a loop of lanes has one variable only.
  const std::string trip = i + "_n", k = i + "_k";
  w.Line("const int64_t " + trip + " = hr_trip(" + begin + ", " + end + ", " + step + ");");
  open(k + " = 0; " + k + " < " + trip + "; ++" + k);
  w.Line("const int64_t " + i + " = " + begin + " + " + k + " * " + step + ";");
}

namespace {

// A power with one exponent for the whole loop, and what it is for the exponents that occur most.
Expr PowerOfOneExponent(const Expr& value) {
  Expr found;
  Visit(value, [&](const Expr& e) {
    if (!found && IsFn(e, "pow") && IsFloat(e->dtype) && !IsComplex(e->dtype) && IsFn(e->args[1], kLocalFn)) found = e;
    return !found;
  });
  return found;
}

}  // namespace

void NestGen::SplitLoop(const LoopDim& d, const std::string& begin, const std::string& end, const Expr& value,
                        bool simd, Writer& w, const EmitBody& emit, bool always) {
  const Expr inner = simd ? Hoist(value, d, {}, w, begin + " < " + end) : value;
  if (const Expr power = simd ? PowerOfOneExponent(inner) : Expr()) {
    const Expr base = power->args[0];
    w.Open("if (" + power->args[1]->text + " == 2) {");
    SplitRange(d, begin, end, Replace(inner, power, WithType(BinaryExpr(Op::kMul, base, base), power->dtype)), simd, w,
               emit, always);
    w.Close();
    w.Open("else {");
    SplitRange(d, begin, end, inner, simd, w, emit, always);
    w.Close();
    return;
  }
  SplitRange(d, begin, end, inner, simd, w, emit, always);
}

void NestGen::SplitRange(const LoopDim& d, const std::string& begin, const std::string& end, const Expr& value,
                         bool simd, Writer& w, const EmitBody& emit, bool always) {
  auto loop = [&](const std::string& from, const std::string& below, const Expr& v) {
    const std::string i = env_.OpenIndex(d.index);
    if (simd) w.Line("#pragma omp simd");
    w.Open("for (int64_t " + i + " = " + from + "; " + i + " < " + below + "; ++" + i + ") {");
    emit(v, i);
    w.Close();
    env_.CloseIndex(d.index);
  };
  const auto split = simd ? SplitGuards(value, d.index, always) : std::nullopt;
  if (!split) return loop(begin, end, value);
  const std::string n = std::to_string(env_.next_temp++), first = "from" + n, last = "below" + n;
  bool masked = false;  // the rows that are all border: under a mask, where that is fast
  w.Line("int64_t " + first + " = " + begin + ", " + last + " = " + end + ";");
  if (split->when) {
    ExprCode code(env_, w);
    code.Use(split->when);
    masked = always && !SplitGuards(value, d.index);
    w.Open("if (!" + code.Value(split->when) + ") {");
    if (masked) loop(begin, end, value);
    else w.Line(first + " = " + end + ";");
    w.Close();
    if (masked) w.Open("else {");
  }
  for (const Expr& e : split->from) w.Line(first + " = hr_most(" + first + ", " + IndexText(e, w) + ");");
  w.Line(first + " = hr_least(" + first + ", " + end + ");");
  for (const Expr& e : split->below) w.Line(last + " = hr_least(" + last + ", " + IndexText(e, w) + ");");
  w.Line(last + " = hr_most(" + first + ", " + last + ");");
  const std::string i = env_.OpenIndex(d.index);
  w.Open("for (int64_t " + i + " = " + first + " > " + begin + " ? " + begin + " : " + last + "; " + i + " < " + end +
         "; " + i + " = " + i + " + 1 == " + first + " ? " + last + " : " + i + " + 1) {");
  emit(value, i);
  w.Close();
  env_.CloseIndex(d.index);
  loop(first, last, split->inside);
  if (masked) w.Close();
}

Expr NestGen::Hoist(const Expr& value, const LoopDim& d, const std::set<Name>& written, Writer& w,
                    const std::string& nonempty) {
  if (pointers_may_alias) return value;
  std::string runs = nonempty;
  if (AsInt(d.trip).value_or(0) > 0) runs.clear();
  else if (runs.empty()) runs = IndexText(d.trip, w) + " > 0";
  return HoistInvariants(
      value, d.index, written, runs, [&](Name n) { return s_.Get(n).storage == Storage::kRegister; }, env_, w);
}

int NestGen::OpenChecks(LoweredStmt* s, const LoopDim& d, const std::string& nonempty, Writer& w) {
  int opened = 0;
  auto check = [&](const Expr& condition, const Expr& message) {
    const Expr report =
        Substitute(message, {{d.index, IntExpr(0)}});  // it may name this index too: then its first value
    ExprCode code(env_, w);
    code.Use(condition);
    const std::string test = code.Value(condition, DType::kBool);
    w.Open("if (" + (nonempty.empty() ? "" : nonempty + " && ") + "!" + test + ") {");
    ExprCode bad(env_, w);
    bad.Use(report);
    w.Line("(void)" + bad.Value(report) + ";");
    w.Close();
    w.Open("else {");
    ++opened;
  };
  if (pointers_may_alias) return 0;
  for (int i = 0; i < 8; ++i) {
    Expr guard = FindInvariantCheck(s->value, d.index);
    if (!guard) guard = FindInvariantCheck(s->linear, d.index);
    if (!guard) break;
    check(guard->args[0], guard->args[2]);
    for (Expr* e : {&s->value, &s->linear, &s->condition, &s->report}) *e = Replace(*e, guard, guard->args[1]);
  }
  // The target's own check, unless some read of the value would have been reported first.
  if (s->condition && s->report && !Mentions(s->condition, d.index)) {
    LoweredStmt rest = *s;
    rest.condition = rest.report = {};
    if (!HasReport(rest)) {
      const Expr condition = s->condition;
      bool reads_bad = false;
      Visit(condition, [&](const Expr& x) { return reads_bad |= IsFn(x, kBadFn), !reads_bad; });
      if (!reads_bad) {
        check(condition, s->report);
        s->condition = s->report = {};
      }
    }
  }
  return opened;
}

void NestGen::CloseLoop(const LoopDim& d, Writer& w) {
  w.Close();
  env_.CloseIndex(d.index);
}

}  // namespace headrace::cpu
