// What is computed in phases, for its elements lie `step` apart, is written where it belongs, each phase by a statement of its own: the
// gradient of a convolution with steps. A phase has the terms that it meets, others would be zeros; and nothing is copied.
//
//   map c in 0:C, f in 0:2, r in 0:9 { P[c, f, r] = 0 ; map j in 0:2 { P[c, f, r] += (G[c, r - j] ?? 0) * (W[c, f + 2 * j] ?? 0) } }
//   map c in 0:C, q in 0:16 { D[c, q] = P[c, (q + 1) % 2, (q + 1) // 2] }
//   →
//   view D_phase: f32[C, 8] of D offset 1 strides [16, 2]            # f = 0: two of three weights
//   view D_phase_1: f32[C, 8] of D strides [16, 2]                   # f = 1
//   map c in 0:C, r in 0:8 { D_phase[c, r] = 0 ; map j in 0:2 { D_phase[c, r] += (G[c, r + 1 - j] ?? 0) * (W[c, 2 * j] ?? 0) } }
//   map c in 0:C, r in 0:8 { D_phase_1[c, r] = 0 ; map j in 0:1 { D_phase_1[c, r] += (G[c, r - j] ?? 0) * (W[c, 1 + 2 * j] ?? 0) } }
//
// Where neighbours in memory belong to one phase: along channels that are innermost.
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> SplitPhases(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
