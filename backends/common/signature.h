// Arguments matched to an SDFG's parameters: names, types, shapes; size symbols bound from the shapes.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace {

struct BoundArguments {
  std::vector<const Value*> values;               // by parameter; null: an output, or an optional input left out
  std::vector<std::pair<Name, int64_t>> symbols;  // every size that the arguments determine
  std::optional<int64_t> Find(Name symbol) const;
};

// A size from symbols: integer arithmetic only; nothing when a symbol is unknown or `e` reads data. `overflow` is set where a
// number on the way does not fit in 64 bits.
std::optional<int64_t> EvalSize(const Expr& e, const std::function<std::optional<int64_t>(Name)>& symbol,
                                bool* overflow = nullptr);

// Errors name the argument, the dimension, what it got and expected, and the closest name for a misspelt one; all of them at once.
Result<BoundArguments> BindArguments(const Program& p, const Sdfg& s,
                                     const std::vector<std::pair<Name, Value>>& arguments,
                                     const std::vector<std::pair<Name, int64_t>>& symbols);

// "X: f32[N, 3]", as the text form declares it.
std::string Declaration(const Container& c);

}  // namespace headrace
