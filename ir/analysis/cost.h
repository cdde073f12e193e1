// What a statement costs at least: arithmetic and memory traffic, as sizes. For reports, cost models and schedules.
#pragma once
#include "ir/graph/graph.h"

namespace headrace {

// Over the symbols and loop variables outside the statement; null = not known.
struct Cost {
  // Arithmetic on floats: + - * / min max and functions count 1, fma 2, products of complex numbers 6. An `if` counts
  // as its first side. Where the ranges of inner maps depend on outer ones, the outer index counts as the middle of its range.
  Expr operations;
  // Compulsory traffic: every element that is read or written once, what is accumulated into twice. Null where what is touched
  // is not known before the run.
  Expr bytes;
};
Cost CostOf(const Program& p, const Sdfg& s, NodeId statement);

}  // namespace headrace
