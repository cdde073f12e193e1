// What a program costs before its first run: importing (where the importer reads ONNX), lowering, generating C++ and loading
// from the compile cache.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/plugin_path.h"
#include "ir/registry/registry.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

const Registry& Plugins() {
  static const Registry* const registry = [] {
    auto* r = new Registry;
    const Status s = LoadPlugins(*r, PluginPath());
    if (!s.ok()) fprintf(stderr, "%s\n", s.ToString().c_str());
    return r;
  }();
  return *registry;
}

// A chain of convolutions, normalisations and activations: `blocks` library nodes times four.
std::string NetworkText(int64_t blocks) {
  std::string parameters, declarations, statements, from = "X";
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string n = std::to_string(i), to = i + 1 == blocks ? "Y" : "D" + n;
    parameters += ", W" + n + ": f32[16, 16, 3, 3], S" + n + ": f32[16], B" + n + ": f32[16]";
    for (const char* t : {"A", "C"}) declarations += "  transient " + (t + n) + ": f32[N, 16, 14, 14]\n";
    if (to != "Y") declarations += "  transient " + to + ": f32[N, 16, 14, 14]\n";
    statements += "    onnx.Conv{pads = [1, 1, 1, 1]}(X = " + from + ", W = W" + n + ") -> (Y = A" + n + ")\n" +
                  "    onnx.BatchNormalization(X = A" + n + ", scale = S" + n + ", B = B" + n + ", input_mean = B" + n +
                  ", input_var = S" + n + ") -> (Y = C" + n + ")\n" + "    onnx.Relu(X = C" + n + ") -> (Y = " + to +
                  ")\n";
    from = to;
  }
  return "sdfg network(X: f32[N, 16, 14, 14]" + parameters + ", Y: f32[N, 16, 14, 14]) {\n" + declarations +
         "  state {\n" + statements + "  }\n}\n";
}

Program Network(benchmark::State& state) {
  Result<Program> p = ParseProgram(NetworkText(state.range(0)));
  if (!p.ok()) state.SkipWithError(p.status().ToString().c_str());
  return p.ok() ? *p : Program();
}

// Expansion of every operator, simplification, fusion.
void Lower(benchmark::State& state) {
  const Program p = Network(state);
  for (auto _ : state) {
    auto lowered = LowerProgram(Plugins(), p, {});
    if (!lowered.ok()) return state.SkipWithError(lowered.status().ToString().c_str());
    benchmark::DoNotOptimize(lowered);
  }
  state.SetItemsProcessed(state.iterations() * 3 * state.range(0));
}
BENCHMARK(Lower)->Arg(10)->Arg(50)->Unit(benchmark::kMillisecond);

// From a lowered program to a loaded one when nothing changed: code generation, the cache's hash and look-up, loading.
void GenerateAndLoad(benchmark::State& state) {
  auto lowered = LowerProgram(Plugins(), Network(state), {});
  const Backend* cpu = Plugins().FindBackend("cpu");
  if (!lowered.ok() || !cpu)
    return state.SkipWithError(lowered.ok() ? "no cpu backend" : lowered.status().ToString().c_str());
  double codegen = 0;
  for (auto _ : state) {
    auto e = cpu->compile(*lowered, {}, Plugins());
    if (!e.ok()) return state.SkipWithError(e.status().ToString().c_str());
    for (const auto& [name, value] : (*e)->Report())
      if (name == "codegen seconds") codegen += value;
  }
  state.counters["codegen_ms"] = benchmark::Counter(1e3 * codegen, benchmark::Counter::kAvgIterations);
}
BENCHMARK(GenerateAndLoad)->Arg(10)->Arg(50)->Unit(benchmark::kMillisecond);

// --model=FILE.onnx: reading, checking, shape inference and simplification.
void Import(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    auto m = LoadModel(Plugins(), path);
    if (!m.ok()) return state.SkipWithError(m.status().ToString().c_str());
    benchmark::DoNotOptimize(m);
  }
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a.rfind("--model=", 0) == 0)
      benchmark::RegisterBenchmark(("Import/" + a.substr(8)).c_str(), [path = a.substr(8)](benchmark::State& s) {
        headrace::Import(s, path);
      })->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
