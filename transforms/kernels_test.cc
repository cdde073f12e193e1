// Kernels that a program brings along are as somebody wrote them: passes over loops leave them alone.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

constexpr char kCall[] = "sdfg f(X: f32[8, 5], inout Y: f32[5]) {\n  call k(y = Y, x = X)\n}\n\n";

// The register is set before the loop that reads it.
TEST(Kernels, RegistersOfLoops) {
  ExpectUnchanged(std::string(kCall) + R"(kernel k(inout y: f32[5], x: f32[8, 5]) for cpu {
  local least: f32[5]
  map i in 0:5 @vector { least[i] = inf }
  for j in 0:8 {
    map i in 0:5 @vector { least[i] min= x[j, i] }
  }
  map i in 0:5 @vector { y[i] min= least[i] }
}
)", "simplify; fuse; share-calls; localize-rows");
}

// A range of one iteration, around a choice.
TEST(Kernels, RangesOfOneIteration) {
  ExpectUnchanged(std::string(kCall) + R"(kernel k(inout y: f32[5], x: f32[8, 5]) for cpu {
  for i in 0:5, j in 0:1 {
    if x[j, i] > 0 { y[i] = x[j, i] } else { y[i] = -x[j, i] }
  }
}
)", "simplify; fuse; share-calls; localize-rows");
}

// What the kernel reads of the iteration before is there where there is one.
TEST(Kernels, LoopsOfOneIteration) {
  ExpectUnchanged(R"(sdfg f(X: f32[5], Y: f32[5]) {
  for t in 0:1 {
    call k(y = Y, x = X, n := t)
  }
}

kernel k(inout y: f32[5], x: f32[5], n: symbol) for cpu {
  map i in 0:5 @vector { y[i] = n >= 1 ? x[i] + y[i] : x[i] }
}
)", "simplify; fuse; share-calls; localize-rows");
}

TEST(Kernels, CopiesAndWhatNothingReads) {
  ExpectUnchanged(std::string(kCall) + R"(kernel k(inout y: f32[5], x: f32[8, 5]) for cpu {
  local t: f32[5]
  local u: f32[5]
  map i in 0:5 @vector { t[i] = x[0, i] }
  map i in 0:5 @vector { u[i] = t[i] }
  map i in 0:5 @vector { y[i] = pow(t[i], 2) }
}
)", "simplify; fuse; share-calls; localize-rows");
}

}  // namespace
}  // namespace headrace::transforms
