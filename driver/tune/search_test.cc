#include "driver/tune/search.h"

#include <gtest/gtest.h>

#include <utility>

namespace headrace::tune {
namespace {

// A machine without a clock: how long kernels take is a table.
class Imagined : public Workbench {
 public:
  std::map<std::string, double> kernels = {{"conv", 10}, {"pool", 5}, {"tiny", 0.01}};
  // (kernel, number, value) → what the time is multiplied by. What is not listed changes the kernel's schedule where the number is.
  std::map<std::pair<std::string, std::string>, std::map<int64_t, double>> factors;
  std::map<std::string, double> without;      // passes → what the whole time is multiplied by
  std::function<double(int trial, int half)> noise = [](int, int) { return 1.0; };  // of the plan's program
  int most_trials = 1000;
  std::string failing, wrong;  // numbers with which nothing compiles, or values differ
  int trials = 0, scheduled = 0;
  bool finished = false;
  int interrupts = 0, late_interrupts = 0;  // now; of what is measured after the search
  Plan reference;

  Status SetReference(const Plan& plan) override {
    reference = plan;
    return {};
  }
  Result<bool> Differs(const Plan& plan) override {
    if (!plan.implementations.empty()) return UnsupportedError("E0000", "it serves strings only");
    return without.count(plan.without.back()) > 0;
  }
  Result<std::map<std::string, double>> KernelSeconds() override { return kernels; }
  std::string NameOf(const std::string& key) const override { return "the " + key; }
  Result<std::string> Schedule(const std::string& key, const Plan::Numbers& numbers) override {
    ++scheduled;
    std::string text = key;
    for (const auto& [name, value] : numbers)
      if (factors.count({key, name})) text += " " + name + std::to_string(value);
    return text;
  }
  Result<Trial> Try(const Plan& plan, int) override {
    ++trials;
    if (finished && late_interrupts > 0 && --late_interrupts >= 0) interrupts = 1;
    if (interrupts > 0) return InterruptedError();
    if (!failing.empty() && Print(plan).find(failing) != std::string::npos) return InvalidError("E0000", "it does not compile");
    if (!wrong.empty() && Print(plan).find(wrong) != std::string::npos) {
      Diagnostic d;
      d.kind = ErrorKind::kMismatch, d.code = "E0469", d.message = "the program gives other values under a plan";
      return Status(d);
    }
    Trial t;
    for (const int half : {0, 1}) {
      for (const auto& [key, unused] : kernels) {
        t.kernels[key].reference[half] = Seconds(key, reference), t.kernels[key].tried[half] = Seconds(key, plan) * noise(trials, half);
        t.whole.reference[half] += t.kernels[key].reference[half], t.whole.tried[half] += t.kernels[key].tried[half];
      }
    }
    return t;
  }
  bool Stop(double share) override { return finished || trials >= share * most_trials; }
  bool Finish() override { return finished = true, std::exchange(interrupts, 0) > 0; }

