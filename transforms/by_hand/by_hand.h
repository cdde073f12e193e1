// Schedules by hand: steps on a kernel that a person takes, one at a time, calling loops by their indices.
//
//   headrace opt f.sdfg --pipeline "expand-library-nodes; simplify; fuse; outline" --apply 'split-range@k0:#0{index=i0, by=8}'
//
// The place is a statement of the kernel, the outermost: it keeps its number. No step changes what the kernel computes, up to
// the order of sums; whether its loops may run so is for the verifier to say. E0364: why a step does not fit.
#pragma once
#include <functional>
#include <string>

#include "ir/registry/transformation.h"

namespace headrace::by_hand {

Status RegisterAll(Registry& r);

// ---- the steps: `statement` is one of the kernel's; what fails leaves it spoilt ----

//   map i in 0:N { … }            →  map i_0 in 0:N:8, i in i_0:+8 { … }
//   map i in 0:64 { Y[i] = … }    →  map i_0 in 0:64:8, i in 0:8 { Y[i_0 + i] = … }     where it comes out even
Status SplitRange(Sdfg* kernel, NodeId statement, Name index, int64_t by);

// Ranges of maps that consist of nothing but the next, in the order of `order`; `|` puts a map between them.
//   map i in 0:N, j in 0:M, k in 0:K { … }  →  map j in 0:M { map k in 0:K, i in 0:N { … } }    by "j | k i"
Status ReorderRanges(Sdfg* kernel, NodeId statement, const std::string& order);

// How the map that has the index runs: parallel, vector, unroll, or sequential, which is a `for`. With the last map of a
// kernel it is scheduled, for cpu.
//   map i in 0:N { … }  →  for i in 0:N { … }
Status ScheduleRange(Sdfg* kernel, NodeId statement, Name index, const std::string& as);

// What all iterations of `index` read from or add to one part of an array is kept meanwhile in a local array: a register, or
// a @worker's buffer. Array elements are called by one form, each of its inner indices by a dimension of its own.
//   for k in 0:K {                              map r in 0:8 { map j in 0:32 { t[r, j] = 0 } }
//     map r in 0:8 { map j in 0:32 {            for k in 0:K {
//       C[i + r, j] += … } } }             →      map r in 0:8 { map j in 0:32 { t[r, j] += … } } }
//                                               map r in 0:8 { map j in 0:32 { C[i + r, j] += t[r, j] } }
Status KeepNear(Sdfg* kernel, NodeId statement, Name container, Name index, Storage storage);

// Sums of products under the map of the index, with one rounding.
//   t += a * b  →  t = fma(a, b, t)
Status FuseMultiplyAdd(Sdfg* kernel, NodeId statement, Name index);

// ---- shared by the files of this room ----

Status Unfit(const std::string& why, const std::string& hint = "");

// The map at or under `statement` that has the index, and which of its ranges that is.
struct IndexedMap {
  NodeId map;
  size_t range = 0;
};
Result<IndexedMap> MapOf(const Sdfg& kernel, NodeId statement, Name index);
// Calls fn for the statement and all under it, outermost first.
void ForEachUnder(const Sdfg& s, NodeId statement, const std::function<void(NodeId)>& fn);
// Puts statements where `n` stands: among the kernel's, or under `statement`.
void Replace(Sdfg* kernel, NodeId statement, NodeId n, const std::vector<NodeId>& by);

}  // namespace headrace::by_hand
