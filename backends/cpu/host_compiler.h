// The C++ compiler of the machine, found at run time.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "backends/cpu/codegen_program.h"
#include "ir/base/status.h"

namespace headrace::cpu {

struct HostCompiler {
  std::vector<std::string> command;  // absolute path, then arguments that $CXX brought along
  std::string version;               // first line of --version
  std::string identity;              // path, version, size, time of modification: for cache keys
};
// $CXX, g++, clang++, c++, in this order. The error says what was tried.
Result<HostCompiler> FindHostCompiler();

// `target`: "native", "x86-64-v3" … (runtime/processor.h). Less is asked for where a schedule has done the work.
std::vector<std::string> CompileFlags(const HostCompiler& c, const std::string& target, CodeKind kind);
std::string CpuFeatures();  // what -march=native depends on

// Compiles and links the files, written to `directory`, into directory/program.so.
Status CompileShared(const HostCompiler& c, const std::string& target, const std::vector<SourceFile>& files,
                     const std::string& directory, int parallel, const std::function<bool()>& cancelled,
                     const std::function<void(double)>& progress);

}  // namespace headrace::cpu
