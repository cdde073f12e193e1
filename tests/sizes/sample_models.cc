// Every sample of every registered op as an ONNX model, in JSON on standard output: what sizes_test.py varies.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "driver/compile.h"
#include "driver/plugin_path.h"
#include "driver/samples/implementations.h"

namespace headrace {
namespace {

nlohmann::json ToJson(const OpSample& s) {
  nlohmann::json inputs = nlohmann::json::array();
  for (const SampleInput& i : s.inputs)
    inputs.push_back({{"port", i.port}, {"given", i.given}, {"low", i.lo}, {"high", i.hi}});
  return {{"op", s.definition->domain + "." + s.definition->name},
          {"version", s.signature->since_version},
          {"number", s.number},
          {"random", IsRandom(*s.signature)},
          {"inputs", inputs},
          {"model", SampleModel(s)}};
}

int Main() {
  Registry r;
  Status loaded = LoadPlugins(r, PluginPath());
  if (!loaded.ok()) return fprintf(stderr, "%s\n", loaded.ToString().c_str()), 1;
  nlohmann::json all = nlohmann::json::array();
  for (const OpSample& s : Samples(r)) all.push_back(ToJson(s));
  puts(all.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace headrace

int main() { return headrace::Main(); }
