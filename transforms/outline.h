// Each distinct statement becomes a kernel, which the program calls: what comes after (schedules, code, profiles) works on
// kernels, once each, whatever their containers and sizes are called. The origin belongs to the call.
//
//   map i in 0:N { Y[i] = f(X[i]) }
//   map j in 0:M { V[j] = f(U[j]) }
//     →  call k0(p0 = Y, p1 = X, n0 := N) ; call k0(p0 = V, p1 = U, n0 := M)
//        kernel k0(p0: f32[n0], p1: f32[n0], n0: symbol) { map i0 in 0:n0 { p0[i0] = f(p1[i0]) } }
//
// Statements that call something, that touch strings or sequences, or a view that may reach outside its base, stay.
#pragma once
#include "ir/registry/transformation.h"
#include "transforms/statement_key.h"

namespace headrace {

Result<bool> Outline(Program& p, const Ask& ask = IsAdvised);

// The kernel that it would make of a map of tasklets and maps. `written`: as the key's.
Sdfg KernelOf(const Sdfg& s, NodeId statement, const transforms::StatementKey& key, const std::unordered_set<Name>& written = {});

}  // namespace headrace
