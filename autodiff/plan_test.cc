// Store or recompute, on combined programs as text: the first `forward` blocks are the forward part.
#include "autodiff/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>

#include "autodiff/plan_cost.h"
#include "autodiff/plan_model.h"
#include "autodiff/plan_programs_for_tests.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace::autodiff {
namespace {

Combined Load(const std::string& text, size_t forward = 1) {
  Result<Program> p = ParseProgram(text);
  HR_CHECK(p.ok(), p.status().ToString());
  HR_CHECK(Verify(*p).ok(), Verify(*p).ToString());
  return {std::move(*p), forward, {}};
}

std::string Plain(const Program& p) {
  PrintOptions o;
  o.origins = false;
  return Print(p, o);
}

// Plans and compares the text; verifies what comes out.
Report ExpectPlan(const std::string& before, const Options& o, const std::string& after) {
  Combined c = Load(before);
  Report report;
  const Registry r;
  Status s = PlanMemory(&c, o, r, &report);
  EXPECT_TRUE(s.ok()) << s.ToString();
  EXPECT_TRUE(Verify(c.program).ok()) << Verify(c.program).ToString() << Plain(c.program);
  EXPECT_EQ(Plain(c.program), Plain(Load(after).program));
  return report;
}

const char* const kMish = R"(sdfg f(X: f32[64], W: f32[64], dY: f32, dX: f32[64], dW: f32[64]) {
    transient A: f32[64]
    transient B: f32[64]
    transient Y: f32
    transient dB: f32[64]
    transient dA: f32[64]
    state {
      map i in 0:64 { A[i] = X[i] * 3 }
      map i in 0:64 { B[i] = A[i] * tanh(log1p(exp(A[i]))) }
      Y = 0
      map i in 0:64 { Y += B[i] * W[i] }
    }
    state {
      map i in 0:64 { dB[i] = 0 }
      map i in 0:64 { dW[i] = dY * B[i] }
      map i in 0:64 { dB[i] += dY * W[i] }
      map i in 0:64 { dA[i] = dB[i] * A[i] }
      map i in 0:64 { dX[i] = dA[i] * 3 }
    }
  })";

TEST(PlanMemory, ElementwiseValuesAreComputedAgainAndFillsSink) {
  const Report report = ExpectPlan(kMish, {}, R"(sdfg f(X: f32[64], W: f32[64], dY: f32, dX: f32[64], dW: f32[64]) {
    transient A: f32[64]
    transient B: f32[64]
    transient Y: f32
    transient dB: f32[64]
    transient dA: f32[64]
    transient A_again: f32[64]
    transient B_again: f32[64]
    state {
      map i in 0:64 { A[i] = X[i] * 3 }
      map i in 0:64 { B[i] = A[i] * tanh(log1p(exp(A[i]))) }
      Y = 0
      map i in 0:64 { Y += B[i] * W[i] }
    }
    state backward {
      map i in 0:64 { A_again[i] = X[i] * 3 }
      map i in 0:64 { B_again[i] = A_again[i] * tanh(log1p(exp(A_again[i]))) }
      map i in 0:64 { dW[i] = dY * B_again[i] }
      map i in 0:64 { dB[i] = 0 }
      map i in 0:64 { dB[i] += dY * W[i] }
      map i in 0:64 { dA[i] = dB[i] * A_again[i] }
      map i in 0:64 { dX[i] = dA[i] * 3 }
    }
  })");
  ASSERT_EQ(report.items.size(), 2u);
  EXPECT_TRUE(report.items[0].recomputed && report.items[1].recomputed);
  EXPECT_EQ(report.predicted_peak, 3 * 256);
  EXPECT_EQ(report.solver, "none needed");
}

TEST(PlanMemory, StoreAllKeepsEverything) {
  Combined c = Load(kMish);
  Options o;
  o.keep = Keep::kStoreAll;
  Report report;
  ASSERT_TRUE(PlanMemory(&c, o, Registry(), &report).ok());
  EXPECT_EQ(Plain(c.program).find("again"), std::string::npos);
  EXPECT_FALSE(report.items[0].recomputed || report.items[1].recomputed);
}

