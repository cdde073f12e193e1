// .hrx folders: what is saved runs again, what is damaged is refused.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "backends/cpu/cache.h"
#include "backends/cpu/testing.h"
#include "ir/registry/call.h"
#include "runtime/checksums.h"
#include "runtime/processor.h"

namespace headrace::cpu {
namespace {

const char kProgram[] = R"(
  sdfg f(X: f32[N, 2], Y: f32[N, 2]) {
    constant W: f32[2] = [10, 20]
    state { map i in 0:N, j in 0:2 { Y[i, j] = X[i, j] * W[j] } }
  })";

class ArtifactTest : public ::testing::Test {
 protected:
  std::vector<std::string> Files() const {
    return {"manifest.json", "signature.txt", "weights.bin", "program.so", runtime::kChecksumsFile};
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(path_ + "/" + name, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }
  void Replace(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = Read(name);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    Write(name, text.replace(at, from.size(), to));
  }
  void ExpectError(const std::string& code, const std::string& words) {
    const auto e = LoadArtifact(path_, {}, registry_);
    ASSERT_FALSE(e.ok()) << words;
    EXPECT_EQ(e.status().diagnostics()[0].code, code) << e.status().ToString();
    EXPECT_NE(e.status().ToString().find(words), std::string::npos) << e.status().ToString();
  }
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

// Every file, in every way: an error with a code that names the file.
TEST_F(ArtifactTest, DamageIsRefusedAndNamed) {
  for (const std::string& name : Files()) {
    const std::string whole = Read(name);
    std::string flipped = whole, zeroed(whole.size(), '\0');
    flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 4);
    for (const std::string& damaged : {flipped, zeroed, whole.substr(0, whole.size() / 2), whole + "x", std::string()}) {
      Write(name, damaged);
      ExpectError("E0372", name);
    }
    unlink((path_ + "/" + name).c_str());
    ExpectError("E0372", name);
    Write(name, whole);
  }
  EXPECT_TRUE(LoadArtifact(path_, {}, registry_).ok());
}

TEST_F(ArtifactTest, WhatIsNotCheckedAndCantBeLoadedIsToBeCompiledAgain) {
  Write("program.so", "no code");
  CompileOptions unchecked;
  unchecked.verify_artifact = false;
  const auto e = LoadArtifact(path_, unchecked, registry_);
  ASSERT_FALSE(e.ok());
  EXPECT_EQ(e.status().diagnostics()[0].code, "E0377");
  EXPECT_EQ(e.status().diagnostics()[0].hint, "compile it again, or copy it again as a whole");
}

TEST_F(ArtifactTest, SwappedFilesAreRefused) {
  const std::string signature = Read("signature.txt"), weights = Read("weights.bin");
  Write("signature.txt", weights);
  Write("weights.bin", signature);
  ExpectError("E0372", "signature.txt");
}

TEST_F(ArtifactTest, FilesThatDoNotBelongThereAreRefused) {
  Write("libother.so", "x");
  ExpectError("E0372", "libother.so");
  CompileOptions unchecked;
  unchecked.verify_artifact = false;
  EXPECT_TRUE(LoadArtifact(path_, unchecked, registry_).ok());
}

// Not to be looked at is not to be looked at: the wrong weights give another result, and no error.
TEST_F(ArtifactTest, NoVerifyTakesWeightsAsTheyAre) {
  Write("weights.bin", std::string(Read("weights.bin").size(), '\0'));
  ExpectError("E0372", "weights.bin");
  CompileOptions unchecked;
  unchecked.verify_artifact = false;
  auto e = LoadArtifact(path_, unchecked, registry_);
  ASSERT_TRUE(e.ok()) << e.status().ToString();
  EXPECT_EQ(Doubles((*(*e)->Run({{"X", F32({1, 2}, {1, 2})}}))[0]), (std::vector<double>{0, 0}));
}

TEST_F(ArtifactTest, NotAManifest) {
  Write("manifest.json", "{]");
  ASSERT_EQ(runtime::WriteChecksums(path_), "");
  ExpectError("E0372", "manifest.json");
  Write("manifest.json", "{\"format\": 2, \"machine\": \"" + runtime::Machine() + "\"}");
  ASSERT_EQ(runtime::WriteChecksums(path_), "");
  EXPECT_FALSE(LoadArtifact(path_, {}, registry_).ok());
}

TEST_F(ArtifactTest, OfAnOlderVersion) {
  Replace("manifest.json", "\"format\": 2", "\"format\": 1");
  unlink((path_ + "/" + runtime::kChecksumsFile).c_str());
  ExpectError("E0373", "format is 1, this version reads 2");
}

TEST_F(ArtifactTest, InstructionsThatThisProcessorLacksAreAllNamed) {
  Replace("manifest.json", "\"instructions\": [", "\"instructions\": [\"tiles\", \"wings\"" +
                                                      std::string(runtime::MachineFeatures().empty() ? "" : ","));
  ASSERT_EQ(runtime::WriteChecksums(path_), "");
  ExpectError("E0374", "lacks: tiles, wings");
}

// What this machine can't run is not loaded here; it can be saved all the same.
TEST_F(ArtifactTest, EveryTargetIsRunOrRefused) {
  for (const std::string& target : runtime::Targets()) {
    CompileOptions o = TestOptions();
    o.target = target;
    const auto e = CompileText(kProgram, registry_, o);
    ASSERT_TRUE(e) << target;
    EXPECT_TRUE(e->Save(path_).ok()) << target;
    const auto out = e->Run({{"X", F32({1, 2}, {1, 2})}});
    const bool runs = runtime::MissingFeatures(runtime::TargetFeatures(target)).empty();
    EXPECT_EQ(out.ok(), runs) << out.status().ToString();
    EXPECT_EQ(LoadArtifact(path_, {}, registry_).ok(), runs) << target;
    if (!runs) {
      CallFrame frame;
      EXPECT_EQ(e->Call(frame).diagnostics()[0].code, "E0374");
      EXPECT_TRUE(e->CallSymbols().empty());
    }
  }
}

TEST_F(ArtifactTest, TargetIsRecorded) {
#if defined(__x86_64__)
  CompileOptions o = TestOptions();
  o.target = "x86-64-v2";
  ASSERT_TRUE(CompileText(kProgram, registry_, o)->Save(path_).ok());
  EXPECT_NE(Read("manifest.json").find("\"target\": \"x86-64-v2\""), std::string::npos);
  EXPECT_EQ(Read("manifest.json").find("avx"), std::string::npos);
  EXPECT_TRUE(LoadArtifact(path_, {}, registry_).ok());
#endif
  CompileOptions unknown = TestOptions();
  unknown.target = "x86-64-v9";
  const auto e = Compile(*ParseProgram(kProgram), unknown, registry_);
  ASSERT_FALSE(e.ok());
  EXPECT_EQ(e.status().diagnostics()[0].code, "E0378");
}

TEST_F(ArtifactTest, OtherFoldersAreNotOverwritten) {
  const std::string folder = path_ + ".mine";
  mkdir(folder.c_str(), 0755);
  EXPECT_FALSE(CompileText(kProgram, registry_)->Save(folder).ok());
}

}  // namespace
}  // namespace headrace::cpu
