// What the host compiler makes of generated code, seen in its assembly.
#include "backends/cpu/host_compiler.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/cpu/process.h"
#include "gtest/gtest.h"

namespace headrace::cpu {
namespace {

// The assembly of `source`, compiled as kernels with lanes are, or others.
std::string Assembly(const std::string& source, const std::string& target, CodeKind kind = CodeKind::kLanes) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "/kernel.cc") << source;
  auto compiler = FindHostCompiler();
  EXPECT_TRUE(compiler.ok()) << compiler.status().ToString();
  Command compile{compiler->command, folder};
  for (const std::string& f : CompileFlags(*compiler, target, kind)) compile.argv.push_back(f);
  for (const char* a : {"-S", "kernel.cc", "-o", "kernel.s"}) compile.argv.push_back(a);
  auto result = RunCommands({compile}, 1, nullptr);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ((*result)[0].exit_code, 0) << (*result)[0].output;
  std::stringstream text;
  text << std::ifstream(folder + "/kernel.s").rdbuf();
  return text.str();
}

#if defined(__x86_64__)
// The strategy counts on as many registers as wide as its lanes.
TEST(HostCompiler, UsesVectorsAsWideAsTheTargetHasThem) {
  const std::string sum =
      "void f(float* __restrict__ y, const float* __restrict__ x) {\n"
      "  _Pragma(\"omp simd\")\n  for (int i = 0; i < 1024; ++i) y[i] += x[i];\n}\n";
  for (const char* target : {"x86-64-v4", "skylake-avx512", "sapphirerapids"})
    EXPECT_NE(Assembly(sum, target).find("%zmm"), std::string::npos) << target;
  EXPECT_NE(Assembly(sum, "x86-64-v3").find("%ymm"), std::string::npos);
  EXPECT_EQ(Assembly(sum, "x86-64-v3").find("%zmm"), std::string::npos);
}

// A tile's body knows the kernel's pointers by reference: whoever takes a store of a number for one of a pointer reads them again and
// again, and finds no lanes.
TEST(HostCompiler, WhatIsStoredInTilesChangesNoPointer) {
  const std::string tile = "void f(float* const& y, long n) {\n  for (long i = 0; i < n; ++i) y[i] = 1.0f;\n}\n";
  for (CodeKind kind : {CodeKind::kLanes, CodeKind::kLoops})
    EXPECT_NE(Assembly(tile, "x86-64-v4", kind).find("%zmm"), std::string::npos) << static_cast<int>(kind);
  EXPECT_EQ(Assembly(tile, "x86-64-v4", CodeKind::kCalls).find("%zmm"), std::string::npos);
}
#endif

// What a compiler that is this script is told to be wrong with, of a program of so many files.
std::string Said(const std::string& script, int files) {
  const std::string folder = ::testing::TempDir() + "/broken", path = folder + "/compiler";
  std::filesystem::remove_all(folder);
  mkdir(folder.c_str(), 0700);
  std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
  chmod(path.c_str(), 0700);
  const HostCompiler broken{{path}, "compiler 1", ""};
  std::vector<SourceFile> program;
  for (int i = 0; i < files; ++i) program.push_back({"part" + std::to_string(i) + ".cc", "int part" + std::to_string(i) + ";\n"});
  return CompileShared(broken, "native", program, folder, 1, nullptr, nullptr).ToString();
}

TEST(HostCompiler, OneThatIsBrokenIsNamedWithWhatItSaid) {
  for (int files : {1, 2}) {
    const std::string text = Said("echo no licence >&2; exit 1", files);
    EXPECT_NE(text.find("E0690"), std::string::npos) << text;
    EXPECT_NE(text.find("no licence"), std::string::npos) << text;
    EXPECT_NE(Said("exit 0", files).find("wrote no program"), std::string::npos) << "nothing is written";
    EXPECT_NE(Said("kill -9 $$", files).find("E0690"), std::string::npos) << "killed whatever it is given";
  }
}

TEST(HostCompiler, OneThatIsKilledAtLargeProgramsLacksMemory) {
  const std::string text = Said("case \"$*\" in *nothing*) exec c++ \"$@\";; esac; kill -9 $$", 1);
  EXPECT_NE(text.find("E0692"), std::string::npos) << text;
}

TEST(HostCompiler, AFolderThatIsRemovedMeanwhileIsNamed) {
  const std::string text = Said("rm -r $(dirname $0); exit 1", 1);
  EXPECT_NE(text.find("E0691"), std::string::npos) << text;
}

}  // namespace
}  // namespace headrace::cpu
