// What the layouts of a program cost a statement, in scalar operations of the device. Only differences mean something.
#pragma once
#include <functional>
#include <vector>

#include "transforms/layout/images.h"
#include "transforms/schedule/device.h"

namespace headrace::layout {

// A leaf with what doesn't depend on layouts.
struct Weighed {
  Leaf leaf;
  std::optional<ImageSum> sum;
};
std::vector<Weighed> Weigh(const Sdfg& s, std::vector<Leaf> leaves);

// Elements that are read or written across memory, whichever index goes in lanes, less what sums gain from channels side by side.
// They gain nothing where an image that `may_turn` has them apart, and lose where the statement is not tiled as images lie now.
double CostOf(const Sdfg& s, const std::vector<Weighed>& statement, const schedule::Device& d, const std::function<bool(Name)>& may_turn,
              const std::function<bool()>& is_tiled);

double SizeOf(const Expr& e, const schedule::Device& d);  // symbols counted as the device says
double TripsOf(const std::vector<Range>& ranges, const schedule::Device& d);

}  // namespace headrace::layout
