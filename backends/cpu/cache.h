// Compiled programs on disk. An entry is a folder <key> holding program.so and a manifest with its hash; it appears by one
// rename, made under a lock per key, so that many processes compile once and nobody sees half an entry.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/base/status.h"

namespace headrace::cpu {

std::string Hash(const std::vector<std::string>& parts);  // BLAKE2b-256, hex; parts can't run into each other
Result<std::string> HashFile(const std::string& path);

class Cache {
 public:
  // $HEADRACE_CACHE_DIR, $XDG_CACHE_HOME/headrace, ~/.cache/headrace; `directory` overrides. "" when there is none.
  static std::string DefaultDirectory();
  explicit Cache(std::string directory);

  // The path of the entry's program.so, checked: owner, permissions, hash. `compile` fills an empty folder with a program.so and
  // is called at most once over all processes. `hit` tells whether it was there. Damaged entries are removed and made anew.
  // Where no cache can be kept (no home, read-only, full) the program is compiled into a private folder and `scratch` names
  // it: the caller removes it after loading.
  struct Entry {
    std::string path, scratch;
    bool hit = false;
  };
  Result<Entry> Get(const std::string& key, const std::string& description,
                    const std::function<Status(const std::string& folder)>& compile,
                    const std::function<bool()>& cancelled);

  struct Info {
    std::string key, description;
    int64_t bytes = 0, used = 0;
  };                               // used: seconds since the epoch
  std::vector<Info> List() const;  // newest first
  int Clear();                     // number of entries removed
  void Trim(int64_t max_bytes);    // least recently used first
  const std::string& directory() const { return directory_; }

 private:
  Status Prepare();  // the folder exists, is ours and nobody else's to write
  bool Valid(const std::string& folder) const;
  std::string directory_;
};

void RemoveTree(const std::string& path);  // a folder and the files in it (no links followed)

}  // namespace headrace::cpu
