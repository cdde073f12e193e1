// One expression a line on stdin → "simplified TAB lowest TAB highest" a line on stdout, empty ends
// for unbounded. Two expressions with " <= " between them → "yes", "no" or "unknown". The arguments
// say what is known: `a=0:9 b=-4:5 n=1:`.
#include <iostream>
#include <string>

#include "ir/expr/expr.h"
#include "ir/text/parser.h"

int main(int argc, char** argv) {
  using namespace headrace;
  Assumptions known;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const size_t equals = arg.find('='), colon = arg.find(':');
    Interval range;
    if (colon > equals + 1) range.lo = std::stoll(arg.substr(equals + 1, colon - equals - 1));
    if (colon + 1 < arg.size()) range.hi = std::stoll(arg.substr(colon + 1));
    known.bounds.push_back({arg.substr(0, equals), range});
  }
  for (std::string line; std::getline(std::cin, line);) {
    const size_t order = line.find(" <= ");
    Result<Expr> a = ParseExpr(line.substr(0, order));
    if (!a.ok()) {
      std::cerr << a.status().ToString() << "\n";
      return 1;
    }
    if (order != std::string::npos) {
      Result<Expr> b = ParseExpr(line.substr(order + 4));
      if (!b.ok()) return 1;
      const Truth t = ProveLe(*a, *b, known);
      std::cout << (t == Truth::kYes ? "yes" : t == Truth::kNo ? "no" : "unknown") << "\n";
      continue;
    }
    const Interval range = BoundsOf(*a, known);
    std::cout << ToString(Simplify(*a)) << "\t" << (range.lo ? std::to_string(*range.lo) : "") << "\t"
              << (range.hi ? std::to_string(*range.hi) : "") << "\n";
  }
}
