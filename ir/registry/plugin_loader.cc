// Loading shared objects: checks before anything of theirs runs, the C table they register through, roll-back when they fail.
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "ir/plugin.h"
#include "ir/registry/plugin_bridge.h"
#include "ir/registry/registry_impl.h"

namespace headrace {
namespace {

Status PluginError(const std::string& code, const std::string& path, const std::string& message,
                   const std::string& hint = "") {
  Diagnostic d;
  d.code = code;
  d.file = path;
  d.message = message;
  d.hint = hint;
  return Status(d);
}

// dlopen of a damaged file can kill the process (SIGBUS past the end of a truncated one), so look first.
Status LooksLikeSharedObject(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return PluginError("E0330", path, std::string("can't open the plugin: ") + strerror(errno));
  struct stat st;
  Elf64_Ehdr h;
  std::string bad;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) bad = "it is not a regular file";
  else if (pread(fd, &h, sizeof h, 0) != static_cast<ssize_t>(sizeof h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
    bad = "it is not an ELF shared object";
  else if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_type != ET_DYN) bad = "it is not a 64-bit shared object";
#if defined(__x86_64__)
  else if (h.e_machine != EM_X86_64) bad = "it was built for another processor";
#elif defined(__aarch64__)
  else if (h.e_machine != EM_AARCH64) bad = "it was built for another processor";
#endif
  if (bad.empty()) {
    uint64_t size = st.st_size;
    for (int i = 0; i < h.e_phnum && bad.empty(); ++i) {
      Elf64_Phdr p;
      if (h.e_phentsize != sizeof p ||
          pread(fd, &p, sizeof p, h.e_phoff + i * sizeof p) != static_cast<ssize_t>(sizeof p) ||
          (p.p_type == PT_LOAD && (p.p_filesz > size || p.p_offset > size - p.p_filesz)))
        bad = "the file is truncated";
    }
  }
  close(fd);
  return bad.empty() ? Status() : PluginError("E0331", path, "can't load the plugin: " + bad);
}

std::string VersionText(uint32_t major, uint32_t minor) { return std::to_string(major) + "." + std::to_string(minor); }

}  // namespace

int32_t RunTier2Entry(const hr_host* host, Status (*register_fn)(Registry&)) {
  if (!host->registry) return 1;
  Status s = register_fn(*static_cast<Registry*>(host->registry));
  if (s.ok()) return 0;
  static_cast<BridgeContext*>(host->ctx)->last_error = s.ToString();
  return 2;
}

Status Registry::LoadPlugin(const std::string& path) {
  std::lock_guard lock(impl_->loads);
  Status s = LoadSharedObject(path);
  impl_->load_errors.insert(impl_->load_errors.end(), s.diagnostics().begin(), s.diagnostics().end());
  return s;
}

Status Registry::LoadSharedObject(const std::string& given) {
  char resolved[PATH_MAX];
  std::string path = realpath(given.c_str(), resolved) ? resolved : given;
  for (const LoadedPlugin& p : impl_->plugins)
    if (p.path == path) return {};  // the same file again: nothing to do
  HR_RETURN_IF_ERROR(LooksLikeSharedObject(path));
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    return PluginError("E0332", path, std::string("can't load the plugin: ") + (why ? why : "unknown reason"),
                       "a missing symbol or library: build it against this version of headrace");
  }
  auto fail = [&](Status s) {
    dlclose(handle);
    return s;
  };
  auto* info = static_cast<const hr_plugin_info*>(dlsym(handle, "headrace_plugin_info"));
  auto* entry = reinterpret_cast<int32_t (*)(const hr_host*)>(dlsym(handle, "headrace_plugin_v1"));
  if (!info || !entry)
    return fail(PluginError("E0333", path,
                            std::string("not a headrace plugin: it does not export ") +
                                (info ? "headrace_plugin_v1" : "headrace_plugin_info"),
                            "see docs/plugins.md"));
  if (info->magic != HEADRACE_PLUGIN_MAGIC)
    return fail(PluginError("E0334", path, "not a headrace plugin: headrace_plugin_info has the wrong magic number"));
  constexpr size_t kFirstInfoSize = offsetof(hr_plugin_info, toolchain) + sizeof(void*);
  if (info->abi_major != HEADRACE_ABI_MAJOR || info->struct_size < kFirstInfoSize)
    return fail(PluginError("E0335", path,
                            "the plugin was made for plugin interface " +
                                VersionText(info->abi_major, info->abi_minor) + ", this headrace has " +
                                VersionText(HEADRACE_ABI_MAJOR, HEADRACE_ABI_MINOR),
                            "rebuild the plugin against this version's headrace_plugin.h"));
  std::string name = info->name ? info->name : path;
  bool tier2 = info->toolchain != nullptr;
  if (tier2 && std::string(info->toolchain) != HEADRACE_TOOLCHAIN)
    return fail(PluginError("E0336", path,
                            std::string("the plugin uses headrace's C++ interface but was built for ") +
                                info->toolchain + "; this is " HEADRACE_TOOLCHAIN,
                            "rebuild it with the same headrace and compiler settings, or use the C interface"));
  for (const LoadedPlugin& p : impl_->plugins)
    if (p.name == name)
      return fail(PluginError("E0337", path, "a plugin named '" + name + "' is already loaded from " + p.path));

  BridgeContext context{this, ""};
  hr_host host = MakeHostTable(&context, tier2);
  impl_->loading = name;
  impl_->loading_path = path;
  std::string trouble;
  try {
    int32_t rc = entry(&host);
    if (rc != 0) trouble = context.last_error.empty() ? "its entry returned " + std::to_string(rc) : context.last_error;
  } catch (const std::exception& e) {
    trouble = std::string("its entry threw an exception: ") + e.what();
  } catch (...) { trouble = "its entry threw an exception"; }
  impl_->loading.clear();
  impl_->loading_path.clear();
  for (const auto& [function, f] : impl_->functions) {
    if (f->library_path != path || f->address) continue;
    f->address = dlsym(handle, f->symbol.c_str());
    if (!f->address && trouble.empty())
      trouble = "it does not export '" + f->symbol + "', its external function '" + f->name + "'";
  }
  if (!trouble.empty()) {
    Withdraw(name);
    // Not dlclosed: an exception object or a callback may still point into it.
    return PluginError("E0338", path, "plugin '" + name + "' failed to register: " + trouble);
  }
  impl_->plugins.push_back({path, name, info->version ? info->version : "", tier2 ? 2 : 1});
  return {};
}

Status Registry::LoadPluginFolder(const std::string& folder) {
  DIR* d = opendir(folder.c_str());
  if (!d) return PluginError("E0339", folder, std::string("can't read the plugin folder: ") + strerror(errno));
  std::vector<std::string> files;
  while (dirent* e = readdir(d)) {
    std::string n = e->d_name;
    if (n.size() > 3 && n.compare(n.size() - 3, 3, ".so") == 0) files.push_back(folder + "/" + n);
  }
  closedir(d);
  std::sort(files.begin(), files.end());
  std::vector<Diagnostic> all;
  for (const std::string& f : files) {
    Status s = LoadPlugin(f);
    all.insert(all.end(), s.diagnostics().begin(), s.diagnostics().end());
  }
  return Status(std::move(all));
}

}  // namespace headrace
