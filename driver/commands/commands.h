// Each verb of the command: declares its flags on a subcommand; `run` gives the exit code.
#pragma once
#include <functional>
#include <memory>
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
Runner AddGrad(CLI::App& app, Common& c);
Runner AddTrain(CLI::App& app, Common& c);
Runner AddBench(CLI::App& app, Common& c);
Runner AddTune(CLI::App& app, Common& c);
Runner AddOps(CLI::App& app, Common& c);
Runner AddPlugins(CLI::App& app, Common& c);
Runner AddCache(CLI::App& app, Common& c);
Runner AddDoctor(CLI::App& app, Common& c);
Runner AddExplain(CLI::App& app, Common& c);

// ---- flags that several verbs share ----
struct ModelFlags {
  std::string model, backend = "cpu", pipeline, plan = "none";
  std::vector<std::string> dims, implementations;
  int threads = 0;
  void AddPipelineTo(CLI::App& app);  // verbs that run or save what they compile
  void AddPlanTo(CLI::App& app);      // those that time it, too
  std::string target;      // --target of compile
  bool keep_denormals = false;
  std::string autocast;    // --autocast
  bool no_verify = false;  // --no-verify: an artifact's checksums are not compared
  enum Takes { kModels, kArtifactsToo };
  void AddTo(CLI::App& app, Takes takes);
  bool IsArtifact() const;  // by its name: a .hrx folder
  // An error for verbs that need the graph, when MODEL is an artifact; `done`: what the verb does, "trained".
  Status WantModel(const std::string& done) const;
  Result<ImportOptions> Import() const;
  Result<CompileRequest> Compile(const Common& c) const;
  // The plan that --plan asks for, or that was kept for this model, into the request.
  Status UsePlan(const Registry& r, const Program& imported, const Common& c, CompileRequest* request) const;
  Result<NamedSizes> Sizes() const;
  // Warnings about flags that do nothing for this model; errors about names that nothing has.
  Status CheckChoices(const Registry& r, const LoadedModel& m, const Common& c) const;
};
// `headrace check` of an artifact: loads it, which compares its files with their checksums.
int CheckArtifact(const Registry& r, const ModelFlags& f, const Common& c);
// Fills `r` with the installed plugins; broken ones are reported on stderr and left out.
Status OpenRegistry(Registry& r, const Common& c);
// LoadModel(), where "-" is standard input.
Result<LoadedModel> ReadModel(const Registry& r, const std::string& path, const ImportOptions& o);
// "name=value" → pair; usage error naming `flag` otherwise.
Result<std::pair<std::string, std::string>> SplitPair(const std::string& text, const std::string& flag);
// "2GiB", "300 MB", "1e6": bytes; usage error naming `flag` otherwise.
Result<int64_t> ParseBytes(const std::string& text, const std::string& flag);
// Opens MODEL as an executable: a .hrx artifact, or compiled from source; `program` gets the entry's interface.
struct Opened {
  std::unique_ptr<Executable> executable;
  CompileRequest request;  // what it was compiled by
  LoadedModel model;
  double load_seconds = 0, compile_seconds = 0;
};
using InputValue = std::function<const Tensor*(const std::string& name, int index)>;  // ImportOptions::input_value
Result<Opened> OpenModel(const Registry& r, const ModelFlags& f, const Common& c,
                         const InputValue& input_value = nullptr);

// ---- what is asked for must exist and have an effect (choices.cc) ----
CLI::Validator OneOf(std::vector<std::string> words);
// Of an option that takes finite numbers above 0; zero: or 0.
CLI::Validator Number(bool zero);
// Names in --impl; a choice that can't have an effect for this model earns a warning.
Status CheckImplementations(const Registry& r, const Program& p, const CompileOptions& o,
                            std::vector<std::string>* warnings);
Status CheckSizes(const Sdfg& entry, const NamedSizes& sizes);  // --dim, of what is compiled or has no names of its own
// An error when `flag` was given though nothing uses it.
Status NoEffect(const CLI::App& app, const std::string& flag, bool used, const std::string& hint);

// ---- values by the model's names (inputs.cc) ----
Status NoSuchName(const std::string& what, const std::string& name, const std::vector<std::string>& names);
// A user's spelling (the model's original name, or ours) → our parameter.
Result<Name> ResolveName(const ImportedModel& m, const std::vector<Name>& among, const std::string& what,
                         const std::string& given);
// NAME=@FILE.npy, @FILE.npz, @FILE.npz:ARRAY or a value as it is written, of the parameters `among`.
Result<NamedValues> ReadValues(const ImportedModel& m, const std::vector<Name>& among, const std::string& what,
                               const std::string& flag, const std::vector<std::string>& texts);
Result<NamedValues> ReadInputs(const ImportedModel& m, const std::vector<std::string>& flags);
// --output NAME=@FILE.npy, @FILE.npz, @FILE.npz:ARRAY, or NAME=-: standard output (outputs.cc).
struct OutputTarget {
  size_t index;  // among the outputs
  std::string path, array;
  bool archive = false;
};
Result<std::vector<OutputTarget>> ReadTargets(const ImportedModel& m, const std::vector<Name>& outputs,
                                              const std::vector<std::string>& flags);
Status SaveOutputs(const std::vector<OutputTarget>& targets, const std::vector<std::string>& names,
                   const std::vector<Value>& values);

// Values the importer may ask for before the program exists: from --input by the model's names, from test data by position.
class EarlyValues {
 public:
  EarlyValues(const Registry& r, std::vector<std::string> inputs, std::string test_data = "")
      : registry_(r), inputs_(std::move(inputs)), test_data_(std::move(test_data)) {}
  const Tensor* operator()(const std::string& name, int index);

 private:
  const Tensor* Keep(Result<Tensor> t);
  const Registry& registry_;
  std::vector<std::string> inputs_;
  std::string test_data_;
  std::vector<std::unique_ptr<Tensor>> kept_;
};

}  // namespace headrace
