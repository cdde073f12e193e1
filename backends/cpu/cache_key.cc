#include "backends/cpu/cache_key.h"

#include <fstream>
#include <map>

namespace headrace::cpu {
namespace {

// The parts of an entry's key, as its manifest has them after the hash and the name.
std::map<std::string, std::string> PartsOf(const std::string& entry) {
  std::map<std::string, std::string> parts;
  std::ifstream in(entry + "/manifest");
  std::string line;
  for (int skipped = 0; skipped < 2 && std::getline(in, line); ++skipped) continue;
  while (std::getline(in, line))
    if (const size_t blank = line.find(' '); blank != std::string::npos)
      parts[line.substr(blank + 1)] = line.substr(0, blank);
  return parts;
}

}  // namespace

std::string KeyOf(const std::vector<KeyPart>& parts) {
  std::vector<std::string> all;
  for (const KeyPart& p : parts) all.push_back(p.what), all.push_back(p.hash);
  return Hash(all);
}

std::string Described(const std::string& program, const std::vector<KeyPart>& parts) {
  std::string text = program;
  for (const KeyPart& p : parts) text += "\n" + p.hash + " " + p.what;
  return text;
}

std::string WhyMissed(const Cache& cache, const std::string& program, const std::vector<KeyPart>& parts) {
  std::string why;
  size_t fewest = parts.size() + 1;
  for (const Cache::Info& entry : cache.List()) {  // of the entries of this name, the one that is nearest
    if (entry.description != program) continue;
    const std::map<std::string, std::string> had = PartsOf(cache.directory() + "/" + entry.key);
    size_t changed = 0;
    std::string text;
    for (const KeyPart& p : parts) {
      const auto it = had.find(p.what);
      if (it != had.end() && it->second == p.hash) continue;
      ++changed;
      text += (text.empty() ? "" : ", ") + p.what;
    }
    if (had.empty() || changed >= fewest) continue;
    fewest = changed;
    why = text;
  }
  if (why.empty()) return "no entry of a program named '" + program + "'";
  return why + (fewest == 1 ? " has changed" : " have changed");
}

}  // namespace headrace::cpu
