// headrace cache: what compiled programs are kept, and making room. An entry is a folder of the cache directory.
#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "driver/commands/commands.h"

namespace headrace {
namespace {

std::string CacheFolder() {
  if (const char* d = getenv("HEADRACE_CACHE_DIR")) return d;
  if (const char* d = getenv("XDG_CACHE_HOME"); d && *d) return std::string(d) + "/headrace";
  if (const char* d = getenv("HOME"); d && *d) return std::string(d) + "/.cache/headrace";
  return "";
}

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

struct Entry {
  std::string name;
  double bytes = 0;
  time_t used = 0;
};

std::vector<Entry> Entries(const std::string& folder) {
  std::vector<Entry> out;
  DIR* d = opendir(folder.c_str());
  if (!d) return out;
  while (dirent* e = readdir(d)) {
    std::string n = e->d_name;
    struct stat st;
    if (n[0] == '.' || lstat((folder + "/" + n).c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) continue;
    Entry entry;
    entry.name = n;
    entry.used = st.st_mtime;
    Walk(folder + "/" + n, [&](const std::string&, const struct stat& s) {
      if (S_ISREG(s.st_mode)) entry.bytes += s.st_size;
    });
    out.push_back(entry);
  }
  closedir(d);
  std::sort(out.begin(), out.end(),
            [](const Entry& a, const Entry& b) { return a.used != b.used ? a.used > b.used : a.name < b.name; });
  return out;
}

int List(const Common& c) {
  std::string folder = CacheFolder();
  nlohmann::json j;
  j["folder"] = folder, j["entries"] = nlohmann::json::array();
  double total = 0;
  for (const Entry& e : Entries(folder)) {
    char when[32];
    tm local;
    localtime_r(&e.used, &local);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
    total += e.bytes;
    if (c.out.json) j["entries"].push_back({{"name", e.name}, {"bytes", e.bytes}, {"used", when}});
    else printf("%s  %9s  %s\n", when, HumanBytes(e.bytes).c_str(), e.name.c_str());
  }
  j["bytes"] = total;
  if (c.out.json) PrintJson(j);
  else printf("%s in %s\n", HumanBytes(total).c_str(), folder.c_str());
  return kExitOk;
}

int Clear(const Common& c) {
  std::string folder = CacheFolder();
  double freed = 0;
  int entries = 0;
  for (const Entry& e : Entries(folder)) {
    // Renamed first: a process that is looking the entry up sees all of it or none.
    std::string doomed = folder + "/.clear-" + std::to_string(getpid()) + "-" + e.name;
    if (rename((folder + "/" + e.name).c_str(), doomed.c_str()) != 0) continue;
    Walk(doomed, [](const std::string& path, const struct stat& s) {
      S_ISDIR(s.st_mode) ? rmdir(path.c_str()) : unlink(path.c_str());
    });
    freed += e.bytes, ++entries;
  }
  if (c.out.json) PrintJson(nlohmann::json({{"entries", entries}, {"bytes", freed}, {"folder", folder}}));
  else Note(c.out, "removed " + std::to_string(entries) + " entries, " + HumanBytes(freed));
  return kExitOk;
}

}  // namespace

Runner AddCache(CLI::App& app, Common& c) {
  app.require_subcommand(1);
  app.fallthrough();
  CLI::App* list = app.add_subcommand("list", "Entries, newest first");
  app.add_subcommand("clear", "Remove all entries");
  return [list, &c] { return list->parsed() ? List(c) : Clear(c); };
}

}  // namespace headrace
