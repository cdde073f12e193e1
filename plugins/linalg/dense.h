// Solves and factors by Eigen: blocked and vectorised, for processors with AVX2 and FMA. Others have the plain forms.
#pragma once
#include <cstdint>

namespace linalg_ops {

// "" where DenseSolve and the others can run, else why not.
const char* WhyNotDense();

// Matrices are dense, row by row; dtype is an hr_dtype: f32, f64, c64 or c128 (Cholesky: the real ones).
void DenseSolve(int32_t dtype, int64_t n, int64_t columns, const void* a, const void* b, void* x);
void DenseDeterminant(int32_t dtype, int64_t n, const void* a, void* d);
void DenseCholesky(int32_t dtype, int64_t n, const void* a, void* l);

}  // namespace linalg_ops
