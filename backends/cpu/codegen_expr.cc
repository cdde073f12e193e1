#include "backends/cpu/codegen_expr.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/code_style.h"
#include "backends/cpu/ctypes.h"
#include "backends/cpu/exact.h"
#include "backends/cpu/lower.h"
#include "ir/expr/functions.h"

namespace headrace::cpu {
namespace {

bool IsComparison(Op op) { return op >= Op::kEq && op <= Op::kGe; }

// The type two compared operands meet in.
DType Meet(DType a, DType b) {
  a = Computed(a), b = Computed(b);
  if (a == b) return a;
  if (IsComplex(a) || IsComplex(b)) return IsComplex(a) ? a : b;
  if (IsFloat(a) != IsFloat(b)) return IsFloat(a) ? a : b;
  return ByteSize(a) >= ByteSize(b) ? a : b;
}

DType TypeOfNode(const ExprNode& e, const std::vector<DType>& args) {
  if (e.dtype != DType::kNone) return e.dtype;
  switch (e.kind) {
    case ExprKind::kBool: return DType::kBool;
    case ExprKind::kFloat: return DType::kReal;
    case ExprKind::kBinary:
      if (IsComparison(e.op) || e.op == Op::kAnd || e.op == Op::kOr) return DType::kBool;
      if (args[0] == DType::kReal || args[1] == DType::kReal || e.op == Op::kDiv) return DType::kReal;
      return DType::kIndex;
    case ExprKind::kUnary: return e.op == Op::kNot ? DType::kBool : args[0];
    case ExprKind::kSelect: return args[1];
    case ExprKind::kCall: return !args.empty() && args[0] == DType::kReal ? DType::kReal : DType::kIndex;
    default: return DType::kIndex;
  }
}

}  // namespace

std::string Bare(const std::string& s) {
  if (s.size() < 2 || s.front() != '(' || s.back() != ')') return s;
  int depth = 0;
  for (size_t i = 0; i + 1 < s.size(); ++i) {
    depth += s[i] == '(' ? 1 : s[i] == ')' ? -1 : 0;
    if (depth == 0) return s;
  }
  return s.substr(1, s.size() - 2);
}

std::string AloneCode(const std::string& condition, const Writer& w) {
  return w.in_lanes() ? condition : "hr_alone(" + condition + ")";
}

std::string CountText(const Expr& e, const std::function<std::string(const Expr&)>& text) {
  if (AsInt(e) || e.Is(ExprKind::kSymbol)) return text(e);
  const std::function<std::string(const Expr&)> checked = [&](const Expr& x) -> std::string {
    if (x.Is(ExprKind::kBinary) && (x->op == Op::kAdd || x->op == Op::kSub || x->op == Op::kMul))
      return "(" + checked(x->args[0]) + " " + std::string(OpToken(x->op)) + " " + checked(x->args[1]) + ")";
    return "hr_size{" + text(x) + "}";
  };
  return "hr_count(" + checked(e) + ")";
}

int ExprCode::Number(const Expr& e) {
  if (auto it = by_pointer_.find(e.id()); it != by_pointer_.end()) return it->second;
  Node n;
  n.e = e;
  std::vector<DType> types;
  for (const Expr& a : e->args) {
    n.args.push_back(Number(a));
    types.push_back(nodes_[n.args.back()].type);
    n.size = std::min(1 << 20, n.size + nodes_[n.args.back()].size);
    n.safe &= nodes_[n.args.back()].safe;
  }
  if (IsFn(e, kBadFn)) n.safe = false;
  n.type = TypeOfNode(*e, types);
  std::string key;
  auto put = [&](const void* p, size_t size) { key.append(static_cast<const char*>(p), size); };
  const uint32_t head[4] = {static_cast<uint32_t>(e->kind), static_cast<uint32_t>(e->op), static_cast<uint32_t>(n.type),
                            static_cast<uint32_t>(e->flat) | static_cast<uint32_t>(e->saturate) << 1};
  put(head, sizeof head);
  put(&e->ivalue, 8);
  put(&e->fvalue, 8);
  const uint32_t name = e->name.id();
  put(&name, 4);
  put(n.args.data(), n.args.size() * sizeof(int));
  key += e->text;
  const auto [it, fresh] = by_key_.emplace(std::move(key), static_cast<int>(nodes_.size()));
  if (fresh) nodes_.push_back(std::move(n));
  by_pointer_[e.id()] = it->second;
  keep_.push_back(e);
  return it->second;
}

void ExprCode::Count(int id) {
  if (++nodes_[id].uses > 1) return;
  for (int a : nodes_[id].args) Count(a);
}

void ExprCode::Use(const Expr& e) { Count(Number(e)); }
DType ExprCode::TypeOf(const Expr& e) { return nodes_[Number(e)].type; }
std::string ExprCode::Value(const Expr& e) { return Text(Number(e), true); }
std::string ExprCode::Value(const Expr& e, DType t) { return Arg(Number(e), t, true); }
void ExprCode::Bind(const Expr& e, const std::string& text) { nodes_[Number(e)].local = text; }

std::string ExprCode::Arg(int id, DType t, bool hoist) {
  // Literals and index arithmetic take the type they are used in.
  const Node& n = nodes_[id];
  if (n.e.Is(ExprKind::kInt)) return IntLiteral(n.e->ivalue, t == DType::kIndex ? DType::kI64 : t);
  if (n.e.Is(ExprKind::kFloat) && IsFloat(t)) return FloatLiteral(n.e->fvalue, t);
  const DType from = n.type;
  return ConvertCode(Text(id, hoist), from, Computed(t));
}

std::string ExprCode::Text(int id, bool hoist) {
  if (!nodes_[id].local.empty()) return nodes_[id].local;
  Node copy = nodes_[id];
  std::string s = Compute(copy, hoist);
  const ExprKind k = copy.e->kind;
  const bool trivial = k == ExprKind::kInt || k == ExprKind::kFloat || k == ExprKind::kBool || k == ExprKind::kSymbol ||
                       IsFn(copy.e, kBadFn) || IsFn(copy.e, kPresentFn) || IsFn(copy.e, kLocalFn);
  if (hoist && !trivial && nodes_[id].local.empty() && (copy.uses > 1 || s.size() > kStyle.expression_characters)) {
    const std::string name = "t" + std::to_string(env_.next_temp++);
    w_.Line(std::string("const ") + ValueType(copy.type) + " " + name + " = " + Bare(s) + ";");
    nodes_[id].local = name;
    return name;
  }
  return nodes_[id].local.empty() ? s : nodes_[id].local;
}

std::string ExprCode::Compute(Node& n, bool hoist) {
  const ExprNode& e = *n.e;
  switch (e.kind) {
    case ExprKind::kInt: return IntLiteral(e.ivalue, n.type);
    case ExprKind::kFloat: return FloatLiteral(e.fvalue, n.type);
    case ExprKind::kBool:
      return IsComplex(n.type) || n.type != DType::kBool ? IntLiteral(e.ivalue, n.type) : e.ivalue ? "true" : "false";
    case ExprKind::kSymbol: return ConvertCode(env_.Symbol(e.name), DType::kIndex, Computed(n.type));
    case ExprKind::kRead: return Read(n, hoist);
    case ExprKind::kUnary: {
      if (e.op == Op::kNot) return "!" + Arg(n.args[0], DType::kBool, hoist);
      const std::string a = Arg(n.args[0], n.type, hoist);
      const DType t = Computed(n.type);
      if (e.op == Op::kBitNot) return t == DType::kBool ? "!" + a : ConvertCode("(~" + a + ")", DType::kI64, t);
      if (IsInteger(t) && n.type != DType::kIndex)
        return "(" + std::string(ValueType(t)) + ")(0 - (" + (ByteSize(t) == 8 ? "uint64_t" : "uint32_t") + ")" + a +
               ")";
      return a[0] == '-' ? "(-(" + a + "))" : "(-" + a + ")";
    }
    case ExprKind::kBinary: return Binary(n, hoist);
    case ExprKind::kSelect: return Select(Number(n.e), n.args[0], n.args[1], n.args[2], hoist);
    case ExprKind::kCall: return Call(n, hoist);
    case ExprKind::kCast: {
      const Node& a = nodes_[n.args[0]];
      if (a.e.Is(ExprKind::kInt) || a.e.Is(ExprKind::kFloat))
        if (Computed(n.type) == n.type && IsFloat(n.type)) return Arg(n.args[0], n.type, hoist);
      const DType from = a.type;
      if (e.saturate && (e.dtype == DType::kU8 || e.dtype == DType::kI8) && a.local.empty() && from == DType::kF32) {
        // sat(rint(x) + f32(z), u8), as numbers are quantised: in integers, of which there are lanes for maximum and minimum.
        const bool shifted = a.e.Is(ExprKind::kBinary) && a.e->op == Op::kAdd;
        const Node& rint = shifted ? nodes_[a.args[0]] : a;
        const Node* zero = shifted ? &nodes_[a.args[1]] : nullptr;
        const bool fits = !zero || (zero->e.Is(ExprKind::kCast) && zero->type == DType::kF32 && ByteSize(nodes_[zero->args[0]].type) == 1 && IsInteger(nodes_[zero->args[0]].type));
        if (fits && rint.e.Is(ExprKind::kCall) && rint.e->name == Name("rint") && rint.type == DType::kF32) {
          const int value = rint.args[0], offset = zero ? zero->args[0] : -1;
          const std::string v = Arg(value, DType::kF32, hoist), z = zero ? Arg(offset, DType::kI32, hoist) : "0";
          return RoundedCode(v, z, e.dtype);
        }
      }
      const bool exact = e.dtype == DType::kBF16 && Computed(from) == DType::kF32 && IsExactBf16(a.e);
      return ConvertCode(Text(n.args[0], hoist), from, exact ? Computed(e.dtype) : e.dtype, e.saturate);
    }
    default: break;
  }
  CheckFailed(__FILE__, __LINE__, "lowered expression", ToString(n.e));
}

std::string ExprCode::Read(const Node& n, bool hoist) {
  const DType stored = n.e->dtype;
  const std::string index = Bare(Arg(n.args[0], DType::kIndex, hoist));
  return LoadCode(stored, env_.Element(n.e->name, apart_.empty() ? index : index + " + " + apart_));
}

// gcc 12 takes neighbouring reads under different conditions for reads under one, where it makes vectors of several iterations
// (conditional_reads_test). So in a loop of lanes it is not to see that they are neighbours, and no other loop becomes vectors.
std::string ExprCode::Choice(const std::string& cond, int a, int b) {
  if (!ReadsYet(a) && !ReadsYet(b)) return cond;
  if (!w_.in_lanes()) return AloneCode(Bare(cond), w_);
  if (const int k = w_.NextChoice()) apart_ = "hr_apart[" + std::to_string(k % 8) + "]";
  return cond;
}

// A condition and two sides. Safe sides are computed up front and blended, so that loops vectorise.
std::string ExprCode::Select(int id, int c, int a, int b, bool hoist) {
  const std::string before = apart_, cond = Choice(Arg(c, DType::kBool, hoist), a, b);
  const std::string text = Sides(id, cond, a, b, hoist);
  apart_ = before;
  return text;
}

std::string ExprCode::Sides(int id, const std::string& cond, int a, int b, bool hoist) {
  const DType t = nodes_[id].type;
  const bool guard = IsFn(nodes_[id].e, kGuardFn);
  const bool early = nodes_[a].safe && !(env_.reads_stay_in_choices && ReadsYet(a));
  const bool lazy = !early || !nodes_[b].safe;
  if (guard) {  // the address is harmless to compute, the read is not
    if (hoist && nodes_[a].e.Is(ExprKind::kRead) && nodes_[nodes_[a].args[0]].safe) Text(nodes_[a].args[0], true);
    const std::string read = Arg(a, t, false);
    return "(" + cond + " ? " + read + " : " + Arg(b, t, hoist && nodes_[b].safe) + ")";
  }
  if (const int from = nodes_[a].e.Is(ExprKind::kRead) ? nodes_[a].args[0] : -1; !early && hoist && from >= 0)
    if (nodes_[from].safe && !ReadsYet(from)) Text(from, true);
  if (lazy && hoist && nodes_[a].size + nodes_[b].size > kStyle.choice_operations) {
    const std::string name = "t" + std::to_string(env_.next_temp++);
    w_.Line(std::string(ValueType(t)) + " " + name + ";");
    for (int side : {a, b}) {
      std::vector<std::string> locals;
      for (const Node& n : nodes_) locals.push_back(n.local);
      if (side == a) w_.Open("if (" + Bare(cond) + ") {");
      else w_.Open("else {");
      w_.Line(name + " = " + Bare(Arg(side, t, true)) + ";");
      w_.Close();
      for (size_t i = 0; i < locals.size(); ++i) nodes_[i].local = locals[i];
    }
    nodes_[id].local = name;
    return name;
  }
  return "(" + cond + " ? " + Arg(a, t, hoist && early) + " : " + Arg(b, t, hoist && nodes_[b].safe) + ")";
}

bool ExprCode::ReadsYet(int id) const {
  std::vector<int> open = {id};
  std::vector<bool> seen(nodes_.size());
  while (!open.empty()) {
    const Node& n = nodes_[open.back()];
    open.pop_back();
    if (!n.local.empty()) continue;
    if (n.e.Is(ExprKind::kRead)) return true;
    for (int a : n.args)
      if (!seen[a]) seen[a] = true, open.push_back(a);
  }
  return false;
}

bool ExprCode::NonNegative(const Expr& e) {
  if (!IsIndexExpr(e)) return false;
  const Interval b = BoundsOf(e, env_.Known());
  return b.lo && *b.lo >= 0;
}

std::string ExprCode::Binary(const Node& n, bool hoist) {
  const Op op = n.e->op;
  const std::string token = " " + std::string(OpToken(op)) + " ";
  if (op == Op::kAnd || op == Op::kOr) {
    const bool safe = nodes_[n.args[1]].safe;
    const std::string a = Arg(n.args[0], DType::kBool, hoist), b = Arg(n.args[1], DType::kBool, hoist && safe);
    return "(" + a + (safe ? (op == Op::kAnd ? " & " : " | ") : token) + b + ")";
  }
  if (IsComparison(op)) {
    const Node &x = nodes_[n.args[0]], &y = nodes_[n.args[1]];
    DType t = IsUntyped(x.type) && !IsUntyped(y.type) && !(x.type == DType::kReal && !IsFloat(y.type))
                  ? Computed(y.type)
              : IsUntyped(y.type) && !IsUntyped(x.type) && !(y.type == DType::kReal && !IsFloat(x.type))
                  ? Computed(x.type)
                  : Meet(x.type, y.type);
    const std::string a = Arg(n.args[0], t, hoist), b = Arg(n.args[1], t, hoist);
    return "(" + a + token + b + ")";
  }
  const DType t = Computed(n.type);
  if (op == Op::kShl || op == Op::kShr) {
    const std::string a = Arg(n.args[0], n.type, hoist), b = Arg(n.args[1], DType::kIndex, hoist);
    const char* fn = op == Op::kShl ? "hr_shl" : IsSigned(t) ? "hr_shr" : "hr_ushr";
    return ConvertCode(std::string(fn) + "(" + a + ", " + b + ")", DType::kI64, n.type);
  }
  const std::string a = Arg(n.args[0], n.type, hoist), b = Arg(n.args[1], n.type, hoist);
  if (op == Op::kBitAnd || op == Op::kBitOr || op == Op::kBitXor) {
    const std::string s = "(" + a + token + b + ")";
    return t == DType::kBool                 ? "(bool)" + s
           : IsInteger(t) && ByteSize(t) < 4 ? std::string("(") + ValueType(t) + ")" + s
                                             : s;
  }
  if (t == DType::kBool) return ConvertCode("((int)" + a + token + "(int)" + b + ")", DType::kI32, t);
  if (IsComplex(t)) return "(" + a + token + b + ")";
  if (IsFloat(t)) {
    if (op == Op::kFloorDiv) return "hr_floor(" + a + " / " + b + ")";
    if (op == Op::kMod) return "hr_mod(" + a + ", " + b + ")";
    return "(" + a + token + b + ")";
  }
  const bool is_index = n.type == DType::kIndex;
  if (op == Op::kDiv || op == Op::kFloorDiv || op == Op::kMod) {
    const Expr& divisor = n.e->args[1];
    const bool positive = divisor.Is(ExprKind::kInt)
                              ? divisor->ivalue > 0
                              : IsIndexExpr(divisor) && BoundsOf(divisor, env_.Known()).lo.value_or(0) > 0;
    if (positive && (op == Op::kDiv || !IsSigned(t) || (is_index && NonNegative(n.e->args[0])))) {
      return std::string(is_index || ByteSize(t) >= 4 ? "(" : std::string("(") + ValueType(t) + ")(") + a +
             (op == Op::kMod ? " % " : " / ") + b + ")";
    }
    const char* fn = IsSigned(t) ? (op == Op::kDiv   ? "hr_div_trunc"
                                    : op == Op::kMod ? "hr_floor_mod"
                                                     : "hr_floor_div")
                                 : (op == Op::kMod ? "hr_umod" : "hr_udiv");
    const std::string call = std::string(fn) + "(" + a + ", " + b + ")";
    return ByteSize(t) == 8 ? call : ConvertCode(call, DType::kI64, n.type);
  }
  if (is_index) return "(" + a + token + b + ")";
  const std::string u = ByteSize(t) == 8 ? "(uint64_t)" : "(uint32_t)";
  const bool sub = t == DType::kU2 || t == DType::kI2 || t == DType::kU4 || t == DType::kI4;
  const std::string s = "(" + u + a + token + u + b + ")";
  return sub ? ConvertCode("(int64_t)" + s, DType::kI64, t) : "(" + std::string(ValueType(t)) + ")" + s;
}

std::string ExprCode::Bad(const Node& n, bool hoist) {
  const size_t rank = n.args.size() / 2;
  std::string index, shape;
  for (size_t d = 0; d < rank; ++d) {
    index += (d ? ", " : "") + Arg(n.args[d], DType::kIndex, hoist);
    shape += (d ? ", " : "") + Arg(n.args[rank + d], DType::kIndex, hoist);
  }
  const std::string zero =
      IsComplex(n.type) ? std::string(ValueType(n.type)) + "{0, 0}" : std::string("(") + ValueType(n.type) + ")0";
  const std::string ints = "hr_ints<" + std::to_string(std::max<size_t>(1, rank)) + ">{";
  return "(hr_bad(" + env_.Context() + ", \"" + n.e->text + "\", " + ints + index + "}, " + ints + shape + "}), " +
         zero + ")";
}

std::string ExprCode::Call(const Node& n, bool hoist) {
  const std::string_view name = n.e->name.view();
  if (name == kGuardFn) return Select(Number(n.e), n.args[0], n.args[1], n.args[2], hoist);
  if (name == kBadFn) return Bad(n, false);
  if (name == kLocalFn) return n.e->text;
  if (name == kPresentFn) return "(" + env_.Pointer(Name(n.e->text)) + " != nullptr)";
  auto list = [&](DType t) {
    std::string s;
    for (size_t i = 0; i < n.args.size(); ++i) s += (i ? ", " : "") + Bare(Arg(n.args[i], t, hoist));
    return s;
  };
  if (name == kTripFn) return "hr_trip(" + list(DType::kIndex) + ")";
  const FunctionInfo* info = headrace::FindFunction(name);
  HR_CHECK(info != nullptr, std::string(name));
  const std::string fn = "hr_" + std::string(name);
  DType t = Computed(n.type);
  switch (info->type) {
    case FnType::kPredicate: return fn + "(" + list(Computed(nodes_[n.args[0]].type)) + ")";
    case FnType::kIndexFn: return ConvertCode(fn + "(" + list(DType::kIndex) + ")", DType::kIndex, t);
    case FnType::kRandom: return ConvertCode(fn + "(" + list(DType::kIndex) + ")", DType::kF32, t);
    default: break;
  }
  if (name == "real" || name == "imag") return fn + "(" + list(Computed(nodes_[n.args[0]].type)) + ")";
  if (name == "abs" && IsComplex(nodes_[n.args[0]].type)) return fn + "(" + list(nodes_[n.args[0]].type) + ")";
  if (name == "complex")
    return "hr_" + std::string(t == DType::kC64 ? "c64{" : "c128{") +
           list(t == DType::kC64 ? DType::kF32 : DType::kF64) + "}";
  if (name == "popcount") {
    const std::string bits = "uint" + std::to_string(8 * ByteSize(t)) + "_t";
    return ConvertCode(fn + "((" + bits + ")(" + list(t) + "))", DType::kI64, t);
  }
  if (IsInteger(t) && (name == "pow" || name == "fmod")) {
    if (name == "pow") return ConvertCode("hr_ipow(" + list(DType::kI64) + ")", DType::kI64, t);
    return ConvertCode(std::string(IsSigned(t) ? "hr_rem_trunc(" : "hr_umod(") + list(t) + ")", DType::kI64, t);
  }
  if (name == "max" || name == "min" || name == "clamp" || name == "sign")
    return fn + "<" + ValueType(t) + ">(" + list(t) + ")";
  // Overloads by C++ type; literals must come in exactly that type.
  std::string s;
  for (size_t i = 0; i < n.args.size(); ++i) {
    std::string a = Arg(n.args[i], t, hoist);
    if (!IsFloat(t) && !IsComplex(t)) a = std::string("(") + ValueType(t) + ")" + a;
    s += (i ? ", " : "") + Bare(a);
  }
  return fn + (name == "exp" && t == DType::kF32 && env_.flushes ? "_flushed(" : "(") + s + ")";
}

}  // namespace headrace::cpu
