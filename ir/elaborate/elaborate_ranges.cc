// What ranges prove: that a read stays inside (its guard goes), that a condition always holds (its branch goes).
#include "ir/elaborate/elaborate_internal.h"

namespace headrace {
namespace elaborate {

const Interval2* FindRange(const Ranges& r, Name n) {
  for (const auto& [name, range] : r)
    if (name == n) return &range;
  return nullptr;
}

namespace {

Assumptions WithRanges(const Ranges& r, const Assumptions& as) {
  Assumptions out = as;
  for (const auto& [name, range] : r) {
    Interval lo = BoundsOf(range.begin, as), hi = BoundsOf(range.end, as);
    Interval i;
    i.lo = lo.lo;
    if (hi.hi) i.hi = *hi.hi - 1;
    bool found = false;
    for (auto& [n, bound] : out.bounds) {
      if (n != name) continue;
      bound = i;
      found = true;
    }
    if (!found) out.bounds.push_back({name, i});
  }
  return out;
}

// e with every index at the end of its range that makes e largest (or smallest); null when e is not monotone in one.
Expr Extreme(Expr e, const Ranges& r, const Assumptions& bounds, bool largest) {
  if (!IsIndexExpr(e)) return {};
  for (Name n : FreeSymbols(e)) {
    const Interval2* range = FindRange(r, n);
    if (!range) continue;
    Expr slope = Substitute(e, {{n, SymbolExpr(n) + IntExpr(1)}}) - e;
    Interval b = BoundsOf(slope, bounds);
    const bool up = b.lo && *b.lo >= 0, down = b.hi && *b.hi <= 0;
    if (!up && !down) return {};
    e = Substitute(e, {{n, up == largest ? range->end - IntExpr(1) : range->begin}});
  }
  return e;
}

}  // namespace

namespace {

// 0 <= e, knowing that some point of the ranges exists: each is at least 1 long.
bool Natural(const Expr& e, const Ranges& r, const Assumptions& as) {
  if (ProveLe(IntExpr(0), e, as) == Truth::kYes) return true;
  for (const auto& [n, range] : r) {
    if (!IsIndexExpr(range.begin) || !IsIndexExpr(range.end) || AsInt(range.end - range.begin)) continue;
    if (ProveLe(range.end - range.begin - IntExpr(1), e, as) == Truth::kYes) return true;
  }
  return false;
}

}  // namespace

bool ProvablyAtLeast(const Expr& e, const Expr& lo, const Ranges& r, const Assumptions& as) {
  if (!IsIndexExpr(e) || !IsIndexExpr(lo)) return false;
  Assumptions all = WithRanges(r, as);
  if (ProveLe(lo, e, all) == Truth::kYes) return true;
  Expr least = Extreme(e - lo, r, all, false);
  return least && Natural(least, r, as);
}

bool ProvablyAtMost(const Expr& e, const Expr& hi, const Ranges& r, const Assumptions& as) {
  if (!IsIndexExpr(e) || !IsIndexExpr(hi)) return false;
  Assumptions all = WithRanges(r, as);
  if (ProveLe(e, hi, all) == Truth::kYes) return true;
  Expr most = Extreme(e - hi, r, all, true);
  return most && Natural(IntExpr(0) - most, r, as);
}

bool InsideBounds(const std::vector<Expr>& index, const std::vector<Expr>& shape, const Ranges& r,
                  const Assumptions& as) {
  for (size_t i = 0; i < index.size(); ++i) {
    if (const Interval2* range = index[i].Is(ExprKind::kSymbol) ? FindRange(r, index[i]->name) : nullptr) {
      if (AsInt(range->begin) == 0 && range->end == shape[i]) continue;
    }
    if (!ProvablyAtLeast(index[i], IntExpr(0), r, as) || !ProvablyAtMost(index[i], shape[i] - IntExpr(1), r, as))
      return false;
  }
  return true;
}

Expr Refine(const Sdfg& s, const Expr& root, const Ranges& r, const Assumptions& as) {
  Assumptions all = WithRanges(r, as);
  return Transform(root, [&](const Expr& e) -> Expr {
    if (e.Is(ExprKind::kRead) && e->has_default && !e->flat) {
      std::vector<Expr> index(e->args.begin(), e->args.end() - 1);
      if (InsideBounds(index, s.Get(e->name).shape, r, as)) {
        ExprNode n = *e;
        n.has_default = false;
        n.args = std::move(index);
        return Expr(std::move(n));
      }
    }
    if (e.Is(ExprKind::kBinary) && IsIndexExpr(e->args[0]) && IsIndexExpr(e->args[1])) {
      const Expr &a = e->args[0], &b = e->args[1], one = IntExpr(1);
      switch (e->op) {
        case Op::kLt:
          if (ProvablyAtMost(a, b - one, r, as)) return BoolExpr(true);
          if (ProvablyAtLeast(a, b, r, as)) return BoolExpr(false);
          break;
        case Op::kLe:
          if (ProvablyAtMost(a, b, r, as)) return BoolExpr(true);
          if (ProvablyAtLeast(a, b + one, r, as)) return BoolExpr(false);
          break;
        case Op::kGt:
          if (ProvablyAtLeast(a, b + one, r, as)) return BoolExpr(true);
          if (ProvablyAtMost(a, b, r, as)) return BoolExpr(false);
          break;
        case Op::kGe:
          if (ProvablyAtLeast(a, b, r, as)) return BoolExpr(true);
          if (ProvablyAtMost(a, b - one, r, as)) return BoolExpr(false);
          break;
        case Op::kEq:
        case Op::kNe:
          if (Truth t = ProveEq(a, b, all); t != Truth::kUnknown)
            return BoolExpr((t == Truth::kYes) == (e->op == Op::kEq));
          break;
        default: break;
      }
      if (e->op >= Op::kEq && e->op <= Op::kGe) return e;
    }
    // o // M with o < M is 0, o % M is o; a clamp that ranges decide goes.
    if (e.Is(ExprKind::kBinary) && (e->op == Op::kFloorDiv || e->op == Op::kMod) && IsIndexExpr(e)) {
      const Expr &a = e->args[0], &b = e->args[1];
      if (ProvablyAtLeast(a, IntExpr(0), r, as) && ProvablyAtMost(a, b - IntExpr(1), r, as))
        return e->op == Op::kMod ? a : IntExpr(0);
    }
    if (e.Is(ExprKind::kCall) && e->args.size() == 2 && (e->name == Name("min") || e->name == Name("max")) &&
        IsIndexExpr(e)) {
      const bool max = e->name == Name("max");
      for (int i = 0; i < 2; ++i)
        if (ProvablyAtLeast(e->args[i], e->args[1 - i], r, as)) return e->args[max ? i : 1 - i];
    }
    if (e.Is(ExprKind::kBinary) && (e->op == Op::kAnd || e->op == Op::kOr))
      return FoldBinary(e->op, e->args[0], e->args[1], all);
    if (e.Is(ExprKind::kUnary) && e->op == Op::kNot) return FoldUnary(e->op, e->args[0]);
    if (e.Is(ExprKind::kSelect)) return FoldSelect(e->args[0], e->args[1], e->args[2]);
    return e;
  });
}

}  // namespace elaborate
}  // namespace headrace
