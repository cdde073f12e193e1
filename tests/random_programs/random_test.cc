// Random programs: every pass and the cpu backend against the interpreter; the bits that cpu gives with other threads and lanes.
//   random_test --what=passes|cpu|bits|normalize|steps --first=SEED --count=N [--statements=K] [--plugins=DIR]…
// A failure prints the seed, the smallest number of statements that still fails, and that program.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "ir/registry/transformation.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"
#include "tests/random_programs/generator.h"

namespace headrace::testing {
namespace {

struct Sizes {
  int64_t n, m;
};
const Sizes kSizes[] = {{1, 1}, {3, 5}, {17, 4}, {130, 2}};

std::string RunAll(const RandomProgram& p, Executable* e, Sizes z, uint64_t seed, std::vector<Value>* out) {
  std::vector<std::pair<Name, Value>> inputs;
  for (auto& [name, t] : MakeInputs(p, seed, z.n, z.m)) inputs.emplace_back(Name(name), Value(t));
  auto r = e->Run(inputs, {{"N", z.n}, {"M", z.m}});
  if (!r.ok()) return r.status().ToString();
  *out = std::move(*r);
  return "";
}

double Largest(const Tensor& t) {
  double m = 1;
  if (!IsFloat(t.dtype)) return m;
  for (int64_t i = 0; i < t.elements(); ++i) m = std::max(m, std::abs(t.GetDouble(i)));
  return m;
}

// "" when `got` agrees with the reference: bit by bit where the program is exact, nearly elsewhere.
std::string Disagreement(const RandomProgram& p, const std::vector<Value>& got, const std::vector<Value>& want) {
  if (got.size() != want.size()) return "number of outputs";
  for (size_t k = 0; k < want.size(); ++k) {
    const DType t = want[k].tensor.dtype;
    const double unit = t == DType::kBF16 ? 2e-2 : t == DType::kF16 ? 4e-3 : 2e-4;
    const double tolerance = p.outputs[k].exact ? 0 : unit * Largest(want[k].tensor);
    const Difference d = Compare(got[k], want[k], 0, tolerance);
    if (!d.ok)
      return p.outputs[k].name + (p.outputs[k].exact ? " (exact)" : "") + ": largest difference " +
             std::to_string(d.max_abs) + ", first at " + d.where;
  }
  return "";
}

struct Tester {
  Registry registry;
  bool cpu = false, bits = false, steps = false;
  std::string cache;
  std::vector<std::string> pipelines;
  std::map<std::string, int> found;  // matches by transformation

  // Every single step that could be taken, each alone; and some one after the other. From every other program with its maps
  // fused, for there scalarize has something to do.
  Result<std::vector<std::string>> StepsFrom(const Program& p, uint64_t seed) {
    const std::string first = seed % 2 ? "" : "fuse-maps; ";
    auto all = [&](const Program& now) -> Result<std::vector<std::string>> {
      std::vector<std::string> out;
      for (const Transformation* t : registry.Transformations()) {
        HR_ASSIGN_OR_RETURN(std::vector<Match> matches, t->find(now, {}, registry));
        for (const Match& m : matches) out.push_back(t->name + "@" + PlaceText(now, m));
      }
      return out;
    };
    Program walked = p;
    HR_RETURN_IF_ERROR(RunPipeline(registry, first, walked));
    HR_ASSIGN_OR_RETURN(std::vector<std::string> out, all(walked));
    for (std::string& step : out) ++found[step.substr(0, step.find('@'))], step = first + step;
    std::string walk;
    for (int k = 0; k < 8; ++k) {
      HR_ASSIGN_OR_RETURN(std::vector<std::string> next, all(walked));
      if (next.empty()) break;
      const std::string step = next[(seed * 7919 + static_cast<uint64_t>(k) * 104729) % next.size()];
      walk += (walk.empty() ? "" : "; ") + step;
      HR_RETURN_IF_ERROR(RunPipeline(registry, step, walked));
    }
    if (!walk.empty()) out.push_back(first + walk);
    return out;
  }

