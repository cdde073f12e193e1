// The schedule of a product of complex matrices: real and imaginary parts of some columns are laid out apart, and tiles keep the
// sums of each in registers.
//   map i in 0:M, j in 0:N, k in 0:K { C[i, j] += A[i, k] * B[k, j] }
//     →  map i0 in 0:M:96 @parallel { for j0 in 0:N:16 {
//          local re: f32[K, 16] @worker ; local im: f32[K, 16] @worker
//          for k in 0:K { map j in j0:+16 @vector { re[k, j - j0] = real(B[k, j]) ; im[k, j - j0] = imag(B[k, j]) } }
//          for i1 in i0:+96:6 {
//            local s: f32[6, 16] ; local t: f32[6, 16]
//            …
//            for k in 0:K { map r in 0:6 @unroll { map u in 0:16 @vector { s[r, u] = fma(real(A[i1 + r, k]), re[k, u], s[r, u]) … } } }
//            map r in 0:6 @unroll { map u in 0:16 @vector { C[i1 + r, j0 + u] += complex(s[r, u], t[r, u]) } } } } }
#pragma once
#include <vector>

#include "transforms/schedule/device.h"
#include "transforms/schedule/elements.h"
#include "transforms/schedule/product.h"

namespace headrace::schedule {

std::vector<NodeId> ComplexProduct(Sdfg* s, const Device& d, const Product& p, const Completion& completion);

}  // namespace headrace::schedule
