#include "driver/output.h"

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "driver/files.h"
#include "driver/source_lines.h"

namespace headrace {
namespace {

volatile sig_atomic_t g_interrupted = 0;

void OnInterrupt(int number) {
  // A terminal that goes away may say so twice: the kernel does, and the shell.
  if (g_interrupted && number != SIGHUP) _exit(kExitInterrupted);
  g_interrupted = 1;
}

std::string Colored(const Output& o, const std::string& text) {
  if (!o.color) return text;
  std::string out;
  size_t start = 0;
  while (start < text.size()) {
    size_t end = text.find('\n', start);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(start, end - start);
    if (line.rfind("error", 0) == 0) {
      size_t colon = line.find(':');
      line = "\033[1;31m" + line.substr(0, colon) + "\033[0;1m" + line.substr(colon) + "\033[0m";
    } else if (line.find("hint:") != std::string::npos) {
      line = "\033[36m" + line + "\033[0m";
    }
    out += line + (end < text.size() ? "\n" : "");
    start = end + 1;
  }
  return out;
}

}  // namespace

ExitCode ExitCodeFor(const Status& s) {
  if (s.ok()) return kExitOk;
  switch (s.kind()) {
    case ErrorKind::kUsage: return kExitUsage;
    case ErrorKind::kUnsupported: return kExitUnsupported;
    case ErrorKind::kMismatch: return kExitMismatch;
    case ErrorKind::kInterrupted: return kExitInterrupted;
    case ErrorKind::kInvalid:
    case ErrorKind::kInternal: return kExitFailure;
  }
  return kExitFailure;
}

nlohmann::json ToJson(const Diagnostic& d) {
  static const char* kKinds[] = {"invalid", "usage", "unsupported", "mismatch", "interrupted", "internal"};
  nlohmann::json j;
  j["kind"] = kKinds[static_cast<int>(d.kind)];
  auto put = [&](const char* key, const std::string& v) {
    if (!v.empty()) j[key] = v;
  };
  put("code", d.code), put("message", d.message), put("file", d.file), put("node", d.node), put("op", d.op);
  put("got", d.got), put("expected", d.expected), put("hint", d.hint);
  if (d.line) j["line"] = d.line, j["column"] = d.column;
  return j;
}

void PrintJson(const nlohmann::json& j) {
  (void)WriteOut("-", {j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace), "\n"});
}

int Fail(const Output& o, const Status& given) {
  EndProgress(o);
  const Status s =
      given.kind() == ErrorKind::kInterrupted ? InterruptedError() : WithSourceLines(given);  // wherever it was noticed
  if (o.json) {
    nlohmann::json j;
    for (const Diagnostic& d : s.diagnostics()) j["errors"].push_back(ToJson(d));
    j["exit"] = ExitCodeFor(s);
    PrintJson(j);
  } else {
    fprintf(stderr, "%s\n", Colored(o, s.ToString()).c_str());
  }
  return ExitCodeFor(s);
}

void Note(const Output& o, const std::string& text) {
  if (o.verbosity < 0) return;
  EndProgress(o);
  fprintf(stderr, "%s\n", text.c_str());
}

void InstallInterruptHandler() {
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = OnInterrupt;
  sigaction(SIGINT, &sa, nullptr);
  sigaction(SIGTERM, &sa, nullptr);
  struct sigaction before;
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)  // nohup stays what it is
    sigaction(SIGHUP, &sa, nullptr);
  signal(SIGXFSZ, SIG_IGN);  // a limit on a file's size is an error of writing, as a full disk is
}
bool Interrupted() { return g_interrupted != 0; }
void ForgetInterrupt() { g_interrupted = 0; }

std::string HumanBytes(double b) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int u = 0;
  while (b >= 1024 && u < 4) b /= 1024, ++u;
  char text[64];
  snprintf(text, sizeof text, b < 10 && u ? "%.2f %s" : "%.0f %s", b, units[u]);
  return text;
}

std::string HumanSeconds(double s) {
  char text[64];
  if (s < 1e-3) snprintf(text, sizeof text, "%.1f us", s * 1e6);
  else if (s < 1) snprintf(text, sizeof text, "%.2f ms", s * 1e3);
  else snprintf(text, sizeof text, "%.2f s", s);
  return text;
}

}  // namespace headrace
