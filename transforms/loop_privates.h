// What each iteration of a loop keeps for itself, and the statements of its body as maps over the loop.
#pragma once
#include <optional>
#include <unordered_set>
#include <vector>

#include "transforms/loop_dependences.h"

namespace headrace::transforms {

// A tasklet, or a map of maps and tasklets: without a schedule, with ranges of sizes, and no index of the loop's name.
bool IsElementwiseNest(const Sdfg& s, NodeId n, Name loop_variable);

// e of `X[i] = X[i] + e` or `X[i] = X[i] - e`, as it is added; none where e reads X, or where adding rounds differently (halves).
std::optional<Expr> AddedInPlace(const Sdfg& s, const Tasklet& t);

// `X[i] = X[i] + e`, with an element that all iterations share and an e without X: `X[i] += e`.
void AccumulateOver(Sdfg* s, Name loop_variable, const std::vector<NodeId>& statements);

struct Privates {
  std::unordered_set<Name> names;
  std::unordered_set<Name> elsewhere;  // of these, what statements outside of the body write, too: they keep what they write
  Expr first, count;  // of the loop's variable, for all iterations of the loops around it
};
// Transients that a body alone reads and that each iteration sets, in its first statement with them, before it reads them. None where
// an element for each iteration would take more memory than what the loop works on.
std::optional<Privates> FindPrivates(const Program& p, const Sdfg& s, const LoopNest& nest, const std::vector<NodeId>& statements);

// Does each iteration assign to elements of its own only? A map that assigns to what all share would have to run for it to be set.
bool EachSetsItsOwn(const Sdfg& s, Name loop_variable, const std::unordered_set<Name>& own, const std::vector<NodeId>& statements);

// Do both statements use one of these?
bool ShareAny(const Sdfg& s, NodeId a, NodeId b, const std::unordered_set<Name>& names);

// Each of them gets a first dimension, one element for each iteration; what others write, too, under another name.
void GiveEach(Sdfg* s, const Privates& own, const Range& loop, const std::vector<NodeId>& statements);

// The statement for all iterations. Indices of sums come last, as other passes expect them.
NodeId MapOver(Sdfg* s, const Range& loop, NodeId statement);

}  // namespace headrace::transforms
