// Fluent C++ over headrace_plugin.h; header only, nothing to link. A whole plugin:
//
//   #include "headrace_plugin.hpp"
//   HEADRACE_PLUGIN("my_ops", "1.0") {
//     r.op("my.Softplus").Doc("Smooth maximum with zero.")
//         .Input("X", "float").Output("Y", "float").Shape("shape Y[dims(X)]")
//         .Pure("Y = max(X, 0) + log1p(exp(-abs(X)))")
//         .Backward("dX = dY / (1 + exp(-X))")
//         .Sample("X: f32[2, 3] in [-100, 100]; at 0, -0, 1e-30, 100");
//   }
//
// An op name is "domain.Name"; without a dot the domain is "onnx", whose signatures the importer declares.
#ifndef HEADRACE_PLUGIN_HPP_
#define HEADRACE_PLUGIN_HPP_
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "headrace_plugin.h"

namespace headrace_plugin {

struct OpName {
  std::string domain = "onnx", op;
  explicit OpName(const std::string& full) : op(full) {
    size_t dot = full.rfind('.');
    if (dot != std::string::npos) domain = full.substr(0, dot), op = full.substr(dot + 1);
  }
};

// Attributes by name, as the notation writes them ("3", "\"same\"", "[1, 2]").
class Attributes {
 public:
  Attributes(const hr_attribute* at, int32_t count) : at_(at), count_(count) {}
  std::string text(const std::string& name, const std::string& otherwise = "") const {
    for (int32_t i = 0; i < count_; ++i)
      if (name == at_[i].name) return at_[i].text;
    return otherwise;
  }
  double number(const std::string& name, double otherwise) const {
    const std::string t = text(name);
    return t.empty() ? otherwise : std::stod(t);
  }

 private:
  const hr_attribute* at_;
  int32_t count_;
};

// What a condition or an expansion sees of its node.
class Node {
 public:
  explicit Node(const hr_node* n) : n_(n) {}
  const hr_node* raw() const { return n_; }
  const hr_port* input(const std::string& name) const { return Find(n_->inputs, n_->n_inputs, name); }
  const hr_port* output(const std::string& name) const { return Find(n_->outputs, n_->n_outputs, name); }
  // The attribute's text ("3", "\"same\"", "[1, 2]"), or `otherwise` when it is neither set nor has a default.
  std::string attribute(const std::string& name, const std::string& otherwise = "") const {
    return Attributes(n_->attributes, n_->n_attributes).text(name, otherwise);
  }
  // "N, 3, 224": a port's shape as the text between brackets.
  static std::string Shape(const hr_port* p) {
    std::string s;
    for (int i = 0; i < p->rank; ++i) s += (i ? ", " : "") + std::string(p->shape[i]);
    return s;
  }
  // A size as a number; -1 where it is a name.
  static int64_t Size(const hr_port* p, int dimension) {
    char* end = nullptr;
    const long long n = std::strtoll(p->shape[dimension], &end, 10);
    return *end ? -1 : n;
  }
  // Of a call: what is done to its result, see hr_step.
  std::vector<hr_step> steps() const { return std::vector<hr_step>(n_->steps, n_->steps + n_->n_steps); }
  double operations() const { return n_->operations; }

 private:
  static const hr_port* Find(const hr_port* ports, int n, const std::string& name) {
    for (int i = 0; i < n; ++i)
      if (ports[i].present && name == ports[i].name) return &ports[i];
    return nullptr;
  }
  const hr_node* n_;
};

using Condition = std::function<std::string(const Node&)>;  // "" = applies, else the reason why not
using Expand = std::function<std::string(const Node&)>;     // the SDFG's text; throw std::exception for an error
using Cost = std::function<double(const Node&)>;  // in operations of the pure form that take as long; negative = not known
// What a function of a library of kernels says of its calls (hr_external); what is empty is not there. Exceptions are refusals.
struct Contract {
  std::function<void*(const Node&)> prepare;  // call->state, made once
  std::function<void(void*)> release;
  std::function<std::string(const Node&)> scratch;               // bytes: "4 * M * 64", "" = none
  std::function<std::vector<int>(const Node&, int port)> layout;  // dimensions, the slowest first; {} = row-major
  std::function<std::string(const Node&)> epilogue;              // "" = its steps are accepted, else why not
  std::vector<std::pair<std::string, std::string>> in_place;     // output, input
};
// The state as a class: State(const headrace_plugin::Node&) and ~State().
template <typename State>
Contract Prepared() {
  Contract c;
  c.prepare = [](const Node& n) -> void* { return new State(n); };
  c.release = [](void* state) { delete static_cast<State*>(state); };
  return c;
}
using BackwardFn = std::function<std::string(const Node&, const std::vector<std::string>& given, const std::vector<std::string>& required)>;

class Registrar {
 public:
  explicit Registrar(const hr_host* host) : host_(host) {}
  Registrar(const Registrar&) = delete;

