// External functions of an artifact, from the plugin's shared object that it carries: the plugin registers as with any
// host, and this one keeps what it says of the function wanted.
#pragma once
#include <string>

#include "runtime/headrace_runtime.h"

namespace headrace::runtime {

struct LoadedExternal {
  hr_function function = nullptr;
  bool thread_safe = false;
  void* (*create)(const hr_attribute* attributes, int32_t n) = nullptr;  // null: the function has no state
  void (*destroy)(void* state) = nullptr;
  void* user = nullptr;
  int32_t (*prepare)(void* user, const hr_node* node, void** state, const hr_writer* error) = nullptr;  // null: nothing to prepare
  void (*release)(void* user, void* state) = nullptr;
};
// The function that `library` registers by `name`. What is wrong, or "".
std::string LoadExternal(const std::string& library, const std::string& name, LoadedExternal& out);

// A state, and how it goes.
struct ExternalState {
  void* state = nullptr;
  void* user = nullptr;
  void (*destroy)(void* state) = nullptr;
  void (*release)(void* user, void* state) = nullptr;
  void End() const;  // once; drops what the plugin throws
};
// The state of one call: prepared from the node, if the function prepares, or created from its attributes. `constants` are the
// program's (hr_init.constants). Why the function refuses, or "".
std::string MakeState(const LoadedExternal& e, const hr_external_attributes* attributes, const hr_prepared_node* node,
                      const headrace_program_info_t& info, const void* const* constants, int32_t threads, ExternalState& out);

}  // namespace headrace::runtime
