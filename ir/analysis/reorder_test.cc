// Another order of elements, and the views of what is reordered.
#include "ir/analysis/reorder.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

// The declarations with T in this order, or "no".
std::string Reordered(const std::string& declarations, std::vector<int> order) {
  auto p = ParseProgram("sdfg f(Y: f32[N]) {\n" + declarations + "\n  map i in 0:N { Y[i] = 0 }\n}");
  if (!p.ok()) return p.status().ToString();
  Sdfg& s = p->MutableEntry();
  const std::string before = Print(*p);
  EXPECT_EQ(CanReorder(s, "T", MemoryOrder(order)), Reorder(&s, "T", MemoryOrder(order)));
  const std::string text = Print(*p);
  const Status verified = Verify(*p);
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  if (text == before) return "no";
  std::string out;  // views alone
  for (size_t at = text.find("  view"); at != std::string::npos; at = text.find("  view", at + 1))
    out += (out.empty() ? "" : "; ") + text.substr(at + 2, text.find('\n', at) - at - 2);
  EXPECT_TRUE(Reorder(&s, "T", {}));  // and back
  EXPECT_EQ(Print(*p), before);
  return out;
}

TEST(Reorder, Slices) {
  EXPECT_EQ(Reordered("transient T: f32[2, 3, 4]\nview V: f32[3, 4] of T offset 12", {0, 2, 1}),
            "view V: f32[3, 4] of T offset 12 strides [1, 3]");
  EXPECT_EQ(Reordered("transient T: f32[N, 8, 4]\nview V: f32[N, 4] of T offset 12 strides [32, 1]", {0, 2, 1}),
            "view V: f32[N, 4] of T offset 3 strides [32, 8]");
  EXPECT_EQ(Reordered("transient T: f32[N, 8, 4]\nview V: f32[N, 4, 2] of T strides [32, 8, 2]", {0, 2, 1}),
            "view V: f32[N, 4, 2] of T strides [32, 2, 16]");
}

TEST(Reorder, DimensionsOfOneElementDontMatter) {
  EXPECT_EQ(Reordered("transient T: f32[N, 8, 1, 1]\nview V: f32[N, 8] of T", {0, 2, 3, 1}),
            "view V: f32[N, 8] of T strides [8, 1]");
}

TEST(Reorder, RunsThroughDimensionsThatStayTogether) {
  EXPECT_EQ(Reordered("transient T: f32[N, 8, 4, 5]\nview V: f32[N, 8, 20] of T", {0, 2, 3, 1}),
            "view V: f32[N, 8, 20] of T strides [160, 1, 8]");
  EXPECT_EQ(Reordered("transient T: f32[N, 8, 4, 5]\nview V: f32[N, 160] of T", {0, 2, 3, 1}), "no");
}

TEST(Reorder, ViewsOfViews) {
  EXPECT_EQ(Reordered("transient T: f32[2, 3, 4]\nview V: f32[3, 4] of T offset 12\nview W: f32[4] of V offset 4", {0, 2, 1}),
            "view V: f32[3, 4] of T offset 12 strides [1, 3]; view W: f32[4] of V offset 1 strides [3]");
}

TEST(Reorder, StridesOfOnesOwnStay) {
  EXPECT_EQ(Reordered("transient T: f32[2, 3] strides [4, 1]", {1, 0}), "no");
}

}  // namespace
}  // namespace headrace
