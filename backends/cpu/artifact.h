// The .hrx folder: program.so, weights.bin, signature.txt (IR text of the entry), manifest.json, the shared objects the
// program needs and the checksums of all of these. It runs without a compiler and, through runtime/headrace_loader.h,
// without this library.
#pragma once
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/registry/registry.h"

namespace headrace::cpu {

inline constexpr const char* kArtifactRemedy = "compile it again, or copy it again as a whole";

struct ArtifactExternal {
  std::string name, symbol, library;
};  // library: a file of the folder when loaded, a path when saved
struct Artifact {
  std::string program;            // path of program.so
  std::string target = "native";  // what it was compiled for: runtime/processor.h
  Program signature;
  std::vector<Tensor> constants;
  std::vector<ArtifactExternal> externals;
  std::vector<Origin> sites;  // of the program's statements, for errors of a run
  bool serial = false;  // runs take turns: something of it is not thread-safe
};
Status SaveArtifact(const Artifact& a, const std::string& folder);
// Compares every file with its checksum when `verify`, and checks that this processor has the instructions that the program
// uses. Weights stay mapped.
Result<Artifact> ReadArtifact(const std::string& folder, bool verify);

}  // namespace headrace::cpu
