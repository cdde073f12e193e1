// How the command talks: exit codes, errors on stderr, JSON on stdout, a progress line on a terminal only.
#pragma once
#include <atomic>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "ir/status.h"

namespace headrace {

enum ExitCode {
  kExitOk = 0,
  kExitFailure = 1,
  kExitUsage = 2,
  kExitUnsupported = 3,
  kExitMismatch = 4,
  kExitInterrupted = 130
};
ExitCode ExitCodeFor(const Status& s);

struct Output {
  bool json = false;
  int verbosity = 0;      // -1 quiet, 0, 1, 2
  bool color = false;     // of stderr; honours NO_COLOR and --color
  bool progress = false;  // stderr is a terminal (or --progress=plain)
};
// Prints the error (or its JSON form) and gives the exit code.
int Fail(const Output& o, const Status& s);
void Note(const Output& o, const std::string& text);  // stderr, unless quiet
std::function<void(const std::string&, double)> ProgressOf(const Output& o);
void ProgressLine(const std::string& text);  // on a terminal: in place of the line that stands there
void EndProgress(const Output& o);
nlohmann::json ToJson(const Diagnostic& d);
void PrintJson(const nlohmann::json& j);  // on stdout; names come from files, what is no UTF-8 is replaced

// ^C once: `Interrupted()` turns true and work stops at the next poll; twice: exit at once.
void InstallInterruptHandler();
bool Interrupted();

std::string HumanBytes(double bytes);
std::string HumanSeconds(double seconds);

}  // namespace headrace
