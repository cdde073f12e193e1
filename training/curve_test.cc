#include "training/curve.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "gtest/gtest.h"
#include "training/curve_svg.h"

namespace headrace::training {
namespace {

class CurveTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/curveXXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override {
    for (const char* n : {"losses.csv", "epochs.csv", "losses.svg"}) unlink(File(n).c_str());
    EXPECT_EQ(rmdir(folder_.c_str()), 0);
  }
  std::string File(const std::string& name) const { return folder_ + "/" + name; }
  std::string Read(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(File(name), std::ios::binary).rdbuf();
    return out.str();
  }
  // Steps from..to, an epoch every 4.
  static void Train(CurveFiles& c, int from, int to) {
    for (int step = from; step <= to; ++step) {
      ASSERT_TRUE(c.AddStep(step, (step + 3) / 4, 0.1, 1.0 / step).ok());
      const double accuracy = 1 - 0.3 / step;
      if (step % 4 != 0) continue;
      ASSERT_TRUE(c.AddEpoch(step / 4, step, 2.0 / step, nullptr, &accuracy).ok());
    }
  }
  std::string folder_;
};

TEST_F(CurveTest, NumbersReadBackAsTheyWere) {
  CurveFiles c(folder_);
  ASSERT_TRUE(c.Open(0).ok());
  const double validation = 1e-300, accuracy = 0.5;
  ASSERT_TRUE(c.AddStep(1, 1, 0.1, 1.0 / 3).ok());
  ASSERT_TRUE(c.AddStep(2, 1, 1e-5, -std::numeric_limits<double>::quiet_NaN()).ok());
  ASSERT_TRUE(c.AddStep(3, 1, 0, std::numeric_limits<double>::infinity()).ok());
  ASSERT_TRUE(c.AddEpoch(1, 3, 0.25, nullptr, nullptr).ok());
  ASSERT_TRUE(c.AddEpoch(2, 6, 0.125, &validation, &accuracy).ok());
  ASSERT_TRUE(c.Flush().ok());
  EXPECT_EQ(Read("losses.csv"), "step,epoch,rate,loss\n1,1,0.1,0.3333333333333333\n2,1,1e-05,nan\n3,1,0,inf\n");
  EXPECT_EQ(Read("epochs.csv"),
            "epoch,step,loss,validation_loss,validation_accuracy\n1,3,0.25,,\n2,6,0.125,1e-300,0.5\n");
}

// What a killed run leaves, cut at every length: after the checkpoint's step the files go on as if nothing had happened.
TEST_F(CurveTest, AResumedRunWritesTheSameBytes) {
  {
    CurveFiles c(folder_);
    ASSERT_TRUE(c.Open(0).ok());
    Train(c, 1, 12);
    ASSERT_TRUE(c.Flush().ok());
  }
  const std::string losses = Read("losses.csv"), epochs = Read("epochs.csv");
  const size_t durable = losses.find("\n8,") + 1;  // flushed with the checkpoint of step 8
  for (size_t n = losses.find('\n', durable) + 1; n <= losses.size(); ++n) {
    std::ofstream(File("losses.csv"), std::ios::binary) << losses.substr(0, n);
    std::ofstream(File("epochs.csv"), std::ios::binary) << epochs << (n % 2 ? "4,1" : "");
    CurveFiles c(folder_);
    std::vector<std::string> notes;
    ASSERT_TRUE(c.Open(8, &notes).ok());
    EXPECT_EQ(notes, std::vector<std::string>());
    Train(c, 9, 12);
    ASSERT_TRUE(c.Flush().ok());
    EXPECT_EQ(Read("losses.csv"), losses) << "cut to " << n;
    EXPECT_EQ(Read("epochs.csv"), epochs);
  }
}

TEST_F(CurveTest, ANewRunStartsAnewAndAGapIsSaid) {
  std::ofstream(File("losses.csv")) << "step,epoch,rate,loss\n1,1,0.1,9\n2,1,0.1,9\n3,1,0.";
  {
    CurveFiles c(folder_);
    std::vector<std::string> notes;
    ASSERT_TRUE(c.Open(5, &notes).ok());
    EXPECT_EQ(notes,
              std::vector<std::string>{File("losses.csv") + " ends at step 2: the curve has a gap up to step 5"});
    EXPECT_EQ(Read("losses.csv"), "step,epoch,rate,loss\n1,1,0.1,9\n2,1,0.1,9\n");
  }
  CurveFiles c(folder_);
  ASSERT_TRUE(c.Open(0).ok());
  EXPECT_EQ(Read("losses.csv"), "step,epoch,rate,loss\n");
}

TEST_F(CurveTest, AnotherProgramsFileStaysAsItIs) {
  std::ofstream(File("losses.csv")) << "time,loss\n1,2\n";
  CurveFiles c(folder_);
  const Status s = c.Open(0);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.diagnostics()[0].code, "E0955");
  EXPECT_EQ(s.diagnostics()[0].file, File("losses.csv"));
  EXPECT_EQ(Read("losses.csv"), "time,loss\n1,2\n");
}