 private:
  double Seconds(const std::string& key, const Plan& plan) const {
    double s = kernels.at(key);
    for (const std::string& pass : plan.without) s *= without.at(pass);
    if (const Plan::Kernel* k = plan.Find(key))
      for (const auto& [name, value] : k->numbers)
        if (const auto f = factors.find({key, name}); f != factors.end() && f->second.count(value)) s *= f->second.at(value);
    return s;
  }
};

std::string PlanOf(Imagined& m, const std::vector<Choice>& choices = {}, const Plan& start = {}) {
  const Result<Found> f = Search(m, start, choices, [](const std::string&, double) {});
  EXPECT_TRUE(f.ok()) << f.status().ToString();
  return f.ok() ? Print(f->plan) : "";
}

// Each kernel keeps the best values of the numbers that it depends on; one that takes no time is left alone.
TEST(Search, KernelsHaveTheirNumbers) {
  Imagined m;
  m.factors[{"conv", "tile-rows"}] = {{8, 0.9}, {6, 0.8}};
  m.factors[{"conv", "block-depth"}] = {{512, 1.5}, {256, 0.9}};
  m.factors[{"pool", "window-rows"}] = {{4, 0.5}};
  m.factors[{"tiny", "window-rows"}] = {{4, 0.5}};
  EXPECT_EQ(PlanOf(m),
            "kernel conv: tile-rows 6, block-depth 256  # the conv\n"
            "kernel pool: window-rows 4  # the pool\n");
  EXPECT_LT(m.trials, 20);  // values that change no schedule are not tried, and kernels are tried at once
}

// A Ctrl-C that comes when the search has just ended by itself ends no more than that; a second one ends all.
TEST(Search, InterruptedAtTheEnd) {
  Imagined m;
  m.factors[{"pool", "window-rows"}] = {{4, 0.5}};
  m.late_interrupts = 1;
  EXPECT_EQ(PlanOf(m), "kernel pool: window-rows 4  # the pool\n");
  Imagined twice;
  twice.factors = m.factors;
  twice.late_interrupts = 2;
  const Result<Found> found = Search(twice, {}, {}, [](const std::string&, double) {});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().kind(), ErrorKind::kInterrupted);
}

TEST(Search, NothingIsFaster) {
  Imagined m;
  m.factors[{"conv", "tile-rows"}] = {{8, 1.1}, {6, 0.99}};  // not by enough
  EXPECT_EQ(PlanOf(m), "");
}

// What is shown meanwhile: the kernel that takes the longest, and what all of them have saved together.
TEST(Search, SaysHowFarItIs) {
  Imagined m;
  m.kernels = {{"conv", 10}, {"pool", 10}};
  m.factors[{"conv", "tile-rows"}] = {{8, 0.5}};
  m.factors[{"pool", "window-rows"}] = {{4, 0.5}};
  std::vector<std::pair<std::string, double>> said;
  ASSERT_TRUE(Search(m, {}, {}, [&](const std::string& now, double faster) { said.emplace_back(now, faster); }).ok());
  ASSERT_GT(said.size(), 2u);
  EXPECT_EQ(said[0].first, "the conv: tile-rows 8, and 1 more");
  EXPECT_EQ(said[0].second, 1.0);
  EXPECT_EQ(said[1].second, 2.0);
}

// What is faster in some turns, or once, is noise.
TEST(Search, NoiseIsNoPlan) {
  Imagined halves;
  halves.factors[{"conv", "tile-rows"}] = {};
  halves.noise = [](int, int half) { return half == 0 ? 0.5 : 1.0; };
  EXPECT_EQ(PlanOf(halves), "");
  Imagined once;
  once.factors[{"conv", "tile-rows"}] = {};
  once.noise = [](int trial, int) { return trial == 2 ? 0.5 : 1.0; };
  EXPECT_EQ(PlanOf(once), "");
}

// Kernels that are faster by themselves in a program that is not: no plan.
TEST(Search, TheWholeProgramDecides) {
  Imagined m;
  m.factors[{"conv", "tile-rows"}] = {{8, 0.9}};
  m.noise = [](int trial, int) { return trial == 8 ? 1.2 : 1.0; };  // six values, all of them once more, and the program as a whole
  EXPECT_EQ(PlanOf(m), "");
  EXPECT_EQ(m.trials, 8);
}

TEST(Search, ChoicesForTheWholeProgram) {
  Imagined m;
  m.without = {{"assign-layouts", 0.8}, {"fuse-epilogue", 1.3}};
  m.factors[{"pool", "window-rows"}] = {{4, 0.5}};
  const std::vector<Choice> choices = {{"layouts", *ParsePlan("without assign-layouts")},
                                       {"epilogues", *ParsePlan("without fuse-epilogue")},
                                       {"strings", *ParsePlan("implementation onnx.Relu = strings")},
                                       {"no pass of this program", *ParsePlan("without loop-to-map")}};
  EXPECT_EQ(PlanOf(m, choices), "without assign-layouts\nkernel pool: window-rows 4  # the pool\n");
}

// A plan to begin with is measured like any other.
TEST(Search, BeginsWithAPlan) {
  Plan start;
  start.kernels = {{"conv", {{"tile-rows", 5}}, ""}, {"pool", {{"window-rows", 5}}, ""}};
  Imagined m;
  m.factors[{"conv", "tile-rows"}] = {{5, 0.7}, {8, 0.9}};
  m.factors[{"pool", "window-rows"}] = {{5, 2.0}};
  EXPECT_EQ(PlanOf(m, {}, start), "kernel conv: tile-rows 5  # the conv\n");
}

// A search that ends at once keeps the plan that it began with, if that is still faster.
TEST(Search, KeepsThePlanThatItBeganWith) {
  Plan start;
  start.kernels = {{"conv", {{"tile-rows", 5}}, ""}};
  Imagined m;
  m.factors[{"conv", "tile-rows"}] = {{5, 0.7}};
  m.most_trials = 0;
  EXPECT_EQ(PlanOf(m, {}, start), "kernel conv: tile-rows 5\n");
  Imagined slower;
  slower.factors[{"conv", "tile-rows"}] = {{5, 1.7}};
  slower.most_trials = 0;
  EXPECT_EQ(PlanOf(slower, {}, start), "");
}

// Time is up: what was found until then is measured once more, and kept.
TEST(Search, EndsWithTheBestSoFar) {
  Imagined m;
  m.factors[{"conv", "tile-rows"}] = {{8, 0.9}, {6, 0.8}};
  m.most_trials = 1;
  EXPECT_EQ(PlanOf(m), "kernel conv: tile-rows 8  # the conv\n");
  EXPECT_EQ(m.trials, 3);
  Imagined at_once;
  at_once.most_trials = 0;
  EXPECT_EQ(PlanOf(at_once), "");
}

TEST(Search, WhatFailsIsPassedOver) {
  Imagined m;
  m.factors[{"conv", "tile-rows"}] = {{8, 0.5}, {6, 0.8}};
  m.failing = "tile-rows 8";
  EXPECT_EQ(PlanOf(m), "kernel conv: tile-rows 6  # the conv\n");
}

TEST(Search, OtherValuesAreAnError) {
  Imagined m;
  m.factors[{"conv", "tile-rows"}] = {{8, 0.5}};
  m.wrong = "tile-rows 8";
  const Result<Found> f = Search(m, {}, {}, [](const std::string&, double) {});
  ASSERT_FALSE(f.ok());
  EXPECT_EQ(f.status().diagnostics()[0].code, "E0469");
}

}  // namespace
}  // namespace headrace::tune
