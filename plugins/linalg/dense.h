// Solves and factors by Eigen: blocked and vectorised, for processors with AVX2 and FMA. Others have the plain forms.
#pragma once
#include <cstdint>

namespace linalg_ops {

// "" where DenseSolve and the others can run, else why not.
const char* WhyNotDense();

// Matrices are dense, row by row; dtype is an hr_dtype: f32, f64, c64 or c128. What can't be had is NaN.
void DenseSolve(int32_t dtype, int64_t n, int64_t columns, const void* a, const void* b, void* x);
void DenseDeterminant(int32_t dtype, int64_t n, const void* a, void* d);
void DenseCholesky(int32_t dtype, int64_t n, const void* a, void* l);
void DenseLogDeterminant(int32_t dtype, int64_t n, const void* a, void* sign, void* logarithm);
void DenseEigen(int32_t dtype, int64_t n, const void* a, void* w, void* v);
void DenseSingular(int32_t dtype, int64_t m, int64_t n, bool full, const void* a, void* u, void* s, void* vh);
void DenseOrthogonal(int32_t dtype, int64_t m, int64_t n, bool complete, const void* a, void* q, void* r);
void DensePseudoInverse(int32_t dtype, int64_t m, int64_t n, double rtol, const void* a, void* p);  // rtol below 0: the type's own

}  // namespace linalg_ops
