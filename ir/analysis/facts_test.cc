#include "ir/analysis/facts.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"

namespace headrace {
namespace {

std::string Cut(const std::string& condition, bool holds) {
  const Result<Expr> e = ParseExpr(condition);
  EXPECT_TRUE(e.ok()) << e.status().ToString();
  std::vector<Expr> facts;
  AddFacts(*e, holds, &facts);
  const std::vector<Range> ranges = {{Name("i"), Expr(0), Expr(Name("N")), Expr(1)}, {Name("j"), Expr(0), Expr(9), Expr(1)}};
  std::string out;
  for (const Range& r : CutByFacts(ranges, facts))
    out += (out.empty() ? "" : " ") + r.index.str() + "=" + ToString(r.begin) + ":" + ToString(r.end);
  return out;
}

TEST(Facts, CutRanges) {
  EXPECT_EQ(Cut("i < 12", true), "i=0:min(N, 12) j=0:9");
  EXPECT_EQ(Cut("i < 12", false), "i=12:N j=0:9");
  EXPECT_EQ(Cut("j >= 2 && j <= 4", true), "i=0:N j=2:5");
  EXPECT_EQ(Cut("j < 2 || j > 4", false), "i=0:N j=2:5");
  EXPECT_EQ(Cut("j < 2 || j > 4", true), "i=0:N j=0:9");
  EXPECT_EQ(Cut("j - i >= 0", true), "i=0:N j=max(i, 0):9");
  EXPECT_EQ(Cut("2 * j >= 5", true), "i=0:N j=0:9");
}

}  // namespace
}  // namespace headrace
