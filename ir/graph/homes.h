// Containers of a scope (registers, a worker's buffers, shared memory) have no declaration of their own in the graph: each
// lives in the innermost body that holds all its uses, once per iteration, and its value is gone at the end.
#pragma once
#include <vector>

#include "ir/graph/graph.h"

namespace headrace {

struct Home {
  Name container;
  NodeId owner;            // the map or `if` whose body it lives in; invalid: the list of statements itself
  bool otherwise = false;  // of an `if`: its else
  NodeId first;            // the statement of that body that uses it first
};
bool IsScoped(Storage s);
// Of all that `statements` use, in the order of their first use.
std::vector<Home> HomesOf(const Sdfg& s, const std::vector<NodeId>& statements);

}  // namespace headrace
