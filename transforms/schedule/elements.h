// A sum with what is done around it for each of its results: what it starts at, and what becomes of it.
//   map i, j { S = b[j] ; map k { S += A[i, k] * B[k, j] } ; Y[i, j] = max(S, 0) }
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/nest.h"

namespace headrace::schedule {

struct Elements {
  Nest nest;           // all statements side by side in all ranges, so that ranges can be joined for all of them at once
  size_t initial = 0;  // of nest.body: gives the sum its first value,
  size_t sum = 0;      // and the next one accumulates, into what it is written to if it is a register itself:
  std::optional<Name> held;
};
// Of a nest whose body is tasklets, a map of one accumulation, and tasklets; nullopt where the sum can't be parted from them.
std::optional<Elements> ElementsOf(Sdfg* s, const Nest& n);

// What is done with each result once its sum is known.
struct Completion {
  std::vector<Tasklet> statements;
  size_t initial = 0, sum = 0;  // which of them; the latter's value is that of the former
};
Completion CompletionOf(const Sdfg& s, const Elements& e);
// A sum that is added to what its element holds.
Completion CompletionOf(const Tasklet& sum);
// What the sum is computed in; its results may be of another type.
DType SumTypeOf(const Sdfg& s, const Completion& f);
// At a place, with registers of its own, so that they live where they are used.
std::vector<NodeId> CompletedAt(Sdfg* s, const Completion& f, const NameMap& place, const Expr& sum);
// Scalar operations, roughly.
int64_t OperationsOf(Sdfg* s, const Completion& f);
// A factor of a smaller float type as what the sum is computed in: fma takes one type.
//   X[i], bf16, of a sum in f32  →  f32(X[i])
Expr Widened(const Sdfg& s, const Expr& factor, DType sum);

}  // namespace headrace::schedule
