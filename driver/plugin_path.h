// What programs of ours take from the environment and the facade (compile.h) does not.
#pragma once
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace headrace {

// $HEADRACE_PLUGIN_PATH: folders and files, ':'-separated; then `more`.
inline std::vector<std::string> PluginPath(const std::vector<std::string>& more = {}) {
  const char* path = std::getenv("HEADRACE_PLUGIN_PATH");
  std::stringstream list(path ? path : "");
  std::vector<std::string> out;
  for (std::string folder; std::getline(list, folder, ':');)
    if (!folder.empty()) out.push_back(folder);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace headrace
