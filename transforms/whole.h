// What goes over all elements of an array.
#pragma once
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::transforms {

// `c` has the elements of its root, all of them and in their order.
bool ShowsAll(const Sdfg& s, const Container& c);
// In `m` the element of `c` at `index` is another one in each iteration, and all of them in the end: a dimension has a range of its own,
// from its first element to its last, or one element.
bool HasOneEach(const Container& c, const Map& m, const std::vector<Expr>& index);
// The dimension whose elements lie side by side in memory; -1: it has none.
int Innermost(const Container& c);

}  // namespace headrace::transforms
