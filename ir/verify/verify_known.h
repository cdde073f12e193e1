// What is known where a statement of a scheduled kernel stands: conditions that hold there, and accesses that were checked.
#pragma once
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::verify {

// An access that was checked: known wherever all that held there holds.
struct Checked {
  Touch check;
  std::vector<Expr> where;
};

struct Known {
  std::vector<Expr> conditions;
  std::vector<Checked> checked;

  void Add(const Touch& k) { checked.push_back({k, conditions}); }
  // What was read from memory before it changes says nothing any more.
  void Forget(const Sdfg& s, Name root);
  // A later iteration comes after what an earlier one writes.
  void ForgetWritten(const Sdfg& s, const std::vector<NodeId>& body);
};

}  // namespace headrace::verify
