// Where elements lie in memory: strides, views, offsets.
#pragma once
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace {

bool IsContiguous(const Container& c);    // row-major without gaps
Result<Tensor> InMemory(const Container& constant);  // its data as the elements lie in memory: turned where it has an order
Expr MemoryExtent(const Container& c);    // elements from its first to its last one in memory
// Whether a view's elements all lie in its base, as far as sizes and assumptions show.
bool LiesInside(const Sdfg& s, const Container& view);

// The element that an access means, counted in memory from the first one of the container that holds it.
struct Offset {
  Name root;
  Expr elements;  // null where an index is more than arithmetic on sizes and indices
};
Offset OffsetOf(const Sdfg& s, Name container, const std::vector<Expr>& index, bool flat = false);

bool Mentions(const Expr& e, Name symbol);
// c such that e = e(index = 0) + c * index, c free of `index`; nullopt when e is not of that form.
std::optional<Expr> Coefficient(const Expr& e, Name index);

// What is not proven of `index` within [0, extent) for all points of the ranges.
struct Sides {
  bool lower = false, upper = false;
  bool none() const { return !lower && !upper; }
};
Sides UnprovenSides(const std::vector<Range>& ranges, const Expr& index, const Expr& extent, const Assumptions& as);

}  // namespace headrace
