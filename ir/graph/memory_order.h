// The order of a container's dimensions in memory. Text: `layout [d0, d2, d3, d1]`, outermost first.
#pragma once
#include <vector>

#include "ir/expr/expr.h"

namespace headrace {

// A value of its own, not a list of strides, so that it holds for whatever sizes the container has or gets. Row-major is
// the empty one: nothing is stored or printed for what nearly all containers have. Only whole dimensions are ordered so
// far; parts of them (blocks of channels) would be further kinds of entries, and ask nothing else of whoever takes strides.
class MemoryOrder {
 public:
  MemoryOrder() = default;
  explicit MemoryOrder(std::vector<int> outermost_first);  // the identity is row-major

  bool row_major() const { return dims_.empty(); }
  const std::vector<int>& dims() const { return dims_; }
  bool Fits(size_t rank) const;  // row-major, or each of `rank` dimensions once
  std::vector<Expr> Strides(const std::vector<Expr>& shape) const;  // must fit
  // The order of what is left when the first `n` dimensions are fixed, or are put before it.
  MemoryOrder WithoutFirst(size_t n) const;
  MemoryOrder Behind(size_t n) const;

  friend bool operator==(const MemoryOrder& a, const MemoryOrder& b) { return a.dims_ == b.dims_; }
  friend bool operator!=(const MemoryOrder& a, const MemoryOrder& b) { return !(a == b); }

 private:
  std::vector<int> dims_;
};

}  // namespace headrace
