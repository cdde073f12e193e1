// .hrx folders: what is saved runs again, what is damaged is refused.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "backends/cpu/cache.h"
#include "backends/cpu/testing.h"

namespace headrace::cpu {
namespace {

const char kProgram[] = R"(
  sdfg f(X: f32[N, 2], Y: f32[N, 2]) {
    constant W: f32[2] = [10, 20]
    state { map i in 0:N, j in 0:2 { Y[i, j] = X[i, j] * W[j] } }
  })";

class ArtifactTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "/artifact" + std::to_string(getpid()) + ".hrx";
    RemoveTree(path_);
    auto e = CompileText(kProgram, registry_);
    ASSERT_TRUE(e);
    const Status s = e->Save(path_);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  Registry registry_;
  std::string path_;
};

TEST_F(ArtifactTest, RunsForEverySize) {
  auto e = LoadArtifact(path_, {}, registry_);
  ASSERT_TRUE(e.ok()) << e.status().ToString();
  auto out = (*e)->Run({{"X", F32({2, 2}, {1, 2, 3, 4})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>{10, 40, 30, 80}));
  EXPECT_FALSE((*e)->Run({{"X", F32({2, 3}, std::vector<double>(6))}}).ok());
}

// What the size is read from is no part of the signature.
TEST_F(ArtifactTest, SizesThatTheRunDefines) {
  auto compiled = CompileText(R"(
    sdfg f(X: f32[N], a: i64, Y: f32[n], Z: f32[m]) {
      transient t: i64
      t = a + 1
      let n = t
      let k = a * 2
      let m = k + n
      state { map i in 0:n { Y[i] = 1 } ; map i in 0:m { Z[i] = X[0] } }
    })",
                              registry_);
  ASSERT_TRUE(compiled);
  ASSERT_TRUE(compiled->Save(path_).ok());
  auto e = LoadArtifact(path_, {}, registry_);
  ASSERT_TRUE(e.ok()) << e.status().ToString();
  auto out = (*e)->Run({{"X", F32({1}, {5})}, {"a", I64({}, {1})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>{1, 1}));
  EXPECT_EQ(Doubles((*out)[1]), (std::vector<double>{5, 5, 5, 5}));
}

TEST_F(ArtifactTest, SavingAgainReplaces) {
  auto e = CompileText(kProgram, registry_);
  EXPECT_TRUE(e->Save(path_).ok());
  EXPECT_TRUE(LoadArtifact(path_, {}, registry_).ok());
}

TEST_F(ArtifactTest, DamageIsRefused) {
  std::ofstream(path_ + "/program.so", std::ios::app) << "x";
  auto e = LoadArtifact(path_, {}, registry_);
  ASSERT_FALSE(e.ok());
  EXPECT_NE(e.status().message().find("another hash"), std::string::npos) << e.status().message();
}

TEST_F(ArtifactTest, ShortWeightsAreRefused) {
  ASSERT_EQ(truncate((path_ + "/weights.bin").c_str(), 3), 0);
  EXPECT_FALSE(LoadArtifact(path_, {}, registry_).ok());
}

TEST_F(ArtifactTest, NotAManifest) {
  std::ofstream(path_ + "/manifest.json") << "{]";
  EXPECT_FALSE(LoadArtifact(path_, {}, registry_).ok());
  std::ofstream(path_ + "/manifest.json") << "{\"format\": 1, \"machine\": \"x86_64\"}";
  EXPECT_FALSE(LoadArtifact(path_, {}, registry_).ok());
}

TEST_F(ArtifactTest, OtherFoldersAreNotOverwritten) {
  const std::string folder = path_ + ".mine";
  mkdir(folder.c_str(), 0755);
  EXPECT_FALSE(CompileText(kProgram, registry_)->Save(folder).ok());
}

}  // namespace
}  // namespace headrace::cpu
