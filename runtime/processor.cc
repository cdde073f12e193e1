#include "runtime/processor.h"

#include <algorithm>

namespace headrace::runtime {
namespace {

#if defined(__x86_64__)
// What compilers generate by themselves, from loops and arithmetic. Oldest first.
std::vector<std::string> Detect() {
  std::vector<std::string> out;
  __builtin_cpu_init();
#define HR_IF_HAS(name) \
  if (__builtin_cpu_supports(name)) out.push_back(name);
  HR_IF_HAS("popcnt")
  HR_IF_HAS("sse3")
  HR_IF_HAS("ssse3")
  HR_IF_HAS("sse4.1")
  HR_IF_HAS("sse4.2")
  HR_IF_HAS("sse4a")
  HR_IF_HAS("avx")
  HR_IF_HAS("xop")
  HR_IF_HAS("fma4")
  HR_IF_HAS("fma")
  HR_IF_HAS("avx2")
  HR_IF_HAS("bmi")
  HR_IF_HAS("bmi2")
  HR_IF_HAS("gfni")
  HR_IF_HAS("avx512f")
  HR_IF_HAS("avx512bw")
  HR_IF_HAS("avx512cd")
  HR_IF_HAS("avx512dq")
  HR_IF_HAS("avx512vl")
  HR_IF_HAS("avx512ifma")
  HR_IF_HAS("avx512vbmi")
  HR_IF_HAS("avx512vbmi2")
  HR_IF_HAS("avx512vnni")
  HR_IF_HAS("avx512bitalg")
  HR_IF_HAS("avx512vpopcntdq")
  HR_IF_HAS("avx512bf16")
#undef HR_IF_HAS
  return out;
}

struct Level {
  const char* name;
  std::vector<std::string> adds;  // to the level before
};
// The psABI's levels, by the features above (lzcnt, movbe, f16c come with v3's others on every processor).
const std::vector<Level>& Levels() {
  static const std::vector<Level> levels = {
      {"x86-64-v2", {"popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"}},
      {"x86-64-v3", {"avx", "fma", "avx2", "bmi", "bmi2"}},
      {"x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
  };
  return levels;
}
#else
std::vector<std::string> Detect() { return {}; }
struct Level {
  const char* name;
  std::vector<std::string> adds;
};
const std::vector<Level>& Levels() {
  static const std::vector<Level> none;
  return none;
}
#endif

}  // namespace

std::string Machine() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "other";
#endif
}

const std::vector<std::string>& MachineFeatures() {
  static const std::vector<std::string> features = Detect();
  return features;
}

std::vector<std::string> Targets() {
  std::vector<std::string> out = {"native"};
  for (const Level& l : Levels()) out.push_back(l.name);
  return out;
}

std::vector<std::string> TargetFeatures(const std::string& target) {
  if (target == "native") return MachineFeatures();
  std::vector<std::string> out;
  for (const Level& l : Levels()) {
    out.insert(out.end(), l.adds.begin(), l.adds.end());
    if (target == l.name) return out;
  }
  return {};
}

std::vector<std::string> MissingFeatures(const std::vector<std::string>& wanted) {
  const std::vector<std::string>& here = MachineFeatures();
  std::vector<std::string> out;
  for (const std::string& f : wanted)
    if (std::find(here.begin(), here.end(), f) == here.end()) out.push_back(f);
  return out;
}

}  // namespace headrace::runtime
