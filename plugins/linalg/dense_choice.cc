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
bool RunsWide() {
#if defined(__x86_64__)
  return RunsFast() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw");
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
  static const Dense all = RunsWide()   ? Joined(wide::Solvers(), wide::Factors())
                           : RunsFast() ? Joined(fast::Solvers(), fast::Factors())
                                        : Joined(plain::Solvers(), plain::Factors());
  return all;
}

}  // namespace linalg_ops
