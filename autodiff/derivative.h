// Derivatives of scalar expressions: the adjoint of one tasklet's value with respect to each element it reads.
//
//   value  sin(A[i]) * B[j]      seed g
//   →      A[i]: g * B[j] * cos(A[i])        B[j]: g * sin(A[i])
//
// Kinks and ties follow PyTorch's convention; docs/autodiff.md has the table.
#pragma once
#include <functional>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::autodiff {

// A subexpression that several contributions share, to be computed first, in order.
struct Shared {
  Name name;
  DType dtype;
  Expr value;
};

struct Contribution {
  Expr read;   // the kRead as it stands in the value: container, index, flat, default
  Expr value;  // its share of the gradient, typed like the container that is read
  // The read stands in a branch of `c ? a : b` or has a default: its index may be outside the container when the branch is
  // not taken, so the accumulation must be a guarded one (`??`). `value` is exactly 0 there, also where a factor is inf or NaN.
  bool guarded = false;
};

struct Derivative {
  std::vector<Shared> shared;               // names from `fresh`; may read containers and earlier shared names
  std::vector<Contribution> contributions;  // reads that are equal are merged
};

// `value` is typed (TypedValue of type_inference.h); `seed` is an expression of the target's dtype. Only reads of containers
// for which `active` holds get a contribution; integers, bools, conditions and indices never do. Reads inside indices are not
// differentiated. `fresh(stem)` gives unused names. `hold(x)`, rounding, comparisons and casts to integers have derivative 0.
// Complex: JAX's convention (the cotangent is multiplied by f', not by its conjugate).
// A function without a rule is an error that names it.
Result<Derivative> Differentiate(const Sdfg& s, const Expr& value, const Expr& seed,
                                 const std::function<bool(Name container)>& active,
                                 const std::function<Name(std::string_view)>& fresh);

}  // namespace headrace::autodiff
