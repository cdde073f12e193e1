#include "driver/plan_store.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "driver/cache_entry.h"
#include "ir/plugin.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

constexpr const char* kPrefix = "plan-";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int ThreadsOfEnvironment() {
  for (const char* name : {"HEADRACE_NUM_THREADS", "OMP_NUM_THREADS"})
    if (const int n = std::atoi(Environment(name).c_str()); n > 0) return n;
  return 0;
}

// What tells machines apart as far as a plan goes.
std::string Processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("model name", 0) == 0) return line;
  utsname name;
  return uname(&name) == 0 ? name.machine : "";
}

// A text that others could write is not ours.
bool IsOurs(const std::string& path) {
  struct stat st;
  return lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

std::optional<std::string> ReadAll(const std::string& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

}  // namespace

bool ThreadsAreGiven(const CompileRequest& request) { return request.options.threads > 0 || ThreadsOfEnvironment() > 0; }

int ThreadsOf(const CompileRequest& request) {
  if (request.options.threads > 0) return request.options.threads;
  const int n = ThreadsOfEnvironment();
  return n > 0 ? n : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::string PlanPath(const Program& imported, const CompileRequest& request) {
  const std::string folder = request.options.cache_dir.empty() ? CacheFolder() : request.options.cache_dir;
  if (folder.empty()) return "";
  PrintOptions plain;
  plain.origins = false;
  plain.max_constant_bytes = 64;
  return folder + "/" + kPrefix +
         HashOf({HEADRACE_VERSION, Print(imported, plain), Processor(), Environment("HEADRACE_DEVICE"), request.backend,
                 std::to_string(ThreadsOf(request)), (request.options.keep_denormals ? "exact" : "") + request.autocast})
             .substr(0, 32) +
         ".txt";
}

std::optional<Plan> KeptPlan(const std::string& path) {
  if (path.empty() || !IsOurs(path)) return std::nullopt;
  const std::optional<std::string> text = ReadAll(path);
  if (!text) return std::nullopt;
  const Result<Plan> plan = ParsePlan(*text, path);
  return plan.ok() ? std::optional<Plan>(*plan) : std::nullopt;
}

std::vector<KeptPlanFile> KeptPlans(const std::string& folder) {
  std::vector<KeptPlanFile> out;
  DIR* d = opendir(folder.c_str());
  if (!d) return out;
  while (const dirent* e = readdir(d)) {
    const std::string name = e->d_name, path = folder + "/" + name;
    struct stat st;
    if (name.rfind(kPrefix, 0) != 0 || lstat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
    KeptPlanFile f;
    f.name = name, f.bytes = static_cast<double>(st.st_size), f.used = st.st_mtime;
    if (const std::optional<std::string> text = ReadAll(path); text && text->rfind("# ", 0) == 0) f.title = text->substr(2, text->find('\n') - 2);
    out.push_back(std::move(f));
  }
  closedir(d);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.used != b.used ? a.used > b.used : a.name < b.name; });
  return out;
}

}  // namespace headrace
