// The cache under concurrency, damage and hostile folders.
#include "backends/cpu/cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "backends/cpu/testing.h"

namespace headrace::cpu {
namespace {

const char kProgram[] = "sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = X[i] * 3 } } }";

std::string FreshFolder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/" + name + std::to_string(getpid());
  RemoveTree(folder);
  return folder;
}

CompileOptions In(const std::string& folder) {
  CompileOptions o = TestOptions();
  o.cache_dir = folder;
  return o;
}

double Figure(const Executable& e, const std::string& name) {
  for (const auto& [key, value] : e.Report())
    if (key == name) return value;
  return -1;
}

TEST(Cache, SecondCompileIsAHit) {
  const std::string folder = FreshFolder("hit");
  Registry r;
  EXPECT_EQ(Figure(*CompileText(kProgram, r, In(folder)), "cache hit"), 0);
  auto again = CompileText(kProgram, r, In(folder));
  EXPECT_EQ(Figure(*again, "cache hit"), 1);
  auto out = again->Run({{"X", F32({2}, {1, 2})}});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(Doubles((*out)[0])[1], 6);
  EXPECT_EQ(Cache(folder).List().size(), 1u);
  EXPECT_EQ(Cache(folder).List()[0].description, "f");
  EXPECT_EQ(Cache(folder).Clear(), 1);
  EXPECT_TRUE(Cache(folder).List().empty());
}

TEST(Cache, SixteenProcessesCompileOnce) {
  const std::string folder = FreshFolder("many"), log = folder + ".log";
  const std::string key(64, 'a');
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      Cache cache(folder);
      auto e = cache.Get(
          key, "test",
          [&](const std::string& scratch) -> Status {
            std::ofstream(log, std::ios::app) << "compiled\n";
            usleep(100000);
            std::ofstream(scratch + "/program.so") << "code";
            return {};
          },
          nullptr);
      std::string text;
      if (e.ok()) std::getline(std::ifstream(e->path), text);
      _exit(text == "code" ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t c : children) {
    int status = 0;
    waitpid(c, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::ifstream in(log);
  int compiled = 0;
  for (std::string line; std::getline(in, line);) ++compiled;
  EXPECT_EQ(compiled, 1);
}

class Damage : public ::testing::Test {
 protected:
  // Runs `harm` on a good entry; returns how often it was compiled afterwards (0 = accepted as it is).
  int CompilesAfter(const std::function<void(const std::string& entry)>& harm) {
    const std::string folder = FreshFolder("damage");
    const std::string key(64, 'b');
    int compiled = 0;
    auto compile = [&](const std::string& scratch) -> Status {
      ++compiled;
      std::ofstream(scratch + "/program.so") << "code";
      return {};
    };
    Cache cache(folder);
    EXPECT_TRUE(cache.Get(key, "test", compile, nullptr).ok());
    EXPECT_EQ(compiled, 1);
    harm(folder + "/" + key);
    compiled = 0;
    auto e = cache.Get(key, "test", compile, nullptr);
    EXPECT_TRUE(e.ok()) << e.status().ToString();
    std::string text;
    std::getline(std::ifstream(e->path), text);
    EXPECT_EQ(text, "code");
    RemoveTree(e->scratch);
    return compiled;
  }
};

TEST_F(Damage, Nothing) {
  EXPECT_EQ(CompilesAfter([](const std::string&) {}), 0);
}
TEST_F(Damage, FlippedByte) {
  EXPECT_EQ(CompilesAfter([](const std::string& e) { std::ofstream(e + "/program.so") << "codf"; }), 1);
}
TEST_F(Damage, AnotherProgramsEntry) {
  EXPECT_EQ(CompilesAfter([](const std::string& e) {
              const std::string other = e.substr(0, e.rfind('/') + 1) + std::string(64, 'c');
              auto compile = [](const std::string& scratch) -> Status {
                std::ofstream(scratch + "/program.so") << "other";
                return {};
              };
              Cache cache(e.substr(0, e.rfind('/')));
              ASSERT_TRUE(cache.Get(std::string(64, 'c'), "other", compile, nullptr).ok());
              RemoveTree(e);
              ASSERT_EQ(rename(other.c_str(), e.c_str()), 0);
            }),
            1);
}
TEST_F(Damage, CutOff) {
  EXPECT_EQ(CompilesAfter([](const std::string& e) { ASSERT_EQ(truncate((e + "/program.so").c_str(), 2), 0); }), 1);
}
TEST_F(Damage, NoManifest) {
  EXPECT_EQ(CompilesAfter([](const std::string& e) { unlink((e + "/manifest").c_str()); }), 1);
}
TEST_F(Damage, WritableByOthers) {
  EXPECT_EQ(CompilesAfter([](const std::string& e) { chmod((e + "/program.so").c_str(), 0666); }), 1);
}
TEST_F(Damage, Symlink) {
  EXPECT_EQ(CompilesAfter([](const std::string& e) {
              rename((e + "/program.so").c_str(), (e + "/other").c_str());
              ASSERT_EQ(symlink("other", (e + "/program.so").c_str()), 0);
            }),
            1);
}
TEST_F(Damage, FolderOthersMayWriteIsNotUsed) {
  EXPECT_EQ(CompilesAfter([](const std::string& e) { chmod(e.substr(0, e.rfind('/')).c_str(), 0777); }), 1);
}

TEST(Cache, FailedCompilationLeavesNothing) {
  const std::string folder = FreshFolder("failed");
  Cache cache(folder);
  auto e = cache.Get(
      std::string(64, 'c'), "test", [](const std::string&) { return InvalidError("no"); }, nullptr);
  EXPECT_FALSE(e.ok());
  EXPECT_TRUE(cache.List().empty());
}

TEST(Cache, LeastRecentlyUsedGoesFirst) {
  const std::string folder = FreshFolder("lru");
  Cache cache(folder);
  for (char c : {'1', '2', '3'}) {
    const std::string key(64, c);
    ASSERT_TRUE(cache
                    .Get(
                        key, "test",
                        [](const std::string& s) -> Status {
                          return std::ofstream(s + "/program.so") << std::string(1000, 'x'), Status();
                        },
                        nullptr)
                    .ok());
    const struct timespec times[2] = {{c, 0}, {c, 0}};
    utimensat(AT_FDCWD, (folder + "/" + key).c_str(), times, 0);
  }
  cache.Trim(2500);
  const auto left = cache.List();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].key[0], '3');
  EXPECT_EQ(left[1].key[0], '2');
}

TEST(Cache, WhatIsRemovedWhileAProgramIsCompiledIsDoneWithout) {
  const std::string folder = FreshFolder("removed");
  const auto compile = [&](const std::string& scratch) -> Status {
    RemoveTree(folder);
    std::ofstream out(scratch + "/program.so");
    out << "code";
    out.close();
    return out ? Status() : InvalidError("E0691", "the folder is gone");
  };
  Cache cache(folder);
  const auto e = cache.Get(std::string(64, 'a'), "test", compile, nullptr);
  ASSERT_TRUE(e.ok()) << e.status().ToString();
  EXPECT_EQ(e->path.find(folder), std::string::npos) << e->path;
  RemoveTree(e->scratch);
}

TEST(Hash, PartsDoNotRunTogether) { EXPECT_NE(Hash({"ab", "c"}), Hash({"a", "bc"})); }

}  // namespace
}  // namespace headrace::cpu
