// When containers are in use: what memory planning, here and in a backend, goes by.
#pragma once
#include <set>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace {

struct Lifetime {
  Name container;
  int64_t begin = 0, end = 0;  // positions of the first and the last use
};
// Of every container that a statement, condition or `let` uses, views as what they are of, by first use. Positions count
// statements in the order of the text; a map or an outermost loop is one position for all that stands in it.
std::vector<Lifetime> LifetimesOf(const Sdfg& s);

// Symbols that get their value inside: assigned, defined by library nodes, loop variables.
std::set<Name> DefinedInside(const Sdfg& s);

}  // namespace headrace
