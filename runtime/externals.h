// External functions of an artifact, from the plugin's shared object that it carries: the plugin registers as with any
// host, and this one keeps what it says of the function wanted.
#pragma once
#include <string>

#include "plugins/api/headrace_plugin.h"

namespace headrace::runtime {

struct LoadedExternal {
  hr_function function = nullptr;
  bool thread_safe = false;
  void* (*create)(const hr_attribute* attributes, int32_t n) = nullptr;  // null: the function has no state
  void (*destroy)(void* state) = nullptr;
};
// The function that `library` registers by `name`. What is wrong, or "".
std::string LoadExternal(const std::string& library, const std::string& name, LoadedExternal& out);

}  // namespace headrace::runtime
