#include <algorithm>

#include "backends/interpreter/compile_expr.h"

namespace headrace::interpreter {

int SymbolOf(SdfgPlan& plan, Name n) {
  auto [it, fresh] = plan.symbol_of.emplace(n, static_cast<int>(plan.symbols.size()));
  if (fresh) plan.symbols.push_back(n);
  return it->second;
}

namespace {

bool Append(SdfgPlan& plan, const Expr& e, const std::vector<Name>& lanes, IndexExpr* out) {
  auto all = [&] {
    for (const Expr& a : e->args)
      if (!Append(plan, a, lanes, out)) return false;
    return true;
  };
  switch (e->kind) {
    case ExprKind::kInt:
    case ExprKind::kBool:
      if (IsFloat(e->dtype) || IsComplex(e->dtype)) return false;
      out->push_back({IndexKind::kConst, Op::kNone, e->ivalue});
      return true;
    case ExprKind::kSymbol:
      if (IsFloat(e->dtype) || IsComplex(e->dtype) || std::count(lanes.begin(), lanes.end(), e->name)) return false;
      out->push_back({IndexKind::kSymbol, Op::kNone, SymbolOf(plan, e->name)});
      return true;
    case ExprKind::kCast:
      // Sizes and 64-bit integers are the same numbers; any narrower type would have to wrap.
      return (e->dtype == DType::kI64 || e->dtype == DType::kIndex) && !IsFloat(e->args[0]->dtype) && all();
    case ExprKind::kUnary:
      if (IsFloat(e->dtype) || !all()) return false;
      out->push_back({IndexKind::kUnary, e->op});
      return true;
    case ExprKind::kBinary: {
      if (e->op == Op::kDiv && e->dtype != DType::kI64) return false;  // exact on sizes: a real
      const bool wide =
          e->dtype == DType::kNone || e->dtype == DType::kIndex || e->dtype == DType::kI64 || e->dtype == DType::kBool;
      if (!wide || !all()) return false;
      out->push_back({IndexKind::kBinary, e->op});
      return true;
    }
    case ExprKind::kSelect:
      if (IsFloat(e->dtype) || !all()) return false;
      out->push_back({IndexKind::kSelect});
      return true;
    case ExprKind::kCall: {
      const auto fn = e->name.view();
      if (IsFloat(e->dtype)) return false;
      IndexKind k;
      if (fn == "min") k = IndexKind::kMin;
      else if (fn == "max") k = IndexKind::kMax;
      else if (fn == "wrap") k = IndexKind::kWrap;
      else if (fn == "reflect") k = IndexKind::kReflect;
      else if (fn == "abs") k = IndexKind::kAbs;
      else return false;
      if (e->args.size() != (k == IndexKind::kAbs ? 1u : 2u) || !all()) return false;
      out->push_back({k});
      return true;
    }
    default: return false;
  }
}

bool IsConst(const IndexExpr& e, int64_t v) {
  return e.empty() ? v == 0 : e.size() == 1 && e[0].kind == IndexKind::kConst && e[0].value == v;
}

IndexExpr Combine(Op op, const IndexExpr& a, const IndexExpr& b) {
  if (op == Op::kAdd && IsConst(a, 0)) return b;
  if ((op == Op::kAdd || op == Op::kSub) && IsConst(b, 0)) return a;
  if (op == Op::kMul && (IsConst(a, 0) || IsConst(b, 0))) return {};
  if (op == Op::kMul && IsConst(a, 1)) return b;
  if (op == Op::kMul && IsConst(b, 1)) return a;
  IndexExpr r = a;
  if (r.empty()) r.push_back({IndexKind::kConst});
  r.insert(r.end(), b.begin(), b.end());
  if (b.empty()) r.push_back({IndexKind::kConst});
  r.push_back({IndexKind::kBinary, op});
  return r;
}

bool AllZero(const std::vector<IndexExpr>& c) {
  return std::all_of(c.begin(), c.end(), [](const IndexExpr& e) { return IsConst(e, 0); });
}

}  // namespace

std::optional<IndexExpr> CompileIndex(SdfgPlan& plan, const Expr& e, const std::vector<Name>& lanes) {
  IndexExpr r;
  if (!e || !Append(plan, e, lanes, &r)) return std::nullopt;
  return r;
}

// base + Σ coef[k] · (block index k), where neither base nor coef mention block indices.
bool ExprCompiler::Affine(const Expr& e, IndexExpr* base, std::vector<IndexExpr>* coef) {
  coef->assign(lanes_.size(), {});
  if (auto uniform = CompileIndex(plan_, e, lanes_)) {
    *base = std::move(*uniform);
    return true;
  }
  if (e->kind == ExprKind::kSymbol) {
    auto it = std::find(lanes_.begin(), lanes_.end(), e->name);
    if (it == lanes_.end() || IsFloat(e->dtype)) return false;
    base->clear();
    (*coef)[it - lanes_.begin()] = {{IndexKind::kConst, Op::kNone, 1}};
    return true;
  }
  const bool wide = e->dtype == DType::kNone || e->dtype == DType::kIndex || e->dtype == DType::kI64;
  if (!wide) return false;
  if (e->kind == ExprKind::kCast) return !IsFloat(e->args[0]->dtype) && Affine(e->args[0], base, coef);
  if (e->kind == ExprKind::kUnary && e->op == Op::kNeg) {
    if (!Affine(e->args[0], base, coef)) return false;
    *base = Combine(Op::kSub, {}, *base);
    for (auto& c : *coef)
      if (!IsConst(c, 0)) c = Combine(Op::kSub, {}, c);
    return true;
  }
  if (e->kind != ExprKind::kBinary || (e->op != Op::kAdd && e->op != Op::kSub && e->op != Op::kMul)) return false;
  IndexExpr b2;
  std::vector<IndexExpr> c2;
  if (!Affine(e->args[0], base, coef) || !Affine(e->args[1], &b2, &c2)) return false;
  if (e->op != Op::kMul) {
    *base = Combine(e->op, *base, b2);
    for (size_t k = 0; k < c2.size(); ++k) (*coef)[k] = Combine(e->op, (*coef)[k], c2[k]);
    return true;
  }
  if (AllZero(*coef)) {
    std::swap(*base, b2);
    std::swap(*coef, c2);
  } else if (!AllZero(c2)) {
    return false;
  }
  *base = Combine(Op::kMul, *base, b2);
  for (auto& c : *coef) c = Combine(Op::kMul, c, b2);
  return true;
}

}  // namespace headrace::interpreter