TEST_F(CurveTest, TheErrorNamesTheFile) {
  const Status s = CurveFiles(folder_ + "/missing").Open(0);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.diagnostics()[0].code, "E0951");
  EXPECT_EQ(s.diagnostics()[0].file, folder_ + "/missing/losses.csv");
}

// ---- the picture ----

TEST_F(CurveTest, ThePictureIsDrawnFromTheFiles) {
  CurveFiles c(folder_);
  ASSERT_TRUE(c.Open(0).ok());
  Train(c, 1, 40);
  ASSERT_TRUE(c.Draw().ok());
  const std::string svg = Read("losses.svg");
  for (const char* part : {"prefers-color-scheme:dark", "polyline class=\"loss\"", "polyline class=\"accuracy\"",
                           "training loss ", "accuracy 99.25%"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  EXPECT_EQ(svg.find("polyline class=\"validation\""), std::string::npos);
  EXPECT_EQ(Read("losses.csv").find("step,epoch,rate,loss\n1,1,0.1,1\n"), 0u);
}

TEST(CurveSvg, AMillionStepsStaySmallAndShowTheExtremes) {
  Points p;
  for (int64_t i = 1; i <= 1000000; ++i) p.emplace_back(i, 2 + std::sin(static_cast<double>(i)));
  p[500000].second = 2.9;
  p[500001].second = 9.5;
  const std::string svg = CurveSvg(p, {}, {});
  EXPECT_LT(svg.size(), 25000u);
  EXPECT_NE(svg.find(",-400 "), std::string::npos) << "the spike is cut off by the plot's edge, not by decimation";
}

TEST(CurveSvg, WhatCantBeDrawnIsLeftOut) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const Points all[] = {{},
                        {{1, nan}},
                        {{1, 0.5}},
                        {{1, 0.5}, {2, 0.5}},
                        {{1, 1}, {2, nan}, {3, inf}, {4, -inf}, {5, 0.5}},
                        {{1, 1e308}, {2, -1e308}},
                        {{1, 5e-324}, {2, 0}},
                        {{1, 1e280}, {2, 1e-280}},
                        {{1, 1e15}, {2, 1e15 + 1}},
                        {{int64_t{1} << 60, 1}}};
  for (const Points& a : all) {
    for (const Points& b : all) {
      const std::string svg = CurveSvg(a, b, b);
      for (const char* wrong : {"nan", "inf", "NaN", "\"-0\""}) EXPECT_EQ(svg.find(wrong), std::string::npos) << svg;
      EXPECT_LT(svg.size(), 10000u);
    }
  }
  EXPECT_NE(CurveSvg({}, {}, {}).find("no steps yet"), std::string::npos);
}

TEST(RoundTicks, AreRound) {
  using Ticks = std::vector<double>;
  EXPECT_EQ(RoundTicks(0, 2.3, 6), (Ticks{0, 0.5, 1, 1.5, 2, 2.5}));
  EXPECT_EQ(RoundTicks(0, 200, 8), (Ticks{0, 50, 100, 150, 200}));
  EXPECT_EQ(RoundTicks(-7, 12, 6), (Ticks{-10, -5, 0, 5, 10, 15}));
  EXPECT_EQ(RoundTicks(0, 0, 4), (Ticks{-1, 0, 1}));
  for (double low : {-1e300, -3.0, 0.0, 1e-300, 17.25, 1e18})
    for (double width : {0.0, 1e-300, 1e-9, 3.0, 1e18, 1e300}) {
      const Ticks t = RoundTicks(low, low + width, 6);
      EXPECT_GE(t.size(), 2u);
      EXPECT_LE(t.size(), 9u);
      const double pixel = 0.001 * (t.back() - t.front());
      EXPECT_LE(t.front(), low + pixel);
      EXPECT_GE(t.back(), low + width - pixel);
    }
}

}  // namespace
}  // namespace headrace::training
