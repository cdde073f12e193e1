// Single steps: where each pass can take one, what one does, and what is not advised but possible.
#include <gtest/gtest.h>

#include "ir/registry/transformation.h"
#include "ir/text/parser.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// "name@place …" of all matches, those not advised with a '!'.
std::string Places(const std::string& text, const std::vector<std::string>& of) {
  Result<Program> p = ParseProgram(text);
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  std::string out;
  for (const std::string& name : of) {
    Result<std::vector<Match>> found = TestRegistry().FindTransformation(name)->find(*p, {}, TestRegistry());
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    for (const Match& m : *found) out += (out.empty() ? "" : " ") + name + "@" + PlaceText(*p, m) + (m.advised ? "" : "!");
  }
  return out;
}

constexpr char kChain[] = R"(sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
  transient A: f32[N]
  state {
    map i in 0:N { A[i] = X[i] * 2 }
    map i in 0:N { Z[i] = X[i] }
    map j in 0:N { Y[j] = A[j] + 1 }
    map i in 0:N { Z[i] = Z[i] + Y[i] }
  }
})";

TEST(Steps, TwoMapsOfMany) {
  EXPECT_EQ(Places(kChain, {"fuse-maps"}), "fuse-maps@#0+#4 fuse-maps@#2+#6 fuse-maps@#4+#6");
  ExpectPass(kChain, "fuse-maps@#4+#6", R"(sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
  transient A: f32[N]
  state {
    map i in 0:N { A[i] = X[i] * 2 }
    map i in 0:N { Z[i] = X[i] }
    map j in 0:N {
      Y[j] = A[j] + 1
      Z[j] = Z[j] + Y[j]
    }
  }
})");
}

// The second moves up past what does not touch it; the first moves down to the first that needs it.
TEST(Steps, MapsThatMoveToOneAnother) {
  ExpectPass(kChain, "fuse-maps@#0+#4", R"(sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
  transient A: f32[N]
  state {
    map i in 0:N {
      A[i] = X[i] * 2
      Y[i] = A[i] + 1
    }
    map i in 0:N { Z[i] = X[i] }
    map i in 0:N { Z[i] = Z[i] + Y[i] }
  }
})");
  ExpectPass(kChain, "fuse-maps@#2+#6", R"(sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
  transient A: f32[N]
  state {
    map i in 0:N { A[i] = X[i] * 2 }
    map j in 0:N { Y[j] = A[j] + 1 }
    map i in 0:N {
      Z[i] = X[i]
      Z[i] = Z[i] + Y[i]
    }
  }
})");
}

// The pass leaves products of matrices whole; a person may know better.
TEST(Steps, FusionsThatAreNotAdvised) {
  const std::string text = R"(sdfg f(A: f32[M, K], B: f32[K, N], C: f32[M, N]) {
  state {
    map i in 0:M, j in 0:N { C[i, j] = 0 }
    map i in 0:M, j in 0:N, k in 0:K { C[i, j] += A[i, k] * B[k, j] }
  }
})";
  EXPECT_EQ(Places(text, {"fuse-maps"}), "fuse-maps@#0+#2!");
  ExpectPass(text, "fuse-maps", text);
  ExpectPass(text, "fuse-maps@#0+#2", R"(sdfg f(A: f32[M, K], B: f32[K, N], C: f32[M, N]) {
  state {
    map i in 0:M, j in 0:N {
      C[i, j] = 0
      map k in 0:K { C[i, j] += A[i, k] * B[k, j] }
    }
  }
})");
}

// What stands between keeps its place: the reader of A can't pass the writer of X, nor the writer of A come after it.
TEST(Steps, MapsThatCantMeet) {
  EXPECT_EQ(Places(R"(sdfg f(inout X: f32[N], Y: f32[N]) {
  transient A: f32[N]
  state {
    map i in 0:N { A[i] = X[i] }
    map i in 0:N { X[i] = A[N - 1 - i] }
    map i in 0:N { Y[i] = A[i] + X[i] }
  }
})",
                   {"fuse-maps"}),
            "fuse-maps@#2+#4");
}

