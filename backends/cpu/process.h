// Child processes: argv only, never a shell; the whole process group dies with a cancelled call.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ir/base/status.h"

namespace headrace::cpu {

struct ProcessResult {
  int exit_code = -1;
  std::string output;
};  // output: stdout and stderr together
struct Command {
  std::vector<std::string> argv;
  std::string directory;
};
// Runs all commands, at most `parallel` at once, with those of other threads, but one in any case; results in order. kInterrupted when
// `cancelled` turned true.
Result<std::vector<ProcessResult>> RunCommands(const std::vector<Command>& commands, int parallel,
                                               const std::function<bool()>& cancelled,
                                               const std::function<void(int done)>& progress = nullptr);

}  // namespace headrace::cpu
