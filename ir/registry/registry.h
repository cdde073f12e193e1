// The registries: everything that is not the graph is found here by name. One Registry per process is the rule (the
// driver's), but nothing forbids several; it is filled by plugins, and read and added to from any thread.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/base/closest_word.h"
#include "ir/graph/graph.h"
#include "ir/text/form.h"
#include "plugins/api/headrace_plugin.h"

namespace headrace {

// ---- op signatures: declared by importers (ONNX schemas) or by plugins for their own ops ----
struct PortSignature {
  std::string name;
  std::string type;  // a type variable of `types` ("T") or a concrete type ("tensor(int64)" → "i64")
  bool optional = false, variadic = false, homogeneous = true;
  int min_count = 1;  // of a variadic port
  bool differentiable = true;  // if of a float type. Not what ONNX's schemas say: they exclude bounds of Clip, initial states …
};
enum class AttributeType { kInt, kFloat, kString, kInts, kFloats, kStrings, kTensor, kGraph, kOther };
struct AttributeSignature {
  std::string name;
  AttributeType type = AttributeType::kInt;
  bool required = false;
  std::optional<Attribute> default_value;
};
struct OpSignature {
  std::string domain, name;  // "onnx", "Conv"
  int since_version = 1;
  bool deprecated = false;
  std::string doc;
  std::vector<PortSignature> inputs, outputs;
  std::vector<AttributeSignature> attributes;
  std::map<std::string, std::vector<std::string>> types;  // type variable → dtype names, "seq(f32)", "optional(…)"
  std::string shape;  // ops that no importer infers: a form of `shape OUT[…]` statements, "" = none
  std::string plugin;
};

// ---- one node as an implementation's condition and expansion see it ----
struct PortView {
  std::string name;
  bool present = true;
  DType dtype = DType::kNone;
  ValueType type;
  std::vector<Expr> shape;
  const Tensor* constant = nullptr;  // the value when it is a constant
  std::vector<Expr> known;           // elements when value inference knows them (row-major)
  bool has_known = false;
};
class Registry;
struct NodeView {
  const Registry* registry = nullptr;
  const Program* program = nullptr;
  const Sdfg* sdfg = nullptr;
  const Library* node = nullptr;
  const OpSignature* signature = nullptr;
  std::string name;  // origin, for messages
  std::vector<PortView> inputs, outputs;
  Attributes attributes;  // set ones and defaults
  std::vector<Name> unset_attributes;
  const PortView* Input(std::string_view port, int index = 0) const;  // null when absent
  const PortView* Output(std::string_view port, int index = 0) const;
};

// ---- inference: what a node's outputs will be, before it runs ----
struct InferredOutput {
  std::string port;  // as in the node
  bool typed = false, has_shape = false;
  ValueType type;
  // Over the symbols of the inputs' sizes. A size may read an input (`n[0]`, by the port's name; variadic ports `name_0`,
  // `name_1` …) whose elements are not known: whoever makes the node computes it before. Null: known when the node has run.
  std::vector<Expr> shape;
  bool has_known = false;
  std::vector<Expr> known;  // elements of a small integer or bool tensor (bools as 0 and 1), row-major
};
// One per output of the node, in its order; those that nothing is known of are not typed.
using InferFn = std::function<Result<std::vector<InferredOutput>>(const NodeView&)>;
// How the ops of a domain are inferred; the importer of a format brings its own. Without one the signature says it.
struct Inference {
  std::string domain;  // "onnx"
  InferFn infer;
  std::string plugin;
};

// ---- implementations ----
// What an expansion gives: an SDFG whose parameters are the present ports (variadic: name_0, name_1 …), possibly with the
// SDFGs it calls, as a Program with that entry.
using ExpandFn = std::function<Result<Program>(const NodeView&)>;
struct ForwardImplementation {
  std::string domain, op, name;                    // name: "pure", "onednn", "external" …
  int since_version = 1, until_version = 1 << 30;  // node versions it serves
  int priority = 0;                                // larger first; ties in registration order; "pure" is last
  // Why it can't be applied, or "" if it can.
  std::function<std::string(const NodeView&)> can_be_applied;
  ExpandFn expand;
  std::string plugin;  // who registered it
  // In operations of the pure form (given, negative when not known) that take as long; negative: not known. Null: it has its place
  // in the order, whatever it costs.
  std::function<double(const NodeView&, double operations)> cost = nullptr;
};

// Names the backward node's ports: gradients it needs by forward output, gradients it gives by forward input.
struct BackwardResult {
  Program sdfg;  // entry's parameters: forward ports it reads by name, then the names below
  std::map<std::string, std::string> required_grad_names;  // forward input port → parameter holding its gradient
  std::map<std::string, std::string> given_grad_names;     // forward output port → parameter taking its gradient
};
struct BackwardImplementation {
  std::string domain, op, name;
  int since_version = 1, until_version = 1 << 30, priority = 0;
  std::function<std::string(const NodeView&)> backward_can_be_applied;
  std::function<Result<BackwardResult>(const NodeView&, const std::vector<std::string>& given_gradients,
                                       const std::vector<std::string>& required_gradients)>
      backward;
  std::string form;  // the rule's text when it is a form (for docs and tests)
  std::string plugin;
};

// A documented op: the block a plugin writes. Registering one makes a "pure" implementation and its tests.
struct OpDefinition {
  std::string domain, name;
  int since_version = 1, until_version = 1 << 30;
  std::string doc, pure, backward;
  std::vector<std::string> samples;  // docs/plugins.md, "Samples"
  std::string plugin;
};

// A function in a plugin's shared object, called by compiled programs (nodes of domain "call"). C ABI: plugins/api.
struct ExternalFunction {
  std::string name, symbol, library_path;  // library_path: the shared object that exports `symbol`
  void* address = nullptr;
  bool thread_safe = true;
  void* (*create)(const hr_attribute*, int32_t) = nullptr;  // state made once per node, or null
  void (*destroy)(void*) = nullptr;
  std::string plugin;
  // What a library of kernels says of its calls (hr_external); null or empty where it doesn't.
  void* user = nullptr;
  int32_t (*prepare)(void* user, const hr_node*, void** state, const hr_writer* error) = nullptr;
  void (*release)(void* user, void* state) = nullptr;
  int32_t (*scratch)(void* user, const hr_node*, const hr_writer* bytes, const hr_writer* error) = nullptr;
  int32_t (*layout)(void* user, const hr_node*, int32_t port, int32_t* order, const hr_writer* error) = nullptr;
  int32_t (*epilogue)(void* user, const hr_node*, const hr_writer* error) = nullptr;
  std::vector<std::pair<std::string, std::string>> in_place;  // output, input
};

// ---- passes, pipelines, importers, backends ----
using PassOptions = std::vector<std::pair<std::string, std::string>>;
class Registry;
struct Pass {
  std::string name, doc;
  std::vector<std::string> options;                                                // accepted names, for "did you mean"
  std::function<Result<bool>(Program&, const PassOptions&, const Registry&)> run;  // true = changed
  std::string plugin;
};
struct Pipeline {
  std::string name, text, plugin;
};  // text: "simplify; fuse-maps{max=8}; …"

struct ImportOptions {
  std::vector<std::pair<std::string, int64_t>> dims;  // --dim N=32: named sizes fixed
  std::vector<std::string> keep_outputs;              // only these outputs (empty = all)
  bool simplify = true;
  // Ops that differ between training and inference (batch normalisation, dropout): all as inference.
  bool inference = false;
  // The value that input `name` (the model's spelling), the `index`-th, will have when the program runs, or null. Asked
  // for inputs that decide shapes, ranks or axes only; the program is then right for that value alone (assumed_inputs).
  // Inputs that the model has a value for are asked for with index -1: without a value here they are constants.
  std::function<const Tensor*(const std::string& name, int index)> input_value;
  std::function<bool()> cancelled;  // polled; true = stop with InterruptedError
};
struct ImportedModel {
  Program program;
  std::string kind;                 // "ONNX IR 10, opset 21"
  std::vector<std::string> report;  // notes for -v: what was folded, what was ignored
  // Names in the model of the program's inputs and outputs where they are not identifiers: (parameter, original).
  std::vector<std::pair<Name, std::string>> original_names;
  // Inputs the program was made for one value of; whoever runs it compares.
  std::vector<std::pair<Name, Tensor>> assumed_inputs;
  std::string OriginalName(Name n) const;
};
// What differs in a copy of a model file.
struct SaveOptions {
  std::vector<std::pair<std::string, Tensor>> constants;  // new values, by the model's names
  bool inference = false;                                 // as ImportOptions::inference
};
struct Importer {
  std::string name;
  std::vector<std::string> extensions;  // ".onnx"
  std::function<Result<ImportedModel>(const std::string& path, const ImportOptions&, const Registry&)> import;
  std::function<Status(const std::string& path, const Registry&)> check;
  // Writes the model at `from` with other constants to `to` (not the same file); data kept in files beside the model stays in
  // such a file. Whole or not at all. Null: the format can't be written.
  std::function<Status(const std::string& from, const std::string& to, const SaveOptions&)> save;
  // Values stored beside models in this importer's format (ONNX input_0.pb); for --test-data.
  std::function<Result<Value>(const std::string& path)> read_value;
  std::string plugin;
};

struct CompileOptions {
  int threads = 0;                                                   // 0 = all the machine's (honours OMP_NUM_THREADS)
  std::vector<std::pair<std::string, std::string>> implementations;  // (op or node or "*", name), first match wins
  std::string cache_dir;                                             // "" = the user's
  std::string target;           // instructions that the code may use: "" or "native" = this machine's, "x86-64-v3" …
  bool keep_denormals = false;  // exact where floats are tiny, and slower there: docs/denormals.md
  bool verify_artifact = true;  // an artifact's files are compared with their checksums when it is loaded
  std::string dump_dir;                                              // HEADRACE_DUMP_DIR: sources and IR are left here
  bool debug = false;                                                // verify after every pass
  std::function<void(const std::string& phase, double done)> progress;  // done in 0..1
  std::function<bool()> cancelled;                                      // polled; true = stop with InterruptedError
};
struct CallFrame;
// A compiled program; Run is thread-safe.
class Executable {
 public:
  virtual ~Executable();
  // Arguments by parameter name: inputs (and inouts); sizes are bound from their shapes. Gives the outputs in order.
  virtual Result<std::vector<Value>> Run(const std::vector<std::pair<Name, Value>>& inputs,
                                         const std::vector<std::pair<Name, int64_t>>& symbols = {}) = 0;
  // Like Run, but inout arguments are updated where they are: the memory of the Values given changes, and the results share
  // it. Parameters and optimizer state in training stay in place so.
  virtual Result<std::vector<Value>> RunInPlace(const std::vector<std::pair<Name, Value>>& inputs,
                                                const std::vector<std::pair<Name, int64_t>>& symbols = {});
  // By position, on arrays of the caller's (ir/registry/call.h); thread-safe. Unsupported unless overridden, and for programs with
  // strings or sequences among their parameters.
  virtual Status Call(CallFrame& frame);
  virtual std::vector<Name> CallSymbols() const;  // sizes that a CallFrame gives by number: no argument's shape tells them
  // A program whose entry has this one's parameters and symbols, and any body: how a loaded artifact is called.
  virtual Result<Program> Interface() const;
  virtual Status Save(const std::string& path) const;                  // .hrx artifact; unsupported unless overridden
  virtual std::string Source() const;                                  // generated code, "" when there is none
  virtual std::vector<std::pair<std::string, double>> Report() const;  // seconds per phase, bytes planned …
};
struct Backend {
  std::string name, doc;
  std::function<Result<std::unique_ptr<Executable>>(const Program&, const CompileOptions&, const Registry&)> compile;
  std::function<Result<std::unique_ptr<Executable>>(const std::string& path, const CompileOptions&, const Registry&)>
      load;  // .hrx
  // What this machine lacks to compile with it (a compiler, a device), before anything is compiled; OK when null.
  std::function<Status(const CompileOptions&)> ready;
  std::string plugin;
};

struct Differentiator;  // ir/registry/differentiator.h
struct Transformation;  // ir/registry/transformation.h

class Registry {
 public:
  Registry();
  ~Registry();
  // Each returns an error on a second registration of the same key, naming both plugins.
  Status Add(OpSignature s);
  Status Add(ForwardImplementation i);
  Status Add(BackwardImplementation i);
  Status Add(
      OpDefinition d);  // also adds ForwardImplementation "pure" (through Elaborate) and the backward form, if any
  Status Add(Inference i);
  Status Add(ExternalFunction f);
  Status Add(Pass p);
  Status Add(Transformation t);  // also adds the pass of its name
  Status Add(Pipeline p);
  Status Add(Importer i);
  Status Add(Backend b);
  Status Add(Differentiator d);
  // What `plugin` registered is not found any more, and others may register the like. What was found before stays valid.
  void Withdraw(const std::string& plugin);

