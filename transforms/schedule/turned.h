// Weights in panels: for each term of a sum the columns of one tile side by side, as many as a tile has; the last ones are 0.
//   W[k, l, c, o]  for k in 0:3, l in 0:3, c in 0:64, o in 0:128
//     →  local b: f32[4, 576, 32] @worker
//        for k in 0:3, l in 0:3, c in 0:64, j in 0:128:32 { map u in 0:32 @vector { b[j // 32, 192*k + 64*l + c, u] = W[k, l, c, j + u] } }
// Lanes lie along the columns also where memory runs along the terms, which then go by the innermost loop: lines are used whole.
#pragma once
#include <vector>

#include "transforms/schedule/channels.h"

namespace headrace::schedule {

struct Term {
  Range range;
  Expr first;          // where it begins
  int64_t length = 1;  // at most
};

struct Panel {
  Name buffer;
  int64_t width = 0, group = 1;  // columns; elements of the last term that lie side by side
  std::vector<Term> terms;  // outermost first
  Range parts;              // the panels of a part: of the first column of each
  int64_t panels = 1;       // of a part, at most
  Name columns, u;          // the index of the columns, and the one within the panel
  int64_t count = 0;        // columns of all parts
  int64_t size() const;     // terms, or groups of them
  Expr Read() const;        // of a term, for column u of a panel
  Expr Read(Name place, int64_t k) const;  // element k of a group that is counted by an index
};
void DeclarePanels(Sdfg* s, DType type, Panel* p);
std::vector<NodeId> FillPanels(Sdfg* s, const Panel& p, const Expr& weights);

}  // namespace headrace::schedule
