// headrace cache: what compiled programs are kept, and making room. An entry is a folder of the cache directory.
#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "driver/cache_entry.h"
#include "driver/commands/commands.h"
#include "driver/plan_store.h"

namespace headrace {

std::string CacheFolder() {
  if (const char* d = getenv("HEADRACE_CACHE_DIR"); d && *d) return d;
  if (const char* d = getenv("XDG_CACHE_HOME"); d && *d) return std::string(d) + "/headrace";
  if (const char* d = getenv("HOME"); d && *d) return std::string(d) + "/.cache/headrace";
  return "";
}

namespace {

// Calls `fn` for every file below `path`, depth first, folders after what they hold; never follows links.
void Walk(const std::string& path, const std::function<void(const std::string&, const struct stat&)>& fn) {
  struct stat st;
  if (lstat(path.c_str(), &st) != 0) return;
  if (S_ISDIR(st.st_mode))
    if (DIR* d = opendir(path.c_str())) {
      std::vector<std::string> names;
      while (dirent* e = readdir(d))
        if (std::string n = e->d_name; n != "." && n != "..") names.push_back(n);
      closedir(d);
      for (const std::string& n : names) Walk(path + "/" + n, fn);
    }
  fn(path, st);
}

}  // namespace

std::vector<CacheEntry> CacheEntries(const std::string& folder) {
  std::vector<CacheEntry> out;
  DIR* d = opendir(folder.c_str());
  if (!d) return out;
  while (dirent* e = readdir(d)) {
    std::string n = e->d_name;
    struct stat st;
    if (n[0] == '.' || lstat((folder + "/" + n).c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) continue;
    CacheEntry entry;
    entry.name = n;
    entry.used = st.st_mtime;
    Walk(folder + "/" + n, [&](const std::string&, const struct stat& s) {
      if (S_ISREG(s.st_mode)) entry.bytes += s.st_size;
    });
    out.push_back(entry);
  }
  closedir(d);
  std::sort(out.begin(), out.end(),
            [](const CacheEntry& a, const CacheEntry& b) { return a.used != b.used ? a.used > b.used : a.name < b.name; });
  return out;
}

namespace {

std::string Minute(time_t t) {
  char when[32];
  tm local;
  localtime_r(&t, &local);
  strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
  return when;
}

int List(const Common& c) {
  std::string folder = CacheFolder();
  nlohmann::json j;
  j["folder"] = folder, j["entries"] = nlohmann::json::array();
  double total = 0;
  for (const CacheEntry& e : CacheEntries(folder)) {
    total += e.bytes;
    if (c.out.json) j["entries"].push_back({{"name", e.name}, {"bytes", static_cast<int64_t>(e.bytes)}, {"used", Minute(e.used)}});
    else printf("%s  %9s  %s\n", Minute(e.used).c_str(), HumanBytes(e.bytes).c_str(), e.name.c_str());
  }
  for (const KeptPlanFile& f : KeptPlans(folder)) {
    total += f.bytes;
    if (c.out.json) j["plans"].push_back({{"name", f.name}, {"title", f.title}, {"bytes", static_cast<int64_t>(f.bytes)}, {"used", Minute(f.used)}});
    else printf("%s  %9s  %s  %s\n", Minute(f.used).c_str(), HumanBytes(f.bytes).c_str(), f.name.c_str(), f.title.c_str());
  }
  j["bytes"] = static_cast<int64_t>(total);
  if (c.out.json) PrintJson(j);
  else printf("%s in %s\n", HumanBytes(total).c_str(), folder.c_str());
  return kExitOk;
}

bool RemoveEntry(const std::string& folder, const std::string& name) {
  // Renamed first: a process that is looking the entry up sees all of it or none.
  const std::string doomed = folder + "/.clear-" + std::to_string(getpid()) + "-" + name;
  if (rename((folder + "/" + name).c_str(), doomed.c_str()) != 0) return false;
  Walk(doomed, [](const std::string& path, const struct stat& s) {
    S_ISDIR(s.st_mode) ? rmdir(path.c_str()) : unlink(path.c_str());
  });
  return true;
}

int Clear(const Common& c) {
  std::string folder = CacheFolder();
  double freed = 0;
  int entries = 0;
  for (const CacheEntry& e : CacheEntries(folder)) {
    if (!RemoveEntry(folder, e.name)) continue;
    freed += e.bytes, ++entries;
  }
  for (const KeptPlanFile& f : KeptPlans(folder))
    if (unlink((folder + "/" + f.name).c_str()) == 0) freed += f.bytes, ++entries;
  if (c.out.json) PrintJson(nlohmann::json({{"entries", entries}, {"bytes", static_cast<int64_t>(freed)}, {"folder", folder}}));
  else Note(c.out, "removed " + std::to_string(entries) + " entries, " + HumanBytes(freed));
  return kExitOk;
}

// Reads every entry, and removes those that are not as they were written.
int Verify(const Common& c) {
  const std::string folder = CacheFolder();
  nlohmann::json j = {{"folder", folder}, {"damaged", nlohmann::json::array()}};
  std::vector<Diagnostic> damaged;
  int good = 0;
  for (const CacheEntry& e : CacheEntries(folder)) {
    if (e.name.size() != 64) continue;  // someone is compiling there
    const std::string why = WhyDamaged(folder, e.name);
    if (why.empty()) {
      ++good;
      continue;
    }
    j["damaged"].push_back({{"name", e.name}, {"reason", why}});
    const bool removed = RemoveEntry(folder, e.name);
    Diagnostic d;
    d.code = "E0456";
    d.file = folder + "/" + e.name;
    d.message = "a damaged entry of the cache: " + why;
    d.hint = removed ? "it was removed, and is compiled again when it is needed" : "it can't be removed: check who owns it";
    damaged.push_back(std::move(d));
  }
  j["good"] = good;
  if (c.out.json) PrintJson(j);
  else printf("%d entries are good, %zu were damaged\n", good, damaged.size());
  if (damaged.empty()) return kExitOk;
  return c.out.json ? static_cast<int>(kExitFailure) : Fail(c.out, Status(damaged));
}

}  // namespace

Runner AddCache(CLI::App& app, Common& c) {
  app.require_subcommand(1);
  app.fallthrough();
  CLI::App* list = app.add_subcommand("list", "Entries, newest first; then plans of `headrace tune`");
  CLI::App* verify = app.add_subcommand("verify", "Read every entry; report and remove damaged ones");
  app.add_subcommand("clear", "Remove all entries and plans");
  return [list, verify, &c] { return list->parsed() ? List(c) : verify->parsed() ? Verify(c) : Clear(c); };
}

}  // namespace headrace
