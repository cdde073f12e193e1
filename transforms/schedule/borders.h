// What sums over windows ask of places: which points of a line ask for nothing, and values where the answers are known.
//   map x in 0:28, l in 0:3 { Y[x] += x + l - 1 >= 0 && x + l - 1 < 28 ? X[x + l - 1] : 0 }   →  1:27 of x ask for nothing, whatever l
#pragma once
#include <functional>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::schedule {

struct Borders {
  std::vector<Expr> along, across;  // what is asked of the line's index, and of others
  int64_t first = 0, last = 0;      // points of the line within the borders; none where nobody knows
};
// Of a line of known length. `window`: what moves along the line with it.
Borders BordersOf(const Expr& value, const Range& line, const std::vector<Range>& window);

// Parts of a conjunction, each once, and back; null: nothing.
void Conjuncts(const Expr& c, std::vector<Expr>* out);
Expr All(const std::vector<Expr>& conditions);
// The value where these conditions hold, and where one of them doesn't.
Expr Where(const Expr& value, const std::vector<Expr>& conditions);
Expr Outside(const Expr& value, const std::vector<Expr>& conditions);
// `term` of what the value is on each side of these conditions, of one choice after the other.
std::vector<NodeId> OnEachSide(Sdfg* s, const Expr& value, const std::vector<Expr>& conditions,
                               const std::function<std::vector<NodeId>(const Expr&)>& term);

}  // namespace headrace::schedule
