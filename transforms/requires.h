// Requirements come first: a program whose sizes disagree stops before it has computed anything.
#pragma once
#include "ir/graph/graph.h"

namespace headrace::transforms {

// Moves every `require` of the outermost block list to the front, or to just behind what last defines one of its sizes, and
// drops one that has been required before. Those in branches and loops stay: what never runs may disagree.
//
//   state { A } require n == m else … state { B }   →   require n == m else … state { A } state { B }
bool HoistRequires(Sdfg* s);

}  // namespace headrace::transforms
