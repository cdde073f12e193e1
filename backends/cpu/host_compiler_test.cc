// What the host compiler makes of generated code, seen in its assembly.
#include "backends/cpu/host_compiler.h"

#include <fstream>
#include <sstream>

#include "backends/cpu/process.h"
#include "gtest/gtest.h"

namespace headrace::cpu {
namespace {

// The assembly of `source`, compiled as kernels are that do much work.
std::string Assembly(const std::string& source, const std::string& target) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "/kernel.cc") << source;
  auto compiler = FindHostCompiler();
  EXPECT_TRUE(compiler.ok()) << compiler.status().ToString();
  Command compile{compiler->command, folder};
  for (const std::string& f : CompileFlags(*compiler, target, true)) compile.argv.push_back(f);
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
#endif

}  // namespace
}  // namespace headrace::cpu