  class Op {
   public:
    Op(Registrar* r, const std::string& full) : r_(r), name_(full) {}
    Op(Op&& o) noexcept
        : r_(o.r_), name_(o.name_), doc_(std::move(o.doc_)), pure_(std::move(o.pure_)), backward_(std::move(o.backward_)),
          shape_(std::move(o.shape_)), since_(o.since_), until_(o.until_), samples_(std::move(o.samples_)),
          inputs_(std::move(o.inputs_)), outputs_(std::move(o.outputs_)), attributes_(std::move(o.attributes_)) {
      o.r_ = nullptr;
    }
    ~Op() { if (r_) r_->Commit(*this); }
    Op& Doc(std::string t) { doc_ = std::move(t); return *this; }
    Op& Pure(std::string t) { pure_ = std::move(t); return *this; }
    Op& Backward(std::string t) { backward_ = std::move(t); return *this; }
    Op& Sample(std::string t) { samples_.push_back(std::move(t)); return *this; }
    Op& Versions(int since, int until = 0) { since_ = since, until_ = until; return *this; }
    // For ops that no importer declares: ports by name and type (a dtype; a family: "float", "integer", "complex", "number",
    // "any"; of an output also the name of the input whose type it has), attributes, sizes of outputs.
    Op& Input(std::string n, std::string type, bool optional = false, bool variadic = false) {
      inputs_.push_back({std::move(n), std::move(type), optional, variadic});
      return *this;
    }
    Op& Output(std::string n, std::string type, bool optional = false, bool variadic = false) {
      outputs_.push_back({std::move(n), std::move(type), optional, variadic});
      return *this;
    }
    // Without a default a form sees nothing where it is not set: `alpha ?: 1`.
    Op& Attribute(std::string n, std::string type, std::string default_text = "") {
      attributes_.push_back({std::move(n), std::move(type), std::move(default_text), false});
      return *this;
    }
    Op& RequiredAttribute(std::string n, std::string type) {
      attributes_.push_back({std::move(n), std::move(type), "", true});
      return *this;
    }
    Op& Shape(std::string form) { shape_ = std::move(form); return *this; }

   private:
    friend class Registrar;
    struct PortText { std::string name, type; bool optional, variadic; };
    struct AttributeText { std::string name, type, default_text; bool required; };
    Registrar* r_;
    OpName name_;
    std::string doc_, pure_, backward_, shape_;
    int since_ = 1, until_ = 0;
    std::vector<std::string> samples_;
    std::vector<PortText> inputs_, outputs_;
    std::vector<AttributeText> attributes_;
  };
  Op op(const std::string& name) { return Op(this, name); }

