#include "backends/cpu/executable.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <thread>
#include <unordered_set>

#include "backends/common/external_call.h"
#include "backends/cpu/binding.h"
#include "backends/cpu/cache.h"
#include "backends/cpu/call.h"
#include "backends/cpu/output_pool.h"
#include "ir/registry/call_contract.h"
#include "runtime/externals.h"
#include "runtime/processor.h"

namespace headrace::cpu {

Program SignatureOf(const Program& p) {
  const Sdfg& full = p.Entry();
  Sdfg s;
  s.name = full.name;
  s.symbol_params = full.symbol_params;
  s.assumptions = full.assumptions;
  s.parameters = full.parameters;
  Library ports;
  ports.domain = "call";
  ports.op = "signature";
  const std::vector<Direction> directions = Directions(p, full);
  for (size_t k = 0; k < directions.size(); ++k) {
    const Name n = full.parameters[k];
    const Direction d = directions[k];
    s.Add(full.Get(n));
    if (d == Direction::kIn || d == Direction::kInOut) ports.inputs.push_back({n, n});
    if (d == Direction::kOut || d == Direction::kInOut) ports.outputs.push_back({n, n});
  }
  // Sizes that the run defines are not bound by the caller. How it does is only said where the signature has what it reads.
  ForEachNode(full, [&](NodeId n) {
    if (const auto* l = std::get_if<Library>(&full.nodes[n].body))
      ports.defines.insert(ports.defines.end(), l->defines.begin(), l->defines.end());
  });
  const std::vector<Name> bound = FreeSymbols(s);
  std::unordered_set<Name> known(bound.begin(), bound.end());
  ForEachBlock(full, full.body, [&](BlockId b) {
    const auto* a = std::get_if<Assign>(&full.blocks[b].control);
    if (!a) return;
    bool within = true;
    for (Name n : FreeSymbols(a->value)) within &= known.count(n) > 0;
    for (Name n : ReadContainers(a->value)) within &= s.Find(n) != nullptr;
    if (within) {
      s.body.push_back(s.AddBlock(*a));
      known.insert(a->symbol);
    } else {
      ports.defines.push_back(a->symbol);
    }
  });
  State state;
  state.statements.push_back(s.AddNode(ports));
  s.body.push_back(s.AddBlock(state));
  Program out;
  out.entry = s.name;
  out.Add(std::move(s));
  return out;
}

namespace {

// Turns a polled std::function into the flag that programs look at: one thread, made by the first run, which polls while
// runs last and sleeps when none has come for a while. (A thread for each run costs more than a small run.)
class CancelWatch {
 public:
  explicit CancelWatch(std::function<bool()> cancelled) : cancelled_(std::move(cancelled)) {}
  ~CancelWatch() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  CancelWatch(const CancelWatch&) = delete;
  CancelWatch& operator=(const CancelWatch&) = delete;

  // Around each run. Null when nothing can cancel it.
  const volatile int32_t* Enter() {
    if (!cancelled_) return nullptr;
    if (running_.fetch_add(1) == 0) flag_ = 0;
    if (asleep_) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!thread_.joinable()) thread_ = std::thread([this] { Poll(); });
      asleep_ = false;
      wake_.notify_one();
    }
    return &flag_;
  }
  void Leave() {
    if (cancelled_) running_.fetch_sub(1);
  }

 private:
  void Poll() {
    constexpr int kPatience = 50;  // polls without a run
    std::unique_lock<std::mutex> lock(mutex_);
    for (int idle = 0; !wake_.wait_for(lock, std::chrono::milliseconds(20), [this] { return over_; });) {
      if (running_ > 0) {
        idle = 0;
        if (cancelled_()) flag_ = 1;
      } else if (++idle == kPatience) {
        idle = 0;
        asleep_ = true;
        if (running_ > 0) asleep_ = false;  // it has just begun, and may not have seen the line above
        else wake_.wait(lock, [this] { return over_ || !asleep_; });
      }
    }
  }

