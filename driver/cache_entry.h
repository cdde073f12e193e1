// The folder of compiled programs as the command looks at it; backends/cpu/cache.h writes it.
#pragma once
#include <time.h>

#include <string>
#include <vector>

namespace headrace {

struct CacheEntry {
  std::string name;
  double bytes = 0;
  time_t used = 0;
};
std::string CacheFolder();                                          // "": there is none
std::vector<CacheEntry> CacheEntries(const std::string& folder);    // newest first
std::string HashOf(const std::vector<std::string>& parts);         // BLAKE2b-256, hex; parts can't run into each other
// Why the entry is not as it was written; "" when it is.
std::string WhyDamaged(const std::string& folder, const std::string& name);

}  // namespace headrace
