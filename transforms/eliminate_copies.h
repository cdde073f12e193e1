// Removes whole copies Y = X: readers of Y read X, or the writers of X write Y, where nothing changes in between. A copy that
// only changes the shape becomes a view.
//
//   T[i] = X[i]; Y[i] = max(T[i], 0)                        →   Y[i] = max(X[i], 0)
//   transient R: f32[N*M]                                   →   view R: f32[N*M] of X
//   map i in 0:N*M { R.flat[i] = X.flat[i] }
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> EliminateCopies(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
