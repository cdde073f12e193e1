// The .hrx folder: program.so, weights.bin, signature.txt (IR text of the entry), manifest.json and the shared objects the
// program needs. It runs without a compiler and, through the C ABI of runtime/headrace_runtime.h, without this library.
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/registry.h"

namespace headrace::cpu {

struct ArtifactExternal {
  std::string name, symbol, library;
};  // library: a file of the folder when loaded, a path when saved
struct Artifact {
  std::string program;  // path of program.so
  Program signature;
  std::vector<Tensor> constants;
  std::vector<ArtifactExternal> externals;
  std::vector<Origin> sites;  // of the program's statements, for errors of a run
};
Status SaveArtifact(const Artifact& a, const std::string& folder);
// Checks versions, hashes and that this machine has the instructions the program uses. Weights stay mapped.
Result<Artifact> ReadArtifact(const std::string& folder);

}  // namespace headrace::cpu
