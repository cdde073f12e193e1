#include "ir/graph/memory_order.h"

#include "ir/graph/graph.h"

namespace headrace {

MemoryOrder::MemoryOrder(std::vector<int> outermost_first) : dims_(std::move(outermost_first)) {
  bool identity = true;
  for (size_t i = 0; i < dims_.size(); ++i) identity &= dims_[i] == static_cast<int>(i);
  if (identity) dims_.clear();
}

bool MemoryOrder::Fits(size_t rank) const {
  if (row_major()) return true;
  std::vector<bool> seen(rank);
  for (int d : dims_) {
    if (d < 0 || static_cast<size_t>(d) >= rank || seen[static_cast<size_t>(d)]) return false;
    seen[static_cast<size_t>(d)] = true;
  }
  return dims_.size() == rank;
}

std::vector<Expr> MemoryOrder::Strides(const std::vector<Expr>& shape) const {
  if (row_major()) return RowMajorStrides(shape);
  std::vector<Expr> turned, strides(shape.size());
  for (int d : dims_) turned.push_back(shape[static_cast<size_t>(d)]);
  turned = RowMajorStrides(turned);
  for (size_t i = 0; i < dims_.size(); ++i) strides[static_cast<size_t>(dims_[i])] = turned[i];
  return strides;
}

MemoryOrder MemoryOrder::WithoutFirst(size_t n) const {
  std::vector<int> out;
  for (int d : dims_)
    if (d >= static_cast<int>(n)) out.push_back(d - static_cast<int>(n));
  return MemoryOrder(std::move(out));
}

MemoryOrder MemoryOrder::Behind(size_t n) const {
  if (row_major()) return {};
  std::vector<int> out;
  for (size_t d = 0; d < n; ++d) out.push_back(static_cast<int>(d));
  for (int d : dims_) out.push_back(d + static_cast<int>(n));
  return MemoryOrder(std::move(out));
}

}  // namespace headrace