  // The signature that a node of `version` means: the newest with since_version ≤ version (0 = newest). Null when unknown.
  const OpSignature* FindOp(const std::string& domain, const std::string& name, int version = 0) const;
  std::vector<const OpSignature*> Versions(const std::string& domain,
                                           const std::string& name) const;  // of one op, oldest first
  std::vector<const OpSignature*> Ops() const;                              // sorted by domain, name, version
  // Types, sizes and known values of the outputs of any library node; errors say what the node lacks or its op does not say.
  Result<std::vector<InferredOutput>> InferOutputs(const NodeView& v) const;
  std::vector<const ForwardImplementation*> Implementations(const std::string& domain,
                                                            const std::string& op) const;  // in trial order
  std::vector<const BackwardImplementation*> BackwardImplementations(const std::string& domain,
                                                                     const std::string& op) const;
  std::vector<const OpDefinition*> Definitions() const;
  const ExternalFunction* FindFunction(const std::string& name) const;
  const Pass* FindPass(const std::string& name) const;
  const Transformation* FindTransformation(const std::string& name) const;
  const Pipeline* FindPipeline(const std::string& name) const;
  const Importer* FindImporter(const std::string& name) const;
  const Importer* ImporterForFile(const std::string& path) const;
  const Backend* FindBackend(const std::string& name) const;
  const Differentiator* FindDifferentiator() const;  // the one there is; null without
  std::vector<const Pass*> Passes() const;
  std::vector<const Transformation*> Transformations() const;
  std::vector<const Pipeline*> Pipelines() const;
  std::vector<const Importer*> Importers() const;
  std::vector<const Backend*> Backends() const;
  std::string DidYouMean(const std::string& word,
                         const std::vector<std::string>& candidates) const;  // "" when none is close