  const std::function<bool()> cancelled_;
  volatile int32_t flag_ = 0;
  std::atomic<int> running_{0};
  std::atomic<bool> asleep_{true};
  bool over_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

struct RunState {
  OutputPool* pool = nullptr;
  int64_t taken = 0;  // bytes
  std::vector<Value> results;
  std::vector<hr_value> views;
  std::vector<std::vector<hr_value>> items;  // of outputs that are sequences, for nodes that read them
  std::vector<const Value*> in_place;        // by output: the argument whose memory it shares, or null
  HrValues keep;
  std::string error;
  std::mutex mutex;
};

int32_t Allocate(hr_run* run, int32_t output, int32_t dtype, int32_t rank, const int64_t* shape) {
  auto* state = static_cast<RunState*>(run->host);
  if (output < 0 || output >= run->n_outputs) return 1;
  const DType type = static_cast<DType>(dtype);
  if (const Value* shared = state->in_place[static_cast<size_t>(output)]; shared && type != DType::kString) {
    if (shared->tensor.dtype != type || shared->tensor.shape != std::vector<int64_t>(shape, shape + rank)) return 1;
    state->results[output] = *shared;
    run->outputs[output] = state->keep.View(*shared);
    return 0;
  }
  int64_t bytes = ByteSize(type);
  for (int32_t d = 0; d < rank; ++d) bytes = hr_size_mul(bytes, shape[d]);
  if (bytes < 0) return 1;
  Tensor t;
  if (type == DType::kString) {
    auto made = Tensor::Create(type, std::vector<int64_t>(shape, shape + rank));
    if (!made.ok()) return 1;
    t = std::move(*made);
  } else {
    t.dtype = type;
    t.shape.assign(shape, shape + rank);
    t.data = state->pool->Take(bytes);
    if (!t.data) return 1;
    state->taken += bytes;
  }
  state->results[output] = Value(std::move(t));
  run->outputs[output] = state->keep.View(state->results[output]);
  return 0;
}

int32_t SetStrings(hr_run* run, int32_t output, const hr_string* strings, int64_t count) {
  auto* state = static_cast<RunState*>(run->host);
  Value& v = state->results[output];
  if (v.kind != Value::kTensor || v.tensor.elements() != count) return 1;
  v.tensor.strings = std::make_shared<std::vector<std::string>>();
  for (int64_t i = 0; i < count; ++i)
    v.tensor.strings->emplace_back(strings[i].data, static_cast<size_t>(strings[i].size));
  run->outputs[output] = state->keep.View(v);
  return 0;
}

int32_t Append(hr_run* run, int32_t output, const hr_value* item) {
  auto* state = static_cast<RunState*>(run->host);
  Value& v = state->results[output];
  v.kind = Value::kSequence;
  v.items.push_back(CopyValue(*item));
  std::vector<hr_value>& items = state->items[static_cast<size_t>(output)];
  items.push_back(state->keep.View(v.items.back()));
  run->outputs[output].items = items.data();
  run->outputs[output].count = static_cast<int64_t>(items.size());
  return 0;
}

void Fail(hr_run* run, const char* message) {
  auto* state = static_cast<RunState*>(run->host);
  std::lock_guard<std::mutex> lock(state->mutex);
  if (state->error.empty()) state->error = message;
}

class CpuExecutable : public Executable {
 public:
  explicit CpuExecutable(LoadRequest r) : r_(std::move(r)), watch_(r_.cancelled) {}
  ~CpuExecutable() override {
    if (program_) free_(program_);
    for (const runtime::ExternalState& s : states_) s.End();
    if (library_) dlclose(library_);
    RemoveTree(r_.scratch);
  }
  Status Load();
  Status Failure(const std::string& error) const;  // on the thread that ran
  Result<std::vector<Value>> Run(const std::vector<std::pair<Name, Value>>& inputs,
                                 const std::vector<std::pair<Name, int64_t>>& symbols) override {
    return Run(inputs, symbols, false);
  }
  Result<std::vector<Value>> RunInPlace(const std::vector<std::pair<Name, Value>>& inputs,
                                        const std::vector<std::pair<Name, int64_t>>& symbols) override {
    return Run(inputs, symbols, true);
  }
  Status Call(CallFrame& frame) override;
  std::vector<Name> CallSymbols() const override { return calls_ ? calls_->by_name() : std::vector<Name>(); }
  Result<Program> Interface() const override { return r_.signature; }
  Status Save(const std::string& path) const override {
    return SaveArtifact({r_.path, r_.target, r_.signature, r_.constants, r_.externals, r_.sites, serial_ || r_.serial}, path);
  }
  std::string Source() const override { return r_.source; }
  std::vector<std::pair<std::string, double>> Report() const override { return r_.report; }

