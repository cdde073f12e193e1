// Types of lowered expressions: a pure function of the tree and the containers' dtypes, so the text needs no annotations.
// Rules (NOTATION.md, "Types"): literals, sizes and map indices are untyped and take the type of what they meet; tensors of
// two types don't mix without cast (bool conditions aside); comparisons give bool; `/` on integer tensors truncates toward
// zero, `//` floors, `%` is floor-mod; arithmetic wraps at the type's width.
#pragma once
#include "ir/graph.h"

namespace headrace {

// The tree with every node's dtype set: no kNone, no kIndex/kReal except inside indices and conditions on sizes.
// `expected` types a wholly untyped result (the target's dtype); kNone leaves it i64 / f64.
Result<Expr> InferTypes(const Sdfg& s, const Expr& e, DType expected = DType::kNone);
// A tasklet's value, converted to the target's dtype as assignment does (float ↔ float implicitly; other kinds need cast).
Result<Expr> TypedValue(const Sdfg& s, const Tasklet& t);
// Types of floats that arithmetic is carried out in: f16, bf16 and f8 compute in f32 and round once, when stored.
DType ComputeType(DType t);

}  // namespace headrace
