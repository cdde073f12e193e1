// Parts of ranges, `i in i0:+g` under `i0 in a:b:g`, as sets see them: the two are one index.
#pragma once
#include <vector>

#include "ir/graph/graph.h"

namespace headrace {

// Whether `inner` runs over one part of `outer` or a stretch of it: begins at its index or later, ends a step later, where
// it ends, or before. A cyclic part, `i in t:b:g` under `t in a:a+g`, is one, too.
bool IsPartOf(const Range& inner, const Range& outer);

struct OrderedRange {
  Range range;
  bool ordered = false;  // its iterations come in their order
};
// Ranges (outermost first) and indices with every part taken as what it is of: where the indices speak of the part alone it
// runs over the whole range; where they speak of its begin, too, it counts from there (i = i0 + u, u in 0:g).
// A range is ordered if both were.
void JoinParts(std::vector<OrderedRange>* ranges, const std::vector<std::vector<Expr>*>& indices);

// Ranges that count up by numbers times something: `i in 0:1024:256 * m` becomes 256 * i, i in 0:4, which are more points, and
// shows of what i is a multiple. For what holds of all points.
void CountSteps(std::vector<OrderedRange>* ranges, const std::vector<std::vector<Expr>*>& indices, const Assumptions& as);

}  // namespace headrace
