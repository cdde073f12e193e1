// A loaded program: arguments in, results out.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cpu/artifact.h"
#include "ir/registry/registry.h"
#include "runtime/headrace_runtime.h"

namespace headrace::cpu {

// The entry's parameters, directions and sizes without its statements: all that binding arguments needs.
Program SignatureOf(const Program& p);

struct LoadRequest {
  std::string path;     // of program.so
  std::string scratch;  // a folder to remove in the end; "" = none
  std::string target = "native";
  bool serial = false;  // runs take turns
  Program signature;
  std::vector<Tensor> constants;
  const Registry* registry = nullptr;
  int threads = 0;
  std::function<bool()> cancelled;
  std::string source;
  std::vector<std::pair<std::string, double>> report;
  std::vector<Origin> sites;                // of the program's statements, for errors of a run
  std::vector<ArtifactExternal> externals;  // where external functions come from that the registry lacks
  std::string remedy = "headrace cache clear removes damaged entries";  // where it can't be loaded
};
Result<std::unique_ptr<Executable>> LoadProgram(LoadRequest r);

Result<std::unique_ptr<Executable>> Compile(const Program& p, const CompileOptions& o, const Registry& r);
Result<std::unique_ptr<Executable>> LoadArtifact(const std::string& path, const CompileOptions& o, const Registry& r);
Status RegisterCpu(Registry& r);

}  // namespace headrace::cpu
