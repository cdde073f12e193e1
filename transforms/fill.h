// A container that is filled with a constant, to be taken in by what first uses it, also where that sees it through a view.
//   transient G: f32[B, 16, N, N] ; view V: f32[16 * B, N, N] of G
//   map b in 0:B, h in 0:16, i in 0:N, j in 0:N { G[b, h, i, j] = 0 }     →  map d0 in 0:16 * B, d1 in 0:N, d2 in 0:N { V[d0, d1, d2] = 0 }
//   map a in 0:16 * B, i in 0:N, j in 0:N, k in 0:64 { V[a, i, j] += … }
#pragma once
#include "transforms/kernel.h"

namespace headrace::transforms {

// The fill in the indices of the view by which `user` sees the container, all of it; nullopt where there is no such view.
std::optional<Kernel> FillThroughView(const Program& p, Sdfg* s, NameTable* names, const Kernel& fill, const Kernel& user);

}  // namespace headrace::transforms
