// What a compiled program depends on, in named parts: the cache's key, and the reason where an entry is missing.
#pragma once
#include <string>
#include <vector>

#include "backends/cpu/cache.h"

namespace headrace::cpu {

struct KeyPart {
  std::string what, hash;  // "the compiler"
};
std::string KeyOf(const std::vector<KeyPart>& parts);
// What an entry remembers of its key: the program's name, then a line for each part.
std::string Described(const std::string& program, const std::vector<KeyPart>& parts);
// Why `cache` has no such entry: "the compiler has changed", "no entry of a program named 'main'" …
std::string WhyMissed(const Cache& cache, const std::string& program, const std::vector<KeyPart>& parts);

}  // namespace headrace::cpu
