// A statement as schedules see it: maps that consist of nothing but the next, and what lies inside the last.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::schedule {

struct Nest {
  std::vector<Range> ranges;
  std::vector<NodeId> body;
  NodeId owner;  // the innermost map
};
Nest NestOf(const Sdfg& s, NodeId map);  // registers that live between two maps keep them apart

struct ElementAccess {
  Name container, root;
  std::vector<Expr> index;
  bool flat = false, write = false;
  WriteOp op = WriteOp::kAssign;  // of writes, and of the reads that accumulating is
  std::shared_ptr<const std::vector<Range>> within;  // those of maps that the statement holds around it; null: none
};
// Of the statement and all that it holds, in the order of the text.
std::vector<ElementAccess> AccessesOf(const Sdfg& s, NodeId n);

// For each range: do iterations that differ in it touch other elements of everything that they write? Registers don't count,
// nor does memory of which each iteration has its own.
std::vector<bool> DisjointRanges(const Sdfg& s, const Nest& n, const std::function<bool(Name)>& is_own = {});
// The statements are tasklets alone, and what they compute can be done in lanes.
bool TakesLanes(const Sdfg& s, const std::vector<NodeId>& body);
// Scalar operations of one iteration, roughly.
int64_t OperationsOf(const Sdfg& s, const std::vector<NodeId>& body);
// How many iterations; an expression that is 0 or less where there are none.
Expr TripsOf(const Range& r);
// The range whose iterations walk memory best when they run side by side: by one, or not at all. -1: none.
int LaneRange(const Sdfg& s, const Nest& n);

// The statement of an unscheduled kernel; invalid where it has several.
NodeId OnlyStatement(const Sdfg& kernel);

}  // namespace headrace::schedule
