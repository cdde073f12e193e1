// Calls of the functions of ir/expr/functions.h.
#include <cmath>
#include <complex>
#include <unordered_map>

#include "backends/interpreter/compile_expr.h"

namespace headrace::interpreter {
namespace {

using Complex = std::complex<double>;
using F1 = double (*)(double);
using F2 = double (*)(double, double);
using C1 = Complex (*)(const Complex&);

double Rsqrt(double x) { return 1 / std::sqrt(x); }
Complex RsqrtC(const Complex& x) { return 1.0 / std::sqrt(x); }
Complex Log2C(const Complex& x) { return std::log(x) / 0.6931471805599453; }
Complex Expm1C(const Complex& x) { return std::exp(x) - 1.0; }
Complex Log1pC(const Complex& x) { return std::log(1.0 + x); }
Complex PowC(const Complex& x, const Complex& y) { return std::pow(x, y); }

const std::unordered_map<std::string, F1>& FloatFunctions() {
  static const auto* const kTable = new std::unordered_map<std::string, F1>{
      {"exp", std::exp},     {"expm1", std::expm1}, {"log", std::log},        {"log1p", std::log1p},
      {"log2", std::log2},   {"sqrt", std::sqrt},   {"rsqrt", Rsqrt},         {"sin", std::sin},
      {"cos", std::cos},     {"tan", std::tan},     {"asin", std::asin},      {"acos", std::acos},
      {"atan", std::atan},   {"sinh", std::sinh},   {"cosh", std::cosh},      {"tanh", std::tanh},
      {"asinh", std::asinh}, {"acosh", std::acosh}, {"atanh", std::atanh},    {"erf", std::erf},
      {"floor", std::floor}, {"ceil", std::ceil},   {"rint", std::nearbyint}, {"trunc", std::trunc}};
  return *kTable;
}
const std::unordered_map<std::string, F2>& FloatFunctions2() {
  static const auto* const kTable =
      new std::unordered_map<std::string, F2>{{"pow", std::pow}, {"atan2", std::atan2}, {"fmod", std::fmod}};
  return *kTable;
}
const std::unordered_map<std::string, C1>& ComplexFunctions() {
  static const auto* const kTable = new std::unordered_map<std::string, C1>{
      {"exp", std::exp},   {"expm1", Expm1C},   {"log", std::log},  {"log1p", Log1pC}, {"log2", Log2C},
      {"sqrt", std::sqrt}, {"rsqrt", RsqrtC},   {"sin", std::sin},  {"cos", std::cos}, {"tan", std::tan},
      {"sinh", std::sinh}, {"cosh", std::cosh}, {"tanh", std::tanh},  {"asin", std::asin}, {"acos", std::acos},
      {"atan", std::atan}, {"asinh", std::asinh}, {"acosh", std::acosh}, {"atanh", std::atanh}};
  return *kTable;
}

Status NoSuchFunction(const Expr& e, std::string_view type) {
  return UnsupportedError("E0684", "function " + e->name.str() + " on " + std::string(type) + " in " + ToString(e));
}

}  // namespace

Result<ExprCompiler::Val> ExprCompiler::ComplexCall(const Expr& e, const std::string& fn) {
  std::vector<Val> args;
  for (const Expr& a : e->args) {
    HR_ASSIGN_OR_RETURN(Val v, Value(a));
    args.push_back(ToClass(v, fn == "complex" ? RegClass::kFloat : RegClass::kComplex));
  }
  const DType t = e->dtype == DType::kNone ? DType::kC128 : e->dtype;
  const DType real = IsFloat(t) ? t : DType::kF64;
  Instr i{};
  i.a = args[0].r;
  i.b = args.size() > 1 ? args[1].r : 0;
  auto emit = [&](Opc op, int width) {
    i.op = op;
    i.dst = Alloc(width);
    code_.instrs.push_back(i);
    for (const Val& v : args) Free(v);
    return Val{width == 2 ? RegClass::kComplex : RegClass::kFloat, width == 2 ? t : real, i.dst, true};
  };
  if (fn == "abs") return emit(Opc::kAbsC, 1);
  if (fn == "real") return emit(Opc::kCopy, 1);
  if (fn == "imag") {
    ++i.a;
    return emit(Opc::kCopy, 1);
  }
  if (fn == "hold") return args[0];
  if (fn == "conj" || fn == "complex") {
    const Val v = emit(Opc::kCopy, 2);
    Instr im{};
    im.op = fn == "conj" ? Opc::kNegF : Opc::kCopy;
    im.a = fn == "conj" ? static_cast<uint16_t>(i.a + 1) : i.b;
    im.dst = static_cast<uint16_t>(v.r + 1);
    code_.instrs.push_back(im);
    return v;
  }
  if (fn == "isnan" || fn == "isinf") {
    const Opc op = fn == "isnan" ? Opc::kIsNan : Opc::kIsInf;
    const uint16_t re = Emit(op, args[0].r), im = Emit(op, static_cast<uint16_t>(args[0].r + 1));
    Free(args[0]);
    return Op2(Opc::kOrB, {RegClass::kInt, DType::kBool, re, true}, {RegClass::kInt, DType::kBool, im, true},
               DType::kBool);
  }
  if (fn == "pow") {
    i.fn = reinterpret_cast<const void*>(PowC);
    return emit(Opc::kFnC2, 2);
  }
  auto it = ComplexFunctions().find(fn);
  if (it == ComplexFunctions().end()) return NoSuchFunction(e, "complex numbers");
  i.fn = reinterpret_cast<const void*>(it->second);
  return emit(Opc::kFnC, 2);
}

// a0, b0, a1, b1 …, s: the last product is added to s, then the one before it.
ExprCompiler::Val ExprCompiler::Dot(const std::vector<Val>& args, DType t) {
  Val sum = args.back();
  for (size_t k = args.size() - 1; k > 0; k -= 2) {
    const Val &a = args[k - 2], &b = args[k - 1];
    if (IsInteger(t)) {
      sum = Normalise(Op2(Opc::kAddI, sum, Op2(Opc::kMulI, a, b, DType::kI64), t), t);
      continue;
    }
    for (const Val& v : {a, b, sum}) Free(v);
    sum = {RegClass::kFloat, t, Emit(Opc::kFma, a.r, b.r, sum.r), true};
    code_.instrs.back().imm = 1;
  }
  return sum;
}

Result<ExprCompiler::Val> ExprCompiler::Call(const Expr& e) {
  const std::string fn = e->name.str();
  DType t = e->dtype;
  for (const Expr& a : e->args)
    if (IsComplex(a->dtype)) return ComplexCall(e, fn);
  if (fn == "complex" || fn == "conj" || IsComplex(t)) return ComplexCall(e, fn);
  std::vector<Val> args;
  for (const Expr& a : e->args) {
    HR_ASSIGN_OR_RETURN(Val v, Value(a));
    if (v.cls == RegClass::kString) return NoSuchFunction(e, "strings");
    args.push_back(v);
  }
  if (t == DType::kNone) t = args[0].t;

  if (fn == "uniform" || fn == "normal") {
    const Val seed = ToClass(args[0], RegClass::kInt), n = ToClass(args[1], RegClass::kInt);
    return Op2(fn == "uniform" ? Opc::kUniform : Opc::kNormal, seed, n, IsFloat(t) ? t : DType::kF32);
  }
  if (fn == "isnan" || fn == "isinf") {
    if (args[0].cls == RegClass::kInt) {
      Free(args[0]);
      return ConstI(0, DType::kBool);
    }
    return Op1(fn == "isnan" ? Opc::kIsNan : Opc::kIsInf, args[0], DType::kBool);
  }
  if (fn == "wrap" || fn == "reflect") {
    const Val i = ToClass(args[0], RegClass::kInt), n = ToClass(args[1], RegClass::kInt);
    return Normalise(Op2(fn == "wrap" ? Opc::kWrapIndex : Opc::kReflect, i, n, IsInteger(t) ? t : DType::kIndex), t);
  }
  if (fn == "hold") return args[0];
  if (fn == "dot2" || fn == "dot4") return Dot(args, t);
  if (fn == "real") return Cast(args[0], t, false);
  const RegClass c = ClassOf(t);
  const bool u64 = t == DType::kU64;
  for (Val& v : args) v = ToClass(v, c);
  if (fn == "min" || fn == "max" || fn == "clamp") {
    const Opc min = c == RegClass::kFloat ? Opc::kMinF : u64 ? Opc::kMinU : Opc::kMinI;
    const Opc max = c == RegClass::kFloat ? Opc::kMaxF : u64 ? Opc::kMaxU : Opc::kMaxI;
    if (fn == "clamp") return Op2(min, Op2(max, args[0], args[1], t), args[2], t);
    Val r = args[0];
    for (size_t k = 1; k < args.size(); ++k) r = Op2(fn == "min" ? min : max, r, args[k], t);
    return r;
  }
  if (c == RegClass::kInt) {
    if (fn == "abs") return IsSigned(t) || t == DType::kIndex ? Normalise(Op1(Opc::kAbsI, args[0], t), t) : args[0];
    if (fn == "sign") return Op1(IsSigned(t) ? Opc::kSignI : Opc::kSignU, args[0], t);
    if (fn == "floor" || fn == "ceil" || fn == "rint" || fn == "trunc") return args[0];
    if (fn == "popcount") return Op1(Opc::kPopcount, args[0], t, t == DType::kIndex ? 64 : BitWidth(t));
    if (fn == "pow") return Normalise(Op2(Opc::kPowI, args[0], args[1], t), t);
    if (fn == "fmod") return u64 ? Op2(Opc::kModU, args[0], args[1], t) : Op2(Opc::kRemI, args[0], args[1], t);
    return NoSuchFunction(e, DTypeName(t));
  }
  if (fn == "abs") return Op1(Opc::kAbsF, args[0], t);
  if (fn == "sign") return Op1(Opc::kSignF, args[0], t);
  if (auto it = FloatFunctions().find(fn); it != FloatFunctions().end() && args.size() == 1) {
    Val r = Op1(Opc::kFn1, args[0], t);
    code_.instrs.back().fn = reinterpret_cast<const void*>(it->second);
    return r;
  }
  if (auto it = FloatFunctions2().find(fn); it != FloatFunctions2().end() && args.size() == 2) {
    Val r = Op2(Opc::kFn2, args[0], args[1], t);
    code_.instrs.back().fn = reinterpret_cast<const void*>(it->second);
    return r;
  }
  if (fn == "fma") {
    for (const Val& v : args) Free(v);
    Val r{RegClass::kFloat, t, Emit(Opc::kFma, args[0].r, args[1].r, args[2].r), true};
    code_.instrs.back().imm = t != DType::kF64;
    return r;
  }
  return NoSuchFunction(e, DTypeName(t));
}

}  // namespace headrace::interpreter
