// Schedules compute what the statements do that they are made of: over many sizes and types, on the interpreter and on cpu with
// 1 and 2 threads, whose bits are equal. Elements are small whole numbers, whose sums are exact in any order.
//
// values_test [--device NAME] PLUGIN… : schedules for another device are interpreted only.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "ir/analysis/dataflow.h"
#include "ir/registry/registry.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "tests/schedules/programs.h"

namespace headrace::testing {
namespace {

struct Sizes {
  int64_t n, c;
};
constexpr Sizes kSizes[] = {{0, 3},  {3, 0},   {1, 1},   {17, 3},   {3, 17},    {5, 63},     {2, 64},  {65, 7},
                            {9, 100}, {100, 9}, {2, 257}, {1000, 3}, {300, 1000}, {2000, 65}, {1, 5000}};
constexpr Sizes kLong[] = {{7, 1000}, {20000, 10}, {4, 100000}, {33, 33}};
const char* const kOnly = std::getenv("HEADRACE_ONLY_PROGRAM");

std::string Replaced(const std::string& text, char what, const std::string& by) {
  std::string out;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t i = 0; i < text.size(); ++i) {
    const bool alone = text[i] == what && (i == 0 || !is_word(text[i - 1])) && (i + 1 == text.size() || !is_word(text[i + 1]));
    out += alone ? by : std::string(1, text[i]);
  }
  return out;
}

using Inputs = std::vector<std::pair<Name, Value>>;

void SetComplex(Tensor* t, int64_t i, double re, double im) {
  if (t->dtype == DType::kC128) t->as<double>()[2 * i] = re, t->as<double>()[2 * i + 1] = im;
  else t->as<float>()[2 * i] = static_cast<float>(re), t->as<float>()[2 * i + 1] = static_cast<float>(im);
}

Inputs InputsFor(const Program& p, Sizes z) {
  Inputs out;
  const NameMap sizes = {{Name("N"), Expr(z.n)}, {Name("C"), Expr(z.c)}};
  for (Name name : headrace::Inputs(p, p.Entry())) {
    const Container& c = p.Entry().Get(name);
    std::vector<int64_t> shape;
    for (const Expr& d : c.shape) shape.push_back(AsInt(Substitute(d, sizes)).value_or(0));
    Tensor t = *Tensor::Create(c.dtype, shape);
    uint64_t state = 88172645463325252u + name.view().size() * 7919 + static_cast<unsigned char>(name.view()[0]);
    for (int64_t i = 0; i < t.elements(); ++i) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      const int64_t v = name == Name("I") ? static_cast<int64_t>(state % 40) : static_cast<int64_t>(state % 3) - 1;
      if (IsComplex(c.dtype)) SetComplex(&t, i, static_cast<double>(v), static_cast<double>(state / 3 % 3) - 1);
      else if (IsFloat(c.dtype)) t.SetDouble(i, static_cast<double>(v));
      else t.SetInt(i, c.dtype == DType::kBool ? v != 0 : v);
    }
    out.emplace_back(name, Value(std::move(t)));
  }
  return out;
}

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.elements() == 0 || std::memcmp(a.data->data(), b.data->data(), static_cast<size_t>(a.bytes())) == 0;
}

struct Tester {
  Registry registry;
  std::string device = "cpu";
  int64_t compared = 0, left = 0, kernels = 0;

  using Made = std::shared_ptr<Executable>;
  Result<Made> Compiled(const char* backend, const Program& p, int threads) {
    CompileOptions o;
    o.threads = threads;
    o.cache_dir = std::string(std::getenv("TEST_TMPDIR") ? std::getenv("TEST_TMPDIR") : "/tmp") + "/schedules-cache";
    HR_ASSIGN_OR_RETURN(auto e, registry.FindBackend(backend)->compile(p, o, registry));
    return Made(std::move(e));
  }
  Result<Program> Lowered(Program p, const std::string& pipeline) {
    PipelineOptions o;
    o.verify = true;
    HR_RETURN_IF_ERROR(RunPipeline(registry, pipeline, p, o));
    return p;
  }

