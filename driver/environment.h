// docs/environment.md, which is built into the command: what it knows, and warnings about what it doesn't.
#pragma once
#include <string>
#include <vector>

namespace headrace {

const std::vector<std::string>& KnownVariables();
// HEADRACE_… that nothing reads, and words of HEADRACE_LOG that name nothing: one sentence each, with the nearest name.
std::vector<std::string> EnvironmentWarnings();

}  // namespace headrace