  // "" where 1 and 2 threads, and descriptions of cpu that differ in lanes and caches, give the same bits.
  std::string SameBits(const RandomProgram& p, const Program& program, uint64_t seed) {
    std::vector<std::vector<Value>> first(std::size(kSizes));
    for (const char* device : {"cpu", "cpu_avx2"}) {
      setenv("HEADRACE_DEVICE", device, 1);
      Program prepared = program;
      if (Status s = RunPipeline(registry, "compile-cpu", prepared); !s.ok()) return "compile-cpu: " + s.ToString();
      for (int threads : {1, 2}) {
        CompileOptions o;
        o.cache_dir = cache;
        o.threads = threads;
        auto e = registry.FindBackend("cpu")->compile(prepared, o, registry);
        if (!e.ok()) return std::string(device) + ": " + e.status().ToString();
        for (size_t k = 0; k < std::size(kSizes); ++k) {
          std::vector<Value> got;
          if (std::string s = RunAll(p, e->get(), kSizes[k], seed, &got); !s.empty()) return s;
          if (first[k].empty()) first[k] = got;
          for (size_t i = 0; i < got.size(); ++i)
            if (!SameBits(got[i].tensor, first[k][i].tensor))
              return p.outputs[i].name + " has other bits for " + device + ", " + std::to_string(threads) + " threads, N = " +
                     std::to_string(kSizes[k].n) + ", M = " + std::to_string(kSizes[k].m);
        }
      }
    }
    return "";
  }
  static bool SameBits(const Tensor& a, const Tensor& b) {
    return a.elements() == b.elements() &&
           (a.elements() == 0 || std::memcmp(a.data->data(), b.data->data(), static_cast<size_t>(a.bytes())) == 0);
  }

