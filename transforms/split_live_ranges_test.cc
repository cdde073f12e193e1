// What a loop sets before it reads it has a name of its own there.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A loop and its reverse, which takes back what the first one has overwritten.
constexpr char kThereAndBack[] = R"(
sdfg f(X: f64[N], G: f64[N], Y: f64) {
  transient A: f64[N]
  transient tape: f64[50, N]
  state { map i in 0:N { A[i] = X[i] } }
  for t in 0:50 {
    state {
      map i in 0:N { tape[t, i] = A[i] }
      map i in 0:N { A[i] = sin(A[i]) }
    }
  }
  state {
    Y = 0.0
    map i in 0:N { Y += A[i] }
    map i in 0:N { G[i] = 1.0 }
  }
  for t in 49:-1:-1 {
    state { map i in 0:N { A[i] = tape[t, i] } }
    state { map i in 0:N { G[i] = G[i] * cos(A[i]) } }
  }
})";

TEST(SplitLiveRanges, TakenBack) {
  ExpectPass(kThereAndBack, "split-live-ranges", R"(
sdfg f(X: f64[N], G: f64[N], Y: f64) {
  transient A: f64[N]
  transient tape: f64[50, N]
  transient A_1: f64[N]
  state {
    map i in 0:N { A[i] = X[i] }
  }
  for t in 0:50 {
    state {
      map i in 0:N { tape[t, i] = A[i] }
      map i in 0:N { A[i] = sin(A[i]) }
    }
  }
  state {
    Y = 0.0
    map i in 0:N { Y += A[i] }
    map i in 0:N { G[i] = 1.0 }
  }
  for t in 49:-1:-1 {
    state {
      map i in 0:N { A_1[i] = tape[t, i] }
    }
    state {
      map i in 0:N { G[i] = G[i] * cos(A_1[i]) }
    }
  }
})");
}

// They are one kernel then.
TEST(SplitLiveRanges, OneKernelThereAndBack) {
  const std::string out = Transformed(kThereAndBack, "split-live-ranges; fuse; outline{device=cpu}; choose-schedule");
  EXPECT_NE(out.find(": f64[50, 512] @worker"), std::string::npos) << out;
}

// What is read behind the loop, or before it is set, or set in part.
TEST(SplitLiveRanges, NotOtherwise) {
  const auto program = [](const std::string& first, const std::string& behind) {
    return "sdfg f(X: f64[10, N], Y: f64[N], Z: f64[N]) {\n  transient A: f64[N]\n  state { map i in 0:N { A[i] = X[0, i] } }\n  state { map i in 0:N { Z[i] = A[i] } }\n"
           "  for t in 0:10 {\n    state { " + first + " }\n    state { map i in 0:N { Y[i] = A[i] * 2.0 } }\n  }\n  state { map i in 0:N { Y[i] = " + behind + " } }\n}";
  };
  EXPECT_NE(Transformed(program("map i in 0:N { A[i] = X[t, i] }", "X[0, i]"), "split-live-ranges").find("A_1"), std::string::npos);
  ExpectUnchanged(program("map i in 0:N { A[i] = X[t, i] }", "A[i]"), "split-live-ranges");
  ExpectUnchanged(program("map i in 0:N { A[i] = A[i] * X[t, i] }", "X[0, i]"), "split-live-ranges");
  ExpectUnchanged(program("map i in 1:N { A[i] = X[t, i] }", "X[0, i]"), "split-live-ranges");
}

}  // namespace
}  // namespace headrace::transforms
