// An elementwise statement as steps of an epilogue.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::transforms {

struct EpilogueStep {
  std::string op;          // "bias"
  Name operand;            // what it reads beside the result; "" = nothing
  int dim = -1;            // of a vector: the result's dimension
  std::vector<double> numbers;
  std::string Text(const std::string& port) const;  // "bias e0 1"
};
// `value`, in which container `result` is read once at `index`: what is done to that element, in order. Nullopt where it is
// something else.
std::optional<std::vector<EpilogueStep>> StepsOf(const Sdfg& s, const Expr& value, Name result, const std::vector<Expr>& index);

}  // namespace headrace::transforms