  struct Versions { int since = 1, until = 0, priority = 0; };
  void impl(const std::string& op, const std::string& name, Condition when, Expand expand) { impl(op, name, when, expand, Versions()); }
  void impl(const std::string& op, const std::string& name, Condition when, Expand expand, Versions v) {
    impl(op, name, std::move(when), std::move(expand), nullptr, v);
  }
  // Without being asked for it is taken where `cost` says that it is the cheapest.
  void impl(const std::string& op, const std::string& name, Condition when, Expand expand, Cost cost, Versions v) {
    OpName n(op);
    Callbacks* c = Keep({std::move(when), std::move(expand), nullptr, std::move(cost), {}, {}});
    hr_implementation i{};
    i.struct_size = sizeof i;
    i.domain = n.domain.c_str(), i.op = n.op.c_str(), i.name = name.c_str();
    i.since_version = v.since, i.until_version = v.until, i.priority = v.priority, i.user = c;
    i.condition = c->when ? Ask : nullptr;
    i.expand = RunExpand;
    if (c->cost) i.cost = AskCost;
    Check(host_->add_implementation(host_->ctx, &i));
  }
  void backward(const std::string& op, const std::string& name, Condition when, BackwardFn fn) { backward(op, name, when, fn, Versions()); }
  void backward(const std::string& op, const std::string& name, Condition when, BackwardFn fn, Versions v) {
    OpName n(op);
    Callbacks* c = Keep({std::move(when), nullptr, std::move(fn), nullptr, {}, {}});
    hr_backward b{};
    b.struct_size = sizeof b;
    b.domain = n.domain.c_str(), b.op = n.op.c_str(), b.name = name.c_str();
    b.since_version = v.since, b.until_version = v.until, b.priority = v.priority, b.user = c;
    b.condition = c->when ? Ask : nullptr;
    b.backward = RunBackward;
    Check(host_->add_backward(host_->ctx, &b));
  }
  // `symbol` must be exported by this shared object: HEADRACE_EXPORT extern "C" int32_t symbol(hr_call*).
  void external(const std::string& name, const std::string& symbol, bool thread_safe = true) {
    external(name, symbol, nullptr, nullptr, thread_safe);
  }
  // With a state: create() makes one for each node that calls the function when the program is loaded, from the node's
  // attributes; call->state holds it; destroy() gets it when the program goes.
  void external(const std::string& name, const std::string& symbol, void* (*create)(const hr_attribute*, int32_t),
                void (*destroy)(void*), bool thread_safe = true) {
    hr_external e{};
    e.struct_size = sizeof e;
    e.name = name.c_str(), e.symbol = symbol.c_str(), e.thread_safe = thread_safe;
    e.create = create, e.destroy = destroy;
    Check(host_->add_external(host_->ctx, &e));
  }
  // A function of a library of kernels: `r.external("product", "product", Prepared<Weights>())`.
  void external(const std::string& name, const std::string& symbol, Contract contract, bool thread_safe = true) {
    Callbacks* c = Keep({nullptr, nullptr, nullptr, nullptr, std::move(contract), {}});
    for (const auto& pair : c->contract.in_place) c->in_place.push_back({pair.first.c_str(), pair.second.c_str()});
    hr_external e{};
    e.struct_size = sizeof e;
    e.name = name.c_str(), e.symbol = symbol.c_str(), e.thread_safe = thread_safe;
    e.user = c;
    if (c->contract.prepare) e.prepare = RunPrepare;
    if (c->contract.release) e.release = [](void* user, void* state) { static_cast<Callbacks*>(user)->contract.release(state); };
    if (c->contract.scratch) e.scratch = RunScratch;
    if (c->contract.layout) e.layout = RunLayout;
    if (c->contract.epilogue) e.epilogue = RunEpilogue;
    e.n_in_place = static_cast<int32_t>(c->in_place.size()), e.in_place = c->in_place.data();
    Check(host_->add_external(host_->ctx, &e));
  }
  // The state as a class: State(const headrace_plugin::Attributes&) and ~State().
  template <typename State>
  void external(const std::string& name, const std::string& symbol, bool thread_safe = true) {
    external(name, symbol, CreateState<State>, [](void* state) { delete static_cast<State*>(state); }, thread_safe);
  }
  bool failed() const { return failed_; }

 private:
  struct Callbacks {
    Condition when;
    Expand expand;
    BackwardFn backward;
    Cost cost;
    Contract contract;
    std::vector<hr_in_place> in_place;
  };
  // Until this shared object is unloaded; hidden, so that every one has a list of its own.
  __attribute__((visibility("hidden"))) static Callbacks* Keep(Callbacks c) {
    static std::mutex one_at_a_time;
    static std::deque<Callbacks> all;
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    all.push_back(std::move(c));
    return &all.back();
  }
  void Check(int32_t rc) { failed_ |= rc != 0; }
  template <typename State>
  static void* CreateState(const hr_attribute* attributes, int32_t n) {
    return new State(Attributes(attributes, n));  // what it throws the host says
  }

  static const char* Ask(void* user, const hr_node* node) {
    static thread_local std::string reason;  // outlives the call, as the C interface asks
    try {
      reason = static_cast<Callbacks*>(user)->when(Node(node));
    } catch (const std::exception& e) {
      reason = e.what();
    }
    return reason.empty() ? nullptr : reason.c_str();
  }
  template <typename Fn>
  static int32_t Write(const hr_writer* out, const hr_writer* error, Fn&& fn) {
    try {
      out->put(out->ctx, fn().c_str());
      return 0;
    } catch (const std::exception& e) {
      error->put(error->ctx, e.what());
    } catch (...) {
      error->put(error->ctx, "unknown exception");
    }
    return 1;
  }
  static int32_t RunExpand(void* user, const hr_node* node, const hr_writer* out, const hr_writer* error) {
    return Write(out, error, [&] { return static_cast<Callbacks*>(user)->expand(Node(node)); });
  }
  static double AskCost(void* user, const hr_node* node) {
    try {
      return static_cast<Callbacks*>(user)->cost(Node(node));
    } catch (...) {
      return -1;  // not known
    }
  }
  // What `fn` gives, or the reason why it throws.
  template <typename Fn>
  static int32_t Try(const hr_writer* error, Fn&& fn) {
    try {
      return fn();
    } catch (const std::exception& e) {
      error->put(error->ctx, e.what());
    } catch (...) {
      error->put(error->ctx, "unknown exception");
    }
    return -1;
  }
  static int32_t RunPrepare(void* user, const hr_node* node, void** state, const hr_writer* error) {
    return Try(error, [&] { return *state = static_cast<Callbacks*>(user)->contract.prepare(Node(node)), 0; });
  }
  static int32_t RunScratch(void* user, const hr_node* node, const hr_writer* bytes, const hr_writer* error) {
    return Write(bytes, error, [&] { return static_cast<Callbacks*>(user)->contract.scratch(Node(node)); });
  }
  static int32_t RunLayout(void* user, const hr_node* node, int32_t port, int32_t* order, const hr_writer* error) {
    return Try(error, [&] {
      const std::vector<int> wish = static_cast<Callbacks*>(user)->contract.layout(Node(node), port);
      const hr_port& p = port < node->n_inputs ? node->inputs[port] : node->outputs[port - node->n_inputs];
      if (!wish.empty() && static_cast<int32_t>(wish.size()) != p.rank) throw std::length_error("a layout of another rank");
      for (size_t k = 0; k < wish.size(); ++k) order[k] = wish[k];
      return wish.empty() ? 0 : 1;
    });
  }
  static int32_t RunEpilogue(void* user, const hr_node* node, const hr_writer* error) {
    return Try(error, [&] {
      const std::string why = static_cast<Callbacks*>(user)->contract.epilogue(Node(node));
      if (!why.empty()) throw std::runtime_error(why);
      return 0;
    });
  }
  static int32_t RunBackward(void* user, const hr_node* node, const char* const* given, int32_t n_given, const char* const* required,
                             int32_t n_required, const hr_writer* out, const hr_writer* error) {
    std::vector<std::string> g(given, given + n_given), q(required, required + n_required);
    return Write(out, error, [&] { return static_cast<Callbacks*>(user)->backward(Node(node), g, q); });
  }

