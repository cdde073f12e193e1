// What maps write to elements at a fixed distance from their indices, as adjoints of stencils do.
#pragma once
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::autodiff {

// What a map writes to element (indices + distance) of an array, in the coordinates of the array.
struct Tap {
  NodeId node;
  std::vector<Range> ranges;  // of the map
  std::vector<Expr> index;    // as the map writes it
  bool alone = true;          // all that the map does
  Name target;
  WriteOp op = WriteOp::kAssign;
  std::vector<Expr> fixed;  // per dimension: its index where no map moves it, else null
  std::vector<Range> box;   // per dimension that moves: where it writes; `index` is the map's
  std::vector<Expr> distance;
  Expr value;  // in terms of the maps' indices
};

bool IsZero(const Expr& e);  // 0 or -0
// Of a map that does nothing else, in their order; registers that are assigned once, or set to 0 and added to once, are put in.
std::optional<std::vector<Tap>> TapsOf(const Sdfg& s, NodeId map);
// Of one that does nothing else but one.
std::optional<Tap> TapOf(const Sdfg& s, NodeId map);

}  // namespace headrace::autodiff
