#include "transforms/long_calls.h"

#include <unordered_set>

namespace headrace::transforms {

bool TakesLong(const Expr& e) {
  static const std::unordered_set<Name>* const kNames = new std::unordered_set<Name>{
      Name("pow"), Name("exp"), Name("log"), Name("sin"), Name("cos"), Name("tan"), Name("tanh"), Name("sinh"), Name("cosh"), Name("erf")};
  return e.Is(ExprKind::kCall) && kNames->count(e->name);
}

bool HasManySteps(const Expr& e) {
  constexpr int kMany = 6;
  int steps = 0;
  Visit(e, [&](const Expr& x) { return steps += !x->args.empty() && !x.Is(ExprKind::kRead), steps < kMany; });
  return steps >= kMany;
}

}  // namespace headrace::transforms
