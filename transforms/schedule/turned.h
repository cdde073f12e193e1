// Weights in panels: for each term of a sum the columns of one tile side by side, as many as a tile has; the last ones are 0.
//   W[k, l, c, o]  for k in 0:3, l in 0:3, c in 0:64, o in 0:128
//     →  local b: f32[4, 576, 32] @worker
//        for k in 0:3, l in 0:3, c in 0:64, j in 0:128:32 { map u in 0:32 @vector { b[j // 32, 192*k + 64*l + c, u] = W[k, l, c, j + u] } }
// Lanes lie along the columns also where memory runs along the terms, which then go by the innermost loop: lines are used whole.
#pragma once
#include <optional>
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
  int64_t width = 0;
  std::vector<Term> terms;  // outermost first
  Range parts;              // the panels of a part: of the first column of each
  int64_t panels = 1;       // of a part, at most
  Name columns, u;          // the index of the columns, and the one within the panel
  int64_t count = 0;        // columns of all parts
  // Where the device adds some terms at once (channels_groups.cc): the innermost go in groups, which lie side by side; what is left
  // of a last one is 0, if terms are not cut into blocks.
  int64_t group = 1;
  Name groups;              // the index of the groups
  int64_t size() const;     // terms, or groups of them
  Expr Read(int64_t element = 0) const;   // of a term, for column u of a panel: of this element of a group
  Range Groups() const;                   // of the innermost term
  Expr Innermost(int64_t element) const;  // its index
};
void DeclarePanels(Sdfg* s, DType type, Panel* p);
// `square`: numbers of a line of those that the device turns in registers.
std::vector<NodeId> FillPanels(Sdfg* s, const Panel& p, const Expr& weights, int64_t square);
// Of one panel whose columns are all there, turned_squares.cc; `terms` as memory has them, outermost first. Nullopt: memory runs along the
// columns, or nothing runs along it evenly.
std::optional<std::vector<NodeId>> PanelBySquares(Sdfg* s, const Panel& p, const Expr& weights, const std::vector<Range>& terms, int64_t square);

}  // namespace headrace::schedule
