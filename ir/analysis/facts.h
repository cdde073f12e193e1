// What conditions say where they hold: `i < 12 ? A[i] : B[i - 12]` reads A at i in 0:12, and B from i = 12 on.
#pragma once
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace {

// The terms that hold where `condition` does, or where it doesn't (`holds` = false): those of a conjunction, the opposites of
// those of a disjunction.
void AddFacts(const Expr& condition, bool holds, std::vector<Expr>* facts);
// The ranges (outermost first), cut to where the comparisons of sizes and indices among the facts hold.
std::vector<Range> CutByFacts(std::vector<Range> ranges, const std::vector<Expr>& facts);

// The value of a condition on sizes, where it has only one; a null one is true.
std::optional<bool> Decide(const Expr& condition, const Assumptions& as);

}  // namespace headrace
