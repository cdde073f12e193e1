// Internal to ir/analysis: what ranges and index expressions reach, by their form alone.
#pragma once
#include <vector>

#include "ir/expr/expr.h"
#include "ir/graph/graph.h"

namespace headrace {

Expr StepOf(const Range& r);  // 1 where none is written
bool IsUnitStep(const Range& r);
bool IsPoint(const Range& r);  // one value, seen without assumptions
bool MentionsAny(const Expr& e, const std::vector<Range>& ranges);  // an index of theirs

// Last value a range takes at most, and first at least; inclusive. Null for steps of unknown sign.
struct Hull {
  Expr lo, hi;
};
Hull HullOf(const Range& r, const Assumptions& as);

// e = Σ coefficient·index + rest, coefficients free of the indices.
struct LinearForm {
  std::vector<Expr> coefficients;
  Expr rest;
};
bool LinearIn(const Expr& e, const std::vector<Range>& ranges, LinearForm* out);

// Inside a map every range has a point, so an index's range being non-empty says its bounds are ordered: extents are ≥ 1.
// That makes symbolic strides such as N in i*N + j positive.
Assumptions WithNonEmptyRanges(const std::vector<Range>& ranges, const Assumptions& as);

}  // namespace headrace
