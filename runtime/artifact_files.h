// The files of an artifact as its loader sees them: manifest.json and the mapped weights.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/api/headrace_plugin.h"

namespace headrace::runtime {

constexpr int kArtifactFormat = 2;  // checksums of all files, the target, bounds of sizes

using Bounds = std::map<std::string, std::pair<int64_t, int64_t>>;  // of sizes, by name: what the program assumes

class ArtifactFiles {
 public:
  // Compares checksums when `verify`; reads the manifest, checks that this processor can run the program, and maps the
  // weights. What is wrong, or "".
  std::string Read(const std::string& folder, bool verify);

  const std::vector<const void*>& constants() const { return constants_; }  // hr_init.constants
  int64_t BytesFrom(size_t constant) const { return available_[constant]; }  // to the end of the weights
  const Bounds& bounds() const { return bounds_; }
  bool serial() const { return serial_; }  // may not run in several threads at once
  std::string LibraryOf(const std::string& external) const;

 private:
  std::string MapWeights(const std::string& path, int64_t bytes);

  std::shared_ptr<const char> weights_;
  std::vector<const void*> constants_;
  std::vector<int64_t> available_;
  std::vector<std::vector<std::string>> texts_;     // of constants of strings …
  std::vector<std::vector<hr_string>> string_views_;  // … as programs see them
  Bounds bounds_;
  bool serial_ = false;
  std::map<std::string, std::string> libraries_;  // of external functions, by name
};

}  // namespace headrace::runtime
