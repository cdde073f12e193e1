// Where the length of its parts divides a range, all of them are whole: none asks where the range ends, and compilers see how many
// iterations it has. So are parts of parts, of which all but the last may be shorter than others.
//
//   for i0 in 0:64:16 { map i in i0:min(i0 + 16, 64) @vector { … } }   →   for i0 in 0:64:16 { map i in i0:i0 + 16 @vector { … } }
#pragma once
#include "ir/registry/transformation.h"

namespace headrace {

Result<bool> WholeParts(Program& p, const Ask& ask = IsAdvised);

}  // namespace headrace
