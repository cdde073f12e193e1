#include "backends/interpreter/compile_expr.h"

#include <algorithm>
#include <cstring>

#include "ir/analysis/type_inference.h"

namespace headrace::interpreter {

RegClass ClassOf(DType t) {
  if (t == DType::kString) return RegClass::kString;
  if (IsComplex(t)) return RegClass::kComplex;
  return IsFloat(t) ? RegClass::kFloat : RegClass::kInt;
}

namespace {

bool Reads(const Expr& e) {
  bool reads = false;
  Visit(e, [&](const Expr& x) { return !(reads |= x.Is(ExprKind::kRead)); });
  return reads;
}

// A literal is a number of its type: in f32 code 0.1 is the float nearest to it.
double RoundLiteral(double v, DType t) {
  return t == DType::kF64 || t == DType::kReal || t == DType::kC128 ? v : static_cast<double>(static_cast<float>(v));
}

int64_t Bits(double v) {
  int64_t b;
  std::memcpy(&b, &v, 8);
  return b;
}

DType Sized(DType t) { return t == DType::kNone ? DType::kIndex : t; }

}  // namespace

ExprCompiler::ExprCompiler(SdfgPlan& plan, std::vector<Name> lane_indices)
    : plan_(plan), lanes_(std::move(lane_indices)) {
  next_ = static_cast<int>(lanes_.size());
}

// ---- registers ----
uint16_t ExprCompiler::Alloc(int width) {
  auto& pool = width == 1 ? free1_ : free2_;
  if (!pool.empty()) {
    const uint16_t r = pool.back();
    pool.pop_back();
    return r;
  }
  HR_CHECK(next_ + width < 65536, "one expression needs too many registers");
  const uint16_t r = static_cast<uint16_t>(next_);
  next_ += width;
  return r;
}

void ExprCompiler::Free(const Val& v) {
  if (v.temp) (v.cls == RegClass::kComplex ? free2_ : free1_).push_back(v.r);
}

uint16_t ExprCompiler::Emit(Opc op, uint16_t a, uint16_t b, uint16_t c, int64_t imm) {
  Instr i{};
  i.op = op;
  i.a = a;
  i.b = b;
  i.c = c;
  i.imm = imm;
  i.dst = Alloc();
  code_.instrs.push_back(i);
  return i.dst;
}

ExprCompiler::Val ExprCompiler::Op1(Opc op, const Val& a, DType t, int64_t imm) {
  Free(a);
  return {ClassOf(t), t, Emit(op, a.r, 0, 0, imm), true};
}

ExprCompiler::Val ExprCompiler::Op2(Opc op, const Val& a, const Val& b, DType t) {
  Free(a);
  Free(b);
  return {ClassOf(t), t, Emit(op, a.r, b.r), true};
}

ExprCompiler::Val ExprCompiler::Leaf(Opc op, int64_t bits, DType t) {
  auto [it, fresh] = leaves_.emplace(std::make_pair(op, bits), uint16_t{0});
  if (fresh) {
    Instr i{};
    i.op = op;
    i.dst = it->second = static_cast<uint16_t>(next_++);  // never reused: filled once, before the first block
    i.imm = bits;
    code_.prologue.push_back(i);
  }
  return {ClassOf(t), t, it->second, false};
}

ExprCompiler::Val ExprCompiler::ConstI(int64_t v, DType t) { return Leaf(Opc::kConstI, v, t); }
ExprCompiler::Val ExprCompiler::ConstF(double v, DType t) { return Leaf(Opc::kConstF, Bits(v), t); }

ExprCompiler::Val ExprCompiler::ToClass(const Val& v, RegClass c) {
  if (v.cls == c) return v;
  if (c == RegClass::kComplex) {
    const Val re = ToClass(v, RegClass::kFloat);
    Free(re);
    const uint16_t dst = Alloc(2);
    Instr i{};
    i.op = Opc::kCopy;
    i.dst = dst;
    i.a = re.r;
    code_.instrs.push_back(i);
    i.dst = static_cast<uint16_t>(dst + 1);
    i.a = ConstF(0, DType::kF64).r;
    code_.instrs.push_back(i);
    return {c, DType::kC128, dst, true};
  }
  if (c == RegClass::kFloat && v.cls == RegClass::kInt)
    return Op1(v.t == DType::kU64 ? Opc::kUToF : Opc::kIToF, v, DType::kF64);
  if (c == RegClass::kInt && v.cls == RegClass::kFloat) return Op1(Opc::kFToI, v, DType::kI64);
  if (v.cls == RegClass::kComplex) {  // the real part, as numpy's cast
    const Val re = {RegClass::kFloat, DType::kF64, Emit(Opc::kCopy, v.r), true};
    Free(v);
    return ToClass(re, c);
  }
  return v;
}

ExprCompiler::Val ExprCompiler::Normalise(const Val& v, DType t) {
  if (t == DType::kBool || t == DType::kIndex || t == DType::kNone || BitWidth(t) == 64) return {v.cls, t, v.r, v.temp};
  return Op1(IsSigned(t) ? Opc::kSignExtend : Opc::kZeroExtend, v, t, BitWidth(t));
}

Result<ExprCompiler::Val> ExprCompiler::Cast(Val v, DType t, bool saturate) {
  if (v.t == t || t == DType::kNone) return v;
  if (v.cls == RegClass::kString || t == DType::kString) {
    return UnsupportedError("E0684", "cast between strings and numbers in an expression", "use an external function");
  }
  const RegClass c = ClassOf(t);
  if (c == RegClass::kComplex) {
    v = ToClass(v, c);
    v.t = t;
    return v;  // c64 rounds when stored
  }
  if (v.cls == RegClass::kComplex) v = ToClass(v, RegClass::kFloat);
  if (t == DType::kBool) return v.t == t ? v : Op1(v.cls == RegClass::kFloat ? Opc::kFToB : Opc::kIToB, v, t);
  if (c == RegClass::kFloat) {
    v = ToClass(v, c);
    if (t == DType::kF64 || t == DType::kReal) return Val{c, t, v.r, v.temp};
    Free(v);
    return Val{c, t, Emit(Opc::kRoundF, v.r, saturate, 0, static_cast<int64_t>(t)), true};
  }
  const bool from_float = v.cls == RegClass::kFloat, from_u64 = v.t == DType::kU64;
  if (from_float) v = Op1(t == DType::kU64 ? Opc::kFToU : Opc::kFToI, v, t == DType::kU64 ? t : DType::kI64);
  if (saturate && t != DType::kIndex && !(from_float && t == DType::kU64)) {
    v = Op1(from_u64 ? Opc::kClampU : Opc::kClampI, v, t, static_cast<int64_t>(t));
  }
  return Normalise(v, t);
}

// ---- expressions ----
Result<ExprCompiler::Val> ExprCompiler::Value(const Expr& e) {
  const DType t = Sized(e->dtype);
  switch (e->kind) {
    case ExprKind::kInt:
    case ExprKind::kBool:
      if (ClassOf(t) == RegClass::kFloat) return ConstF(RoundLiteral(static_cast<double>(e->ivalue), t), t);
      if (ClassOf(t) == RegClass::kComplex)
        return ToClass(ConstF(static_cast<double>(e->ivalue), DType::kF64), RegClass::kComplex);
      return Normalise(ConstI(e->ivalue, t), t);
    case ExprKind::kFloat: {
      if (ClassOf(t) == RegClass::kComplex) return ToClass(ConstF(e->fvalue, DType::kF64), RegClass::kComplex);
      const DType ft = ClassOf(t) == RegClass::kFloat ? t : DType::kReal;
      return ConstF(RoundLiteral(e->fvalue, ft), ft);
    }
    case ExprKind::kSymbol: {
      auto it = std::find(lanes_.begin(), lanes_.end(), e->name);
      Val v = it != lanes_.end() ? Val{RegClass::kInt, DType::kIndex, static_cast<uint16_t>(it - lanes_.begin()), false}
                                 : Leaf(Opc::kSymbolI, SymbolOf(plan_, e->name), DType::kIndex);
      return ClassOf(t) == RegClass::kInt && t != DType::kBool ? Normalise(v, t) : Cast(v, t, false);
    }
    case ExprKind::kRead: return Read(e);
    case ExprKind::kUnary: {
      HR_ASSIGN_OR_RETURN(Val a, Value(e->args[0]));
      if (e->op == Op::kNot) {
        HR_ASSIGN_OR_RETURN(a, Cast(a, DType::kBool, false));
        return Op1(Opc::kNotB, a, DType::kBool);
      }
      a = ToClass(a, ClassOf(t));
      if (e->op == Op::kBitNot) return t == DType::kBool ? Op1(Opc::kNotB, a, t) : Normalise(Op1(Opc::kNotI, a, t), t);
      if (a.cls == RegClass::kFloat) return Op1(Opc::kNegF, a, t);
      if (a.cls == RegClass::kInt) return Normalise(Op1(Opc::kNegI, a, t), t);
      Instr i{};
      i.op = Opc::kNegC;
      i.a = a.r;
      Free(a);
      i.dst = Alloc(2);
      code_.instrs.push_back(i);
      return Val{RegClass::kComplex, t, i.dst, true};
    }
    case ExprKind::kBinary:
      switch (e->op) {
        case Op::kAnd:
        case Op::kOr: return Logic(e);
        case Op::kEq:
        case Op::kNe:
        case Op::kLt:
        case Op::kLe:
        case Op::kGt:
        case Op::kGe: return Compare(e);
        default: return Binary(e);
      }
    case ExprKind::kSelect: return Select(e);
    case ExprKind::kCall: return Call(e);
    case ExprKind::kCast: {
      HR_ASSIGN_OR_RETURN(Val a, Value(e->args[0]));
      return Cast(a, t, e->saturate);
    }
    default: return InternalError("expression not lowered: " + ToString(e));
  }
}

Result<ExprCompiler::Val> ExprCompiler::Binary(const Expr& e) {
  DType t = Sized(e->dtype);
  HR_ASSIGN_OR_RETURN(Val a, Value(e->args[0]));
  HR_ASSIGN_OR_RETURN(Val b, Value(e->args[1]));
  if (e->dtype == DType::kNone && (a.cls != RegClass::kInt || b.cls != RegClass::kInt)) t = DType::kReal;
  if (e->op == Op::kDiv && t == DType::kIndex) t = DType::kReal;
  const RegClass c = ClassOf(t);
  a = ToClass(a, c);
  b = ToClass(b, c);
  const bool u64 = t == DType::kU64;
  if (c == RegClass::kComplex) {
    Instr i{};
    i.op = e->op == Op::kAdd   ? Opc::kAddC
           : e->op == Op::kSub ? Opc::kSubC
           : e->op == Op::kMul ? Opc::kMulC
                               : Opc::kDivC;
    if (i.op == Opc::kDivC && e->op != Op::kDiv)
      return UnsupportedError("E0684", "operator " + std::string(OpToken(e->op)) + " on complex numbers");
    i.a = a.r;
    i.b = b.r;
    Free(a);
    Free(b);
    i.dst = Alloc(2);
    code_.instrs.push_back(i);
    return Val{c, t, i.dst, true};
  }
  if (c == RegClass::kFloat) {
    switch (e->op) {
      case Op::kAdd: return Op2(Opc::kAddF, a, b, t);
      case Op::kSub: return Op2(Opc::kSubF, a, b, t);
      case Op::kMul: return Op2(Opc::kMulF, a, b, t);
      case Op::kDiv: return Op2(Opc::kDivF, a, b, t);
      case Op::kFloorDiv: return Op2(Opc::kFloorDivF, a, b, t);
      case Op::kMod: return Op2(Opc::kModF, a, b, t);
      default: break;
    }
  } else if (c == RegClass::kInt) {
    switch (e->op) {
      case Op::kAdd: return Normalise(Op2(Opc::kAddI, a, b, t), t);
      case Op::kSub: return Normalise(Op2(Opc::kSubI, a, b, t), t);
      case Op::kMul: return Normalise(Op2(Opc::kMulI, a, b, t), t);
      case Op::kDiv: return Normalise(Op2(u64 ? Opc::kDivU : Opc::kDivI, a, b, t), t);
      case Op::kFloorDiv: return Normalise(Op2(u64 ? Opc::kDivU : Opc::kFloorDivI, a, b, t), t);
      case Op::kMod: return Normalise(Op2(u64 ? Opc::kModU : Opc::kModI, a, b, t), t);
      case Op::kShl: return Normalise(Op2(Opc::kShl, a, b, t), t);
      case Op::kShr: return Op2(u64 ? Opc::kShrU : Opc::kShr, a, b, t);
      case Op::kBitAnd: return Op2(Opc::kAndI, a, b, t);
      case Op::kBitOr: return Op2(Opc::kOrI, a, b, t);
      case Op::kBitXor: return Op2(Opc::kXorI, a, b, t);
      default: break;
    }
  }
  return UnsupportedError("E0684",
                          "operator " + std::string(OpToken(e->op)) + " on " + std::string(DTypeName(t)) + " in " +
                          ToString(e));
}

Result<ExprCompiler::Val> ExprCompiler::Compare(const Expr& e) {
  HR_ASSIGN_OR_RETURN(Val a, Value(e->args[0]));
  HR_ASSIGN_OR_RETURN(Val b, Value(e->args[1]));
  const bool eq = e->op == Op::kEq, ne = e->op == Op::kNe;
  if (a.cls == RegClass::kString || b.cls == RegClass::kString) {
    if (a.cls != b.cls || !(eq || ne)) return UnsupportedError("E0684", "comparison of strings other than == and !=");
    const Val r = Op2(Opc::kEqS, a, b, DType::kBool);
    return eq ? r : Op1(Opc::kNotB, r, DType::kBool);
  }
  const RegClass c = std::max(a.cls, b.cls) == RegClass::kComplex             ? RegClass::kComplex
                     : a.cls == RegClass::kFloat || b.cls == RegClass::kFloat ? RegClass::kFloat
                                                                              : RegClass::kInt;
  const bool u64 = a.t == DType::kU64 || b.t == DType::kU64;
  a = ToClass(a, c);
  b = ToClass(b, c);
  if (c == RegClass::kComplex) {
    if (!eq && !ne) return UnsupportedError("E0684", "complex numbers have no order: " + ToString(e));
    return Op2(eq ? Opc::kEqC : Opc::kNeC, a, b, DType::kBool);
  }
  if (e->op == Op::kGt || e->op == Op::kGe) std::swap(a, b);
  const bool lt = e->op == Op::kLt || e->op == Op::kGt;
  Opc op;
  if (c == RegClass::kFloat) op = eq ? Opc::kEqF : ne ? Opc::kNeF : lt ? Opc::kLtF : Opc::kLeF;
  else op = eq ? Opc::kEqI : ne ? Opc::kNeI : lt ? (u64 ? Opc::kLtU : Opc::kLtI) : u64 ? Opc::kLeU : Opc::kLeI;
  return Op2(op, a, b, DType::kBool);
}

// The right side is evaluated only where the left one leaves the answer open.
Result<ExprCompiler::Val> ExprCompiler::Logic(const Expr& e) {
  const bool is_and = e->op == Op::kAnd;
  HR_ASSIGN_OR_RETURN(Val a, Value(e->args[0]));
  HR_ASSIGN_OR_RETURN(a, Cast(a, DType::kBool, false));
  const int outer = mask_;
  Val m;
  if (Reads(e->args[1])) {
    const uint16_t on = static_cast<uint16_t>(outer >= 0 ? outer : ConstI(1, DType::kBool).r);
    m = {RegClass::kInt, DType::kBool, Emit(is_and ? Opc::kAndB : Opc::kAndNotB, on, a.r), true};
    mask_ = m.r;
  }
  Result<Val> rb = Value(e->args[1]);
  mask_ = outer;
  if (!rb.ok()) return rb;
  HR_ASSIGN_OR_RETURN(Val b, Cast(*rb, DType::kBool, false));
  Free(m);
  return Op2(is_and ? Opc::kAndB : Opc::kOrB, a, b, DType::kBool);
}

Result<ExprCompiler::Val> ExprCompiler::Blend(const Val& c, Val a, Val b, DType t) {
  const RegClass cls = a.cls == RegClass::kString ? a.cls : ClassOf(t);
  a = ToClass(a, cls);
  b = ToClass(b, cls);
  if (cls != RegClass::kComplex) {
    Free(a);
    Free(b);
    return Val{cls, t, Emit(Opc::kSelect, c.r, a.r, b.r), true};
  }
  const uint16_t dst = Alloc(2);
  for (uint16_t part = 0; part < 2; ++part) {
    Instr i{};
    i.op = Opc::kSelect;
    i.dst = static_cast<uint16_t>(dst + part);
    i.a = c.r;
    i.b = static_cast<uint16_t>(a.r + part);
    i.c = static_cast<uint16_t>(b.r + part);
    code_.instrs.push_back(i);
  }
  Free(a);
  Free(b);
  return Val{cls, t, dst, true};
}

Result<ExprCompiler::Val> ExprCompiler::Select(const Expr& e) {
  HR_ASSIGN_OR_RETURN(Val c, Value(e->args[0]));
  HR_ASSIGN_OR_RETURN(c, Cast(c, DType::kBool, false));
  const int outer = mask_;
  Val branch[2];
  for (int k = 0; k < 2; ++k) {
    Val m;
    if (Reads(e->args[1 + k])) {
      const uint16_t on = static_cast<uint16_t>(outer >= 0 ? outer : ConstI(1, DType::kBool).r);
      m = {RegClass::kInt, DType::kBool, Emit(k == 0 ? Opc::kAndB : Opc::kAndNotB, on, c.r), true};
      mask_ = m.r;
    }
    Result<Val> v = Value(e->args[1 + k]);
    mask_ = outer;
    if (!v.ok()) return v;
    branch[k] = *v;
    Free(m);
  }
  DType t = Sized(e->dtype);
  if (e->dtype == DType::kNone) t = branch[0].t;
  Result<Val> r = Blend(c, branch[0], branch[1], t);
  Free(c);
  return r;
}

// ---- accesses ----
Status ExprCompiler::CompileAccess(Name container, const std::vector<Expr>& index, bool flat, Access* a) {
  auto it = plan_.slot_of.find(container);
  if (it == plan_.slot_of.end())
    return InternalError("no container " + container.str() + " in sdfg " + plan_.sdfg->name.str());
  a->slot = it->second;
  a->flat = flat;
  if (plan_.slots[a->slot].sequence) {
    return UnsupportedError("E0684", "element access of " + container.str() + ", a sequence or optional",
                            "only library nodes touch sequences");
  }
  a->affine = true;
  a->base.resize(index.size());
  a->coef.resize(index.size());
  for (size_t d = 0; d < index.size() && a->affine; ++d) a->affine = Affine(index[d], &a->base[d], &a->coef[d]);
  if (a->affine) return {};
  a->base.clear();
  a->coef.clear();
  for (const Expr& i : index) {
    HR_ASSIGN_OR_RETURN(Val v, Value(i));
    HR_ASSIGN_OR_RETURN(v, Cast(v, DType::kIndex, false));
    a->index.push_back(v.r);
  }
  return {};
}

Result<ExprCompiler::Val> ExprCompiler::Read(const Expr& e) {
  std::vector<Expr> index = e->args;
  Expr otherwise;
  if (e->has_default) {
    otherwise = index.back();
    index.pop_back();
  }
  Access a;
  a.guarded = e->has_default;
  a.mask = mask_;
  const Container* c = plan_.sdfg->Find(e->name);
  if (c == nullptr) return InternalError("no container " + e->name.str());
  HR_RETURN_IF_ERROR(CompileAccess(e->name, index, e->flat, &a));
  const RegClass cls = ClassOf(c->dtype);
  Instr load{};
  load.op = Opc::kLoad;
  load.dst = Alloc(cls == RegClass::kComplex ? 2 : 1);
  Val v{cls, c->dtype, load.dst, true};
  if (a.guarded) a.valid = Alloc();
  const uint16_t valid = a.valid;
  for (uint16_t r : a.index) {  // index registers die here unless they are leaves or block indices
    const bool leaf =
        r < lanes_.size() || std::any_of(leaves_.begin(), leaves_.end(), [&](const auto& l) { return l.second == r; });
    if (!leaf) free1_.push_back(r);
  }
  load.imm = static_cast<int64_t>(code_.accesses.size());
  code_.accesses.push_back(std::move(a));
  code_.instrs.push_back(load);
  if (!e->has_default) return v;

  // Skips the default where every lane was inside; the loaded register then is the result, so the blend writes there too.
  const size_t jump = code_.instrs.size();
  Instr done{};
  done.op = Opc::kGuardDone;
  done.a = valid;
  code_.instrs.push_back(done);
  const Val ok{RegClass::kInt, DType::kBool, valid, true};
  const int outer = mask_;
  Val m;
  if (Reads(otherwise)) {
    const uint16_t on = static_cast<uint16_t>(outer >= 0 ? outer : ConstI(1, DType::kBool).r);
    m = {RegClass::kInt, DType::kBool, Emit(Opc::kAndNotB, on, valid), true};
    mask_ = m.r;
  }
  Result<Val> rd = Value(otherwise);
  mask_ = outer;
  if (!rd.ok()) return rd;
  Val d = *rd;
  if (d.cls != cls && d.cls != RegClass::kString) d = ToClass(d, cls);
  for (uint16_t part = 0; part < (cls == RegClass::kComplex ? 2 : 1); ++part) {
    Instr i{};
    i.op = Opc::kSelect;
    i.dst = i.b = static_cast<uint16_t>(v.r + part);
    i.a = valid;
    i.c = static_cast<uint16_t>(d.r + part);
    code_.instrs.push_back(i);
  }
  Free(d);
  Free(m);
  Free(ok);
  code_.instrs[jump].imm = static_cast<int64_t>(code_.instrs.size());
  return v;
}

// ---- statements ----
Status ExprCompiler::CompileValue(const Expr& e, DType t) {
  HR_ASSIGN_OR_RETURN(Val v, Value(e));
  if (ClassOf(t) != v.cls) { HR_ASSIGN_OR_RETURN(v, Cast(v, t, false)); }
  code_.result = v.r;
  code_.cls = v.cls;
  code_.dtype = t;
  return {};
}

Status ExprCompiler::CompileTarget(const Tasklet& t, Access* target) {
  free1_.clear();  // nothing is reused from here: the value must survive the index code
  free2_.clear();
  target->guarded = t.guarded;
  return CompileAccess(t.target, t.index, t.flat, target);
}

Code ExprCompiler::Finish() {
  code_.registers = next_;
  return std::move(code_);
}

}  // namespace headrace::interpreter
