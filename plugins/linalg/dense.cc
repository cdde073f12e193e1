// Built three times (BUILD), as namespace LINALG_BUILD and with a name of its own for Eigen's, so that no template of one build takes
// the place of one of another.
#include "plugins/linalg/dense.h"

#include "plugins/linalg/eigen_asks.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <complex>
#include <limits>

#include "plugins/api/headrace_plugin.h"

namespace linalg_ops::LINALG_BUILD {
namespace {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using In = Eigen::Map<const Matrix<T>>;
template <typename T>
using Out = Eigen::Map<Matrix<T>>;

// Whether elimination would find nothing to do: it never exchanges rows then either.
template <typename T>
bool IsUpperTriangular(const In<T>& a) {
  for (Eigen::Index i = 1; i < a.rows(); ++i)
    if (!(a.row(i).head(i).array() == T(0)).all()) return false;
  return true;
}

template <typename T>
void Solve(int64_t n, int64_t columns, const void* a, const void* b, void* x) {
  const In<T> matrix(static_cast<const T*>(a), n, n);
  const ColumnParts parts = PartsOf(columns, static_cast<double>(n) * static_cast<double>(n));
  if (x != a && IsUpperTriangular<T>(matrix)) {
    Out<T> out(static_cast<T*>(x), n, columns);
    out = In<T>(static_cast<const T*>(b), n, columns);
    InColumns(parts, [&](int64_t first, int64_t count) {
      auto part = out.middleCols(first, count);
      matrix.template triangularView<Eigen::Upper>().solveInPlace(part);
    });
    return;
  }
  const Eigen::PartialPivLU<Matrix<T>> lu(matrix);
  const In<T> right(static_cast<const T*>(b), n, columns);
  Out<T> out(static_cast<T*>(x), n, columns);
  InColumns(parts, [&](int64_t first, int64_t count) { out.middleCols(first, count) = lu.solve(right.middleCols(first, count)); });
}

template <typename T>
void Determinant(int64_t n, const void* a, void* d) {
  *static_cast<T*>(d) = n == 0 ? T(1) : Eigen::PartialPivLU<Matrix<T>>(In<T>(static_cast<const T*>(a), n, n)).determinant();
}

template <typename T>
void Cholesky(int64_t n, const void* a, void* l) {
  Out<T> out(static_cast<T*>(l), n, n);
  const Eigen::LLT<Matrix<T>, Eigen::Lower> factor(In<T>(static_cast<const T*>(a), n, n));
  if (factor.info() == Eigen::Success) {
    out = factor.matrixL();
    return;
  }
  out.setZero();
  out.template triangularView<Eigen::Lower>().setConstant(std::numeric_limits<T>::quiet_NaN());
}

void DenseSolve(int32_t dtype, int64_t n, int64_t columns, const void* a, const void* b, void* x) {
  if (n == 0 || columns == 0) return;
  switch (dtype) {
    case HR_F32: return Solve<float>(n, columns, a, b, x);
    case HR_F64: return Solve<double>(n, columns, a, b, x);
    case HR_C64: return Solve<std::complex<float>>(n, columns, a, b, x);
    default: return Solve<std::complex<double>>(n, columns, a, b, x);
  }
}

void DenseDeterminant(int32_t dtype, int64_t n, const void* a, void* d) {
  switch (dtype) {
    case HR_F32: return Determinant<float>(n, a, d);
    case HR_F64: return Determinant<double>(n, a, d);
    case HR_C64: return Determinant<std::complex<float>>(n, a, d);
    default: return Determinant<std::complex<double>>(n, a, d);
  }
}

void DenseCholesky(int32_t dtype, int64_t n, const void* a, void* l) {
  if (n == 0) return;
  switch (dtype) {
    case HR_F32: return Cholesky<float>(n, a, l);
    case HR_F64: return Cholesky<double>(n, a, l);
    case HR_C64: return Cholesky<std::complex<float>>(n, a, l);
    default: return Cholesky<std::complex<double>>(n, a, l);
  }
}

}  // namespace

Dense Solvers() {
  Dense d = {};
  d.solve = DenseSolve, d.determinant = DenseDeterminant, d.cholesky = DenseCholesky;
  return d;
}

}  // namespace linalg_ops::LINALG_BUILD
