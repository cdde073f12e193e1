#include "transforms/plan_memory.h"

#include <gtest/gtest.h>

#include "transforms/passes.h"
#include "transforms/testing.h"

namespace headrace {
namespace {

using transforms::ExpectPass;
using transforms::ExpectUnchanged;

// What is not used any more makes room.
TEST(PlanMemory, LifetimesThatEndMakeRoom) {
  ExpectPass(R"(sdfg f(X: f32[64], Y: f32[64]) {
      transient T: f32[64]
      transient U: f32[64]
      transient V: f32[64]
      map i in 0:64 { T[i] = X[i] }
      map i in 0:64 { U[i] = T[i] }
      map i in 0:64 { V[i] = U[i] }
      map i in 0:64 { Y[i] = V[i] }
    })",
             "plan-memory", R"(sdfg f(X: f32[64], Y: f32[64]) {
      arena { slot 0: 512 }
      transient T: f32[64] @arena(0)
      transient U: f32[64] @arena(0, 256)
      transient V: f32[64] @arena(0)
      map i in 0:64 { T[i] = X[i] }
      map i in 0:64 { U[i] = T[i] }
      map i in 0:64 { V[i] = U[i] }
      map i in 0:64 { Y[i] = V[i] }
    })");
}

// Sizes 256·N, 320·N and 40·N are planned as numbers: the last, rounded up to 64·N, takes a part of the first one's place.
TEST(PlanMemory, ASymbolicBatchIsPlannedAsNumbers) {
  ExpectPass(R"(sdfg f(X: f32[N, 64], Y: f32[N]) {
      transient A: f32[N, 64]
      transient B: f32[N, 80]
      transient C: f32[N, 10]
      transient D: f32[N, 48]
      map n in 0:N, i in 0:64 { A[n, i] = X[n, i] }
      map n in 0:N, i in 0:80 { B[n, i] = A[n, i % 64] }
      map n in 0:N, i in 0:10 { C[n, i] = B[n, i] }
      map n in 0:N, i in 0:48 { D[n, i] = C[n, i % 10] + B[n, i] }
      map n in 0:N { Y[n] = D[n, 3] }
    })",
             "plan-memory", R"(sdfg f(X: f32[N, 64], Y: f32[N]) {
      arena { slot 0: 576 * N }
      transient A: f32[N, 64] @arena(0)
      transient B: f32[N, 80] @arena(0, 256 * N)
      transient C: f32[N, 10] @arena(0)
      transient D: f32[N, 48] @arena(0, 64 * N)
      map n in 0:N, i in 0:64 { A[n, i] = X[n, i] }
      map n in 0:N, i in 0:80 { B[n, i] = A[n, i % 64] }
      map n in 0:N, i in 0:10 { C[n, i] = B[n, i] }
      map n in 0:N, i in 0:48 { D[n, i] = C[n, i % 10] + B[n, i] }
      map n in 0:N { Y[n] = D[n, 3] }
    })");
}

// A place at a multiple of 64·N would cost sixteen times what a row of N numbers needs: rows of one size share slots.
TEST(PlanMemory, SmallFactorsShareSlotsByTheirSize) {
  ExpectPass(R"(sdfg f(X: f32[N], Y: f32[N]) {
      transient T: f32[N]
      transient U: f32[N]
      transient V: i32[N]
      map i in 0:N { T[i] = X[i] }
      map i in 0:N { U[i] = T[i] }
      map i in 0:N { V[i] = i32(U[i]) }
      map i in 0:N { Y[i] = f32(V[i]) }
    })",
             "plan-memory", R"(sdfg f(X: f32[N], Y: f32[N]) {
      arena { slot 0: 4 * N; slot 1: 4 * N }
      transient T: f32[N] @arena(0)
      transient U: f32[N] @arena(1)
      transient V: i32[N] @arena(0)
      map i in 0:N { T[i] = X[i] }
      map i in 0:N { U[i] = T[i] }
      map i in 0:N { V[i] = i32(U[i]) }
      map i in 0:N { Y[i] = f32(V[i]) }
    })");
}

// Of the slots that are free the first is taken, whichever was left first.
TEST(PlanMemory, TheFirstFreeSlotIsTaken) {
  ExpectPass(R"(sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
      transient T: f32[N]
      transient U: f32[N]
      transient V: f32[N]
      transient W: f32[N]
      map i in 0:N { T[i] = X[i] }
      map i in 0:N { U[i] = X[i] + 1 }
      map i in 0:N { V[i] = U[i] * 2 }
      map i in 0:N { Y[i] = V[i] + T[i] }
      map i in 0:N { W[i] = X[i] * X[i] }
      map i in 0:N { Z[i] = W[N - 1 - i] }
    })",
             "plan-memory", R"(sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
      arena { slot 0: 4 * N; slot 1: 4 * N; slot 2: 4 * N }
      transient T: f32[N] @arena(0)
      transient U: f32[N] @arena(1)
      transient V: f32[N] @arena(2)
      transient W: f32[N] @arena(0)
      map i in 0:N { T[i] = X[i] }
      map i in 0:N { U[i] = X[i] + 1 }
      map i in 0:N { V[i] = U[i] * 2 }
      map i in 0:N { Y[i] = V[i] + T[i] }
      map i in 0:N { W[i] = X[i] * X[i] }
      map i in 0:N { Z[i] = W[N - 1 - i] }
    })");
}

