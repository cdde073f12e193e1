// How the command talks: exit codes, errors on stderr, JSON on stdout.
#pragma once
#include <atomic>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "driver/progress.h"
#include "ir/base/status.h"

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
  ProgressStyle progress = ProgressStyle::kNone;
};
// Prints the error (or its JSON form) and gives the exit code.
int Fail(const Output& o, const Status& s);
void Note(const Output& o, const std::string& text);  // stderr, unless quiet
nlohmann::json ToJson(const Diagnostic& d);
void PrintJson(const nlohmann::json& j);  // on stdout; names come from files, what is no UTF-8 is replaced

// ^C, SIGTERM or a terminal that went away: `Interrupted()` turns true and work stops at the next
// poll; twice: exit at once.
void InstallInterruptHandler();
bool Interrupted();
void ForgetInterrupt();  // the work that it ended is over; what follows is asked for

std::string HumanBytes(double bytes);
std::string HumanSeconds(double seconds);

}  // namespace headrace
