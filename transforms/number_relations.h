// Numbers that vary together: a column is what one number is in each of several programs. Each becomes an expression of few symbols, a
// symbol times what its values have in common, or such a product of several, times a number and with a small one added.
//
//   (56, 28), (58, 30), (64, 128), (200704, 100352)   →   28*a, 28*a + 2, 64*b, 50176*a*a*b   where a is 2, 1 and b is 1, 2
#pragma once
#include <string>
#include <vector>

#include "ir/expr/expr.h"

namespace headrace::transforms {

using Column = std::vector<int64_t>;
struct Related {
  struct Symbol {
    Name name;
    Column values;
  };
  std::vector<Symbol> symbols;
  std::vector<Expr> values;  // of each column
};
// `names`: of symbols, as many as there are columns.
Related Relate(const std::vector<Column>& columns, const std::vector<Name>& names);

}  // namespace headrace::transforms
