// A range cut into parts of one length, which is known; the last one may be shorter.
#pragma once
#include <vector>

#include "transforms/schedule/channels.h"

namespace headrace::schedule {

struct Parts {
  Range whole;
  int64_t length = 1;
  Name first;  // the index of a part's first; none: there is but one
  Expr by = {};  // the length where that is known when it runs, at least `length`; null: that
  Expr step() const { return by ? by : Expr(length); }
  bool one() const { return length >= LengthOf(whole); }
  Expr begin() const { return one() ? Expr(0) : SymbolExpr(first); }
  Range Within(Name index, int64_t step) const {
    if (one()) return {index, Expr(0), whole.end, Expr(step)};
    return {index, SymbolExpr(first), Min(SymbolExpr(first) + this->step(), whole.end), Expr(step)};
  }
  void AddTo(std::vector<Range>* units) const {
    if (!one()) units->push_back({first, Expr(0), whole.end, step()});
  }
};

}  // namespace headrace::schedule
