// Inlines calls at state level whose arguments are whole containers. The callee stays in the program while others call it.
//
//   state { call scale(x = A, y = B, k = 2) }      sdfg scale(x: f32[n], y: f32[n], k: symbol) { state { map i in 0:n { y[i] = k * x[i] } } }
//   →
//   state { map i in 0:N { B[i] = 2 * A[i] } }
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

struct InlineOptions {
  size_t max_statements = 1 << 30;  // callees with more of them, in maps too, stay calls when called more than once
  std::vector<Name> leave;                  // callees that stay calls
  // Also calls in maps whose callee is tasklets and maps; and, at state level, narrowed arguments and symbols from data.
  bool everywhere = false;
};
Result<bool> InlineNested(Program& p, const InlineOptions& o = {}, const Ask& ask = IsAdvised);

}  // namespace headrace
