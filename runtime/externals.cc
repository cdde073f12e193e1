#include "runtime/externals.h"

#include <dlfcn.h>

#include <cstddef>
#include <exception>
#include <vector>

namespace headrace::runtime {
namespace {

struct Search {
  const std::string& name;
  LoadedExternal& out;
  std::string symbol;  // "" until the function was registered
};

template <typename T>
bool Has(const hr_external* e, const T hr_external::*field) {
  const auto* begin = reinterpret_cast<const char*>(e);
  return reinterpret_cast<const char*>(&(e->*field) + 1) - begin <= static_cast<ptrdiff_t>(e->struct_size);
}

int32_t AddExternal(void* ctx, const hr_external* e) {
  Search& s = *static_cast<Search*>(ctx);
  if (!e->name || s.name != e->name || !e->symbol) return 0;
  s.symbol = e->symbol;
  s.out.thread_safe = e->thread_safe != 0;
  if (Has(e, &hr_external::create)) s.out.create = e->create;
  if (Has(e, &hr_external::destroy)) s.out.destroy = e->destroy;
  if (Has(e, &hr_external::in_place)) s.out.user = e->user, s.out.prepare = e->prepare, s.out.release = e->release;
  return 0;
}

// Why `make` threw, or "".
template <typename Make>
std::string Guarded(Make&& make) {
  try {
    make();
    return "";
  } catch (const std::exception& x) {
    return std::string("it threw an exception: ") + x.what();
  } catch (...) {
    return "it threw an exception";
  }
}

std::string Create(const LoadedExternal& e, const hr_external_attributes* attributes, ExternalState& out) {
  const std::string why =
      Guarded([&] { out.state = e.create(attributes ? attributes->at : nullptr, attributes ? attributes->count : 0); });
  if (out.state) out.destroy = e.destroy;
  return why;
}

}  // namespace

void ExternalState::End() const {
  Guarded([&] {  // what it throws nobody waits for
    if (release) release(user, state);
    else if (destroy) destroy(state);
  });
}

std::string LoadExternal(const std::string& library, const std::string& name, LoadedExternal& out) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays: the program calls into it
  if (!handle) {
    const char* why = dlerror();
    return why ? why : "cannot load " + library;
  }
  const auto* info = static_cast<const hr_plugin_info*>(dlsym(handle, "headrace_plugin_info"));
  const auto entry = reinterpret_cast<int32_t (*)(const hr_host*)>(dlsym(handle, "headrace_plugin_v1"));
  if (!info || !entry || info->magic != HEADRACE_PLUGIN_MAGIC || info->abi_major != HEADRACE_ABI_MAJOR)
    return library + " is no plugin of this version's interface";
  Search search{name, out, ""};
  hr_host host = {};
  host.struct_size = sizeof host;
  host.magic = HEADRACE_PLUGIN_MAGIC;
  host.abi_major = HEADRACE_ABI_MAJOR, host.abi_minor = HEADRACE_ABI_MINOR;
  host.ctx = &search;
  // Ops and their implementations have done their work when the program was compiled.
  host.add_signature = [](void*, const hr_signature*) -> int32_t { return 0; };
  host.add_op = [](void*, const hr_op*) -> int32_t { return 0; };
  host.add_implementation = [](void*, const hr_implementation*) -> int32_t { return 0; };
  host.add_backward = [](void*, const hr_backward*) -> int32_t { return 0; };
  host.add_external = AddExternal;
  host.last_error = [](void*) -> const char* { return ""; };
  const int32_t code = entry(&host);
  if (search.symbol.empty())
    return library + " does not register the external function '" + name + "'" +
           (code ? " (its entry returned " + std::to_string(code) + ")" : "");
  out.function = reinterpret_cast<hr_function>(dlsym(handle, search.symbol.c_str()));
  return out.function ? "" : library + " does not export '" + search.symbol + "'";
}

std::string MakeState(const LoadedExternal& e, const hr_external_attributes* attributes, const hr_prepared_node* node,
                      const headrace_program_info_t& info, const void* const* constants, int32_t threads, ExternalState& out) {
  out = {};
  if (!e.prepare) return e.create ? Create(e, attributes, out) : "";
  if (!node || !node->node) return "the program was compiled without what it needs to prepare its state: compile it again";
  hr_node copy = *node->node;
  std::vector<hr_port> inputs(copy.inputs, copy.inputs + copy.n_inputs);
  std::vector<hr_value> values(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int32_t at = node->constants[i];
    if (at < 0) continue;
    const hr_constant& c = info.constants[at];
    values[i].kind = HR_TENSOR, values[i].dtype = c.dtype, values[i].rank = c.rank, values[i].shape = c.shape;
    values[i].data = const_cast<void*>(constants[at]);
    inputs[i].constant = &values[i];
  }
  copy.inputs = inputs.data();
  copy.threads = threads > 0 ? threads : hr_runtime()->max_threads();
  std::string why;
  const hr_writer error = {&why, [](void* ctx, const char* text) { static_cast<std::string*>(ctx)->append(text ? text : ""); }};
  int32_t refused = 0;
  const std::string thrown = Guarded([&] { refused = e.prepare(e.user, &copy, &out.state, &error); });
  if (!thrown.empty()) return thrown;
  if (refused) return why.empty() ? "no reason given" : why;
  out.user = e.user, out.release = e.release;
  return "";
}

}  // namespace headrace::runtime
