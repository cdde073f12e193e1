#include "plans/plan.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"

namespace headrace {
namespace {

constexpr const char* kPlan =
    R"(# LeNet on cpu, one thread
#
# measured on a quiet machine
without assign-layouts
implementation onnx.Conv = onednn
implementation /3/Conv = pure
threads 1
kernel 3f2a9c1be0d47788: tile-rows 8, block-depth 128  # /3/Conv
kernel 0000000000000001: row-elements 16
)";

TEST(Plan, TextAndBack) {
  const Result<Plan> p = ParsePlan(kPlan);
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  EXPECT_EQ(Print(*p), kPlan);
  EXPECT_EQ(p->without, std::vector<std::string>{"assign-layouts"});
  EXPECT_EQ(p->threads, 1);
  ASSERT_NE(p->Find("3f2a9c1be0d47788"), nullptr);
  EXPECT_EQ(p->Find("3f2a9c1be0d47788")->numbers, (Plan::Numbers{{"tile-rows", 8}, {"block-depth", 128}}));
  EXPECT_EQ(p->Find("3f2a9c1be0d47789"), nullptr);
}

// Blanks, empty lines and comments are free; an empty text is the plan that changes nothing.
TEST(Plan, IsForgiving) {
  const Result<Plan> p = ParsePlan("\n  kernel  0000000000000001:tile-rows 4 , short-sum  9# here\r\n\n# later\n");
  ASSERT_FALSE(p.ok());  // a comment has a blank before it: names of nodes may have a #
  const Result<Plan> q = ParsePlan("\n  kernel  0000000000000001:tile-rows 4 , short-sum  9 # here\r\n\n# later\n");
  ASSERT_TRUE(q.ok()) << q.status().ToString();
  EXPECT_EQ(Print(*q), "kernel 0000000000000001: tile-rows 4, short-sum 9  # here\n");
  EXPECT_TRUE(ParsePlan("# nothing\n")->empty());
}

TEST(Plan, WhatIsWrongIsSaid) {
  const struct {
    const char *text, *message, *got, *expected, *hint;
  } cases[] = {
      {"kernal 1", "begins with an unknown word", "kernal", "without, implementation, threads or kernel", "did you mean 'kernel'?"},
      {"without", "names one pass", "nothing", "without PASS", "without assign-layouts"},
      {"without simplify fuse", "names one pass", "simplify fuse", "without PASS", "without assign-layouts"},
      {"implementation Conv onednn", "of an op", "Conv onednn", "WHERE = NAME", "onnx.Conv = onednn"},
      {"threads none", "no number of threads", "none", "1 or more", "threads 1"},
      {"threads 1\nthreads 2", "twice", "2", "one line", ""},
      {"kernel k3: tile-rows 8", "16 hexadecimal digits", "k3", "kernel KEY", "tile-rows 8"},
      {"kernel 0000000000000001 tile-rows 8", "follow a colon", "0000000000000001 tile-rows 8", "kernel KEY", "tile-rows 8"},
      {"kernel 0000000000000001:", "no numbers", "nothing", "kernel KEY", "tile-rows 8"},
      {"kernel 0000000000000001: tile-rows", "a name and a value", "tile-rows", "NUMBER VALUE", "tile-rows 8"},
      {"kernel 0000000000000001: tile-rows 0", "a name and a value", "tile-rows 0", "NUMBER VALUE", "tile-rows 8"},
      {"kernel 0000000000000001: tile-rows 8, tile-rows 9", "number is there twice", "tile-rows", "once", ""},
      {"kernel 0000000000000001: a 1\nkernel 0000000000000001: b 1", "the kernel is there twice", "0000000000000001", "one line", ""},
  };
  for (const auto& c : cases) {
    const Result<Plan> p = ParsePlan("# comment\n" + std::string(c.text), "plan.txt");
    ASSERT_FALSE(p.ok()) << c.text;
    const Diagnostic& d = p.status().diagnostics()[0];
    EXPECT_EQ(d.code, "E0385");
    EXPECT_EQ(d.file, "plan.txt");
    EXPECT_EQ(d.line, std::string(c.text).find('\n') == std::string::npos ? 2 : 3);
    EXPECT_NE(d.message.find(c.message), std::string::npos) << d.message;
    EXPECT_EQ(d.got, c.got);
    EXPECT_NE(d.expected.find(c.expected), std::string::npos) << d.expected;
    EXPECT_NE(d.hint.find(c.hint), std::string::npos) << d.hint;
  }
}

Sdfg Kernel(const std::string& text) {
  Result<Program> p = ParseProgram(text);
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  return *p->sdfgs[0];
}

// Names of kernels and where they come from differ from program to program; what they compute on does not.
TEST(Plan, KeysOfKernels) {
  const Sdfg k = Kernel("kernel k0(p0: f32[8], p1: f32[8]) { map i0 in 0:8 { p0[i0] = p1[i0] * 2 } }");
  EXPECT_EQ(KernelKey(k).size(), 16u);
  EXPECT_EQ(KernelKey(k), KernelKey(Kernel("kernel k7(p0: f32[8], p1: f32[8]) { map i0 in 0:8 { p0[i0] = p1[i0] * 2 from \"mul\" } }")));
  EXPECT_NE(KernelKey(k), KernelKey(Kernel("kernel k0(p0: f32[9], p1: f32[9]) { map i0 in 0:9 { p0[i0] = p1[i0] * 2 } }")));
}

}  // namespace
}  // namespace headrace
