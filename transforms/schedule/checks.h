// What has to be asked before a statement: where an index is read from memory nobody can show that it is inside.
//   Y[i, d] = W[I[i], d]               →  check W[I[i], d] ; Y[i, d] = W[I[i], d]
//   Y[i] = I[i] != 3 ? W[I[i]] : 0     →  if I[i] != 3 { check W[I[i]] } ; Y[i] = …
#pragma once
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::schedule {

struct Question {
  Touch check;
  std::vector<Expr> where;  // it is asked only where all of these hold: elsewhere the access does not happen
};
// Whether a value from memory decides on it.
bool IsFromMemory(const Expr& index);
// The questions of one tasklet, in the order in which it comes to what they are about.
std::vector<Question> QuestionsOf(const Sdfg& s, const Tasklet& t);

}  // namespace headrace::schedule
