// A facade over the registries: find plugins, load a program from any file, compile it with any backend, make inputs.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plans/plan.h"
#include "ir/registry/registry.h"

namespace headrace {

// The folder of plugins beside the binary or library; "" without one.
std::string InstalledPluginFolder();
// Loads all of it, then each of `extra`, files and folders. Errors of every plugin at once; the others stay loaded.
Status LoadPlugins(Registry& r, const std::vector<std::string>& extra = {});

struct LoadedModel {
  ImportedModel model;
  bool from_text = false;
};
// IR text or its JSON (".sdfg", ".hr", ".txt") or any importer's format, by extension or content.
Result<LoadedModel> LoadModel(const Registry& r, const std::string& path, const ImportOptions& o = {});
// The same of a model in memory; errors call it `name`.
Result<LoadedModel> LoadModelBytes(const Registry& r, const std::string& bytes, const std::string& name,
                                   const ImportOptions& o = {});

// Values read from files that don't tell an optional from a sequence of one: what the program declares decides.
void FitValues(const Program& p, std::vector<std::pair<Name, Value>>& values);

// The model was compiled for particular values of some inputs: an error names the first that differs.
Status CheckAssumed(const ImportedModel& m, const std::vector<std::pair<Name, Value>>& values);

// Runs the pipeline "compile-<backend>" (or `pipeline` when given), then the backend.
struct CompileRequest {
  std::string backend = "cpu";
  std::string pipeline;
  CompileOptions options;
  std::string autocast;                          // "bf16", "f16": what products are computed in (docs/mixed_precision.md)
  Plan plan;                                     // what is done otherwise than by default
  std::function<void(const std::string&)> warn;  // told what of the plan has no effect on this program; null: nobody
};
// The backend of that name; else the error that kept its plugin from loading, or that no plugin has it.
Result<const Backend*> BackendNamed(const Registry& r, const std::string& name);
Result<std::unique_ptr<Executable>> CompileProgram(const Registry& r, Program program, const CompileRequest& request);
// The lowered program that the backend would get.
Result<Program> LowerProgram(const Registry& r, Program program, const CompileRequest& request);
// What compiling does first with request.autocast (docs/mixed_precision.md); who differentiates the program does it before.
Status Autocast(const Registry& r, const CompileRequest& request, Program& program);

using NamedValues = std::vector<std::pair<Name, Value>>;
using NamedSizes = std::vector<std::pair<Name, int64_t>>;
// Seeded random values for the inputs not yet in `values`: floats uniform in [-1, 1), integers in [0, 4), bools by coin.
// Sizes come from values already given, then `sizes`, then 1 (each such default is reported in `notes`).
Status FillInputs(const Program& p, uint64_t seed, const NamedSizes& sizes, NamedValues& values,
                  std::vector<std::string>* notes);
// Binds the symbols of the entry's parameter shapes from values; dims given twice must agree.
Result<NamedSizes> BindSizes(const Program& p, const NamedValues& values, const NamedSizes& given);
// Those that the entry speaks of, to be passed to a run: also a size that only an output's shape has.
NamedSizes SizesOf(const Sdfg& entry, const NamedSizes& sizes);

}  // namespace headrace
