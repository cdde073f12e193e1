// Types of lowered expressions: a pure function of the tree and the containers' dtypes, so the text needs no annotations.
// Rules (NOTATION.md, "Types"): literals, sizes and map indices are untyped and take the type of what they meet; tensors of
// two types don't mix without cast (bool conditions aside); comparisons give bool; `/` on integer tensors truncates toward
// zero, `//` floors, `%` is floor-mod; arithmetic wraps at the type's width.
#pragma once
#include "ir/graph/graph.h"

namespace headrace {

// The tree with every node's dtype set. Untyped parts that meet a type become literals of it or get an explicit cast, so
// that nothing is left to adapt: kIndex (computed as i64) remains inside indices, sizes and conditions on them; no kReal.
// Indices count in i64: integer reads inside them are cast up. A bare name of a scalar container becomes a read of it.
// `expected` types a wholly untyped result (the target's dtype); kNone leaves it i64 / f64; kIndex asks for an index
// (the result is kIndex or i64).
Result<Expr> InferTypes(const Sdfg& s, const Expr& e, DType expected = DType::kNone);
// A tasklet's value, converted to the target's dtype as assignment does (float ↔ float implicitly; other kinds need cast).
// The value of a reduction (`+=` …) is converted to ComputeType(target) at most: it is not rounded before it is added.
Result<Expr> TypedValue(const Sdfg& s, const Tasklet& t);
// Types of floats that arithmetic is carried out in: f16, bf16, f8 and f4 compute in f32 and round once, when stored.
DType ComputeType(DType t);

}  // namespace headrace
