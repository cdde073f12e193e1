// Fuses maps that pass values element by element, or row by row, so that the values need not go through memory.
//
//   map i in 0:N, k in 0:M { E[i, k] = exp(X[i, k]) }       map i in 0:N {
//   map i in 0:N { S[i] = 0 }                           →     S[i] = 0
//   map i in 0:N, k in 0:M { S[i] += E[i, k] }                map k in 0:M { E[i, k] = exp(X[i, k]); S[i] += E[i, k] }
//   map i in 0:N { Y[i] = log(S[i]) }                         Y[i] = log(S[i])
//                                                           }
//
// Elementwise chains become one map; reductions along contiguous rows take producers, initialisation and consumers into
// a map over the rows. Contractions stay whole. A map moves up to the one that it joins only if that keeps no more memory in
// use meanwhile. scalarize then turns what lives in one iteration into registers.
#pragma once
#include "ir/registry/transformation.h"
#include "transforms/kernel.h"

namespace headrace {

Result<bool> FuseMaps(Program& p, const transforms::FusionLimits& limits = {});

// One at a time (fuse_maps_step.cc): two statements of one state or map, of which one can move to the other. A place is
// #first+#second. Not advised, with the reason, where the pass would leave them apart.
std::vector<Match> FindFusions(const Program& p, const transforms::FusionLimits& limits = {});
Status FuseAt(Program& p, const Match& m);

}  // namespace headrace
