// What ops.py calls: programs in IR text compiled and run in the same process as PyTorch, through a small C interface.
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/eager/fma_peak.h"
#include "driver/compile.h"
#include "driver/plugin_path.h"
#include "ir/registry/registry.h"
#include "ir/text/parser.h"

namespace {

using namespace headrace;

struct Engine {
  Registry registry;
  std::string error;
};
Engine& TheEngine() {
  static Engine* const engine = new Engine;
  return *engine;
}

struct Compiled {
  std::unique_ptr<Executable> executable;
  NamedValues inputs;
  std::vector<Value> outputs;
};

int Fail(const Status& s) {
  TheEngine().error = s.ToString();
  return 1;
}

}  // namespace

#define BENCH_API extern "C" __attribute__((visibility("default")))

BENCH_API const char* bench_error() { return TheEngine().error.c_str(); }

BENCH_API int bench_open() {
  const Status s = LoadPlugins(TheEngine().registry, PluginPath());
  return s.ok() ? 0 : Fail(s);
}

// NULL on failure.
BENCH_API void* bench_compile(const char* text, const char* backend, int threads) {
  Result<Program> p = ParseProgram(text);
  if (!p.ok()) return Fail(p.status()), nullptr;
  CompileRequest request;
  request.backend = backend;
  request.options.threads = threads;
  auto executable = CompileProgram(TheEngine().registry, std::move(*p), request);
  if (!executable.ok()) return Fail(executable.status()), nullptr;
  auto* c = new Compiled;
  c->executable = std::move(*executable);
  return c;
}

BENCH_API void bench_free(void* handle) { delete static_cast<Compiled*>(handle); }

// Copies the data. `dtype` by name.
BENCH_API int bench_input(void* handle, const char* name, const char* dtype, int rank, const int64_t* shape,
                          const void* data) {
  const auto type = ParseDType(dtype);
  if (!type) return Fail(InvalidError(std::string("no such type: ") + dtype));
  Result<Tensor> t = Tensor::Create(*type, std::vector<int64_t>(shape, shape + rank));
  if (!t.ok()) return Fail(t.status());
  std::memcpy(t->data->data(), data, static_cast<size_t>(t->bytes()));
  static_cast<Compiled*>(handle)->inputs.emplace_back(Name(name), Value(std::move(*t)));
  return 0;
}

// One run; the outputs of the run before are given back first, as `y = f(x)` in a loop over `del y` does.
BENCH_API int bench_run(void* handle) {
  auto* c = static_cast<Compiled*>(handle);
  c->outputs.clear();
  Result<std::vector<Value>> out = c->executable->Run(c->inputs);
  if (!out.ok()) return Fail(out.status());
  c->outputs = std::move(*out);
  return 0;
}

// Bytes of output i and where they are; valid until the next run.
BENCH_API int64_t bench_output(void* handle, int i, const void** data) {
  auto* c = static_cast<Compiled*>(handle);
  if (i < 0 || static_cast<size_t>(i) >= c->outputs.size()) return -1;
  *data = c->outputs[static_cast<size_t>(i)].tensor.data->data();
  return c->outputs[static_cast<size_t>(i)].tensor.bytes();
}

// Operations per second of f32 multiply-adds on registers.
BENCH_API double bench_fma_peak(int threads) { return headrace::benchmarks::FmaPeak(threads); }
