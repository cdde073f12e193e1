// Questions about index sets. A cheap syntactic answer first, then isl (per-thread context with an operation limit).
// Truth::kUnknown counts as overlap and never as coverage or injectivity.
#pragma once
#include <vector>

#include "ir/expr/expr.h"
#include "ir/graph/graph.h"

namespace headrace {

struct Subset {
  std::vector<Range> dims;
};  // one begin:end:step per dimension; Range::index unused
Subset FullSubset(const std::vector<Expr>& shape);
std::string ToString(const Subset& s);

Truth Overlaps(const Subset& a, const Subset& b, const Assumptions& as = {});
Truth Covers(const Subset& outer, const Subset& inner, const Assumptions& as = {});  // inner ⊆ outer
// Do distinct points of the ranges give distinct index vectors? (races, scatter without atomics)
Truth IsInjective(const std::vector<Range>& ranges, const std::vector<Expr>& index, const Assumptions& as = {});
// Is `index` within [0, shape) for every point of the ranges?
Truth WithinBounds(const std::vector<Range>& ranges, const std::vector<Expr>& index, const std::vector<Expr>& shape,
                   const Assumptions& as = {});
// The box that `index` sweeps over the ranges (exact = every element of the box is hit).
struct Box {
  Subset subset;
  bool exact = false;
};
Box ImageBox(const std::vector<Range>& ranges, const std::vector<Expr>& index, const std::vector<Expr>& shape,
             const Assumptions& as = {});

}  // namespace headrace
