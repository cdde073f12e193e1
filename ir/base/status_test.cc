#include "ir/base/status.h"

#include "gtest/gtest.h"

namespace headrace {
namespace {

TEST(Status, RendersPlaceCaretAndHint) {
  Diagnostic d;
  d.code = "E0104";
  d.message = "there is no container 'H'";
  d.file = "mlp.hr";
  d.line = 4;
  d.column = 14;
  d.source_line = "\tY[i] = max(H[i], 0)";
  d.got = "H";
  d.hint = "did you mean 'h'?";
  EXPECT_EQ(Render(d),
            "error[E0104]: there is no container 'H'\n"
            "  --> mlp.hr:4:14\n"
            " 4 | \tY[i] = max(H[i], 0)\n"
            "   | \t            ^\n"
            "  got: H\n"
            "  hint: did you mean 'h'?");
}

TEST(Status, GainsItsPlaceOnTheWayUp) {
  Status s = WithNode(WithFile(InvalidError("bad"), "inner.onnx"), "conv1", "onnx.Conv (opset 11)");
  s = WithNode(WithFile(s, "outer.onnx"), "other");
  const Diagnostic& d = s.diagnostics()[0];
  EXPECT_EQ(d.file, "inner.onnx");
  EXPECT_EQ(d.node, "conv1");
  EXPECT_EQ(d.op, "onnx.Conv (opset 11)");
  EXPECT_TRUE(WithFile(Status(), "x").ok());
}

TEST(Status, CarriesEveryDiagnostic) {
  Diagnostic a, b;
  a.message = "first";
  b.message = "second";
  b.kind = ErrorKind::kInternal;
  const Status s(std::vector<Diagnostic>{a, b});
  EXPECT_EQ(s.message(), "first");
  EXPECT_EQ(s.kind(), ErrorKind::kInvalid);
  EXPECT_EQ(s.ToString(), "error: first\ninternal error: second");
  EXPECT_EQ(Status(std::vector<Diagnostic>{}).ToString(), "OK");
}

TEST(Status, ResultsPassErrorsOn) {
  const auto half = [](int v) -> Result<int> {
    if (v % 2) return UsageError("odd", "give an even number");
    return v / 2;
  };
  const auto quarter = [&](int v) -> Result<int> {
    HR_ASSIGN_OR_RETURN(int h, half(v));
    return half(h);
  };
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).status().message(), "odd");
  EXPECT_EQ(quarter(6).status().kind(), ErrorKind::kUsage);
}

TEST(StatusDeathTest, ChecksNameThePlace) {
  EXPECT_DEATH(HR_CHECK(1 + 1 == 3, "counting"), "internal error: counting\n.*1 \\+ 1 == 3\n.*status_test.cc");
}

TEST(Status, NamesFromFilesAreShownShortAndHarmless) {
  Diagnostic d;
  d.message = "no op '" + std::string(1000000, 'n') + "' here";
  d.node = "red \x1b[31m";
  d.line = 1, d.column = 50000;
  d.source_line = std::string(100000, ' ');
  d.source_line[49999] = 'X';
  const std::string text = Render(d);
  EXPECT_LT(text.size(), 2000u);
  EXPECT_NE(text.find("nnn…(999862 more)…nnn"), std::string::npos) << text;
  EXPECT_NE(text.find("' here\n"), std::string::npos);
  EXPECT_NE(text.find("red \\x1b[31m"), std::string::npos);
  const size_t x = text.find('X'), caret = text.find('^');  // below each other
  EXPECT_EQ(x - text.rfind('\n', x), caret - text.rfind('\n', caret));
}

}  // namespace
}  // namespace headrace
