// Programs → text. ParseProgram(Print(p)) prints the same text again, for every program.
#pragma once
#include <string>

#include "ir/graph/graph.h"
#include "ir/text/form.h"

namespace headrace {

struct PrintOptions {
  bool origins = true;              // trailing `from "…"`
  bool history = false;             // origins with every pass: `from ("conv1" by "expand-library-nodes"), … by "fuse-maps"`
  bool ids = false;                 // each statement's and block's number behind it, as a comment: #3, #b1
  bool reasons = false;             // why kernels have no schedule, as a comment behind their head
  int64_t max_constant_bytes = -1;  // elide larger constants as `…` (not parseable); -1 = print all
};
std::string Print(const Program& p, const PrintOptions& o = {});
std::string Print(const Sdfg& s, const PrintOptions& o = {});
std::string PrintNode(const Sdfg& s, NodeId n,
                      const PrintOptions& o = {});  // one statement with its body, for messages
std::string PrintBlock(const Sdfg& s, BlockId b, const PrintOptions& o = {});
std::string Print(const Form& f);

}  // namespace headrace
