// Do distinct iterations reach distinct elements?
#include <algorithm>

#include "ir/analysis/ranges.h"
#include "ir/analysis/sets.h"
#include "ir/analysis/sets_isl.h"

namespace headrace {
namespace {

// `e` or what it is at most (at least), without the indices: null where nothing says so.
Expr Without(const std::vector<Range>& ranges, const Expr& e, bool at_most) {
  if (!MentionsAny(e, ranges)) return e;
  if (!e.Is(ExprKind::kCall) || e->name != Name(at_most ? "min" : "max")) return {};
  Expr out;
  for (const Expr& a : e->args)
    if (const Expr x = Without(ranges, a, at_most)) out = !out ? x : at_most ? Min(out, x) : Max(out, x);
  return out;
}

// An index as a digit of a number: by how much its values differ at least, and at most. No spread: not known.
struct Digit {
  int64_t step = 1;
  Expr spread;
};
Digit DigitOf(const Range& r, const std::vector<Range>& ranges, const Assumptions& as) {
  const int64_t step = AsInt(StepOf(r)).value_or(0);
  if (step < 1) {
    const Hull h = HullOf(r, as);
    return {1, h.lo && !MentionsAny(h.lo, ranges) && !MentionsAny(h.hi, ranges) ? h.hi - h.lo : Expr()};
  }
  // Where the first value moves, two may be nearer than a step.
  const Expr first = Without(ranges, r.begin, /*at_most=*/false), end = Without(ranges, r.end, /*at_most=*/true);
  if (!first || !end) return {};
  const Expr spread = end - first - Expr(1);
  if (first != r.begin) return {1, spread};
  const auto known = AsInt(spread);
  return {step, known && *known >= 0 ? Expr(*known / step * step) : spread};
}

// Injectivity by elimination: an index is determined once some position fixes it given the determined ones. Positions
// that hold several undetermined indices count when they are a mixed-radix number (i*N + j with 0 ≤ j < N).
Truth InjectiveByElimination(const std::vector<Range>& ranges, const std::vector<Expr>& index, const Assumptions& as) {
  std::vector<bool> known(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) known[i] = IsPoint(ranges[i]);
  // x // n and x % n together determine x (coordinates of a flat offset).
  std::vector<Expr> given = index;
  for (size_t i = 0; i < given.size() && given.size() < 32; ++i) {
    for (size_t j = 0; j < given.size(); ++j) {
      const Expr m = given[j];
      if (!m.Is(ExprKind::kBinary) || m->op != Op::kMod) continue;
      const Expr x = m->args[0], n = m->args[1];
      bool quotient = FloorDiv(x, n) == given[i];
      if (!quotient && x.Is(ExprKind::kBinary) && x->op == Op::kFloorDiv)  // x = a // c: then x // n is a // (c*n)
        quotient = FloorDiv(x->args[0], x->args[1] * n) == given[i];
      if (!quotient) continue;
      if (std::find(given.begin(), given.end(), m->args[0]) == given.end()) given.push_back(m->args[0]), i = 0;
    }
  }
  std::vector<LinearForm> forms;
  for (const Expr& e : given) {
    LinearForm f;
    if (LinearIn(e, ranges, &f)) forms.push_back(std::move(f));
  }
  std::vector<Digit> digits;
  for (const Range& r : ranges) digits.push_back(DigitOf(r, ranges, as));
  for (bool progress = true; progress;) {
    progress = false;
    for (const LinearForm& f : forms) {
      std::vector<size_t> open;
      for (size_t i = 0; i < ranges.size(); ++i)
        if (!known[i] && !(AsInt(f.coefficients[i]) == 0)) open.push_back(i);
      if (open.empty()) continue;
      auto nonzero = [&](const Expr& c) {
        Interval b = BoundsOf(c, as);
        return (b.lo && *b.lo > 0) || (b.hi && *b.hi < 0);
      };
      auto magnitude = [&](size_t i) {
        const Expr& c = f.coefficients[i];
        Interval b = BoundsOf(c, as);
        if (b.lo && *b.lo >= 0) return c;
        if (b.hi && *b.hi <= 0) return Expr(0) - c;
        return Expr();
      };
      auto least = [&](size_t i) { return magnitude(i) * Expr(digits[i].step); };  // two values of the index differ by that, or more
      auto most = [&](size_t i) { return magnitude(i) * digits[i].spread; };       // and by that at most
      if (open.size() == 1) {
        size_t i = open[0];
        // A symbolic coefficient that is ≥ 0 may still be 0; extents of such symbols being 0 leaves no iteration at all.
        if (!nonzero(f.coefficients[i])) continue;
        known[i] = progress = true;
        continue;
      }
      // Mixed radix: order by magnitude; each step must be more than what all smaller digits reach together.
      bool ok = true;
      for (size_t i : open) ok &= magnitude(i) && digits[i].spread;
      if (!ok) continue;
      std::vector<size_t> order;
      std::vector<size_t> rest = open;
      Expr reach(0);  // largest sum of the digits placed so far
      while (ok && !rest.empty()) {
        size_t best = rest.size();
        for (size_t k = 0; k < rest.size() && best == rest.size(); ++k) {
          Expr m = least(rest[k]);
          if (ProveLe(reach + Expr(1), m, as) != Truth::kYes) continue;
          bool smallest = true;
          for (size_t o = 0; o < rest.size(); ++o)
            if (o != k && ProveLe(m, least(rest[o]), as) != Truth::kYes &&
                ProveLe(reach + most(rest[k]) + Expr(1), least(rest[o]), as) != Truth::kYes)
              smallest = false;
          if (smallest) best = k;
        }
        if (best == rest.size()) {
          ok = false;
          break;
        }
        reach = reach + most(rest[best]);
        rest.erase(rest.begin() + best);
      }
      if (!ok) continue;
      for (size_t i : open) known[i] = true;
      progress = true;
    }
  }
  return std::all_of(known.begin(), known.end(), [](bool k) { return k; }) ? Truth::kYes : Truth::kUnknown;
}

}  // namespace

Truth IsInjective(const std::vector<Range>& ranges, const std::vector<Expr>& index, const Assumptions& as) {
  // Usual case first: every index stands bare somewhere.
  bool bare = true;
  for (const Range& r : ranges) {
    bool found = false;
    for (const Expr& e : index) found |= e.Is(ExprKind::kSymbol) && e->name == r.index;
    bare &= found;
  }
  if (bare) return Truth::kYes;
  for (const Expr& e : index)
    if (!IsIndexExpr(e)) return Truth::kUnknown;
  // An index that no position mentions repeats every element, as soon as its range has two points.
  for (const Range& r : ranges) {
    bool used = false;
    for (const Expr& e : index)
      Visit(e, [&](const Expr& x) {
        used |= x.Is(ExprKind::kSymbol) && x->name == r.index;
        return !used;
      });
    if (used || IsPoint(r)) continue;
    Hull h = HullOf(r, as);
    if (h.lo && ProveLe(h.lo + Expr(1), h.hi, as) == Truth::kYes) return Truth::kNo;
    if (h.lo && ProveLe(h.hi, h.lo, as) == Truth::kYes) continue;
    return Truth::kUnknown;
  }
  if (InjectiveByElimination(ranges, index, WithNonEmptyRanges(ranges, as)) == Truth::kYes) return Truth::kYes;
  return isl_sets::IsInjective(ranges, index, as);
}

}  // namespace headrace
