#include "transforms/share_layers.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "transforms/repeats.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

const char kTwoOrMore[] = "share-layers{least=2}";

TEST(Repeats, TheOneThatSavesMost) {
  const std::optional<Repeat> r = BestRepeat({9, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 8}, 0, 12, 2);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->begin, 1u);
  EXPECT_EQ(r->period, 3u);
  EXPECT_EQ(r->count, 3u);
  EXPECT_EQ(r->slack, 1u);
  EXPECT_FALSE(BestRepeat({1, 2, 3, 4, 5, 6}, 0, 6, 2));
  EXPECT_FALSE(BestRepeat({0, 0, 0, 0, 0, 0}, 0, 6, 2));  // 0: can't be shared
}

// Weights and what layers hand on are arguments; what a layer keeps to itself goes along, and so do constants of equal values.
TEST(ShareLayers, EqualLayersAreOneSdfg) {
  ExpectPass(R"(
sdfg f(x: f32[4, 4], w0: f32[4, 4], w1: f32[4, 4], y: f32[4, 4]) {
  transient a0: f32[4, 4]
  transient h: f32[4, 4]
  transient a1: f32[4, 4]
  constant two: f32 = 2.0
  constant also_two: f32 = 2.0
  state {
    onnx.MatMul(A = x, B = w0) -> (Y = a0) from "0/mm"
    onnx.Mul(A = a0, B = two) -> (C = h) from "0/mul"
    onnx.MatMul(A = h, B = w1) -> (Y = a1) from "1/mm"
    onnx.Mul(A = a1, B = also_two) -> (C = y) from "1/mul"
  }
})",
             kTwoOrMore, R"(
sdfg f(x: f32[4, 4], w0: f32[4, 4], w1: f32[4, 4], y: f32[4, 4]) {
  transient h: f32[4, 4]
  constant two: f32 = 2.0
  constant also_two: f32 = 2.0
  state {
    call layer(x = x, w0 = w0, h = h)
    call layer(x = h, w0 = w1, h = y)
  }
}

sdfg layer(x: f32[4, 4], w0: f32[4, 4], h: f32[4, 4]) {
  transient a0: f32[4, 4]
  constant two: f32 = 2.0
  state {
    onnx.MatMul(A = x, B = w0) -> (Y = a0)
    onnx.Mul(A = a0, B = two) -> (C = h)
  }
})");
}

// Other values or other wiring are other layers.
TEST(ShareLayers, OthersStay) {
  ExpectUnchanged(R"(
sdfg f(x: f32[4, 4], w0: f32[4, 4], w1: f32[4, 4], y: f32[4, 4]) {
  transient a0: f32[4, 4]
  transient h: f32[4, 4]
  transient a1: f32[4, 4]
  constant two: f32 = 2.0
  constant three: f32 = 3.0
  state {
    onnx.MatMul(A = x, B = w0) -> (Y = a0) from "0/mm"
    onnx.Mul(A = a0, B = two) -> (C = h) from "0/mul"
    onnx.MatMul(A = h, B = w1) -> (Y = a1) from "1/mm"
    onnx.Mul(A = a1, B = three) -> (C = y) from "1/mul"
  }
})",
                  kTwoOrMore);
  ExpectUnchanged(R"(
sdfg f(x: f32[4, 4], w0: f32[4, 4], w1: f32[4, 4], y: f32[4, 4]) {
  transient a0: f32[4, 4]
  transient h: f32[4, 4]
  transient a1: f32[4, 4]
  state {
    onnx.MatMul(A = x, B = w0) -> (Y = a0) from "0/mm"
    onnx.Mul(A = a0, B = w0) -> (C = h) from "0/mul"
    onnx.MatMul(A = h, B = w1) -> (Y = a1) from "1/mm"
    onnx.Mul(A = a1, B = x) -> (C = y) from "1/mul"
  }
})",
                  kTwoOrMore);
}

// A sum that a norm is taken of may become one kernel with it: the layers begin after the norm, of which there is one more.
TEST(ShareLayers, BeginWhereNothingIsCut) {
  ExpectPass(R"(
sdfg f(x: f32[4, 4], w0: f32[4, 4], w1: f32[4, 4], y: f32[4, 4]) {
  transient n0: f32[4, 4]
  transient a0: f32[4, 4]
  transient h0: f32[4, 4]
  transient n1: f32[4, 4]
  transient a1: f32[4, 4]
  transient h1: f32[4, 4]
  state {
    onnx.Softmax(input = x) -> (output = n0) from "0/norm"
    onnx.MatMul(A = n0, B = w0) -> (Y = a0) from "0/mm"
    onnx.Add(A = x, B = a0) -> (C = h0) from "0/add"
    onnx.Softmax(input = h0) -> (output = n1) from "1/norm"
    onnx.MatMul(A = n1, B = w1) -> (Y = a1) from "1/mm"
    onnx.Add(A = h0, B = a1) -> (C = h1) from "1/add"
    onnx.Softmax(input = h1) -> (output = y) from "norm"
  }
})",
             kTwoOrMore, R"(
sdfg f(x: f32[4, 4], w0: f32[4, 4], w1: f32[4, 4], y: f32[4, 4]) {
  transient n0: f32[4, 4]
  transient h0: f32[4, 4]
  transient n1: f32[4, 4]
  transient h1: f32[4, 4]
  state {
    onnx.Softmax(input = x) -> (output = n0)
    call layer(n0 = n0, w0 = w0, x = x, h0 = h0, n1 = n1)
    call layer(n0 = n1, w0 = w1, x = h0, h0 = h1, n1 = y)
  }
}

sdfg layer(n0: f32[4, 4], w0: f32[4, 4], x: f32[4, 4], h0: f32[4, 4], n1: f32[4, 4]) {
  transient a0: f32[4, 4]
  state {
    onnx.MatMul(A = n0, B = w0) -> (Y = a0)
    onnx.Add(A = x, B = a0) -> (C = h0)
    onnx.Softmax(input = h0) -> (output = n1)
  }
})");
}

