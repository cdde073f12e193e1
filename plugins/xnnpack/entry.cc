#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

#include "plugins/xnnpack/kernels.h"

namespace {

// Where a library lies that this plugin has loaded; "" = nowhere.
std::string PathOf(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return "";
  const link_map* map = nullptr;
  const std::string path = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : "";
  dlclose(handle);
  return path;
}

}  // namespace

// What an artifact carries beside this plugin: the library and what that needs, from wherever they were found.
extern "C" HEADRACE_EXPORT const char* const* headrace_files(void) {
  static const std::string paths[] = {PathOf("libXNNPACK.so.0"), PathOf("libpthreadpool.so.0"), PathOf("libcpuinfo.so.0")};
  static const std::vector<const char*> files = [] {
    std::vector<const char*> list;
    for (const std::string& p : paths)
      if (!p.empty()) list.push_back(p.c_str());
    list.push_back(nullptr);
    return list;
  }();
  return files.data();
}

HEADRACE_PLUGIN("xnnpack_ops", "1.0") {
  headrace_xnnpack::RegisterConvolution(r);
  headrace_xnnpack::RegisterProducts(r);
  headrace_xnnpack::RegisterPooling(r);
  headrace_xnnpack::RegisterRows(r);
  headrace_xnnpack::RegisterQuantized(r);
}
