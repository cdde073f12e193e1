#include "backends/cpu/memory_plan.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"

namespace headrace::cpu {
namespace {

// By first use, C finds only the hole that A left, too small, and goes on top; largest first, nothing is lost.
TEST(MemoryPlan, HolesAreAvoidedWhereTheyCan) {
  const Result<Program> p = ParseProgram(R"(sdfg f(X: f32, Y: f32) {
    transient A: f32[256]
    transient B: f32[256]
    transient C: f32[512]
    state {
      map i in 0:256 { A[i] = X }
      map i in 0:256 { B[i] = A[i] }
      map i in 0:512 { C[i] = B[i % 256] }
      Y = C[0]
    }
  })");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  const MemoryPlan plan = PlanMemory(p->Entry());
  EXPECT_EQ(plan.fixed_bytes, 3072);  // B and C are alive at once
  const int64_t b = plan.fixed.at("B"), c = plan.fixed.at("C"), a = plan.fixed.at("A");
  EXPECT_TRUE(b + 1024 <= c || c + 2048 <= b);
  EXPECT_TRUE(a + 1024 <= b || b + 1024 <= a);
}

}  // namespace
}  // namespace headrace::cpu