  // "" where the program, its schedule on the interpreter and (with `cpu`) its code agree on all sizes.
  Result<std::string> Check(const ScheduledProgram& what, const std::string& text, const std::vector<Sizes>& sizes, bool cpu) {
    HR_ASSIGN_OR_RETURN(const Program p, ParseProgram(text));
    HR_ASSIGN_OR_RETURN(const Program scheduled, Lowered(p, "outline; choose-schedule{device=" + device + "}"));
    for (const auto& s : scheduled.sdfgs)
      if (s->kernel) ++kernels, left += s->device.empty();
    HR_ASSIGN_OR_RETURN(const Made reference, Compiled("interpreter", p, 1));
    std::vector<std::pair<std::string, Made>> made;
    HR_ASSIGN_OR_RETURN(Made of_text, Compiled("interpreter", scheduled, 1));
    made.emplace_back("the schedule, interpreted", of_text);
    made.emplace_back("the schedule, interpreted backwards", of_text);
    made.emplace_back("the schedule, interpreted in another order", of_text);
    for (int threads : {1, 2}) {
      if (!cpu || device != "cpu") continue;
      HR_ASSIGN_OR_RETURN(const Program planned, Lowered(scheduled, "plan-memory"));
      HR_ASSIGN_OR_RETURN(Made e, Compiled("cpu", planned, threads));
      made.emplace_back(std::to_string(threads) + " threads", e);
    }
    for (Sizes z : sizes) {
      const Inputs inputs = InputsFor(p, z);
      std::vector<std::pair<Name, int64_t>> symbols;
      for (Name n : FreeSymbols(p.Entry())) symbols.emplace_back(n, n == Name("N") ? z.n : z.c);
      HR_ASSIGN_OR_RETURN(const std::vector<Value> want, reference->Run(inputs, symbols));
      std::vector<std::vector<Value>> got;
      for (auto& [name, e] : made) {
        setenv("HEADRACE_MAP_ORDER", name.find("back") != name.npos ? "backward" : name.find("other") != name.npos ? "shuffled" : "forward", 1);
        auto out = e->Run(inputs, symbols);
        if (!out.ok()) return name + ": " + out.status().ToString() + "\n" + Print(scheduled);
        for (size_t k = 0; k < want.size(); ++k) {
          const Difference d = Compare((*out)[k], want[k], what.tolerance, what.tolerance);
          ++compared;
          if (!d.ok)
            return name + ", N = " + std::to_string(z.n) + ", C = " + std::to_string(z.c) + ": largest difference " +
                   std::to_string(d.max_abs) + ", first at " + d.where + "\n" + Print(scheduled);
        }
        got.push_back(std::move(*out));
      }
      for (size_t k = 0; k < want.size(); ++k)
        for (size_t a = 1; a < got.size(); ++a)  // the interpreter rounds otherwise than code does
          if (a != 3 && !SameBits(got[a][k].tensor, got[a - 1][k].tensor))
            return made[a - 1].first + " and " + made[a].first + " differ, N = " + std::to_string(z.n) + ", C = " +
                   std::to_string(z.c) + "\n" + Print(scheduled);
    }
    return std::string();
  }

  int Run() {
    int failures = 0;
    const auto check = [&](const ScheduledProgram& w, const std::string& type, const std::string& text,
                           const std::vector<Sizes>& sizes, bool cpu) {
      auto result = Check(w, text, sizes, cpu);
      const std::string error = result.ok() ? *result : result.status().ToString();
      if (error.empty()) return;
      if (++failures > 8) return;
      std::printf("FAILED %s of %s: %s\nprogram: %s\n", w.name, type.c_str(), error.c_str(), text.c_str());
      std::fflush(stdout);
    };
    for (const ScheduledProgram& w : kPrograms) {
      if (kOnly && std::strcmp(kOnly, w.name) != 0) continue;
      std::istringstream types(w.types);
      for (std::string type; types >> type;) {
        const std::string text = "sdfg f" + Replaced(w.text, 'T', type);
        const bool fixed = std::strstr(w.text, "T[C] @register") != nullptr;  // registers have fixed sizes
        if (!fixed) check(w, type, text, {std::begin(kSizes), std::end(kSizes)}, true);
        for (Sizes z : kSizes)
          check(w, type, Replaced(Replaced(text, 'N', std::to_string(z.n)), 'C', std::to_string(z.c)), {z}, false);
        if (type != "f32") continue;
        for (Sizes z : kLong)
          check(w, type, Replaced(Replaced(text, 'N', std::to_string(std::string(w.text).find("[N, N]") == std::string::npos ? z.n : 70)), 'C', std::to_string(z.c)), {z}, true);
      }
    }
    std::printf("%lld results compared, %lld of %lld kernels without a schedule, %d failed\n", static_cast<long long>(compared),
                static_cast<long long>(left), static_cast<long long>(kernels), failures);
    return failures == 0 ? 0 : 1;
  }
};

}  // namespace
}  // namespace headrace::testing

int main(int argc, char** argv) {
  headrace::testing::Tester t;
  int i = 1;
  if (argc > 2 && std::strcmp(argv[1], "--device") == 0) t.device = argv[2], i = 3;
  for (; i < argc; ++i)
    if (headrace::Status s = t.registry.LoadPlugin(argv[i]); !s.ok()) {
      std::fprintf(stderr, "%s\n", s.ToString().c_str());
      return 1;
    }
  return t.Run();
}
