// What is known to be halves is stored so.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

constexpr char kPass[] = "narrow-arrays";

// Widened, moved by a view, and multiplied: what is multiplied are halves.
TEST(NarrowArrays, WidenedHalves) {
  ExpectPass(R"(
sdfg f(X: bf16[8, 16], W: bf16[4, 16], inout Y: f32[8, 4]) {
  transient G: f32[8, 16]
  view V: f32[128] of G
  state {
    map i in 0:8, k in 0:16 { G[i, k] = f32(X[i, k]) }
    map k in 0:16 { V[k] = 0 }
    map i in 0:8, j in 0:4, k in 0:16 { Y[i, j] += G[i, k] * f32(W[j, k]) }
  }
})",
             kPass, R"(
sdfg f(X: bf16[8, 16], W: bf16[4, 16], inout Y: f32[8, 4]) {
  transient G: bf16[8, 16]
  view V: bf16[128] of G
  state {
    map i in 0:8, k in 0:16 { G[i, k] = X[i, k] }
    map k in 0:16 { V[k] = 0 }
    map i in 0:8, j in 0:4, k in 0:16 { Y[i, j] += f32(G[i, k]) * f32(W[j, k]) }
  }
})");
}

// Rounded first, then widened.
TEST(NarrowArrays, Rounded) {
  ExpectPass(R"(
sdfg f(X: f32[8], Y: f32[8], Z: f16[8]) {
  transient G: f32[8]
  state {
    map i in 0:8 { G[i] = f32(f16(X[i] * 2)) }
    map i in 0:8 { Y[i] = G[i] + (G[i - 1] ?? 0) }
    map i in 0:8 { Z[i] = f16(Y[i]) }
  }
})",
             kPass, R"(
sdfg f(X: f32[8], Y: f32[8], Z: f16[8]) {
  transient G: f16[8]
  state {
    map i in 0:8 { G[i] = f16(X[i] * 2) }
    map i in 0:8 { Y[i] = f32(G[i]) + f32(G[i - 1] ?? 0) }
    map i in 0:8 { Z[i] = f16(Y[i]) }
  }
})");
}

TEST(NarrowArrays, OthersStay) {
  const auto text = [](const char* write, const char* read, const char* more) {
    return std::string("sdfg f(X: bf16[8], H: f16[8], Z: f32[8], Y: f32[8]) {\n  transient G: f32[8]\n  state {\n    map i in 0:8 { G[i] = f32(X[i]) }\n") +
           "    map i in 0:8 { " + write + " }\n    map i in 0:8 { " + read + " }\n  }\n" + more + "}";
  };
  ExpectUnchanged(text("G[i] += f32(X[i])", "Y[i] = G[i]", ""), kPass);      // a sum
  ExpectUnchanged(text("G[i] = f32(H[i])", "Y[i] = G[i]", ""), kPass);       // two types
  ExpectUnchanged(text("G[i] = Z[i]", "Y[i] = G[i]", ""), kPass);            // f32
  ExpectUnchanged(text("G[i] = 0.1", "Y[i] = G[i]", ""), kPass);             // no half
  ExpectUnchanged(text("G[i] = 0", "Y[i] = G[i - 1] ?? Z[i]", ""), kPass);   // another value outside
  ExpectUnchanged(text("G[i] = 0", "Y[i] = 1", "  if G[0] > 0.5 {\n    state { map i in 0:8 { Y[i] = 2 } }\n  }\n"), kPass);
}

}  // namespace
}  // namespace headrace::transforms
