// What is brought near of the next panel while strips of rows pass this one: each strip a part, in small steps.
//   32 columns, 16 strips of rows: at each step of strip i the memory of two columns, the (1024 * i + step)-th pair of a panel of 1024 lines
#pragma once
#include <optional>

#include "ir/graph/graph.h"

namespace headrace::schedule {

struct Ahead {
  int64_t columns = 1;  // at each step
  Expr strip;           // the part that is this strip's; later ones than are needed have the last part again
  // The first column of a step, counted from the panel's begin line after line; so many steps in a strip.
  Expr Place(const Expr& step, const Expr& steps) const { return (strip * steps + step) * Expr(columns); }
};
// Of the strip-th of so many. Nullopt: they are more than columns, and wait for memory only at first.
std::optional<Ahead> AheadOf(int64_t width, int64_t strips, const Expr& strip);

}  // namespace headrace::schedule
