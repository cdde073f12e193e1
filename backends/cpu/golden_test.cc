// The generated C++ of a few programs, word by word: goldens/NAME.hr → goldens/NAME.cc.
// Update with  bazelw run //backends/cpu:golden_test -- --update  and look at the difference.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "backends/cpu/codegen_program.h"
#include "backends/cpu/testing.h"

namespace headrace::cpu {
namespace {

bool update = false;

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Kernels and functions, without the tables at the end.
std::string Generate(const std::string& source) {
  auto p = ParseProgram(source);
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  Registry r;
  auto g = GenerateProgram(WithArenas(*p), r);
  EXPECT_TRUE(g.ok()) << g.status().ToString();
  const std::string text = g->Text();
  return text.substr(0, text.find("static const char* const shape_0"));
}

TEST(Golden, GeneratedCode) {
  for (const std::string name : {"conv", "gather", "softmax", "kernel_softmax", "kernel_stencil"}) {
    const std::string stem = "backends/cpu/goldens/" + name;
    const std::string text = Generate(ReadFile(stem + ".hr"));
    ASSERT_FALSE(text.empty());
    if (update) {
      const char* root = std::getenv("BUILD_WORKSPACE_DIRECTORY");
      std::ofstream((root ? std::string(root) + "/" : "") + stem + ".cc.golden") << text;
    } else {
      EXPECT_EQ(text, ReadFile(stem + ".cc.golden")) << "run with --update if this is meant";
    }
  }
}

TEST(Determinism, SameSourceEveryTime) {
  const std::string source = ReadFile("backends/cpu/goldens/softmax.hr");
  EXPECT_EQ(Generate(source), Generate("\n\n" + source));
}

// Each with its own addresses: nothing may depend on them.
TEST(Determinism, TenProcessesWriteTheSameSource) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  ASSERT_GT(length, 0);
  for (const char* name : {"conv", "gather", "softmax", "kernel_softmax", "kernel_stencil"}) {
    const std::string command =
        std::string(self, static_cast<size_t>(length)) + " --generate=backends/cpu/goldens/" + name + ".hr";
    std::set<std::string> sources;
    for (int i = 0; i < 10; ++i) {
      FILE* pipe = popen(command.c_str(), "r");
      ASSERT_NE(pipe, nullptr);
      std::string text;
      char buffer[4096];
      for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
      ASSERT_EQ(pclose(pipe), 0);
      EXPECT_NE(text.find("run_"), std::string::npos);
      sources.insert(text);
    }
    EXPECT_EQ(sources.size(), 1u) << name;
  }
}

TEST(Determinism, SameBitsForAnyNumberOfThreads) {
  const std::string source = R"(
    sdfg f(X: f32[N, 300], A: f32[300, 70], S: f32[], R: f32[N], P: f32[N, 70]) {
      state {
        S[] = 0
        map i in 0:N, j in 0:300 { S[] += exp(X[i, j]) }
        map i in 0:N { R[i] = 0 }
        map i in 0:N, j in 0:300 { R[i] += X[i, j] * 0.3 }
        map i in 0:N, j in 0:70 { P[i, j] = 0 }
        map i in 0:N, j in 0:70, k in 0:300 { P[i, j] += X[i, k] * A[k, j] }
      }
    })";
  std::vector<double> x, a;
  for (int64_t i = 0; i < 1000 * 300; ++i) x.push_back(static_cast<double>(i * 7919 % 1000) / 500 - 1);
  for (int64_t i = 0; i < 300 * 70; ++i) a.push_back(static_cast<double>(i * 104729 % 1000) / 500 - 1);
  std::vector<std::vector<Value>> results;
  for (int threads : {1, 2, 7}) {
    Registry r;
    CompileOptions o = TestOptions();
    o.threads = threads;
    auto out = CompileText(source, r, o)->Run({{"X", F32({1000, 300}, x)}, {"A", F32({300, 70}, a)}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    results.push_back(*out);
  }
  for (size_t k = 1; k < results.size(); ++k)
    for (size_t i = 0; i < results[0].size(); ++i)
      EXPECT_EQ(std::memcmp(results[0][i].tensor.data->data(), results[k][i].tensor.data->data(),
                            static_cast<size_t>(results[0][i].tensor.bytes())),
                0);
}

}  // namespace
}  // namespace headrace::cpu

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], "--generate=", 11) == 0) {
      std::fputs(headrace::cpu::Generate(headrace::cpu::ReadFile(argv[i] + 11)).c_str(), stdout);
      return 0;
    }
  for (int i = 1; i < argc; ++i) headrace::cpu::update |= std::strcmp(argv[i], "--update") == 0;
  return RUN_ALL_TESTS();
}
