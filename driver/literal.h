// A value written on the command line: 3, 0.5, true, [0, 1], [[1, 2], [3, 4]], "text".
#pragma once
#include <string>

#include "ir/base/value.h"

namespace headrace {

// In the type asked for; integers exactly, or an error. kNone: integers are i64, other numbers f32.
Result<Tensor> ParseLiteral(const std::string& text, DType type);

}  // namespace headrace