// An array that the backward part writes again belongs to the forward part until its last write there.
TEST(PlanMemory, ArraysWrittenAgainBackwards) {
  const Combined c = Load(R"(sdfg f(X: f32[64], dX: f32[64]) {
    transient A: f32[64]
    transient B: f32[64]
    state { map i in 0:64 { A[i] = exp(X[i]) } }
    state { map i in 0:64 { B[i] = sin(A[i]) } }
    state { map i in 0:64 { dX[i] = A[i] * B[i] } }
    state { map i in 0:64 { A[i] = X[i] } }
    state { map i in 0:64 { dX[i] += A[i] } }
  })",
                          2);
  const PlanModel m = BuildPlanModel(c, {}, Registry());
  const PlannedValue& a = m.values.back();
  ASSERT_FALSE(a.recomputable);
  ASSERT_GE(a.producers.back(), m.forward);
  EXPECT_FALSE(SolvePlan(m, 100).feasible);
}

// Views follow, registers of copies are their own, the arrays of one statement are computed together, also an output.
TEST(PlanMemory, CopiesTakeTheirViewsAndRegisters) {
  Options o;
  o.keep = Keep::kRecomputeAll;
  ExpectPlan(R"(sdfg f(X: f32[4, 4], S: f32[4, 4], dX: f32[16]) {
    transient A: f32[4, 4]
    transient r: f32 @register
    view V: f32[16] of A
    state {
      map i in 0:4, j in 0:4 { r = exp(X[i, j]); A[i, j] = r + 1; S[i, j] = r }
    }
    state { map i in 0:16 { dX[i] = V[i] } }
  })",
             o, R"(sdfg f(X: f32[4, 4], S: f32[4, 4], dX: f32[16]) {
    transient A: f32[4, 4]
    transient r: f32 @register
    view V: f32[16] of A
    transient A_again: f32[4, 4]
    transient S_again: f32[4, 4]
    transient r_again: f32 @register
    view V_again: f32[16] of A_again
    state {
      map i in 0:4, j in 0:4 { r = exp(X[i, j]); A[i, j] = r + 1; S[i, j] = r }
    }
    state backward {
      map i in 0:4, j in 0:4 { r_again = exp(X[i, j]); A_again[i, j] = r_again + 1; S_again[i, j] = r_again }
      map i in 0:16 { dX[i] = V_again[i] }
    }
  })");
}

// What its inputs held is gone, or it is a tape: kept whatever is asked.
TEST(PlanMemory, ValuesWhoseInputsAreOverwrittenAreKept) {
  Combined c = Load(R"(sdfg f(X: f32[8], dX: f32[8]) {
    transient A: f32[8]
    transient B: f32[8]
    transient tape: f32[8]
    state {
      map i in 0:8 { A[i] = X[i] * 2 }
      map i in 0:8 { B[i] = exp(A[i]) }
      map i in 0:8 { tape[i] = A[i] }
      map i in 0:8 { A[i] = 1 }
    }
    state { map i in 0:8 { dX[i] = B[i] * A[i] + tape[i] } }
  })");
  c.tapes = {"tape"};
  Options o;
  o.keep = Keep::kRecomputeAll;
  Report report;
  ASSERT_TRUE(PlanMemory(&c, o, Registry(), &report).ok());
  ASSERT_EQ(report.items.size(), 3u);
  EXPECT_TRUE(report.items[2].recomputed);  // A by both its statements
  EXPECT_FALSE(report.items[0].recomputed || report.items[1].recomputed);
  EXPECT_EQ(report.items[0].why, "kept: what it is computed from does not last");
  EXPECT_EQ(report.items[1].why, "kept: values that are overwritten");
}

