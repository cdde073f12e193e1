#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

size_t Kernels(const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find("kernel ", at)) != std::string::npos; ++at) ++count;
  return count;
}

// Two kernels a and b, called one after the other on arrays of the types given.
std::string Two(const std::string& a, const std::string& x, const std::string& b, const std::string& y) {
  return "sdfg f(inout X: " + x + ", inout Y: " + y + (x.find('N') == std::string::npos ? ", N: symbol" : "") + ") {\n  state {\n    call a(p0 = X, n0 := N)\n    call b(p0 = Y, n0 := N)\n  }\n}\n" + a + b;
}
std::string Rows(const std::string& name, const std::string& columns, const std::string& lanes = "16", const std::string& step = "4") {
  return "kernel " + name + "(inout p0: f32[n0, " + columns + "], n0: symbol) for cpu {\n  map i0 in 0:n0 @parallel {\n    for i1 in 0:" + columns +
         ":" + lanes + " {\n      map u in 0:" + lanes + " @vector { p0[i0, i1 + u] += " + step + ".0 }\n    }\n  }\n}\n";
}

TEST(ShareKernels, SizesAreGivenByTheCalls) {
  ExpectPass(Two(Rows("a", "64"), "f32[N, 64]", Rows("b", "96"), "f32[N, 96]"), "share-kernels", R"(
sdfg f(inout X: f32[N, 64], inout Y: f32[N, 96]) {
  state {
    call a(p0 = X, n0 := N, n1 := 2)
    call a(p0 = Y, n0 := N, n1 := 3)
  }
}
kernel a(inout p0: f32[n0, 32 * n1], n0: symbol, n1: symbol) for cpu {
  assume 2 <= n1 <= 3
  map i0 in 0:n0 @parallel {
    for i1 in 0:32 * n1:16 {
      map u in 0:16 @vector { p0[i0, i1 + u] += 4.0 }
    }
  }
})");
}

// What decides on code, and what is no size, is as it was: lanes, values, devices.
TEST(ShareKernels, CodeIsNot) {
  for (const auto& [lanes, value] : {std::pair{"8", "4"}, {"16", "5"}})
    ExpectUnchanged(Two(Rows("a", "64"), "f32[N, 64]", Rows("b", "96", lanes, value), "f32[N, 96]"), "share-kernels");
  std::string other = Rows("b", "96");
  other.replace(other.find("for cpu"), 7, "for cpu_avx2");
  ExpectUnchanged(Two(Rows("a", "64"), "f32[N, 64]", other, "f32[N, 96]"), "share-kernels");
}

// 64 is a multiple of 16 and 72 is none: lanes of 8 have no end to ask for, those of 16 would need one.
TEST(ShareKernels, WhatIsKnownOfMultiplesStaysKnown) {
  const std::string shared = Transformed(Two(Rows("a", "64", "8"), "f32[N, 64]", Rows("b", "72", "8"), "f32[N, 72]"), "share-kernels");
  EXPECT_EQ(Kernels(shared), 1u) << shared;
  EXPECT_NE(shared.find("for i1 in 0:8 * n1:8"), std::string::npos) << shared;
}

// Nothing shows that parts of `2 * n1` rows fit where 6 and 10 do: 60 and 30 are multiples of these, of no other number.
const char kTiled[] = R"(
kernel NAME(inout p0: f32[SIZE], n0: symbol) for cpu {
  map i0 in 0:SIZE:STEP @parallel {
    for i1 in 0:STEP { p0[i0 + i1] += 1.0 }
  }
}
)";
std::string Tiled(const std::string& name, const std::string& size, const std::string& step) {
  std::string text = kTiled;
  for (const auto& [mark, by] : {std::pair<std::string, std::string>{"NAME", name}, {"SIZE", size}, {"STEP", step}})
    for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) text.replace(at, mark.size(), by);
  return text;
}
TEST(ShareKernels, WhatCanBeShownNoMoreStaysApart) {
  ExpectUnchanged(Two(Tiled("a", "60", "6"), "f32[60]", Tiled("b", "30", "10"), "f32[30]"), "share-kernels");
}

// Sides, borders and distances of images are products of one number; channels are another.
std::string Image(const std::string& name, int side, int channels) {
  const std::string s = std::to_string(side), c = std::to_string(channels), row = std::to_string(side * channels), all = std::to_string(side * side * channels);
  return "kernel " + name + "(inout p0: f32[n0, " + s + ", " + s + ", " + c + "], n0: symbol) for cpu {\n  view v: f32[n0, " + c + ", " + s + ", " + s +
         "] of p0 strides [" + all + ", 1, " + row + ", " + c + "]\n  map i0 in 0:n0, i1 in 0:" + s + " @parallel {\n    local b: f32[" +
         std::to_string(side + 2) + "] @worker\n    for i2 in 0:" + std::to_string(side + 2) + " { b[i2] = 1.0 }\n    for i2 in 0:" + s + ", i3 in 0:" + c +
         " { v[i0, i3, i1, i2] += b[i2] + b[i2 + 2] }\n  }\n}\n";
}
TEST(ShareKernels, NumbersThatVaryTogetherAreOne) {
  const std::string shared = Transformed(Two(Image("a", 56, 64), "f32[N, 56, 56, 64]", Image("b", 28, 96), "f32[N, 28, 28, 96]"), "share-kernels");
  for (const char* text : {"call a(p0 = X, n0 := N, n1 := 2, n2 := 2)", "call a(p0 = Y, n0 := N, n1 := 1, n2 := 3)",
                           "inout p0: f32[n0, 28 * n1, 28 * n1, 32 * n2]", "strides [25088 * n1 * n1 * n2, 1, 896 * n1 * n2, 32 * n2]",
                           "local b: f32[28 * n1 + 2] @worker", "for i2 in 0:28 * n1, i3 in 0:32 * n2"})
    EXPECT_NE(shared.find(text), std::string::npos) << text << "\n" << shared;
}

// Distances between what is read and written by iterations that are written out stand in the instructions.
std::string Unrolled(const std::string& name, const std::string& depth, const std::string& rows) {
  return "kernel " + name + "(inout p0: f32[" + rows + ", " + depth + "], n0: symbol) for cpu {\n  for i0 in 0:" + rows + ":4 {\n    local t: f32[4]\n" +
         "    map r in 0:4 @unroll { t[r] = 0.0 }\n    for k in 0:" + depth + " {\n      map r in 0:4 @unroll { t[r] += p0[i0 + r, k] }\n    }\n" +
         "    map r in 0:4 @unroll { p0[i0 + r, 0] = t[r] }\n  }\n}\n";
}
TEST(ShareKernels, UnrolledIterationsKeepTheirStrides) {
  ExpectUnchanged(Two(Unrolled("a", "40", "8"), "f32[8, 40]", Unrolled("b", "48", "8"), "f32[8, 48]"), "share-kernels");
  const std::string shared = Transformed(Two(Unrolled("a", "40", "8"), "f32[8, 40]", Unrolled("b", "40", "12"), "f32[12, 40]"), "share-kernels");
  EXPECT_EQ(Kernels(shared), 1u) << shared;
}

// 1 leaves a factor out, and 0 a term: other texts.
TEST(ShareKernels, ZeroAndOneAreStructure) {
  ExpectUnchanged(Two(Tiled("a", "64", "8"), "f32[64]", Tiled("b", "64", "1"), "f32[64]"), "share-kernels");
}

}  // namespace
}  // namespace headrace::transforms
