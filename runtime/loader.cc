// What headrace_loader.h calls: an artifact opened and run without compiler and without libheadrace.so.
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <mutex>

#include "runtime/artifact_files.h"
#include "runtime/externals.h"
#include "runtime/headrace_loader.h"
#include "runtime/loader_call.h"
#include "runtime/runtime_internal.h"

namespace headrace::runtime {
namespace {

void Say(const std::string& what, char* error, size_t size) {
  if (size > 0) snprintf(error, size, "%s", what.c_str());
}

class LoadedProgram {
 public:
  ~LoadedProgram() {
    if (program_) free_(program_);
    for (const ExternalState& s : states_) s.End();
    if (library_) dlclose(library_);
  }
  // What is wrong, or "".
  std::string Open(const std::string& folder, bool verify);
  const headrace_program_info_t* info() const { return info_; }
  headrace_result* Run(const headrace_call& call, std::string& error);

 private:
  std::string Load(const std::string& path);
  std::string BindExternals();
  std::string Init();

  ArtifactFiles files_;
  void *library_ = nullptr, *program_ = nullptr;
  const headrace_program_info_t* info_ = nullptr;
  headrace_program_init_fn init_ = nullptr;
  headrace_program_run_fn run_ = nullptr;
  headrace_program_free_fn free_ = nullptr;
  std::vector<const void*> constants_;
  std::vector<hr_external_binding> externals_;
  std::vector<ExternalState> states_;
  bool serial_ = false;
  std::mutex serial_mutex_;
};

std::string LoadedProgram::Open(const std::string& folder, bool verify) {
  std::string trouble = files_.Read(folder, verify);
  if (trouble.empty()) trouble = Load(folder + "/program.so");
  if (trouble.empty()) trouble = BindExternals();
  if (trouble.empty()) trouble = CheckSizes(*info_);
  return trouble.empty() ? Init() : trouble;
}

std::string LoadedProgram::Load(const std::string& path) {
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) {
    const char* why = dlerror();
    return path + " can't be loaded: " + (why ? why : "");
  }
  info_ = static_cast<const headrace_program_info_t*>(dlsym(library_, HEADRACE_PROGRAM_INFO_SYMBOL));
  init_ = reinterpret_cast<headrace_program_init_fn>(dlsym(library_, HEADRACE_PROGRAM_INIT_SYMBOL));
  run_ = reinterpret_cast<headrace_program_run_fn>(dlsym(library_, HEADRACE_PROGRAM_RUN_SYMBOL));
  free_ = reinterpret_cast<headrace_program_free_fn>(dlsym(library_, HEADRACE_PROGRAM_FREE_SYMBOL));
  if (!info_ || !init_ || !run_ || !free_ || info_->magic != HEADRACE_PROGRAM_MAGIC)
    return path + " is not a Headrace program";
  if (info_->abi_major != HEADRACE_PROGRAM_MAJOR) return path + " was compiled for another version of the program ABI";
  if (info_->n_constants != static_cast<int32_t>(files_.constants().size()))
    return path + " has other constants than its weights file";
  for (int32_t i = 0; i < info_->n_constants; ++i)
    if (info_->constants[i].bytes > files_.BytesFrom(static_cast<size_t>(i)))
      return path + " has larger constants than its weights file";
  return "";
}

std::string LoadedProgram::BindExternals() {
  const auto* attributes =
      static_cast<const hr_external_attributes*>(dlsym(library_, HEADRACE_PROGRAM_EXTERNAL_ATTRIBUTES_SYMBOL));
  const auto* prepared = static_cast<const hr_prepared_node*>(dlsym(library_, HEADRACE_PROGRAM_PREPARED_SYMBOL));
  serial_ = files_.serial();
  for (int32_t i = 0; i < info_->n_externals; ++i) {
    const std::string name = info_->externals[i], library = files_.LibraryOf(name);
    if (library.empty()) return "the artifact does not carry the external function '" + name + "'";
    LoadedExternal e;
    const std::string trouble = LoadExternal(library, name, e);
    if (!trouble.empty()) return "external function '" + name + "' can't be loaded: " + trouble;
    ExternalState state;
    const std::string refused = MakeState(e, attributes ? attributes + i : nullptr, prepared ? prepared + i : nullptr, *info_,
                                          files_.constants().data(), 0, state);
    if (!refused.empty()) return "E0678 external function '" + name + "' refuses: " + refused;
    states_.push_back(state);
    externals_.push_back({e.function, state.state});
    serial_ |= !e.thread_safe;
  }
  return "";
}

std::string LoadedProgram::Init() {
  constants_ = files_.constants();
  hr_init request = {};
  request.struct_size = sizeof request;
  request.runtime = hr_runtime();
  request.constants = constants_.data();
  request.externals = externals_.data();
  request.fail = [](hr_init*, const char*) {};
  return init_(&request, &program_) == HR_OK ? "" : "the program could not be initialised: out of memory";
}

headrace_result* LoadedProgram::Run(const headrace_call& call, std::string& error) {
  std::vector<int64_t> sizes;
  error = BindSizes(*info_, files_.bounds(), call, sizes);
  if (!error.empty()) return nullptr;
  std::unique_lock<std::mutex> lock(serial_mutex_, std::defer_lock);
  if (serial_) lock.lock();
  return RunProgram(*info_, run_, program_, call, sizes, error);
}

void* Open(const char* folder, int32_t verify, char* error, size_t error_size) {
  try {
    auto p = std::make_unique<LoadedProgram>();
    const std::string trouble = p->Open(folder, verify != 0);
    if (trouble.empty()) return p.release();
    Say(trouble, error, error_size);
  } catch (const std::exception& e) { Say(e.what(), error, error_size); }
  return nullptr;
}

headrace_result* Run(void* program, const headrace_call* call, char* error, size_t error_size) {
  try {
    std::string trouble;
    headrace_result* result = static_cast<LoadedProgram*>(program)->Run(*call, trouble);
    if (!result) Say(trouble, error, error_size);
    return result;
  } catch (const std::exception& e) { Say(e.what(), error, error_size); }
  return nullptr;
}

}  // namespace
}  // namespace headrace::runtime

extern "C" HEADRACE_EXPORT const headrace_loader_api headrace_loader_v1;
extern "C" const headrace_loader_api headrace_loader_v1 = {
    sizeof(headrace_loader_api),
    headrace::runtime::Open,
    [](void* program) { delete static_cast<headrace::runtime::LoadedProgram*>(program); },
    [](void* program) { return static_cast<headrace::runtime::LoadedProgram*>(program)->info(); },
    headrace::runtime::Run,
    headrace::runtime::FreeResult,
};
