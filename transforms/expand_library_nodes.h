// Replaces library nodes by the expansion of the implementation chosen for them, inlined. Nodes of domain "call" stay.
//
//   state { onnx.Relu(X = A) -> (Y = B) }
//   →
//   state { map i in 0:N { B[i] = max(A[i], 0) } }
//
// Everything that has no implementation is reported at once. Inside a map, where an expansion can't be inlined, it
// becomes a call.
#pragma once
#include <string>

#include "ir/registry/transformation.h"

namespace headrace {

struct ExpandOptions {
  std::string only;  // "Conv", "onnx.Conv" or "grad.*": just these; "" = all
  // kMaps: nodes inside maps. kElementwise: nodes outside maps whose pure form computes each element of its results from the
  // same element of its arguments, and that have no backward rule of their own: what pays to fuse before it is differentiated.
  enum Where { kAll, kMaps, kElementwise } where = kAll;
};
Result<bool> ExpandLibraryNodes(Program& p, const Registry& r, const ExpandOptions& o = {},
                                const Ask& ask = IsAdvised);

}  // namespace headrace
