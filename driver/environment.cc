#include "driver/environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "ir/base/closest_word.h"
#include "ir/base/log.h"

namespace headrace {
namespace {

const char kPage[] =
#include "driver/environment_page.inc"
    ;

std::vector<std::string> Parse(const std::string& page) {
  std::vector<std::string> names;
  std::stringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    const std::string cell = line.substr(2, line.find(" |", 2) - 2);  // `A`, `B`
    for (size_t at = 0; (at = cell.find('`', at)) != std::string::npos;) {
      const size_t end = cell.find('`', at + 1);
      names.push_back(cell.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return names;
}

std::string Meant(const std::string& word, const std::vector<std::string>& known, const std::string& otherwise) {
  const std::string close = ClosestWord(word, known);
  return close.empty() ? otherwise : "did you mean " + close + "?";
}

// A value that is not what its variable takes is not used.
std::string WrongNumber(const char* name, long long least, const char* what) {
  const char* text = std::getenv(name);
  if (!text || !*text) return "";
  char* end = nullptr;
  errno = 0;
  const long long n = std::strtoll(text, &end, 10);
  if (*end == 0 && errno == 0 && n >= least) return "";
  return std::string(name) + " is " + what + ", not '" + text + "'";
}

std::string WrongWord(const char* name, const std::vector<std::string>& known) {
  const char* text = std::getenv(name);
  if (!text || !*text || std::find(known.begin(), known.end(), text) != known.end()) return "";
  std::string all;
  for (const std::string& word : known) all += (all.empty() ? "" : ", ") + word;
  return std::string(name) + " does not know '" + text + "': " + Meant(text, known, "it knows " + all);
}

// Code from a folder that others may write to would run as its user. A folder that is read-only has programs, too.
std::string WrongCache() {
  const char* text = std::getenv("HEADRACE_CACHE_DIR");
  if (!text || !*text) return "";
  std::filesystem::path at = std::filesystem::absolute(text);
  const std::filesystem::path folder = at;
  struct stat st = {};
  while (stat(at.c_str(), &st) != 0 && at.has_relative_path()) at = at.parent_path();
  const std::string so = std::string("nothing is kept in HEADRACE_CACHE_DIR, '") + text + "': ";
  if (!S_ISDIR(st.st_mode)) return so + at.string() + " is not a folder";
  if (at != folder) return access(at.c_str(), W_OK | X_OK) == 0 ? "" : so + at.string() + " is read-only";
  return st.st_uid != geteuid() || (st.st_mode & 022) ? so + "others may write to it (chmod 700)" : "";
}

}  // namespace

const std::vector<std::string>& KnownVariables() {
  static const auto* const kNames = new std::vector<std::string>(Parse(kPage));
  return *kNames;
}

std::vector<std::string> EnvironmentWarnings() {
  std::vector<std::string> out;
  const std::vector<std::string>& known = KnownVariables();
  for (char** variable = environ; *variable; ++variable) {
    const std::string text = *variable, name = text.substr(0, text.find('='));
    if (name.rfind("HEADRACE_", 0) != 0 || std::find(known.begin(), known.end(), name) != known.end()) continue;
    out.push_back("nothing reads the variable " + name + ": " + Meant(name, known, "docs/environment.md lists all"));
  }
  const char* log = std::getenv("HEADRACE_LOG");
  std::stringstream words(log ? log : "");
  const std::vector<std::string>& topics = LogTopics();
  for (std::string word; std::getline(words, word, ',');)
    if (!word.empty() && std::find(topics.begin(), topics.end(), word) == topics.end())
      out.push_back("HEADRACE_LOG does not know '" + word + "': " +
                    Meant(word, topics, "it knows passes, fusion, cache, recompiles, choice"));
  for (const std::string& wrong : {WrongCache(), WrongNumber("HEADRACE_NUM_THREADS", 1, "a number of threads"),
                             WrongNumber("HEADRACE_CACHE_MAX_BYTES", 0, "a number of bytes, as 2147483648"),
                             WrongWord("HEADRACE_MAP_ORDER", {"forward", "backward", "shuffled"})})
    if (!wrong.empty()) out.push_back(wrong);
  return out;
}

}  // namespace headrace
