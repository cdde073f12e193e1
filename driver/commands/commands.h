// Each verb of the command: declares its flags on a subcommand; `run` gives the exit code.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "driver/compile.h"
#include "driver/output.h"

namespace headrace {

struct Common {
  Output out;
  std::vector<std::string> plugins;
  std::string color = "auto", progress = "auto";
  int verbose = 0;
  bool quiet = false;
};

using Runner = std::function<int()>;
Runner AddRun(CLI::App& app, Common& c);
Runner AddCompile(CLI::App& app, Common& c);
Runner AddCheck(CLI::App& app, Common& c);
Runner AddOpt(CLI::App& app, Common& c);
Runner AddBench(CLI::App& app, Common& c);
Runner AddOps(CLI::App& app, Common& c);
Runner AddPlugins(CLI::App& app, Common& c);
Runner AddCache(CLI::App& app, Common& c);
Runner AddDoctor(CLI::App& app, Common& c);

// ---- flags that several verbs share ----
struct ModelFlags {
  std::string model, backend = "cpu";
  std::vector<std::string> dims, implementations;
  int threads = 0;
  void AddTo(CLI::App& app);
  Result<ImportOptions> Import() const;
  Result<CompileRequest> Compile(const Common& c) const;
  Result<NamedSizes> Sizes() const;
};
// Fills `r` with the installed plugins; broken ones are reported on stderr and left out.
Status OpenRegistry(Registry& r, const Common& c);
// "name=value" → pair; usage error naming `flag` otherwise.
Result<std::pair<std::string, std::string>> SplitPair(const std::string& text, const std::string& flag);
// Opens MODEL as an executable: a .hrx artifact, or compiled from source; `program` gets the entry's interface.
struct Opened { std::unique_ptr<Executable> executable; LoadedModel model; double load_seconds = 0, compile_seconds = 0; };
using InputValue = std::function<const Tensor*(const std::string& name, int index)>;  // ImportOptions::input_value
Result<Opened> OpenModel(const Registry& r, const ModelFlags& f, const Common& c, const InputValue& input_value = nullptr);

}  // namespace headrace
