// Plans change what is computed when, never what comes out: random combined programs before and after, on the interpreter.
#include <gtest/gtest.h>

#include <random>

#include "autodiff/plan.h"
#include "autodiff/plan_model.h"
#include "autodiff/plan_programs_for_tests.h"
#include "backends/interpreter/interpreter.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace::autodiff {
namespace {

double ResultOf(const Program& p) {
  Tensor x = *Tensor::Create(DType::kF64, {8});
  for (int i = 0; i < 8; ++i) x.SetDouble(i, 0.3 * i - 1);
  const Registry r;
  auto e = interpreter::CompileProgram(p, {}, r);
  HR_CHECK(e.ok(), e.status().ToString());
  auto out = (*e)->Run({{"X", Value(x)}}, {});
  HR_CHECK(out.ok(), out.status().ToString() + Print(p));
  return (*out)[0].tensor.GetDouble(0);
}

TEST(PlanRun, ResultsStayTheSame) {
  std::mt19937 random(3);
  int copies = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const std::string text = testing::RandomPlanProgram(random, 3 + trial % 10);
    const Combined original{*ParseProgram(text), 1, {}};
    const double expected = ResultOf(original.program);
    Options all;
    all.keep = Keep::kStoreAll;
    Report report;
    Combined kept = original;
    ASSERT_TRUE(PlanMemory(&kept, all, Registry(), &report).ok());
    for (const double part : {0.0, 0.5, 0.8}) {
      Options o;
      if (part == 0) o.keep = Keep::kRecomputeAll;
      else o.memory_limit = static_cast<int64_t>(part * static_cast<double>(report.predicted_peak));
      Combined c = original;
      Report used;
      const Status s = PlanMemory(&c, o, Registry(), &used);
      if (!s.ok()) {  // below the minimum: with that as the limit it can be done
        ASSERT_NE(s.message().find("below the minimum"), std::string::npos) << s.ToString();
        o.memory_limit = used.minimum_peak;
        c = original;
        ASSERT_TRUE(PlanMemory(&c, o, Registry(), &used).ok());
      }
      if (o.memory_limit) { EXPECT_LE(used.predicted_peak, *o.memory_limit); }
      const std::string after = Print(c.program);
      ASSERT_TRUE(Verify(c.program).ok()) << Verify(c.program).ToString() << after;
      copies += after.find("_again") != std::string::npos;
      EXPECT_EQ(ResultOf(c.program), expected) << after;
    }
  }
  EXPECT_GT(copies, 40);
}

}  // namespace
}  // namespace headrace::autodiff
