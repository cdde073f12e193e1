// Built twice, as dense.cc.
#include "plugins/linalg/dense.h"

#include "plugins/linalg/eigen_asks.h"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <complex>
#include <limits>
#include <type_traits>

#include "plugins/api/headrace_plugin.h"

namespace linalg_ops::LINALG_BUILD {
namespace {

template <typename T>
using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <typename T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// All work is done in double: a factor of f32 is as good as it can be, and there is half as much code.
template <typename T>
using Wide = std::conditional_t<Eigen::NumTraits<T>::IsComplex, std::complex<double>, double>;

template <typename T>
Columns<Wide<T>> Read(int64_t m, int64_t n, const void* a) {
  return Eigen::Map<const Rows<T>>(static_cast<const T*>(a), m, n).template cast<Wide<T>>();
}
template <typename T, typename Expression>
void Write(void* out, const Expression& value) {
  Eigen::Map<Rows<T>>(static_cast<T*>(out), value.rows(), value.cols()) = value.template cast<T>();
}
template <typename T>
void WriteNan(void* out, int64_t count) {
  std::fill_n(static_cast<T*>(out), count, T(std::numeric_limits<double>::quiet_NaN()));
}

template <typename T>
void LogDeterminant(int64_t n, const void* a, void* sign, void* logarithm) {
  const Eigen::PartialPivLU<Columns<Wide<T>>> lu(Read<T>(n, n, a));
  Wide<T> s = Wide<T>(lu.permutationP().determinant());
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Wide<T> u = lu.matrixLU()(i, i);
    const double size = std::abs(u);
    sum += std::log(size);
    s = size == 0 ? Wide<T>(0) : s * (u / size);  // once 0, always 0
  }
  *static_cast<T*>(sign) = T(s), *static_cast<T*>(logarithm) = T(sum);
}

template <typename D>
bool Eigenvectors(Columns<D> a, Vector<D>* w, Columns<D>* v) {
  a.template triangularView<Eigen::StrictlyUpper>().setZero();  // whatever stands there
  if (!a.allFinite()) return false;
  const Eigen::SelfAdjointEigenSolver<Columns<D>> solver(a);
  *w = solver.eigenvalues().template cast<D>(), *v = solver.eigenvectors();
  return solver.info() == Eigen::Success;
}

template <typename D>
bool SingularVectors(const Columns<D>& a, bool full, Columns<D>* u, Vector<double>* s, Columns<D>* v) {
  if (!a.allFinite()) return false;
  const Eigen::BDCSVD<Columns<D>> svd(a, full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV);
  *u = svd.matrixU(), *s = svd.singularValues(), *v = svd.matrixV();
  return svd.info() == Eigen::Success;
}

template <typename T>
void EigenOf(int64_t n, const void* a, void* w, void* v) {
  Vector<Wide<T>> values;
  Columns<Wide<T>> vectors;
  if (Eigenvectors(Read<T>(n, n, a), &values, &vectors)) Write<T>(w, values), Write<T>(v, vectors);
  else WriteNan<T>(w, n), WriteNan<T>(v, n * n);
}

template <typename T>
void Singular(int64_t m, int64_t n, bool full, const void* a, void* u, void* s, void* vh) {
  const int64_t k = std::min(m, n);
  Columns<Wide<T>> left, right;
  Vector<double> values;
  if (SingularVectors(Read<T>(m, n, a), full, &left, &values, &right)) {
    Write<T>(u, left), Write<T>(s, values.template cast<Wide<T>>().eval()), Write<T>(vh, right.adjoint().eval());
  } else {
    WriteNan<T>(u, m * (full ? m : k)), WriteNan<T>(s, k), WriteNan<T>(vh, (full ? n : k) * n);
  }
}

template <typename T>
void Orthogonal(int64_t m, int64_t n, bool complete, const void* a, void* q, void* r) {
  using Matrix = Columns<Wide<T>>;
  const int64_t rows = std::min(m, n), k = complete ? m : rows;
  const Eigen::HouseholderQR<Matrix> qr(Read<T>(m, n, a));
  Write<T>(q, (qr.householderQ() * Matrix::Identity(m, k)).eval());
  Matrix upper = Matrix::Zero(k, n);
  upper.topRows(rows) = qr.matrixQR().topRows(rows).template triangularView<Eigen::Upper>();
  Write<T>(r, upper);
}

template <typename T>
void PseudoInverse(int64_t m, int64_t n, double rtol, const void* a, void* p) {
  Columns<Wide<T>> left, right;
  Vector<double> s;
  if (!SingularVectors(Read<T>(m, n, a), false, &left, &s, &right)) return WriteNan<T>(p, n * m);
  const double epsilon = static_cast<double>(std::numeric_limits<typename Eigen::NumTraits<T>::Real>::epsilon());
  const double limit = (rtol < 0 ? epsilon * static_cast<double>(std::max(m, n)) : rtol) * s(0);
  const Vector<double> inverse = s.unaryExpr([limit](double x) { return x > limit ? 1 / x : 0.0; });
  Write<T>(p, (right * inverse.template cast<Wide<T>>().asDiagonal() * left.adjoint()).eval());
}

template <typename F>
void ForType(int32_t dtype, F&& f) {
  switch (dtype) {
    case HR_F32: return f(float());
    case HR_F64: return f(double());
    case HR_C64: return f(std::complex<float>());
    default: return f(std::complex<double>());
  }
}

void DenseLogDeterminant(int32_t dtype, int64_t n, const void* a, void* sign, void* logarithm) {
  ForType(dtype, [&](auto t) { LogDeterminant<decltype(t)>(n, a, sign, logarithm); });
}
void DenseEigen(int32_t dtype, int64_t n, const void* a, void* w, void* v) {
  if (n > 0) ForType(dtype, [&](auto t) { EigenOf<decltype(t)>(n, a, w, v); });
}
void DenseSingular(int32_t dtype, int64_t m, int64_t n, bool full, const void* a, void* u, void* s, void* vh) {
  if (m > 0 && n > 0) ForType(dtype, [&](auto t) { Singular<decltype(t)>(m, n, full, a, u, s, vh); });
}
void DenseOrthogonal(int32_t dtype, int64_t m, int64_t n, bool complete, const void* a, void* q, void* r) {
  if (m > 0 && n > 0) ForType(dtype, [&](auto t) { Orthogonal<decltype(t)>(m, n, complete, a, q, r); });
}
void DensePseudoInverse(int32_t dtype, int64_t m, int64_t n, double rtol, const void* a, void* p) {
  if (m > 0 && n > 0) ForType(dtype, [&](auto t) { PseudoInverse<decltype(t)>(m, n, rtol, a, p); });
}

}  // namespace

Dense Factors() {
  Dense d = {};
  d.log_determinant = DenseLogDeterminant, d.eigen = DenseEigen, d.singular = DenseSingular, d.orthogonal = DenseOrthogonal,
  d.pseudo_inverse = DensePseudoInverse;
  return d;
}

}  // namespace linalg_ops::LINALG_BUILD
