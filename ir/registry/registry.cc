#include "ir/registry/registry.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "ir/registry/registry_impl.h"

namespace headrace {

Executable::~Executable() = default;
Status Executable::Save(const std::string&) const {
  return UnsupportedError("E0343", "this backend makes no artifacts", "compile with --backend cpu");
}
Status Executable::Call(CallFrame&) {
  return UnsupportedError("E0343",
                          "this backend's programs are not called by position",
                          "give the arguments by name, or use --backend cpu");
}
std::vector<Name> Executable::CallSymbols() const { return {}; }
Result<Program> Executable::Interface() const {
  return UnsupportedError("E0343", "this backend's programs do not describe themselves");
}
Result<std::vector<Value>> Executable::RunInPlace(const std::vector<std::pair<Name, Value>>& inputs,
                                                  const std::vector<std::pair<Name, int64_t>>& symbols) {
  HR_ASSIGN_OR_RETURN(std::vector<Value> results, Run(inputs, symbols));
  HR_ASSIGN_OR_RETURN(Program interface, Interface());
  const std::vector<Name> outputs = Outputs(interface, interface.Entry());
  for (size_t i = 0; i < outputs.size() && i < results.size(); ++i)
    for (const auto& [name, v] : inputs) {
      if (name != outputs[i] || v.kind != Value::kTensor || !v.tensor.data) continue;
      std::memcpy(v.tensor.data->data(), results[i].tensor.data->data(), static_cast<size_t>(v.tensor.bytes()));
      results[i] = v;
    }
  return results;
}
std::string Executable::Source() const { return ""; }
std::vector<std::pair<std::string, double>> Executable::Report() const { return {}; }

std::string ImportedModel::OriginalName(Name n) const {
  for (const auto& [ours, original] : original_names)
    if (ours == n) return original;
  return n.str();
}

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

namespace {

Status Twice(const std::string& what, const std::string& first, const std::string& second) {
  Diagnostic d;
  d.code = "E0301";
  d.message = what + " is registered twice: by " + first + " and by " + second;
  d.hint = "give one of them another name, or load only one of the two plugins";
  return Status(d);
}

Status Reserved(const std::string& domain, const std::string& op) {
  if (domain != "grad" && domain != "call") return {};
  Diagnostic d;
  d.code = "E0302";
  d.message = "the op name " + domain + "." + op + " is reserved";
  d.hint = domain == "grad" ? "gradients are registered as backward implementations of the forward op"
                            : "functions called by programs are registered as external functions";
  return Status(d);
}

// What can't be found by name or can't be called must not be registered: it would fail far from here.
Status Incomplete(bool bad, const std::string& what, const std::string& owner) {
  if (!bad) return {};
  Diagnostic d;
  d.code = "E0303";
  d.message = "plugin " + owner + " registers " + what;
  return Status(d);
}

template <typename T>
Status AddNamed(std::shared_mutex& tables, Named<T>& table, T&& item, const std::string& kind, const std::string& owner) {
  HR_RETURN_IF_ERROR(Incomplete(item.name.empty(), "a nameless " + kind, owner));
  item.plugin = owner;
  std::unique_lock lock(tables);
  auto it = table.find(item.name);
  if (it != table.end()) return Twice(kind + " '" + item.name + "'", it->second->plugin, owner);
  std::string name = item.name;
  table[name] = std::make_unique<T>(std::move(item));
  return {};
}

template <typename T>
std::vector<const T*> All(std::shared_mutex& tables, const Named<T>& table) {
  std::shared_lock lock(tables);
  std::vector<const T*> out;
  for (const auto& [name, item] : table) out.push_back(item.get());
  return out;
}

template <typename T>
const T* FindNamed(std::shared_mutex& tables, const Named<T>& table, const std::string& name) {
  std::shared_lock lock(tables);
  auto it = table.find(name);
  return it == table.end() ? nullptr : it->second.get();
}

// Trial order: priority, then registration; "pure" after everything of the same priority.
template <typename T>
void InsertInOrder(std::vector<std::unique_ptr<T>>& list, T item) {
  auto rank = [](const T& i) { return std::make_pair(-i.priority, i.name == "pure" ? 1 : 0); };
  auto at = std::find_if(list.begin(), list.end(), [&](const auto& other) { return rank(item) < rank(*other); });
  list.insert(at, std::make_unique<T>(std::move(item)));
}

// What a pass throws is an error of it.
template <typename R, typename... A>
std::function<R(A...)> Guarded(const std::string& pass, std::function<R(A...)> f) {
  return [pass, f = std::move(f)](A... a) -> R {
    std::string what;
    try {
      return f(static_cast<A>(a)...);
    } catch (const std::bad_alloc&) {
      throw;  // no fault of the pass
    } catch (const std::exception& e) {
      what = std::string(": ") + e.what();
    } catch (...) {
    }
    return InternalError("pass '" + pass + "' threw an exception" + what);
  };
}

bool VersionsMeet(int a_since, int a_until, int b_since, int b_until) {
  return a_since <= b_until && b_since <= a_until;
}

}  // namespace

Status Registry::Add(OpSignature s) {
  HR_RETURN_IF_ERROR(Reserved(s.domain, s.name));
  HR_RETURN_IF_ERROR(
      Incomplete(s.domain.empty() || s.name.empty(), "an op without a name or domain", impl_->Owner("")));
  s.plugin = impl_->Owner(s.plugin);
  std::unique_lock lock(impl_->tables);
  std::unique_ptr<OpSignature>& place = impl_->ops[std::make_tuple(s.domain, s.name, s.since_version)];
  if (place)
    return Twice("op " + s.domain + "." + s.name + ":" + std::to_string(s.since_version), place->plugin, s.plugin);
  place = std::make_unique<OpSignature>(std::move(s));
  return {};
}

Status Registry::Add(ForwardImplementation i) {
  i.plugin = impl_->Owner(i.plugin);
  HR_RETURN_IF_ERROR(Incomplete(i.name.empty() || i.domain.empty() || i.op.empty(),
                                "an implementation without a name, op or domain", i.plugin));
  HR_RETURN_IF_ERROR(Incomplete(!i.expand, "implementation '" + i.name + "' without an expansion", i.plugin));
  std::unique_lock lock(impl_->tables);
  auto& list = impl_->forward[{i.domain, i.op}];
  for (const auto& other : list)
    if (other->name == i.name &&
        VersionsMeet(i.since_version, i.until_version, other->since_version, other->until_version))
      return Twice("implementation '" + i.name + "' of " + i.domain + "." + i.op, other->plugin, i.plugin);
  InsertInOrder(list, std::move(i));
  return {};
}

Status Registry::Add(BackwardImplementation i) {
  i.plugin = impl_->Owner(i.plugin);
  std::unique_lock lock(impl_->tables);
  auto& list = impl_->backward[{i.domain, i.op}];
  for (const auto& other : list)
    if (other->name == i.name &&
        VersionsMeet(i.since_version, i.until_version, other->since_version, other->until_version))
      return Twice("backward implementation '" + i.name + "' of " + i.domain + "." + i.op, other->plugin, i.plugin);
  InsertInOrder(list, std::move(i));
  return {};
}

Status Registry::Add(Inference i) {
  i.plugin = impl_->Owner(i.plugin);
  HR_RETURN_IF_ERROR(Incomplete(i.domain.empty() || !i.infer, "an inference without a domain or function", i.plugin));
  std::unique_lock lock(impl_->tables);
  std::unique_ptr<Inference>& place = impl_->inference[i.domain];
  if (place) return Twice("the inference of domain '" + i.domain + "'", place->plugin, i.plugin);
  place = std::make_unique<Inference>(std::move(i));
  return {};
}

Status Registry::Add(ExternalFunction f) {
  if (f.library_path.empty()) f.library_path = impl_->loading_path;
  const std::string owner = impl_->Owner(f.plugin);
  return AddNamed(impl_->tables, impl_->functions, std::move(f), "external function", owner);
}
Status Registry::Add(Pass p) {
  HR_RETURN_IF_ERROR(Incomplete(!p.run, "pass '" + p.name + "' without a function", impl_->Owner("")));
  p.run = Guarded(p.name, std::move(p.run));
  const std::string owner = impl_->Owner(p.plugin);
  return AddNamed(impl_->tables, impl_->passes, std::move(p), "pass", owner);
}
Status Registry::Add(Transformation t) {
  HR_RETURN_IF_ERROR(Incomplete(!t.find || !t.apply, "transformation '" + t.name + "' that can't find or apply", impl_->Owner("")));
  t.find = Guarded(t.name, std::move(t.find)), t.apply = Guarded(t.name, std::move(t.apply));
  if (!t.run) t.run = [t](Program& p, const PassOptions& o, const Registry& r) { return RunAdvised(t, p, o, r); };
  Pass pass;
  pass.name = t.name, pass.doc = t.doc, pass.options = t.options, pass.run = t.run;
  const std::string owner = pass.plugin = impl_->Owner(t.plugin);
  HR_RETURN_IF_ERROR(Add(std::move(pass)));
  return AddNamed(impl_->tables, impl_->transformations, std::move(t), "transformation", owner);
}
Status Registry::Add(Pipeline p) { return AddNamed(impl_->tables, impl_->pipelines, std::move(p), "pipeline", impl_->Owner("")); }
Status Registry::Add(Importer i) {
  HR_RETURN_IF_ERROR(Incomplete(!i.import, "importer '" + i.name + "' without a function", impl_->Owner("")));
  return AddNamed(impl_->tables, impl_->importers, std::move(i), "importer", impl_->Owner(""));
}
Status Registry::Add(Backend b) {
  HR_RETURN_IF_ERROR(Incomplete(!b.compile, "backend '" + b.name + "' without a function", impl_->Owner("")));
  return AddNamed(impl_->tables, impl_->backends, std::move(b), "backend", impl_->Owner(""));
}
Status Registry::Add(Differentiator d) {
  HR_RETURN_IF_ERROR(
      Incomplete(!d.differentiate, "differentiator '" + d.name + "' without a function", impl_->Owner("")));
  return AddNamed(impl_->tables, impl_->differentiators, std::move(d), "differentiator", impl_->Owner(""));
}

const OpSignature* Registry::FindOp(const std::string& domain, const std::string& name, int version) const {
  std::shared_lock lock(impl_->tables);
  const auto& ops = impl_->ops;
  auto it = ops.upper_bound(std::make_tuple(domain, name, version > 0 ? version : 1 << 30));
  if (it == ops.begin()) return nullptr;
  --it;
  return std::get<0>(it->first) == domain && std::get<1>(it->first) == name ? it->second.get() : nullptr;
}

std::vector<const OpSignature*> Registry::Versions(const std::string& domain, const std::string& name) const {
  std::shared_lock lock(impl_->tables);
  std::vector<const OpSignature*> out;
  for (auto it = impl_->ops.lower_bound(std::make_tuple(domain, name, 0)); it != impl_->ops.end(); ++it) {
    if (std::get<0>(it->first) != domain || std::get<1>(it->first) != name) break;
    out.push_back(it->second.get());
  }
  return out;
}

std::vector<const OpSignature*> Registry::Ops() const {
  std::shared_lock lock(impl_->tables);
  std::vector<const OpSignature*> out;
  for (const auto& [key, op] : impl_->ops) out.push_back(op.get());
  return out;
}

std::vector<const ForwardImplementation*> Registry::Implementations(const std::string& domain,
                                                                    const std::string& op) const {
  std::shared_lock lock(impl_->tables);
  std::vector<const ForwardImplementation*> out;
  auto add = [&](const std::string& d, const std::string& o) {
    auto it = impl_->forward.find({d, o});
    if (it == impl_->forward.end()) return;
    for (const auto& i : it->second) out.push_back(i.get());
  };
  add(domain, op);
  // Those for every op of a domain come last: "*" of "grad" serves grad.Conv and grad.grad.Conv.
  if (op != "*") add(domain.substr(0, domain.find('.')), "*");
  return out;
}

std::vector<const BackwardImplementation*> Registry::BackwardImplementations(const std::string& domain,
                                                                             const std::string& op) const {
  std::shared_lock lock(impl_->tables);
  std::vector<const BackwardImplementation*> out;
  auto it = impl_->backward.find({domain, op});
  if (it == impl_->backward.end()) return out;
  for (const auto& i : it->second) out.push_back(i.get());
  return out;
}

std::vector<const OpDefinition*> Registry::Definitions() const {
  std::shared_lock lock(impl_->tables);
  std::vector<const OpDefinition*> out;
  for (const auto& d : impl_->definitions) out.push_back(d.get());
  std::sort(out.begin(), out.end(), [](const OpDefinition* a, const OpDefinition* b) {
    return std::tie(a->domain, a->name, a->since_version) < std::tie(b->domain, b->name, b->since_version);
  });
  return out;
}

const ExternalFunction* Registry::FindFunction(const std::string& n) const { return FindNamed(impl_->tables, impl_->functions, n); }
const Pass* Registry::FindPass(const std::string& n) const { return FindNamed(impl_->tables, impl_->passes, n); }
const Transformation* Registry::FindTransformation(const std::string& n) const {
  return FindNamed(impl_->tables, impl_->transformations, n);
}
const Pipeline* Registry::FindPipeline(const std::string& n) const { return FindNamed(impl_->tables, impl_->pipelines, n); }
const Importer* Registry::FindImporter(const std::string& n) const { return FindNamed(impl_->tables, impl_->importers, n); }
const Backend* Registry::FindBackend(const std::string& n) const { return FindNamed(impl_->tables, impl_->backends, n); }
const Differentiator* Registry::FindDifferentiator() const {
  std::shared_lock lock(impl_->tables);
  return impl_->differentiators.empty() ? nullptr : impl_->differentiators.begin()->second.get();
}
std::vector<const Pass*> Registry::Passes() const { return All(impl_->tables, impl_->passes); }
std::vector<const Transformation*> Registry::Transformations() const { return All(impl_->tables, impl_->transformations); }
std::vector<const Pipeline*> Registry::Pipelines() const { return All(impl_->tables, impl_->pipelines); }
std::vector<const Importer*> Registry::Importers() const { return All(impl_->tables, impl_->importers); }
std::vector<const Backend*> Registry::Backends() const { return All(impl_->tables, impl_->backends); }

const Importer* Registry::ImporterForFile(const std::string& path) const {
  std::shared_lock lock(impl_->tables);
  for (const auto& [name, importer] : impl_->importers)
    for (const std::string& e : importer->extensions)
      if (path.size() >= e.size() && path.compare(path.size() - e.size(), e.size(), e) == 0) return importer.get();
  return nullptr;
}

const std::vector<Registry::LoadedPlugin>& Registry::Plugins() const { return impl_->plugins; }
const std::vector<Diagnostic>& Registry::LoadErrors() const { return impl_->load_errors; }

std::string Registry::DidYouMean(const std::string& word, const std::vector<std::string>& candidates) const {
  return ClosestWord(word, candidates);
}

void Registry::Withdraw(const std::string& plugin) {
  std::unique_lock lock(impl_->tables);
  auto theirs = [&](const auto& item) { return item->plugin == plugin; };
  auto from_list = [&](auto& list) {
    auto first = std::stable_partition(list.begin(), list.end(), [&](const auto& item) { return !theirs(item); });
    std::move(first, list.end(), std::back_inserter(impl_->withdrawn));
    list.erase(first, list.end());
  };
  auto from_table = [&](auto& table) {
    for (auto it = table.begin(); it != table.end();) {
      if (!theirs(it->second)) { ++it; continue; }
      impl_->withdrawn.push_back(std::move(it->second));
      it = table.erase(it);
    }
  };
  for (auto& [key, list] : impl_->forward) from_list(list);
  for (auto& [key, list] : impl_->backward) from_list(list);
  from_list(impl_->definitions);
  from_table(impl_->ops), from_table(impl_->inference), from_table(impl_->functions), from_table(impl_->passes);
  from_table(impl_->pipelines), from_table(impl_->importers), from_table(impl_->backends);
  from_table(impl_->differentiators), from_table(impl_->transformations);
}

}  // namespace headrace
