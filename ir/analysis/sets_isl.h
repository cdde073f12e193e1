// The isl side of sets.h, private to ir/: sets of integer points over symbols, per-thread contexts, an operation limit.
#pragma once
#include <vector>

#include "ir/analysis/sets.h"

namespace headrace::isl_sets {

// Each answers kUnknown where an expression is not affine in its indices, or when isl gives up.
Truth Overlaps(const Subset& a, const Subset& b, const Assumptions& as);
Truth Covers(const Subset& outer, const Subset& inner, const Assumptions& as);
Truth IsInjective(const std::vector<Range>& ranges, const std::vector<Expr>& index, const Assumptions& as);
Truth WithinBounds(const std::vector<Range>& ranges, const std::vector<Expr>& index, const std::vector<Expr>& shape,
                   const Assumptions& as);

}  // namespace headrace::isl_sets
