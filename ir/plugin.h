// Tier 2: plugins that link libheadrace.so (passes, importers, backends). One line makes a shared object loadable:
//   HEADRACE_TIER2_PLUGIN("transforms", RegisterTransforms)   // Status RegisterTransforms(headrace::Registry&)
// The C++ ABI is not stable, so a toolchain tag must match the host's.
#pragma once
#include <string>

#include "ir/registry/registry.h"
#include "plugins/api/headrace_plugin.h"

#define HEADRACE_VERSION "0.1.0"
#define HEADRACE_STR_INNER(x) #x
#define HEADRACE_STR(x) HEADRACE_STR_INNER(x)
#ifdef __GLIBCXX__
#define HEADRACE_STDLIB "libstdc++-abi" HEADRACE_STR(_GLIBCXX_USE_CXX11_ABI)
#else
#define HEADRACE_STDLIB "other"
#endif
// Everything that decides whether two objects may exchange C++ types.
#define HEADRACE_TOOLCHAIN "headrace-" HEADRACE_VERSION "/" HEADRACE_STDLIB "/c++" HEADRACE_STR(__cplusplus)

#define HEADRACE_TIER2_PLUGIN(plugin_name, register_fn)                                                   \
  extern "C" const hr_plugin_info headrace_plugin_info = {                                                \
      sizeof(hr_plugin_info), HEADRACE_PLUGIN_MAGIC, HEADRACE_ABI_MAJOR, HEADRACE_ABI_MINOR, plugin_name, \
      HEADRACE_VERSION,       HEADRACE_TOOLCHAIN};                                                        \
  extern "C" int32_t headrace_plugin_v1(const hr_host* host) { return ::headrace::RunTier2Entry(host, register_fn); }

namespace headrace {
int32_t RunTier2Entry(const hr_host* host, Status (*register_fn)(Registry&));
}  // namespace headrace
