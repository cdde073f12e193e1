// To be included instead of Eigen/Core, before the rest of Eigen. Eigen lets eigen_assert be defined, and to throw: here it asks whether
// the run is cancelled, where a block of a matrix is taken, as every step of a factorisation does (other asserts stand at each element).
// Products, which take long as a whole, are cut into columns, for threads (parts.h): this is the place where Eigen, built for OpenMP, gives
// its threads theirs.
#pragma once
#include <string_view>

#include "plugins/linalg/cancel.h"
#include "plugins/linalg/parts.h"

namespace linalg_ops {
// Whether the file is Eigen/src/Core/Block.h.
constexpr bool TakesBlocks(std::string_view file) { return file.size() > 8 && file.substr(file.size() - 8) == "/Block.h"; }
}  // namespace linalg_ops

#define eigen_assert(condition)                                    \
  do {                                                             \
    if constexpr (::linalg_ops::TakesBlocks(__FILE__)) ::linalg_ops::LeaveIfCancelled(); \
  } while (false)

#define EIGEN_PARALLELIZER_H  // what follows takes the place of Eigen/src/Core/products/Parallelizer.h
namespace Eigen {
inline void initParallel() {}
inline int nbThreads() { return 1; }
inline void setNbThreads(int) {}

namespace internal {
template <typename Index>
struct GemmParallelInfo;

template <bool, typename Product, typename Index>
void parallelize_gemm(const Product& product, Index rows, Index columns, Index depth, bool) {
  ::linalg_ops::InColumns(::linalg_ops::PartsOf(columns, static_cast<double>(rows) * static_cast<double>(depth)), [&](int64_t first, int64_t count) {
    product(Index(0), rows, static_cast<Index>(first), static_cast<Index>(count));
  });
}
}  // namespace internal
}  // namespace Eigen

#include <Eigen/Core>
#include <complex>

// Which element is largest decides on an order of rows alone: |re| + |im| does, as in LAPACK, and takes no root.
namespace Eigen::internal {
template <typename T>
struct scalar_score_coeff_op<std::complex<T>> {
  typedef T result_type;
  EIGEN_STRONG_INLINE T operator()(const std::complex<T>& z) const { return std::abs(z.real()) + std::abs(z.imag()); }
};
template <typename T>
struct functor_traits<scalar_score_coeff_op<std::complex<T>>> {
  enum { Cost = 3 * NumTraits<T>::AddCost, PacketAccess = false };
};
}  // namespace Eigen::internal