 private:
  Result<std::vector<Value>> Run(const std::vector<std::pair<Name, Value>>& inputs,
                                 const std::vector<std::pair<Name, int64_t>>& symbols, bool in_place);
  Status CheckProcessor() const;
  // `error`: what the run said when it failed.
  Status Execute(hr_run* run, const std::string& error);

  LoadRequest r_;
  CancelWatch watch_;
  std::unique_ptr<Binder> binder_;
  std::unique_ptr<CallPlan> calls_;
  void* library_ = nullptr;
  void* program_ = nullptr;
  const headrace_program_info_t* info_ = nullptr;
  headrace_program_run_fn run_ = nullptr;
  headrace_program_free_fn free_ = nullptr;
  int32_t (*site_)() = nullptr;  // of this thread's last run, when it failed
  std::vector<const void*> constants_;
  HrValues constant_views_;
  std::vector<hr_external_binding> externals_;
  std::vector<runtime::ExternalState> states_;
  Status Bind(int32_t external, const hr_external_attributes& attributes, const hr_prepared_node* prepared);
  std::string lacks_;  // instructions of the target that this processor has not
  OutputPool pool_;
  bool serial_ = false;  // an external function that is not thread-safe
  std::mutex serial_mutex_;
};

// The registered function of that name; an artifact brings the plugin's library along for where it is not registered.
Status CpuExecutable::Bind(int32_t external, const hr_external_attributes& attributes, const hr_prepared_node* prepared) {
  const std::string name = info_->externals[external];
  runtime::LoadedExternal e;
  if (const ExternalFunction* f = r_.registry->FindFunction(name); f && f->address) {
    e = {reinterpret_cast<hr_function>(f->address), f->thread_safe, f->create, f->destroy, f->user, f->prepare, f->release};
  } else {
    const auto carried = std::find_if(r_.externals.begin(), r_.externals.end(),
                                      [&](const ArtifactExternal& a) { return a.name == name && !a.library.empty(); });
    if (carried == r_.externals.end())
      return InvalidError("E0681", "external function '" + name + "' is not registered",
                          "load the plugin that provides it: --plugin FILE.so");
    const std::string trouble = runtime::LoadExternal(carried->library, name, e);
    if (!trouble.empty())
      return InvalidError("E0379", "external function '" + name + "' can't be loaded: " + trouble,
                          "install what it needs, or load its plugin: --plugin FILE.so");
  }
  runtime::ExternalState state;
  const std::string refused = runtime::MakeState(e, &attributes, prepared, *info_, constants_.data(), r_.threads, state);
  if (!refused.empty()) return Refused(name, refused, prepared && prepared->node ? prepared->node->name : "");
  states_.push_back(state);
  externals_.push_back({e.function, state.state});
  serial_ |= !e.thread_safe;
  return {};
}

Status CpuExecutable::Load() {
  // Made for another machine: it can be saved, but not even loading it is safe here.
  for (const std::string& f : runtime::MissingFeatures(runtime::TargetFeatures(r_.target)))
    lacks_ += (lacks_.empty() ? "" : ", ") + f;
  if (!lacks_.empty()) return {};
  library_ = dlopen(r_.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) {
    const std::string why = dlerror();
    return InvalidError("E0377", "cannot load the compiled program: " + why, r_.remedy);
  }
  info_ = static_cast<const headrace_program_info_t*>(dlsym(library_, HEADRACE_PROGRAM_INFO_SYMBOL));
  const auto init = reinterpret_cast<headrace_program_init_fn>(dlsym(library_, HEADRACE_PROGRAM_INIT_SYMBOL));
  run_ = reinterpret_cast<headrace_program_run_fn>(dlsym(library_, HEADRACE_PROGRAM_RUN_SYMBOL));
  site_ = reinterpret_cast<int32_t (*)()>(dlsym(library_, "headrace_program_site"));
  free_ = reinterpret_cast<headrace_program_free_fn>(dlsym(library_, HEADRACE_PROGRAM_FREE_SYMBOL));
  if (!info_ || !init || !run_ || !free_ || info_->magic != HEADRACE_PROGRAM_MAGIC)
    return InvalidError("E0377", r_.path + " is not a Headrace program", r_.remedy);
  if (info_->abi_major != HEADRACE_PROGRAM_MAJOR)
    return InvalidError("E0373",
                        r_.path + " was compiled for program ABI " + std::to_string(info_->abi_major) + ", this is " +
                            std::to_string(HEADRACE_PROGRAM_MAJOR),
                        "compile it again");
  serial_ = r_.serial;
  std::vector<std::string> sizes;
  for (int32_t i = 0; i < info_->n_symbols; ++i) sizes.push_back(info_->symbols[i].name);
  binder_ = std::make_unique<Binder>(&r_.signature, std::move(sizes));
  calls_ = std::make_unique<CallPlan>(&r_.signature, info_);
  if (info_->n_constants != static_cast<int32_t>(r_.constants.size()))
    return InvalidError("E0377", r_.path + " has other constants than its weights file", r_.remedy);
  for (const Tensor& t : r_.constants) constants_.push_back(t.elements() == 0 ? nullptr : constant_views_.View(t).data);
  const auto* attributes =
      static_cast<const hr_external_attributes*>(dlsym(library_, HEADRACE_PROGRAM_EXTERNAL_ATTRIBUTES_SYMBOL));
  const auto* prepared = static_cast<const hr_prepared_node*>(dlsym(library_, HEADRACE_PROGRAM_PREPARED_SYMBOL));
  for (int32_t i = 0; i < info_->n_externals; ++i) {
    const hr_external_attributes none = {nullptr, 0};
    HR_RETURN_IF_ERROR(Bind(i, attributes ? attributes[i] : none, prepared ? prepared + i : nullptr));
  }
  hr_init request = {};
  request.struct_size = sizeof request;
  request.runtime = hr_runtime();
  request.constants = constants_.data();
  request.externals = externals_.data();
  request.host = nullptr;
  request.fail = [](hr_init*, const char*) {};
  if (const int32_t code = init(&request, &program_); code != HR_OK)
    return InvalidError("E0377", "the program could not be initialised (out of memory)");
  return {};
}

Result<std::vector<Value>> CpuExecutable::Run(const std::vector<std::pair<Name, Value>>& inputs,
                                              const std::vector<std::pair<Name, int64_t>>& symbols, bool in_place) {
  HR_RETURN_IF_ERROR(CheckProcessor());
  HR_ASSIGN_OR_RETURN(std::shared_ptr<const Binding> bound, binder_->Bind(inputs, symbols));
  RunState state;
  state.pool = &pool_;
  std::vector<hr_value> in;
  int outputs = 0;
  in.reserve(static_cast<size_t>(info_->n_parameters));
  state.results.reserve(static_cast<size_t>(info_->n_parameters));
  for (int32_t i = 0; i < info_->n_parameters; ++i) {
    const hr_parameter& p = info_->parameters[i];
    const int at = bound->argument[i];
    const Value* v = at < 0 ? nullptr : &inputs[at].second;
    if (p.direction != HR_OUT) {
      hr_value absent = {};
      in.push_back(v ? state.keep.View(*v) : absent);
    }
    if (p.direction == HR_IN) continue;
    ++outputs;
    state.results.emplace_back();
    state.in_place.push_back(in_place && p.direction == HR_INOUT && v && v->kind == Value::kTensor ? v : nullptr);
    if (p.kind == HR_SEQUENCE) state.results.back().kind = Value::kSequence;
  }
  state.views.resize(outputs);
  state.items.resize(outputs);
  for (hr_value& v : state.views) v = {};
  for (int i = 0; i < outputs; ++i)
    if (state.results[i].kind == Value::kSequence) state.views[i].kind = HR_SEQUENCE;
  hr_run run = {};
  run.struct_size = sizeof run;
  run.n_inputs = static_cast<int32_t>(in.size());
  run.n_outputs = outputs;
  run.n_symbols = static_cast<int32_t>(bound->symbols.size());
  run.inputs = in.data();
  run.outputs = state.views.data();
  run.symbols = bound->symbols.data();
  run.allocate = Allocate;
  run.set_strings = SetStrings;
  run.append = Append;
  run.fail = Fail;
  run.host = &state;
  const Status done = Execute(&run, state.error);
  pool_.EndRun(state.taken);
  HR_RETURN_IF_ERROR(done);
  return std::move(state.results);
}

Status CpuExecutable::CheckProcessor() const {
  if (lacks_.empty()) return {};
  return UnsupportedError("E0374", "the program was compiled for '" + r_.target + "': this processor lacks " + lacks_,
                          "save it, and run it where these instructions are");
}

Status CpuExecutable::Call(CallFrame& frame) {
  HR_RETURN_IF_ERROR(CheckProcessor());
  PositionalCall call(calls_.get(), &frame);
  hr_run run = {};
  HR_RETURN_IF_ERROR(call.Prepare(&run));
  const Status done = Execute(&run, call.error());
  if (call.misfit()) return InvalidError("E0689", call.error());
  HR_RETURN_IF_ERROR(done);
  call.Finish();
  return {};
}

Status CpuExecutable::Execute(hr_run* run, const std::string& error) {
  std::unique_lock<std::mutex> lock(serial_mutex_, std::defer_lock);
  if (serial_) lock.lock();
  run->threads = r_.threads;
  run->cancel = watch_.Enter();
  const int32_t code = run_(program_, run);
  watch_.Leave();
  if (code == HR_OK) return {};
  if (code == HR_CANCELLED) return InterruptedError();
  return Failure(error);
}

// "E0650 index out of range: …" and the statement that the program names.
Status CpuExecutable::Failure(const std::string& error) const {
  Diagnostic d;
  d.code = "E0663";
  d.message = error.empty() ? "the program failed" : error;
  if (d.message.rfind("E0", 0) == 0 && d.message.find(' ') == 5) {
    d.code = d.message.substr(0, 5);
    d.message.erase(0, 6);
  }
  if (d.code == "E0650") d.hint = "a read that may fall outside is written X[i] ?? default, a write X[i] ?? = value";
  const size_t site = site_ ? static_cast<size_t>(site_()) : 0;
  return site < r_.sites.size() ? WithOrigin(Status(std::move(d)), r_.sites[site]) : Status(std::move(d));
}

}  // namespace

Result<std::unique_ptr<Executable>> LoadProgram(LoadRequest r) {
  auto e = std::make_unique<CpuExecutable>(std::move(r));
  HR_RETURN_IF_ERROR(e->Load());
  return std::unique_ptr<Executable>(std::move(e));
}

}  // namespace headrace::cpu