  // ---- plugins (plugin_loader.cc) ----
  struct LoadedPlugin {
    std::string path, name, version;
    int tier = 1;
  };
  Status LoadPlugin(const std::string& path);          // dlopen(RTLD_NOW | RTLD_LOCAL), version check, entry
  Status LoadPluginFolder(const std::string& folder);  // every *.so in it, sorted; all errors at once
  const std::vector<LoadedPlugin>& Plugins() const;
  // Of plugins that could not be loaded: an op or backend that is missing may be missing for one of these reasons.
  const std::vector<Diagnostic>& LoadErrors() const;

 private:
  Status LoadSharedObject(const std::string& path);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One library node: signature, ports, attributes with defaults, constants.
Result<NodeView> ViewOf(const Registry& r, const Program& p, const Sdfg& s, NodeId n);
// Why an implementation can't serve a node (versions, its own condition), "" where it can.
std::string WhyNot(const ForwardImplementation& i, const NodeView& v);
// First implementation that applies (honouring Library::implementation and `options`); else an error that lists each
// candidate's reason: op, version, dtypes, node.
Result<const ForwardImplementation*> SelectImplementation(const Registry& r, const NodeView& v,
                                                          const CompileOptions& o);

// Runs "name{option=value,…}; name; …" (names of passes or pipelines; name@#3+#4: one step of a transformation); verifies
// after each pass when `verify`; an internal error or a failed verification leaves a reproducer folder (IR before the pass,
// pass text, versions) and names it.
struct PipelineOptions {
  bool verify = false;
  std::string reproducer_dir;
  std::vector<std::string>* log = nullptr;
  std::function<bool()> cancelled;     // asked before each pass; true = stop with InterruptedError
  std::vector<std::string> also_known;  // words that the caller has resolved: what a misspelt pass may have meant
};
Status RunPipeline(const Registry& r, const std::string& text, Program& p, const PipelineOptions& o = {});

}  // namespace headrace
