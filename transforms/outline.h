// Each distinct statement becomes a kernel, which the program calls: what comes after (schedules, code, profiles) works on
// kernels, once each, whatever their containers and sizes are called. The origin belongs to the call.
//
//   map i in 0:N { Y[i] = f(X[i]) }
//   map j in 0:M { V[j] = f(U[j]) }
//     →  call k0(p0 = Y, p1 = X, n0 := N) ; call k0(p0 = V, p1 = U, n0 := M)
//        kernel k0(p0: f32[n0], p1: f32[n0], n0: symbol) { map i0 in 0:n0 { p0[i0] = f(p1[i0]) } }
//
// Statements that call something, that touch strings or sequences, or a view that may reach outside its base, stay. With a device,
// loops of statements none of which is worth a thread's while there are kernels, too:
//
//   for t in 1:T { state { s = X[t] ; map i in 0:8 { Y[t, i] = Y[t - 1, i] * s } } }
//     →  call k0(p0 = X, p1 = Y, n0 := T)
//        kernel k0(p0: f32[n0], p1: f32[n0, 8], n0: symbol) {
//          for i0 in 1:n0 { local r0: f32 ; r0 = p0[i0] ; map i1 in 0:8 { p1[i0, i1] = p1[i0 - 1, i1] * r0 } } }
//
// and in other loops the small statements of a state that stand one after the other; and loops that go block by block, with what stands
// beside them (loop_groups.h).
#pragma once
#include "ir/registry/transformation.h"
#include "transforms/statement_key.h"

namespace headrace {

struct LoopKernels {
  int64_t thread_operations = 0;  // what is worth a thread's while; 0: loops stay
  bool groups = false;            // whether loops that go block by block are joined: loop_groups.h
};
Result<bool> Outline(Program& p, const Ask& ask = IsAdvised, const LoopKernels& loops = {});

// The kernel that it would make of a map of tasklets and maps. `written`: as the key's.
Sdfg KernelOf(const Sdfg& s, NodeId statement, const transforms::StatementKey& key, const std::unordered_set<Name>& written);

}  // namespace headrace
