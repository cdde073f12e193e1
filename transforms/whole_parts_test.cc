#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

TEST(WholeParts, EndWhereTheyEnd) {
  ExpectPass(R"(
kernel rows(X: f32[N, 64], Y: f32[N, 64], N: symbol) for cpu {
  map n in 0:N @parallel {
    for i0 in 0:64:16 {
      map i in i0:+16 @vector { Y[n, i] = X[n, i] }
    }
  }
})", "whole-parts", R"(
kernel rows(X: f32[N, 64], Y: f32[N, 64], N: symbol) for cpu {
  map n in 0:N @parallel {
    for i0 in 0:64:16 {
      map i in i0:i0 + 16 @vector { Y[n, i] = X[n, i] }
    }
  }
})");
}

// Of a part, too, once it is known to be whole; of sizes by name where they are multiples.
TEST(WholeParts, OfParts) {
  ExpectPass(R"(
kernel rows(X: f32[128 * N], Y: f32[128 * N], N: symbol) for cpu {
  map i0 in 0:128 * N:64 @parallel {
    for i1 in i0:+64:16 {
      map i in i1:+16 @vector { Y[i] = X[i] }
    }
  }
})", "whole-parts", R"(
kernel rows(X: f32[128 * N], Y: f32[128 * N], N: symbol) for cpu {
  map i0 in 0:128 * N:64 @parallel {
    for i1 in i0:i0 + 64:16 {
      map i in i1:i1 + 16 @vector { Y[i] = X[i] }
    }
  }
})");
}

// 96 columns are no whole parts of 64, and one thread may get several parts: tiles of 32 are whole all the same.
TEST(WholeParts, TilesOfPartsThatAreNot) {
  ExpectPass(R"(
kernel rows(X: f32[96], Y: f32[96], N: symbol) for cpu {
  assume 1 <= N
  map i0 in 0:96:64 * N @parallel {
    for i1 in i0:+64 * N:64, i2 in i1:min(i1 + 64, 96):32 {
      map i in i2:+32 @vector { Y[i] = X[i] }
    }
  }
})", "whole-parts", R"(
kernel rows(X: f32[96], Y: f32[96], N: symbol) for cpu {
  assume 1 <= N
  map i0 in 0:96:64 * N @parallel {
    for i1 in i0:+64 * N:64, i2 in i1:min(i1 + 64, 96):32 {
      map i in i2:i2 + 32 @vector { Y[i] = X[i] }
    }
  }
})");
}

// Of a range of the same loop.
TEST(WholeParts, WithinOneLoop) {
  ExpectPass(R"(
kernel rows(inout Y: f32[64]) for cpu {
  for i0 in 0:64:16, i in i0:min(i0 + 16, 64) { Y[i] += 1.0 }
})", "whole-parts", R"(
kernel rows(inout Y: f32[64]) for cpu {
  for i0 in 0:64:16, i in i0:i0 + 16 { Y[i] += 1.0 }
})");
}

// The last part of 72 is shorter, that of N may be, and nobody knows of 40 by 16.
TEST(WholeParts, OthersKeepTheEndOfTheRange) {
  for (const char* range : {"0:72:16", "0:N:16", "8:48:16", "M:64:16"})
    ExpectUnchanged(std::string(R"(
kernel rows(inout Y: f32[N + 72], N: symbol, M: symbol) for cpu {
  map i0 in )") + range + R"( @parallel {
    for i in i0:+16 { Y[i] += 1.0 }
  }
})", "whole-parts");
}

// As part of another range it would be no part of this one.
TEST(WholeParts, NotBeforeKernelsHaveSchedules) {
  ExpectUnchanged("sdfg f(inout Y: f32[64]) { state { map i0 in 0:64:16 { map i in i0:min(i0 + 16, 64) { Y[i] += 1.0 } } } }", "whole-parts");
}

}  // namespace
}  // namespace headrace::transforms
