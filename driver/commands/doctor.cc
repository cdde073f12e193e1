// headrace doctor: what this machine offers, on one page to paste into bug reports.
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "driver/cache_entry.h"
#include "driver/commands/commands.h"
#include "driver/environment.h"
#include "driver/plugin_path.h"
#include "ir/plugin.h"

namespace headrace {
namespace {

std::string FirstLineOf(const std::string& path, const std::string& prefix) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (line.rfind(prefix, 0) == 0 && line.find(':') + 2 <= line.size()) return line.substr(line.find(':') + 2);
  return "unknown";
}

// Of the processor's instructions, those that decide how fast programs are.
std::string Features() {
  std::stringstream has(FirstLineOf("/proc/cpuinfo", "flags") + " " + FirstLineOf("/proc/cpuinfo", "Features"));
  std::string out;
  for (std::string flag; has >> flag;)
    for (const char* known : {"sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512_bf16", "avx512_vnni", "amx_tile",
                              "asimd", "sve", "asimdhp", "asimddp", "bf16", "i8mm"})
      if (flag == known) out += (out.empty() ? "" : " ") + flag;
  return out.empty() ? "none of those that programs use" : out;
}

std::string OnPath(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0 ? program : "";
  const char* path = getenv("PATH");
  std::stringstream folders(path ? path : "");
  for (std::string f; std::getline(folders, f, ':');)
    if (!f.empty() && access((f + "/" + program).c_str(), X_OK) == 0) return f + "/" + program;
  return "";
}

struct Found {
  std::string text;
  bool works = false;
};

// As backends/cpu/host_compiler.cc chooses: CXX, with arguments, or the first of three.
Found Compiler() {
  const char* cxx = getenv("CXX");
  std::stringstream words(cxx ? cxx : "");
  std::string first, rest;
  words >> first;
  std::getline(words, rest);
  if (!first.empty()) {
    const std::string path = OnPath(first);
    if (path.empty()) return {"CXX names '" + first + "', which is not there: correct it or unset it", false};
    return {path + rest + " (from CXX)", true};
  }
  for (const char* name : {"g++", "clang++", "c++"})
    if (const std::string path = OnPath(name); !path.empty()) return {path, true};
  return {"none found: the cpu backend needs one (Debian: apt-get install g++)", false};
}

std::string Threads() {
  for (const char* name : {"HEADRACE_NUM_THREADS", "OMP_NUM_THREADS"})
    if (const char* n = getenv(name); n && *n) return std::string(n) + " (from " + name + ")";
  return std::to_string(std::thread::hardware_concurrency());
}

std::string Cache() {
  const std::string folder = CacheFolder();
  if (folder.empty()) return "none: set HEADRACE_CACHE_DIR";
  double bytes = 0;
  const std::vector<CacheEntry> entries = CacheEntries(folder);
  for (const CacheEntry& e : entries) bytes += e.bytes;
  std::string text = folder + ", " + std::to_string(entries.size()) + " entries, " + HumanBytes(bytes);
  struct stat st;
  if (stat(folder.c_str(), &st) != 0) return folder + ", not made yet";
  if (access(folder.c_str(), W_OK | X_OK) != 0) text += ", read-only";
  else if (st.st_uid != geteuid() || (st.st_mode & 022)) text += ", unused: others may write to it (chmod 700)";
  return text;
}

int Doctor(const Common& c) {
  Registry r;
  const Status plugins = LoadPlugins(r, PluginPath(c.plugins));
  const Found compiler = Compiler();
  utsname u;
  uname(&u);
  bool ready = true;
  nlohmann::json j;
  auto row = [&](const char* what, const std::string& text) {
    j[what] = text;
    if (!c.out.json) printf("%-10s %s\n", what, text.c_str());
  };
  row("headrace", std::string(HEADRACE_VERSION) + " (" + HEADRACE_TOOLCHAIN + ")");
  row("system", std::string(u.sysname) + " " + u.release + " " + u.machine);
  row("processor", FirstLineOf("/proc/cpuinfo", "model name"));
  row("features", Features());
  row("threads", Threads());
  row("compiler", compiler.text);
  row("cache", Cache());
  for (const Backend* b : r.Backends()) {
    const Status s = b->ready ? b->ready(CompileOptions()) : Status();
    ready &= s.ok();
    row(("backend " + b->name).c_str(), s.ok() ? "ready" : s.message());
  }
  if (r.Backends().empty()) row("backends", "none");
  row("plugins", std::to_string(r.Plugins().size()) + " loaded, the installed ones from " + InstalledPluginFolder());
  for (const auto& p : r.Plugins()) {
    j["loaded"].push_back({{"name", p.name}, {"version", p.version}, {"path", p.path}});
    if (!c.out.json) printf("  loaded   %s %s  %s\n", p.name.c_str(), p.version.c_str(), p.path.c_str());
  }
  for (const Diagnostic& d : plugins.diagnostics()) {
    j["broken"].push_back(ToJson(d));
    if (!c.out.json) printf("  broken   %s: %s\n", d.file.c_str(), d.message.c_str());
  }
  for (const std::string& name : KnownVariables())
    if (const char* value = name.rfind("HEADRACE_", 0) == 0 ? getenv(name.c_str()) : nullptr) row(name.c_str(), value);
  if (c.out.json) PrintJson(j);
  return plugins.ok() && compiler.works && ready ? kExitOk : kExitFailure;
}

}  // namespace

Runner AddDoctor(CLI::App&, Common& c) {
  return [&c] { return Doctor(c); };
}

}  // namespace headrace
