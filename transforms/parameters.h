// Arguments of the entry that callers no longer see.
#pragma once
#include <string>
#include <vector>

#include "ir/registry/registry.h"

namespace headrace {

// Outputs become temporaries:   sdfg f(X: f32[4], Y: f32[4], Z: f32[4]) {…}     →     sdfg f(X: f32[4], Z: f32[4]) { transient Y: f32[4] … }
// E0360 for what is no parameter, or an input.
Result<bool> ParameterToTransient(Program& p, const std::vector<Name>& names);

// An input becomes a constant; `value` as IR text has it: "[[1, 2], [3, 4]]", "fill(0)".
//   sdfg f(W: f32[2], Y: f32[2]) {…}     →     sdfg f(Y: f32[2]) { constant W: f32[2] = [1, 2] … }
// E0360 for what is no parameter or is written; E0362 for sizes that are symbols. Values that can't be read are the parser's errors.
Result<bool> InputToConstant(Program& p, Name input, const std::string& value);

// Images [batch, channels, space…] that the caller only passes on: their channels lie innermost, the program's own names are views.
//   sdfg f(X: f32[N, 8, 4, 4], …) {…}  →  sdfg f(X_innermost: f32[N, 4, 4, 8], …) { view X: f32[N, 8, 4, 4] of X_innermost strides [128, 1, 32, 8] … }
// E0360 for what is no parameter, has fewer than three dimensions, views or strides.
Result<bool> ParameterInnermost(Program& p, const std::vector<Name>& names);

}  // namespace headrace