// A size may be any polynomial: what is left without the common number is the unit.
TEST(PlanMemory, UnitsAreWhatSizesHaveInCommon) {
  ExpectPass(R"(sdfg f(X: f32[N, C], Y: f32[N, C]) {
      transient T: f32[N * C + N, 32]
      transient U: f32[64, N * C + N]
      transient c: f32[C, C]
      map i in 0:N * C + N, j in 0:32 { T[i, j] = j }
      map i in 0:64, j in 0:N * C + N { U[i, j] = T[j, i % 32] }
      map i in 0:C, j in 0:C { c[i, j] = i + j }
      map i in 0:N, j in 0:C { Y[i, j] = U[j % 64, i] + c[j, j] }
    })",
             "plan-memory", R"(sdfg f(X: f32[N, C], Y: f32[N, C]) {
      arena { slot 0: 384 * C * N + 384 * N; slot 1: 4 * C * C }
      transient T: f32[N * C + N, 32] @arena(0)
      transient U: f32[64, N * C + N] @arena(0, 128 * C * N + 128 * N)
      transient c: f32[C, C] @arena(1)
      map i in 0:N * C + N, j in 0:32 { T[i, j] = j }
      map i in 0:64, j in 0:N * C + N { U[i, j] = T[j, i % 32] }
      map i in 0:C, j in 0:C { c[i, j] = i + j }
      map i in 0:N, j in 0:C { Y[i, j] = U[j % 64, i] + c[j, j] }
    })");
}

// What a loop uses lives as long as the loop; what gets its size inside the run has no place; registers and strings never do.
TEST(PlanMemory, LoopsAndSizesOfTheRun) {
  ExpectPass(R"(sdfg f(I: i64[N], Y: f32[]) {
      transient a: f32[16]
      transient b: f32[16]
      transient later: f32[k]
      transient r: f32 @register
      for t in 0:4 {
        map i in 0:16 { r = t; a[i] = r }
        map i in 0:16 { b[i] = a[i] }
      }
      let k = I[0]
      map i in 0:k { later[i] = b[i % 16] }
      Y[] = later[0]
    })",
             "plan-memory", R"(sdfg f(I: i64[N], Y: f32[]) {
      arena { slot 0: 128 }
      transient a: f32[16] @arena(0)
      transient b: f32[16] @arena(0, 64)
      transient later: f32[k]
      transient r: f32 @register
      for t in 0:4 {
        map i in 0:16 { r = t; a[i] = r }
        map i in 0:16 { b[i] = a[i] }
      }
      let k = I[0]
      map i in 0:k { later[i] = b[i % 16] }
      Y[] = later[0]
    })");
}

constexpr char kPlanned[] = R"(sdfg f(X: f32[64], Y: f32[64]) {
    arena { slot 0: 512 }
    transient T: f32[64] @arena(0)
    transient U: f32[64] @arena(0, 256)
    transient V: f32[64] @arena(0)
    state {
      map i in 0:64 { T[i] = X[i] * X[(i + 1) % 64] }
      map i in 0:64 { U[i] = T[i] * T[(i + 1) % 64] }
      map i in 0:64 { V[i] = U[i] * U[(i + 1) % 64] }
    }
    state { map i in 0:64 { Y[i] = V[i] * V[(i + 1) % 64] } }
  })";

TEST(PlanMemory, APlanIsMadeOnce) { ExpectUnchanged(kPlanned, "plan-memory"); }

// A pass afterwards that leaves the order of uses as it is keeps the places.
TEST(PlanMemory, PlacesStayWhereTheyHold) {
  const std::string after = transforms::Transformed(kPlanned, "fuse-states");
  EXPECT_NE(after.find("transient V: f32[64] @arena(0)\n"), std::string::npos) << after;
}

// One after which arrays of one place would be in use at once loses them.
TEST(PlanMemory, PlacesThatNoLongerHoldAreDropped) {
  Registry r;
  ASSERT_TRUE(transforms::RegisterAll(r).ok());
  Pass late;
  late.name = "use-t-once-more";
  late.run = [](Program& p, const PassOptions&, const Registry&) -> Result<bool> {
    Sdfg& s = p.MutableEntry();
    const NodeId n = s.AddNode(Tasklet{Name("Y"), {Expr(0)}, false, false, WriteOp::kAssign, ReadExpr(Name("T"), {Expr(0)})});
    s.body.push_back(s.AddBlock(State{{}, {n}}));
    return true;
  };
  ASSERT_TRUE(r.Add(std::move(late)).ok());
  const std::string after = transforms::Transformed(kPlanned, "use-t-once-more", r);
  EXPECT_EQ(after.find("arena"), std::string::npos) << after;
  EXPECT_NE(after.find("Y[0] = T[0]"), std::string::npos) << after;
}

}  // namespace
}  // namespace headrace