// Nothing but what could be one kernel.
TEST(ShareLayers, ElementwiseChainsStay) {
  ExpectUnchanged(R"(
sdfg f(x: f32[4], y: f32[4]) {
  transient a: f32[4]
  transient b: f32[4]
  transient c: f32[4]
  state {
    onnx.Exp(input = x) -> (output = a) from "a"
    onnx.Neg(X = a) -> (Y = b) from "b"
    onnx.Exp(input = b) -> (output = c) from "c"
    onnx.Neg(X = c) -> (Y = y) from "d"
  }
})",
                  kTwoOrMore);
}

// What is used after a layer is given by it, and what it adds to is taken and given.
TEST(ShareLayers, WhatIsChangedInPlace) {
  ExpectPass(R"(
sdfg f(x: f32[N, 4], w0: f32[4, 4], w1: f32[4, 4], s0: f32[N, 4], s1: f32[N, 4]) {
  transient a0: f32[N, 4]
  transient a1: f32[N, 4]
  state {
    map i in 0:N, j in 0:4 { s0[i, j] = 1 }
    map i in 0:N, j in 0:4 { s1[i, j] = x[i, j] }
    onnx.MatMul(A = x, B = w0) -> (Y = a0) from "0/mm"
    map i in 0:N, j in 0:4 from "0/add" { s0[i, j] += a0[i, j] from "0/add" }
    onnx.MatMul(A = x, B = w1) -> (Y = a1) from "1/mm"
    map k in 0:N, l in 0:4 from "1/add" { s1[k, l] += a1[k, l] from "1/add" }
  }
})",
             kTwoOrMore, R"(
sdfg f(x: f32[N, 4], w0: f32[4, 4], w1: f32[4, 4], s0: f32[N, 4], s1: f32[N, 4]) {
  state {
    map i in 0:N, j in 0:4 { s0[i, j] = 1 }
    map i in 0:N, j in 0:4 { s1[i, j] = x[i, j] }
    call layer(x = x, w0 = w0, s0 = s0)
    call layer(x = x, w0 = w1, s0 = s1)
  }
}

sdfg layer(x: f32[N, 4], w0: f32[4, 4], inout s0: f32[N, 4]) {
  transient a0: f32[N, 4]
  state {
    onnx.MatMul(A = x, B = w0) -> (Y = a0)
    map i in 0:N, j in 0:4 { s0[i, j] += a0[i, j] }
  }
})");
}

// Gradients are asked for; sums over images are laid out together; plugins' functions stay one for each node.
TEST(ShareLayers, WhatStays) {
  for (const char* op : {"grad.MatMul", "onnx.Conv", "call.Product"}) {
    const std::string mm = op;
    ExpectUnchanged(R"(
sdfg f(x: f32[4, 4], w0: f32[4, 4], w1: f32[4, 4], y: f32[4, 4]) {
  transient a0: f32[4, 4]
  transient h: f32[4, 4]
  transient a1: f32[4, 4]
  state {
    )" + mm + R"((A = x, B = w0) -> (Y = a0) from "0/mm"
    onnx.Neg(X = a0) -> (Y = h) from "0/neg"
    )" + mm + R"((A = h, B = w1) -> (Y = a1) from "1/mm"
    onnx.Neg(X = a1) -> (Y = y) from "1/neg"
  }
})",
                    kTwoOrMore);
  }
}

// Inlined again, each statement comes from where it came from.
TEST(ShareLayers, OriginsComeBack) {
  Result<Program> p = ParseProgram(R"(
sdfg f(x: f32[4, 4], w0: f32[4, 4], w1: f32[4, 4], y: f32[4, 4]) {
  transient a0: f32[4, 4]
  transient h: f32[4, 4]
  transient a1: f32[4, 4]
  state {
    onnx.MatMul(A = x, B = w0) -> (Y = a0) from "0/mm"
    onnx.Neg(X = a0) -> (Y = h) from "0/neg"
    onnx.MatMul(A = h, B = w1) -> (Y = a1) from "1/mm"
    onnx.Neg(X = a1) -> (Y = y) from "1/neg"
  }
})",
                                   "test");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  ASSERT_TRUE(RunPipeline(TestRegistry(), "share-layers{least=2}; inline-nested{keep=1}", *p).ok());
  EXPECT_EQ(p->sdfgs.size(), 2u) << "keep leaves the calls";
  ASSERT_TRUE(RunPipeline(TestRegistry(), "inline-nested", *p).ok());
  EXPECT_EQ(p->sdfgs.size(), 1u);
  const std::string text = Print(*p);
  for (const char* name : {"0/mm", "0/neg", "1/mm", "1/neg"})
    EXPECT_NE(text.find(std::string("from \"") + name + "\""), std::string::npos) << text;
}

TEST(ShareLayers, Options) {
  ExpectPassError("sdfg f(x: f32[4], y: f32[4]) { state { map i in 0:4 { y[i] = x[i] } } }", "share-layers{least=0}",
                  "share-layers: least must be a number, at least 1, not '0'");
}

}  // namespace
}  // namespace headrace::transforms
