#include "plugins/linalg/dense.h"

namespace linalg_ops {
namespace {

bool RunsFast() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

Dense Joined(Dense all, const Dense& factors) {
  all.log_determinant = factors.log_determinant;
  all.eigen = factors.eigen;
  all.singular = factors.singular;
  all.orthogonal = factors.orthogonal;
  all.pseudo_inverse = factors.pseudo_inverse;
  return all;
}

}  // namespace

const Dense& DenseOfThisProcessor() {
  static const Dense all = RunsFast() ? Joined(fast::Solvers(), fast::Factors()) : Joined(plain::Solvers(), plain::Factors());
  return all;
}

}  // namespace linalg_ops