  void Commit(const Op& o) {
    if (!o.inputs_.empty() || !o.outputs_.empty() || !o.attributes_.empty()) {
      std::vector<hr_signature_port> in, out;
      std::vector<hr_signature_attribute> attributes;
      for (const auto& p : o.inputs_) in.push_back({p.name.c_str(), p.type.c_str(), p.optional, p.variadic});
      for (const auto& p : o.outputs_) out.push_back({p.name.c_str(), p.type.c_str(), p.optional, p.variadic});
      for (const auto& a : o.attributes_)
        attributes.push_back({a.name.c_str(), a.type.c_str(), a.default_text.empty() ? nullptr : a.default_text.c_str(), a.required});
      hr_signature s{};
      s.struct_size = sizeof s;
      s.domain = o.name_.domain.c_str(), s.op = o.name_.op.c_str(), s.doc = o.doc_.c_str(), s.since_version = o.since_;
      s.n_inputs = static_cast<int32_t>(in.size()), s.n_outputs = static_cast<int32_t>(out.size());
      s.n_attributes = static_cast<int32_t>(attributes.size());
      s.inputs = in.data(), s.outputs = out.data(), s.attributes = attributes.data();
      s.shape = o.shape_.empty() ? nullptr : o.shape_.c_str();
      Check(host_->add_signature(host_->ctx, &s));
    }
    std::vector<const char*> samples;
    for (const std::string& t : o.samples_) samples.push_back(t.c_str());
    hr_op d{};
    d.struct_size = sizeof d;
    d.domain = o.name_.domain.c_str(), d.op = o.name_.op.c_str(), d.doc = o.doc_.c_str();
    d.pure = o.pure_.c_str(), d.backward = o.backward_.c_str();
    d.since_version = o.since_, d.until_version = o.until_;
    d.n_samples = static_cast<int32_t>(samples.size()), d.samples = samples.data();
    Check(host_->add_op(host_->ctx, &d));
  }

  const hr_host* host_;
  bool failed_ = false;
};

}  // namespace headrace_plugin

// Defines the two exported symbols; the block that follows gets `headrace_plugin::Registrar& r`.
#define HEADRACE_PLUGIN(plugin_name, plugin_version)                                                               \
  static void HeadracePluginBody(headrace_plugin::Registrar& r);                                                   \
  extern "C" HEADRACE_EXPORT const hr_plugin_info headrace_plugin_info = {                                         \
      sizeof(hr_plugin_info), HEADRACE_PLUGIN_MAGIC, HEADRACE_ABI_MAJOR, HEADRACE_ABI_MINOR, plugin_name,          \
      plugin_version, nullptr};                                                                                    \
  extern "C" HEADRACE_EXPORT int32_t headrace_plugin_v1(const hr_host* host) {                                     \
    try {                                                                                                          \
      headrace_plugin::Registrar r(host);                                                                          \
      HeadracePluginBody(r);                                                                                       \
      return r.failed() ? 1 : 0;                                                                                   \
    } catch (...) {                                                                                                \
      return 2;                                                                                                    \
    }                                                                                                              \
  }                                                                                                                \
  static void HeadracePluginBody(headrace_plugin::Registrar& r)

#endif