// Ten slots of tape become starts of four segments and three slots.
TEST(PlanMemory, LoopsRunInSegments) {
  Combined c = Load(R"(sdfg f(X: f64, dX: f64) {
    transient x: f64
    transient tape: f64[10]
    transient g: f64
    state { x = X }
    for t in 0:10 { tape[t] = x; x = sin(x) }
    state { g = 1 }
    for t in 9:-1:-1 { x = tape[t]; g = g * cos(x) }
    state { dX = g }
  })",
                    2);
  c.tapes = {"tape"};
  Options o;
  o.keep = Keep::kRecomputeAll;
  Report report;
  ASSERT_TRUE(PlanMemory(&c, o, Registry(), &report).ok());
  ASSERT_TRUE(Verify(c.program).ok()) << Verify(c.program).ToString();
  EXPECT_EQ(Plain(c.program), Plain(Load(R"(sdfg f(X: f64, dX: f64) {
    transient x: f64
    transient tape: f64[3]
    transient g: f64
    transient start_x: f64[4]
    state { x = X }
    for t_segment in 0:4 {
      start_x[t_segment] = x
      for t in 3 * t_segment:min(3 * t_segment + 3, 10) { x = sin(x) }
    }
    state { g = 1 }
    for t_segment in 3:-1:-1 {
      x = start_x[t_segment]
      for t in 3 * t_segment:min(3 * t_segment + 3, 10) { tape[t - 3 * t_segment] = x; x = sin(x) }
      for t in min(3 * t_segment + 3, 10) - 1:3 * t_segment - 1:-1 { x = tape[t - 3 * t_segment]; g = g * cos(x) }
    }
    state { dX = g }
  })")
                                        .program));
}

TEST(PlanMemory, ALimitNeedsSizes) {
  Combined c = Load(R"(sdfg f(X: f32[N], dX: f32[N]) {
    transient A: f32[N]
    state { map i in 0:N { A[i] = exp(X[i]) } }
    state { map i in 0:N { dX[i] = A[i] } }
  })");
  Options o;
  o.memory_limit = 100;
  Report report;
  EXPECT_EQ(PlanMemory(&c, o, Registry(), &report).message(), "a memory limit needs the value of size N");
  o.sizes = {{"N", 1000}};
  EXPECT_EQ(PlanMemory(&c, o, Registry(), &report).message(),
            "the memory limit of 100 bytes is below the minimum of 3.94 KiB (4032 bytes)");
  o.memory_limit = 4032;
  EXPECT_TRUE(PlanMemory(&c, o, Registry(), &report).ok());
  EXPECT_EQ(report.predicted_peak, 4032);
}

// What a node costs is found by expanding it: once, whoever calls the layer that it stands in, and whichever model asks.
TEST(PlanModel, EqualNodesAreExpandedOnce) {
  int expanded = 0;
  Registry r;
  ForwardImplementation i;
  i.domain = "test", i.op = "Twice", i.name = "pure";
  i.expand = [&](const NodeView&) {
    ++expanded;
    return ParseProgram("sdfg twice(X: f32[n], Y: f32[n]) { state { map i in 0:n { Y[i] = X[i] * 2 } } }");
  };
  ASSERT_TRUE(r.Add(std::move(i)).ok());
  Combined c = Load(R"(sdfg f(A: f32[N], B: f32[N], C: f32[N], D: f32[M], E: f32[M]) {
    state { call layer(X = A, Y = B, n := N) ; call layer(X = B, Y = C, n := N) ; call layer(X = D, Y = E, n := M) }
  }
  sdfg layer(X: f32[n], Y: f32[n]) {
    transient T: f32[n]
    state { test.Twice(X = X) -> (Y = T) ; map i in 0:n { Y[i] = T[i] + 1 } }
  })");
  c.costs = std::make_shared<KnownCosts>();
  Options o;
  o.sizes = {{"N", 10}, {"M", 1000}};
  for (int model = 0; model < 2; ++model) {
    const PlanModel m = BuildPlanModel(c, o, r);
    EXPECT_EQ(expanded, 2) << "once for each size";
    ASSERT_EQ(m.units.size(), 3u);
    EXPECT_GT(m.units[0].work, 0);
    EXPECT_EQ(m.units[0].work, m.units[1].work);
    EXPECT_EQ(100 * m.units[0].work, m.units[2].work);
  }
}

