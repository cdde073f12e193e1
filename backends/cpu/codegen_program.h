// A whole program → source files: kernels, the functions of its SDFGs, and the C entry points of runtime/headrace_runtime.h.
#pragma once
#include <string>
#include <vector>

#include "backends/cpu/code_style.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "ir/registry/registry.h"

namespace headrace::cpu {

struct SourceFile {
  std::string name, text;
  CodeKind kind = CodeKind::kCalls;
};
struct GeneratedProgram {
  std::vector<SourceFile> files;       // headers first; byte-identical for equal programs
  std::vector<Tensor> constants;       // in the order of the program's constant table
  std::vector<std::string> externals;  // names of external functions, in table order
  std::vector<Origin> sites;           // of statements, by the number that headrace_program_site() gives
  int kernels = 0;
  int scheduled = 0;  // of them: printed as passes left them; the loops of the others were made by this backend
  std::string Text() const;  // all files, for people
};
Result<GeneratedProgram> GenerateProgram(const Program& p, const Registry& r);

// The embedded headers: the runtime's and this backend's prelude, one text.
const std::string& Prelude();

}  // namespace headrace::cpu
