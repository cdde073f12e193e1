// Parts of ranges: what stays in one meets no other.
#include <algorithm>

#include "ir/analysis/layout.h"
#include "ir/verify/verify_impl.h"

namespace headrace::verify {

bool LiesInPart(const Expr& index, const Range& part, const std::vector<Range>& all, const Assumptions& as) {
  const auto step = [](const Range& r) { return r.step ? r.step : Expr(1); };
  const auto divides = [&](const Range& r, const Range& of) { return AsInt(Mod(step(of), step(r))) == 0; };
  const auto ends_in = [&](const Range& r, const Range& of) {
    return ProveLe(r.end, SymbolExpr(of.index) + step(of), as) == Truth::kYes;
  };
  for (const Range& r : all) {
    const Expr beyond = Simplify(index - SymbolExpr(r.index));
    if (Mentions(beyond, r.index) || !UnprovenSides(all, beyond, step(r), as).none()) continue;
    bool within = true;
    const Range* at = &r;
    while (at->index != part.index) {
      const auto of = std::find_if(all.begin(), all.end(), [&](const Range& o) {
        return &o != at && at->begin == SymbolExpr(o.index) && divides(r, o);
      });
      if (of == all.end()) break;
      within = (within && divides(*at, *of) && ends_in(*at, *of)) || ends_in(r, *of);
      at = &*of;
    }
    if (within && at->index == part.index) return true;
  }
  return false;
}

}  // namespace headrace::verify