  // "" when everything agrees.
  std::string Check(const RandomProgram& p, uint64_t seed) {
    auto program = ParseProgram(p.text);
    if (!program.ok()) return "does not parse: " + program.status().ToString();
    if (Status s = Verify(*program); !s.ok()) return "does not verify: " + s.ToString();
    if (bits) return SameBits(p, *program, seed);
    auto reference = registry.FindBackend("interpreter")->compile(*program, {}, registry);
    if (!reference.ok()) return "interpreter: " + reference.status().ToString();
    std::vector<std::vector<Value>> want;
    for (Sizes z : kSizes) {
      want.emplace_back();
      if (std::string s = RunAll(p, reference->get(), z, seed, &want.back()); !s.empty()) return "interpreter: " + s;
    }
    auto compare = [&](Executable* e, const std::string& what) -> std::string {
      for (size_t k = 0; k < want.size(); ++k) {
        std::vector<Value> got;
        std::string s = RunAll(p, e, kSizes[k], seed, &got);
        if (s.empty()) s = Disagreement(p, got, want[k]);
        if (!s.empty())
          return what + ", N = " + std::to_string(kSizes[k].n) + ", M = " + std::to_string(kSizes[k].m) + ": " + s;
      }
      return "";
    };
    if (cpu) {
      CompileOptions o;
      o.cache_dir = cache;
      Program prepared = *program;
      const bool optimised = seed % 2 == 1 && registry.FindPipeline("compile-cpu") != nullptr;  // else as it is
      if (optimised) {
        if (Status s = RunPipeline(registry, "compile-cpu", prepared); !s.ok()) return "compile-cpu: " + s.ToString();
      }
      auto e = registry.FindBackend("cpu")->compile(prepared, o, registry);
      const std::string what = optimised ? "cpu after compile-cpu" : "cpu";
      if (!e.ok()) return what + ": " + e.status().ToString();
      return compare(e->get(), what);
    }
    if (steps) {
      auto all = StepsFrom(*program, seed);
      if (!all.ok()) return "steps: " + all.status().ToString();
      pipelines = *all;
    }
    for (const std::string& pipeline : pipelines) {
      Program after = *program;
      PipelineOptions o;
      o.verify = true;
      if (Status s = RunPipeline(registry, pipeline, after, o); !s.ok()) return pipeline + ": " + s.ToString();
      const std::string text = Print(after);
      auto again = ParseProgram(text);
      if (!again.ok() || Print(*again) != text) return pipeline + ": the result does not round-trip:\n" + text;
      auto e = registry.FindBackend("interpreter")->compile(after, {}, registry);
      if (!e.ok()) return pipeline + ": " + e.status().ToString();
      if (std::string s = compare(e->get(), pipeline); !s.empty()) return s + "\nafter the pass:\n" + text;
    }
    return "";
  }
};

int Main(int argc, char** argv) {
  Tester t;
  std::string what = "passes";
  uint64_t first = 1;
  int count = 50, statements = 12;
  std::vector<std::string> plugins;
  GeneratorOptions o;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const std::string value = a.substr(std::min(a.size(), a.find('=') + 1));
    if (a.rfind("--what=", 0) == 0) what = value;
    else if (a.rfind("--first=", 0) == 0) first = std::stoull(value);
    else if (a.rfind("--count=", 0) == 0) count = std::stoi(value);
    else if (a.rfind("--statements=", 0) == 0) statements = std::stoi(value);
    else if (a.rfind("--pipeline=", 0) == 0) t.pipelines.push_back(value);
    else if (a.rfind("--no-", 0) == 0) {
      if (a == "--no-loops") o.loops = false;
      else if (a == "--no-calls") o.calls = false;
      else if (a == "--no-views") o.views = false;
      else if (a == "--no-scatter") o.scatter = false;
      else if (a == "--no-small-floats") o.small_floats = false;
      else if (a == "--no-sizes-from-data") o.sizes_from_data = false;
    } else {
      plugins.push_back(a);
    }
  }
  for (const std::string& p : plugins) {
    if (Status s = t.registry.LoadPlugin(p); !s.ok()) {
      std::fprintf(stderr, "%s\n", s.ToString().c_str());
      return 1;
    }
  }
  t.cpu = what == "cpu", t.bits = what == "bits", t.steps = what == "steps";
  const char* tmp = std::getenv("TEST_TMPDIR");
  t.cache = std::string(tmp ? tmp : "/tmp") + "/random-programs-cache";
  if (t.pipelines.empty() && !t.steps) {  // every pass alone that needs no names, adds no parameter and rounds nothing, and all pipelines
    const std::set<std::string> left_out = {"autocast", "expand-library-nodes", "input-to-constant", "parameter-innermost",
                                            "parameter-to-transient", "profile", "replace"};
    for (const Pass* p : t.registry.Passes())
      if (!left_out.count(p->name)) t.pipelines.push_back(p->name);
    for (const Pipeline* p : t.registry.Pipelines()) t.pipelines.push_back(p->name);
  }
  int failures = 0;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed) {
    o.statements = statements;
    std::string error = t.Check(Generate(seed, o), seed);
    if (error.empty()) continue;
    ++failures;
    for (int k = 1; k < statements; ++k) {  // the first statements are the same for any number of them
      o.statements = k;
      const std::string smaller = t.Check(Generate(seed, o), seed);
      if (smaller.empty()) continue;
      error = smaller;
      break;
    }
    std::printf("FAILED seed %llu, %d statements: %s\nprogram:\n%s\n", static_cast<unsigned long long>(seed),
                o.statements, error.c_str(), Generate(seed, o).text.c_str());
    std::fflush(stdout);
    if (failures >= 5) break;
  }
  for (const char* name : {"fuse-maps", "eliminate-copies", "eliminate-dead-code", "scalarize", "inline-nested",
                           "fold-control", "forward-registers", "alias", "outline"})
    if (t.steps && count >= 40) {
      std::printf("%s: %d\n", name, t.found[name]);
      if (t.found[name] == 0) ++failures;
    }
  std::printf("%d programs, %d failed\n", count, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace headrace::testing

int main(int argc, char** argv) { return headrace::testing::Main(argc, argv); }