// Each step is computed again from those before it, but not from the first one on: some are kept, where the next begin.
TEST(PlanMemory, AChainOfStepsKeepsSome) {
  constexpr int kSteps = 20;
  std::string declared, forward, backward;
  for (int k = 1; k <= kSteps; ++k) {
    const std::string t = "T" + std::to_string(k), before = k == 1 ? "X" : "T" + std::to_string(k - 1);
    declared += "  transient " + t + ": f32[64]\n";
    forward += "    map i in 0:64 { " + t + "[i] = sin(" + before + "[i]) }\n";
    backward = "    map i in 0:64 { dX[i] = dX[i] * cos(" + t + "[i]) }\n" + backward;
  }
  Combined c = Load("sdfg f(X: f32[64], dX: f32[64]) {\n" + declared + "  state {\n" + forward +
                    "  }\n  state {\n    map i in 0:64 { dX[i] = 1.0 }\n" + backward + "  }\n}\n");
  Report report;
  const Status s = PlanMemory(&c, {}, Registry(), &report);
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_TRUE(Verify(c.program).ok()) << Verify(c.program).ToString() << Plain(c.program);
  std::string kept;
  for (const Report::Item& item : report.items)
    if (item.why.rfind("kept", 0) == 0) kept += item.container.str() + " ";
  EXPECT_EQ(kept, "T9 T18 ");
}

// The solver's plan does as little extra work as the best of all plans, and its minimum is theirs.
TEST(PlanMemory, SmallProblemsAreSolvedExactly) {
  std::mt19937 random(7);
  int needed = 0;
  for (int trial = 0; trial < 24; ++trial) {
    const Combined c = Load(testing::RandomPlanProgram(random, 4 + trial % 6));
    const PlanModel m = BuildPlanModel(c, {}, Registry());
    std::vector<int> free;
    for (size_t v = 0; v < m.values.size(); ++v)
      if (m.values[v].recomputable) free.push_back(static_cast<int>(v));
    std::vector<std::pair<int64_t, double>> plans;  // arena, work
    for (int bits = 0; bits < 1 << free.size(); ++bits) {
      Choice choice(m.values.size(), Fate::kKeep);
      for (size_t k = 0; k < free.size(); ++k)
        if (bits >> k & 1) choice[free[k]] = Fate::kOnce;
      const Timeline t = Evaluate(m, choice);
      EXPECT_GE(ArenaOf(t), t.peak);
      plans.push_back({ArenaOf(t), t.extra_work});
    }
    const int64_t least = std::min_element(plans.begin(), plans.end())->first, most = plans[0].first;
    EXPECT_FALSE(SolvePlan(m, least - 1).feasible) << trial;
    EXPECT_EQ(SolvePlan(m, least - 1).minimum, least) << trial;
    for (int k = 0; k < 3; ++k) {
      const int64_t limit = least + (most - least) * k / 3;
      double best = 1e300;
      for (const auto& [arena, work] : plans)
        if (arena <= limit) best = std::min(best, work);
      const Solution s = SolvePlan(m, limit);
      ASSERT_TRUE(s.feasible) << trial;
      EXPECT_LE(s.arena, limit);
      EXPECT_EQ(s.arena, ArenaOf(s.timeline));
      EXPECT_NEAR(s.timeline.extra_work, best, 1e-9 + 1e-4 * m.forward_work)
          << trial << " at " << limit << ": " << s.solver;
      needed += least < most;
    }
  }
  EXPECT_GT(needed, 30);  // the limit was a limit
}

double Seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Twelve layers fit in half and in a quarter of what keeping everything takes: layer by layer, from a few kept values.
TEST(PlanMemory, AStackOfLayersFitsInAQuarter) {
  const Combined c = Load(testing::TransformerPlanProgram(12, 128, 64));
  const double start = Seconds();
  const PlanModel m = BuildPlanModel(c, {}, Registry());
  const int64_t all = Evaluate(m, Choice(m.values.size(), Fate::kKeep)).peak;
  EXPECT_LT(Seconds() - start, 0.5);
  double work = 0;
  for (const double part : {0.5, 0.25}) {
    const auto limit = static_cast<int64_t>(part * static_cast<double>(all));
    const double before = Seconds();
    const Solution s = SolvePlan(m, limit);
    std::printf("%.0f %% of %lld bytes: %s; arena %lld, work %.3f, minimum %lld; %.2f s\n", part * 100,
                static_cast<long long>(all), s.solver.c_str(), static_cast<long long>(s.arena),
                s.timeline.extra_work / m.forward_work, static_cast<long long>(s.minimum), Seconds() - before);
    ASSERT_TRUE(s.feasible);
    EXPECT_LE(s.arena, limit);
    EXPECT_LT(s.timeline.extra_work, m.forward_work);  // no layer is computed three times
    EXPECT_GE(s.timeline.extra_work, work);            // less memory is more work
    work = s.timeline.extra_work;
  }
  const Solution none = SolvePlan(m, 1000);
  EXPECT_FALSE(none.feasible);
  const Solution least = SolvePlan(m, none.minimum);
  EXPECT_TRUE(least.feasible) << none.minimum;
  std::printf("minimum %lld: %s; work %.3f; %.2f s in all\n", static_cast<long long>(none.minimum),
              least.solver.c_str(), least.timeline.extra_work / m.forward_work, Seconds() - start);
}

// P, from another product of values that the backward part reads anyway; a product with a parameter does more for each element.
std::string Weights(int64_t rows, const std::string& key) {
  const std::string n = std::to_string(rows), all = "map i in 0:" + n + ", j in 0:" + n;
  return "sdfg f(X: f32[" + n + ", 64], W: f32[64, 64], U: f32[" + n + ", " + n + "], Y: f32[" + n + ", " + n + "], dP: f32[" + n + ", " + n +
         "], dQ: f32[" + n + ", 64]) {\n  transient Q: f32[" + n + ", 64]\n  transient S: f32[" + n + ", " + n + "]\n  transient P: f32[" + n + ", " +
         n + "]\n  transient dS: f32[" + n + ", " + n + "]\n  state {\n    map i in 0:" + n + ", j in 0:64 { Q[i, j] = 0 }\n    map i in 0:" + n +
         ", j in 0:64, k in 0:64 { Q[i, j] += X[i, k] * W[k, j] }\n    " + all + " { S[i, j] = 0 }\n    " + all + ", k in 0:64 { S[i, j] += Q[i, k] * " + key +
         "[j, k] }\n    " + all + " { P[i, j] = exp(S[i, j]) }\n    " + all + " { Y[i, j] = 0 }\n    " + all + ", k in 0:" + n +
         " { Y[i, j] += U[i, k] * P[k, j] }\n  }\n  state {\n    " + all + " { dS[i, j] = dP[i, j] * P[i, j] }\n    map i in 0:" + n +
         ", k in 0:64 { dQ[i, k] = 0 }\n    map i in 0:" + n + ", k in 0:64, j in 0:" + n + " { dQ[i, k] += dS[i, j] * Q[j, k] }\n  }\n}\n";
}

TEST(PlanMemory, LargeValuesOfLittleWorkAreComputedAgain) {
  const auto fate = [](const std::string& text, const Options& o) {
    Combined c = Load(text);
    Report report;
    const Status s = PlanMemory(&c, o, Registry(), &report);
    EXPECT_TRUE(s.ok()) << s.ToString();
    EXPECT_TRUE(Verify(c.program).ok()) << Verify(c.program).ToString() << Plain(c.program);
    for (const Report::Item& item : report.items)
      if (item.container == Name("P")) return item.why;
    return std::string();
  };
  EXPECT_EQ(fate(Weights(4096, "Q"), {}), "recomputed: little work for its size");
  EXPECT_EQ(fate(Weights(4096, "X"), {}), "kept: read by the backward part");  // a parameter
  EXPECT_EQ(fate(Weights(512, "Q"), {}), "kept: read by the backward part");   // 1 MiB
  Options all;
  all.keep = Keep::kStoreAll;
  EXPECT_EQ(fate(Weights(4096, "Q"), all), "kept: read by the backward part");
}

}  // namespace
}  // namespace headrace::autodiff
