// Solves and factors by Eigen, which is built three times: for processors with AVX-512, with AVX2 and FMA, and for every processor.
#pragma once
#include <cstdint>

namespace linalg_ops {

// Matrices are dense, row by row; dtype is an hr_dtype: f32, f64, c64 or c128. What can't be had is NaN.
struct Dense {
  void (*solve)(int32_t dtype, int64_t n, int64_t columns, const void* a, const void* b, void* x);
  void (*determinant)(int32_t dtype, int64_t n, const void* a, void* d);
  void (*cholesky)(int32_t dtype, int64_t n, const void* a, void* l);
  void (*log_determinant)(int32_t dtype, int64_t n, const void* a, void* sign, void* logarithm);
  void (*eigen)(int32_t dtype, int64_t n, const void* a, void* w, void* v);
  void (*singular)(int32_t dtype, int64_t m, int64_t n, bool full, const void* a, void* u, void* s, void* vh);
  void (*orthogonal)(int32_t dtype, int64_t m, int64_t n, bool complete, const void* a, void* q, void* r);
  void (*pseudo_inverse)(int32_t dtype, int64_t m, int64_t n, double rtol, const void* a, void* p);  // rtol below 0: the type's own
};

namespace wide {  // for AVX-512 (F, DQ, VL, BW)
Dense Solvers();
Dense Factors();
}  // namespace wide
namespace fast {  // for AVX2 and FMA
Dense Solvers();
Dense Factors();
}  // namespace fast
namespace plain {
Dense Solvers();
Dense Factors();
}  // namespace plain

// What this processor runs.
const Dense& DenseOfThisProcessor();

}  // namespace linalg_ops
