// Weights that a program keeps as panels, so that no call has to pack them (turned.h does, else): for each tile's columns the terms of
// a sum one after the other. What is beyond the last column is 0.
//   W: f32[3, 64, 128], read as W[k, c, o], columns o, terms k and c, 32 columns in a tile
//     →  P: f32[4, 3, 64, 32], read as P[o // 32, k, c, o % 32]
// Where one instruction adds up several terms (dot4) their weights lie side by side:
//     →  P: i8[4, 3, 16, 32, 4], read as P[o // 32, k, c // 4, o % 32, c % 4]
// Of windows of 3 × 3 that are transformed (winograd.h), the 16 elements of each, from which WeightsOf has the nine:
//   W: f32[3, 3, 64, 128], read as W[k, l, c, o]  →  P: f32[4, 16, 64, 32]
#pragma once
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::schedule {

struct Packing {
  Name container;             // a parameter of the kernel
  size_t columns = 0;         // its dimension that goes along the columns
  std::vector<size_t> terms;  // those that go along the terms, outermost first; others have one element
  int64_t width = 0;          // columns of a panel
  int64_t group = 1;          // of the last term's, side by side
  bool transformed = false;   // the terms are the lines and columns of a window, and a channel
};
inline bool operator==(const Packing& a, const Packing& b) {
  return a.container == b.container && a.columns == b.columns && a.terms == b.terms && a.width == b.width && a.group == b.group && a.transformed == b.transformed;
}

// How a schedule wants the weights that it reads `width` columns at a time. Nullopt: they are no such read of a parameter.
std::optional<Packing> PackingOf(const Sdfg& s, const Expr& weights, DType type, Name columns, const std::vector<Name>& terms, int64_t width,
                                 int64_t group = 1);

// Column u of the panel that begins at column `first`, where weights are packed so; null where they aren't.
Expr ReadPacked(const Sdfg& s, const Expr& weights, DType type, Name columns, int64_t width, const Expr& first, const Expr& u);
// Of packed groups, element k of the group at `place`; `term` is the index that is grouped.
struct PackedGroup {
  Name term;
  int64_t size = 1;
  Expr place;
};
Expr ReadPacked(const Sdfg& s, const Expr& weights, DType type, Name columns, int64_t width, const Expr& first, const Expr& u,
                const PackedGroup& g, int64_t k);

}  // namespace headrace::schedule
