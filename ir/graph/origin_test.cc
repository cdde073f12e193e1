// What origins say after passes, and their text.
#include "ir/graph/origin.h"

#include <gtest/gtest.h>

#include "ir/text/origin_text.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

TEST(Origin, PassesKeepSourceOpAndPlace) {
  const Origin conv = Origin("conv1").WithOp("onnx.Conv").At("net.sdfg", 3, 5), by = conv.By("expand-library-nodes");
  EXPECT_EQ(by.Label(), "conv1");
  EXPECT_EQ(by.op().str(), "onnx.Conv");
  EXPECT_EQ(by.line(), 3);
  EXPECT_EQ(by.pass().str(), "expand-library-nodes");
  EXPECT_EQ(by, by.By("expand-library-nodes"));
  EXPECT_EQ(by, Origin("conv1").WithOp("onnx.Conv").At("net.sdfg", 3, 5).By("expand-library-nodes"));
  EXPECT_EQ(by.WithOp("onnx.Relu"), by);
  EXPECT_FALSE(Origin().known());
  EXPECT_EQ(OriginText(Origin()), "");
  EXPECT_EQ(OriginText(Origin().By("p")), " by \"p\"");
}

TEST(Origin, WhatIsMergedHasEverySource) {
  const Origin conv = Origin("conv1").WithOp("onnx.Conv").By("expand-library-nodes");
  const Origin relu = Origin("relu1").WithOp("onnx.Relu").By("expand-library-nodes");
  const Origin both = Origin::Merged({conv, Origin(), relu, conv}, "fuse-maps");
  EXPECT_EQ(both.Label(), "conv1+relu1");
  EXPECT_TRUE(both.op().empty());
  EXPECT_EQ(OriginText(both), " from \"conv1\", \"relu1\" by \"fuse-maps\"");
  EXPECT_EQ(OriginText(both, true),
            " from (\"conv1\" by \"expand-library-nodes\"), (\"relu1\" by \"expand-library-nodes\") by \"fuse-maps\"");
  EXPECT_EQ(Origin::Merged({conv, conv}, "fuse-maps"), conv.By("fuse-maps"));
  // What is merged step by step reads as if at once.
  const Origin more = Origin::Merged({both, Origin("add")}, "fuse-maps");
  EXPECT_EQ(OriginText(more, true), OriginText(Origin::Merged({conv, relu, Origin("add")}, "fuse-maps"), true));
  EXPECT_EQ(Origin::Merged({more, Origin("d")}, "fuse-maps").Label(), "conv1+relu1+add and 1 more");
}

TEST(Origin, GradientsKnowTheirForwardStatement) {
  const Origin conv = Origin("conv1").By("expand-library-nodes"), grad = conv.Gradient("backward");
  EXPECT_EQ(grad.Label(), "gradient of conv1");
  ASSERT_EQ(ForwardOf(grad).size(), 1u);
  EXPECT_EQ(ForwardOf(grad)[0], conv);
  EXPECT_TRUE(ForwardOf(conv).empty());
  const Origin fused = Origin::Merged({grad, Origin("mul").By("simplify")}, "fuse-maps");
  EXPECT_EQ(OriginText(fused), " from grad \"conv1\", \"mul\" by \"fuse-maps\"");
  EXPECT_EQ(fused.Label(), "mul, gradient of conv1");
  ASSERT_EQ(ForwardOf(fused).size(), 1u);
  EXPECT_EQ(ForwardOf(fused)[0], conv);
  // Of a second order.
  EXPECT_EQ(OriginText(grad.Gradient("backward")), " from grad grad \"conv1\" by \"backward\"");
  EXPECT_EQ(ForwardOf(grad.Gradient("backward"))[0], grad);
}

TEST(Origin, AChainOfAHundredThousandMergesIsRead) {
  Origin o("n0");
  for (int k = 1; k < 100000; ++k) o = Origin::Merged({o, Origin("n" + std::to_string(k))}, "fuse-maps");
  EXPECT_EQ(o.Sources().size(), 100000u);
  EXPECT_EQ(o.Label(), "n0+n1+n2 and 99997 more");
  EXPECT_EQ(OriginText(o, true), OriginText(o));
}

TEST(Origin, TextComesBackAsItWas) {
  for (bool history : {false, true}) {
    PrintOptions options;
    options.history = history;
    const std::string text = R"(sdfg f(X: f32[N] from "in, \"put\"" by "importer", grad: f32[N], Y: f32[N] from "a", grad "b") {
  transient T: f32[N] from ("a" by "p"), grad grad ("b", "c" by "q") by "r"
  state from "s" {
    map i in 0:N { T[i] = X[i] from grad ("x" by "backward") }
    map i in 0:N from (grad "x" by "backward"), ("y" by "p") by "fuse-maps" {
      Y[i] = T[i] from "x"
      Y[i] += grad[i] by "q"
    }
  }
}
)";
    Result<Program> p = ParseProgram(text, "f.sdfg");
    ASSERT_TRUE(p.ok()) << p.status().ToString();
    const std::string printed = Print(*p, options);
    Result<Program> again = ParseProgram(printed, "f.sdfg");
    ASSERT_TRUE(again.ok()) << again.status().ToString() << printed;
    EXPECT_EQ(Print(*again, options), printed);
    if (history) {
      EXPECT_NE(printed.find(R"(from (grad "x" by "backward"), ("y" by "p") by "fuse-maps" {)"), std::string::npos) << printed;
      EXPECT_NE(printed.find(R"(from ("a" by "p"), grad grad ("b", "c" by "q") by "r")"), std::string::npos) << printed;
    }
    if (!history) {
      EXPECT_NE(printed.find(R"(from grad "x", "y" by "fuse-maps" {)"), std::string::npos) << printed;
    }
  }
}

TEST(Origin, BrokenTextIsAnError) {
  for (const char* origin : {"from (\"a\"", "from ()", "from grad", "from (\"a\", 3)", "from \"a\" by by"}) {
    Result<Program> p = ParseProgram("sdfg f(X: f32[2]) { X[0] = 1 " + std::string(origin) + " }", "f.sdfg");
    EXPECT_FALSE(p.ok()) << origin;
  }
  Result<Program> deep = ParseProgram("sdfg f(X: f32[2]) { X[0] = 1 from " + std::string(100000, '(') + " }", "f.sdfg");
  EXPECT_FALSE(deep.ok());
}

}  // namespace
}  // namespace headrace
