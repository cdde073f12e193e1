#include "backends/cpu/loops.h"

#include <cstdlib>

#include "backends/cpu/ctypes.h"
#include "backends/cpu/exact.h"

namespace headrace::cpu {

LoopDim DimOf(const Range& r) {
  LoopDim d;
  d.index = r.index;
  d.begin = r.begin, d.end = r.end, d.step = r.step ? r.step : IntExpr(1);
  d.simple = AsInt(d.begin) == 0 && AsInt(d.step) == 1;
  d.trip = d.simple ? d.end : TripCount(r);
  return d;
}

Expr LocalExpr(const std::string& text, DType t) {
  ExprNode n;
  n.kind = ExprKind::kCall;
  n.name = kLocalFn;
  n.text = text;
  n.dtype = t;
  return Expr(std::move(n));
}

namespace {

// Whether a loop from a small number in small steps: one that came near 2^63 would never get there.
bool StaysSmall(const LoopDim& d) {
  constexpr int64_t kSmall = 1 << 20;
  const auto begin = AsInt(d.begin), step = AsInt(d.step);
  return begin && std::abs(*begin) < kSmall && std::abs(*step) < kSmall;
}

}  // namespace

void LoopCode::Open(const LoopDim& d, Writer& w, const std::string& pragma) {
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

void LoopCode::Close(const LoopDim& d, Writer& w) {
  w.Close();
  env_.CloseIndex(d.index);
}

void LoopCode::OpenUnits(const std::vector<LoopDim>& dims, Writer& w) {
  w.Open("for (int64_t q = begin; q < end; ++q) {");
  const bool single = dims.size() == 1;
  if (!single) w.Line("int64_t rest = q;");
  for (size_t i = dims.size(); i-- > 0;) {
    const LoopDim& d = dims[i];
    std::string value = single ? "q" : "rest", trip;
    if (i > 0) {
      trip = IndexText(d.trip, w);
      if (trip.find(' ') != std::string::npos && trip[0] != '(') trip = "(" + trip + ")";
      value += " % " + trip;
    }
    if (!d.simple) value = IndexText(d.begin, w) + " + " + IndexText(d.step, w) + " * (" + value + ")";
    w.Line("const int64_t " + env_.OpenIndex(d.index) + " = " + value + ";");
    if (i > 0) w.Line("rest /= " + trip + ";");
  }
}

std::string LoopCode::UnitCount(const std::vector<LoopDim>& dims, Writer& w) {
  std::string product;
  for (const LoopDim& d : dims) {
    const std::string t = IndexText(d.trip, w);
    product += (product.empty() ? "" : " * ") + (AsInt(d.trip) ? t : "hr_most(0, " + t + ")");
  }
  return product;
}

std::string LoopCode::Combine(WriteOp op, DType t, const std::string& a, const std::string& b) const {
  t = Computed(t);
  // What is there comes second: the processor's own maximum gives that one where either is none, and only the other has to be looked at.
  if (op == WriteOp::kMax) return std::string("hr_max<") + ValueType(t) + ">(" + b + ", " + a + ")";
  if (op == WriteOp::kMin) return std::string("hr_min<") + ValueType(t) + ">(" + b + ", " + a + ")";
  const std::string token = op == WriteOp::kAdd ? " + " : " * ";
  if (t == DType::kBool) return "(" + a + (op == WriteOp::kAdd ? " | " : " & ") + b + ")";
  if (IsInteger(t)) {
    const std::string u = ByteSize(t) == 8 ? "(uint64_t)" : "(uint32_t)";
    return ConvertCode("(int64_t)(" + u + a + token + u + b + ")", DType::kI64, t == DType::kI64 ? DType::kNone : t);
  }
  return a + token + b;
}

std::string LoopCode::IndexText(const Expr& e, Writer& w) {
  ExprCode code(env_, w);
  code.Use(e);
  return code.Index(e);
}

void LoopCode::Store(const LoweredStmt& s, Writer& w) {
  if (s.condition) {
    ExprCode code(env_, w);
    code.Use(s.condition);
    w.Open("if (" + AloneCode(Bare(code.Value(s.condition)), w) + ") {");
  }
  ExprCode code(env_, w);
  code.Use(s.value);
  code.Use(s.linear);
  const DType t = Computed(s.dtype);
  std::string v = s.op == WriteOp::kAssign ? code.Value(s.value) : code.Value(s.value, t);
  const std::string target = env_.Element(s.base, Bare(code.Index(s.linear)));
  if (s.op == WriteOp::kAssign) v = StoreCode(s.dtype, v, code.TypeOf(s.value), s.dtype == DType::kBF16 && IsExactBf16(s.value));
  else v = StoreCode(s.dtype, Combine(s.op, t, LoadCode(s.dtype, target), v), t);
  w.Line(target + " = " + Bare(v) + ";");
  if (!s.condition) return;
  w.Close();
  if (!s.report) return;
  w.Open("else {");
  ExprCode bad(env_, w);
  bad.Use(s.report);
  w.Line("(void)" + bad.Value(s.report) + ";");
  w.Close();
}

}  // namespace headrace::cpu
