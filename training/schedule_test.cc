#include "training/schedule.h"

#include "gtest/gtest.h"

namespace headrace::training {
namespace {

std::vector<double> Rates(const Schedule& s, int64_t total, int64_t per_epoch) {
  std::vector<double> out;
  for (int64_t step = 1; step <= total; ++step) out.push_back(RateAt(s, 1, step, total, per_epoch));
  return out;
}

TEST(Schedule, Kinds) {
  EXPECT_EQ(Rates({}, 3, 1), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(Rates({"step", 0.5, 2, 0}, 8, 2), (std::vector<double>{1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5}));
  const std::vector<double> cosine = Rates({"cosine", 0.1, 10, 0}, 4, 2);
  const double expected[] = {1, 0.8535533905932737, 0.5, 0.1464466094067262};  // torch's CosineAnnealingLR, T_max = 4
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(cosine[i], expected[i], 1e-15);
}

TEST(Schedule, WarmUpGrowsToTheRateAndTheRestFollows) {
  EXPECT_EQ(Rates({"constant", 0.1, 10, 4}, 6, 2), (std::vector<double>{0.25, 0.5, 0.75, 1, 1, 1}));
  const std::vector<double> cosine = Rates({"cosine", 0.1, 10, 2}, 6, 2), rest = Rates({"cosine", 0.1, 10, 0}, 4, 2);
  EXPECT_EQ(std::vector<double>(cosine.begin() + 2, cosine.end()), rest);
}

TEST(Schedule, SaysWhatIsWrong) {
  EXPECT_TRUE(CheckSchedule({}).ok());
  EXPECT_EQ(CheckSchedule({"cosin", 0.1, 10, 0}).ToString(),
            "error[E0941]: unknown schedule 'cosin'\n  hint: did you mean 'cosine'?");
  EXPECT_EQ(CheckSchedule({"step", 0, 10, 0}).message(), "--gamma must be a positive number");
  EXPECT_EQ(CheckSchedule({"step", 0.1, 0, 0}).message(), "--step-epochs must be 1 or more");
  EXPECT_EQ(CheckSchedule({"constant", 0.1, 1, -1}).message(), "--warmup must not be negative");
}

}  // namespace
}  // namespace headrace::training
