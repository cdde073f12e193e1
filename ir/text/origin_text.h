// Origins as text: what the programs' text and reports show.
#pragma once
#include <string>

#include "ir/graph/origin.h"

namespace headrace {

// ` from "conv1", grad "relu1" by "fuse-maps"`, or "". With `history` every pass is there, with what it had:
// ` from ("conv1" by "expand-library-nodes"), (grad "relu1" by "backward") by "fuse-maps"`, and sources without a name are
// there as "file:line".
std::string OriginText(const Origin& o, bool history = false);

}  // namespace headrace
