// A statement as layouts see it: its tasklets, each with the ranges around it and what it touches in memory.
#pragma once
#include <optional>
#include <vector>

#include "ir/graph/graph.h"
#include "transforms/schedule/device.h"

namespace headrace::layout {

struct Access {
  Name container, root;
  std::vector<Expr> index;
  bool flat = false;
};

struct Leaf {
  NodeId tasklet, map;  // and the map that it stands in; invalid: none
  std::vector<Range> ranges;
  // What it writes. Sums in registers belong to what they are written to: then it is that, in the same statement.
  std::optional<Access> target;
  bool accumulates = false;
  std::vector<Access> reads;         // of memory
  std::vector<Access> registers;     // read or written
  std::vector<Name> within;          // indices that the target does not speak of: the sum's, where it is one
  std::vector<Name> lanes;           // indices that schedules may put in lanes
};

// Nothing where the statement holds more than maps and tasklets.
std::optional<std::vector<Leaf>> LeavesOf(const Sdfg& s, NodeId statement, const schedule::Device& d);

bool Speaks(const Access& a, Name index);

}  // namespace headrace::layout
