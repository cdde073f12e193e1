// The check of an entry, as backends/cpu/cache.cc makes it before it loads one.
#include "driver/cache_entry.h"

#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace headrace {
namespace {

bool OnlyOurs(const std::string& path) {
  struct stat st;
  return lstat(path.c_str(), &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

}  // namespace

std::string HashOf(const std::vector<std::string>& parts) {
  if (sodium_init() < 0) return "";
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, 32);
  for (const std::string& p : parts) {
    const uint64_t size = p.size();
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&size), sizeof size);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(p.data()), p.size());
  }
  unsigned char hash[32];
  crypto_generichash_final(&state, hash, sizeof hash);
  char hex[2 * sizeof hash + 1];
  sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
  return hex;
}

std::string WhyDamaged(const std::string& folder, const std::string& name) {
  const std::string entry = folder + "/" + name, program = entry + "/program.so", manifest = entry + "/manifest";
  for (const std::string& path : {program, manifest})
    if (access(path.c_str(), R_OK) != 0) return path.substr(entry.size() + 1) + " is missing";
  for (const std::string& path : {entry, program, manifest})
    if (!OnlyOurs(path)) return "others may write to it";
  std::ifstream in(manifest);
  std::string word, stamp;
  if (!(in >> word >> stamp) || word != "blake2b") return "its manifest is none";
  std::ifstream file(program, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (sodium_init() < 0 || !file) return "program.so can't be read";
  return HashOf({name, HashOf({text.str()})}) == stamp ? "" : "program.so has another hash than its manifest says";
}

}  // namespace headrace
