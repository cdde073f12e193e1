#include <dlfcn.h>

#include <string>

#include "plugins/onednn/kernels.h"

// What an artifact carries beside this plugin: the library, from wherever it was found.
extern "C" HEADRACE_EXPORT const char* const* headrace_files(void) {
  static const std::string path = [] {
    Dl_info info{};
    return dladdr(reinterpret_cast<const void*>(&dnnl_version), &info) && info.dli_fname ? std::string(info.dli_fname) : std::string();
  }();
  static const char* const files[] = {path.empty() ? nullptr : path.c_str(), nullptr};
  return files;
}

HEADRACE_PLUGIN("onednn_ops", "1.0") {
  headrace_onednn::RegisterConvolution(r);
  headrace_onednn::RegisterProducts(r);
  headrace_onednn::RegisterPooling(r);
  headrace_onednn::RegisterRows(r);
}
