// Which instructions code may use: those of this machine, or those of one of the levels that compilers know.
#pragma once
#include <string>
#include <vector>

namespace headrace::runtime {

std::string Machine();                             // "x86_64", "aarch64"
const std::vector<std::string>& MachineFeatures();  // "avx2", …, of this processor

// Names that `compile --target` takes: "native", "x86-64-v2" …
std::vector<std::string> Targets();
// What code for a target may use; for "native", all that this processor has. Empty when there is no such target.
std::vector<std::string> TargetFeatures(const std::string& target);
// Those of `wanted` that this processor lacks.
std::vector<std::string> MissingFeatures(const std::vector<std::string>& wanted);

}  // namespace headrace::runtime
