#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// An activation that the gradient of weights reads, and nothing else.
constexpr char kGradient[] = R"(
sdfg f(x: f32[N, 100, 96], g: f32[N, 100, 16], m: f32[96], out D: f32[16, 96]) {
  transient h: f32[N, 100, 96]
  transient r: f32 @register
  state {
    map n in 0:N, p in 0:100, c in 0:96 {
      r = x[n, p, c] - m[c]
      h[n, p, c] = r <= 0.0 ? 0.0 : r
    }
    map o in 0:16, c in 0:96 { D[o, c] = 0 }
    map o in 0:16, c in 0:96, n in 0:N, p in 0:100 { D[o, c] += g[n, p, o] * h[n, p, c] }
  }
})";
constexpr char kPass[] = "forward-operands{device=cpu}";

TEST(ForwardOperands, WhatOneProductReads) {
  ExpectPass(kGradient, kPass, R"(
sdfg f(x: f32[N, 100, 96], g: f32[N, 100, 16], m: f32[96], out D: f32[16, 96]) {
  transient r: f32 @register
  state {
    map o in 0:16, c in 0:96 { D[o, c] = 0 }
    map o in 0:16, c in 0:96, n in 0:N, p in 0:100 {
      D[o, c] += g[n, p, o] * (x[n, p, c] - m[c] <= 0.0 ? 0.0 : x[n, p, c] - m[c])
    }
  }
})");
}

std::string With(std::string text, const std::string& old, const std::string& now) {
  EXPECT_NE(text.find(old), std::string::npos) << old;
  for (size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + now.size())) text.replace(at, old.size(), now);
  return text;
}

TEST(ForwardOperands, NotThese) {
  ExpectUnchanged(With(kGradient, "r <= 0.0 ? 0.0 : r", "exp(r)"), kPass);                        // too dear to be computed more than once
  ExpectUnchanged(With(kGradient, "{ D[o, c] = 0 }", "{ D[o, c] = h[0, 0, c] }"), kPass);         // another reader
  ExpectUnchanged(With(kGradient, "h: f32[N, 100, 96]", "h: f32[N, 100, 96] layout [d0, d2, d1]"), kPass);  // neighbours are terms of one result
  ExpectUnchanged(With(kGradient, "0:16", "0:4"), kPass);                                         // few results of each element
  ExpectUnchanged(With(kGradient, "g[n, p, o] * h[n, p, c]", "g[n, p, o] + h[n, p, c]"), kPass);  // no product
}

// Keys of an attention, for one position: each is read once, and lies along the terms where it comes from.
constexpr char kScores[] = R"(
sdfg f(q: f32[4, 64], K: f32[4, 256, 64], s: f32[1], out y: f32[4, 256]) {
  transient T: f32[4, 64, 256]
  state {
    map b in 0:4, d in 0:64, k in 0:256 { T[b, d, k] = K[b, k, d] * s[0] }
    map b in 0:4, k in 0:256 { y[b, k] = 0 }
    map b in 0:4, k in 0:256, d in 0:64 { y[b, k] += q[b, d] * T[b, d, k] }
  }
})";

TEST(ForwardOperands, WhatIsReadOnce) {
  ExpectPass(kScores, kPass, R"(
sdfg f(q: f32[4, 64], K: f32[4, 256, 64], s: f32[1], out y: f32[4, 256]) {
  state {
    map b in 0:4, k in 0:256 { y[b, k] = 0 }
    map b in 0:4, k in 0:256, d in 0:64 { y[b, k] += q[b, d] * (K[b, k, d] * s[0]) }
  }
})");
  ExpectUnchanged(With(With(kScores, "q: f32[4, 64]", "q: f32[64, 4]"), "q[b, d]", "q[d, b]"), kPass);  // q is read across memory
}

// What it is made of changes before the product reads it.
TEST(ForwardOperands, NotAcrossOtherValues) {
  ExpectUnchanged(With(With(kGradient, "m: f32[96]", "inout m: f32[96]"), "{ D[o, c] = 0 }", "{ D[o, c] = 0 }\n    map c in 0:96 { m[c] = 0.0 }"), kPass);
}

}  // namespace
}  // namespace headrace::transforms