TEST(Steps, OneOfSeveralStates) {
  const std::string text = R"(sdfg f(X: f32, Y: f32, Z: f32) {
  state { Y = X }
  state { Z = Y }
  state apart { Y = Z }
})";
  EXPECT_EQ(Places(text, {"fuse-states"}), "fuse-states@#b0+#b1 fuse-states@#b1+#b2!");
  ExpectPass(text, "fuse-states@#b1+#b2", "sdfg f(X: f32, Y: f32, Z: f32) {\n  state { Y = X }\n  state { Z = Y\n Y = Z }\n}");
}

TEST(Steps, OneCopyOneArrayOneStatement) {
  const std::string text = R"(sdfg f(X: f32[N], Y: f32[N]) {
  transient A: f32[N]
  transient B: f32[N]
  transient D: f32[N]
  transient T: f32[N]
  transient U: f32[N]
  state {
    map i in 0:N { A[i] = X[i] }
    map i in 0:N { B[i] = A[i] }
    map i in 0:N { D[i] = B[i] * 2 }
    map i in 0:N {
      T[i] = B[i]
      U[i] = T[i] + B[i]
      Y[i] = U[i] * T[i]
    }
  }
})";
  EXPECT_EQ(Places(text, {"eliminate-copies", "scalarize", "eliminate-dead-code"}),
            "eliminate-copies@#0 eliminate-copies@#2 scalarize@T scalarize@U eliminate-dead-code@#5");
  ExpectPass(text, "eliminate-copies@#2; scalarize@U; eliminate-dead-code@#5", R"(sdfg f(X: f32[N], Y: f32[N]) {
  transient A: f32[N]
  transient T: f32[N]
  transient U: f32 @register
  state {
    map i in 0:N { A[i] = X[i] }
    map i in 0:N {
      T[i] = A[i]
      U = T[i] + A[i]
      Y[i] = U * T[i]
    }
  }
})");
}

// Each of two dead statements in a row: the first only when the second, which reads it, is gone.
TEST(Steps, DeadStatementsFromTheEnd) {
  const std::string text = "sdfg f(X: f32, Y: f32) {\n transient A: f32\n transient B: f32\n state { Y = X\n A = X\n B = A }\n}";
  EXPECT_EQ(Places(text, {"eliminate-dead-code"}), "eliminate-dead-code@#2");
  ExpectPass(text, "eliminate-dead-code@#2; eliminate-dead-code@#1", "sdfg f(X: f32, Y: f32) {\n state { Y = X }\n}");
}

TEST(Steps, ControlThatSizesDecide) {
  const std::string text = R"(sdfg f(Y: f32[4]) {
  if 2 > 1 { state { Y[0] = 1 } } else { state { Y[0] = 2 } }
  for t in 1:2 { state { Y[t] = 3 } }
  state { map i in 2:2 { Y[i] = 4 } }
})";
  EXPECT_EQ(Places(text, {"fold-control"}), "fold-control@#3 fold-control@#b0 fold-control@#b3");
  ExpectPass(text, "fold-control@#b3", R"(sdfg f(Y: f32[4]) {
  if 2 > 1 { state { Y[0] = 1 } } else { state { Y[0] = 2 } }
  state { Y[1] = 3 }
  state { map i in 2:2 { Y[i] = 4 } }
})");
}

// Calls are tried: one that can't be inlined is none of the places.
TEST(Steps, OneCall) {
  const std::string text = R"(sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
  state {
    call twice(x = X, y = Y)
    call twice(x = Y, y = Z)
  }
}
sdfg twice(x: f32[n], y: f32[n]) { state { map i in 0:n { y[i] = 2 * x[i] } } })";
  EXPECT_EQ(Places(text, {"inline-nested"}), "inline-nested@#0 inline-nested@#1");
  ExpectPass(text, "inline-nested@#1", R"(sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
  state {
    call twice(x = X, y = Y)
    map i in 0:N { Z[i] = 2 * Y[i] }
  }
}
sdfg twice(x: f32[n], y: f32[n]) { state { map i in 0:n { y[i] = 2 * x[i] } } })");
}

}  // namespace
}  // namespace headrace::transforms
