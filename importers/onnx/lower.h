// A model's graph → one SDFG of library nodes. One walk in topological order does inference, folding and emission; errors
// are collected, so that all blockers are reported at once.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "importers/onnx/emit.h"
#include "importers/onnx/node_call.h"
#include "importers/onnx/tensor_data.h"
#include "ir/registry/registry.h"

namespace headrace::onnx_import {

using Opsets = std::map<std::string, int>;  // domain → version; "ai.onnx" is ""
using Functions = std::map<std::string, const onnx::FunctionProto*>;
std::string FunctionKey(const std::string& domain, const std::string& name, const std::string& overload);
Opsets OpsetsOf(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

// The values a graph or function body sees.
struct Scope {
  const Scope* parent = nullptr;
  const Opsets* opsets = nullptr;
  std::unordered_map<std::string, Val> values;
  Val Find(const std::string& name) const;
  std::string prefix;  // of node names, inside functions
};

class Lowering {
 public:
  Lowering(const Registry& registry, TensorSource* source, const Functions* functions)
      : registry_(registry), source_(source), functions_(functions) {}

  Emitter emit;
  std::vector<Diagnostic> errors;
  std::vector<std::string> report;
  std::function<bool()> cancelled;  // polled; true = no more nodes are lowered
  bool fold = true;
  bool keep_parameters = false;  // float initializers are not folded, and their containers say whose they are
  std::unordered_map<std::string, Name> output_containers;  // values of the outermost graph that are parameters
  // What nodes inside of graphs and functions of the model gave: a value's container, and its name behind those of the calls.
  std::vector<std::pair<Name, std::string>> inner_values;
  std::unordered_set<const onnx::NodeProto*> wrong_nodes;  // reported already: their values are not known
  // Types the outermost graph declares: they say types and ranks that can't be inferred. Sizes are not taken on trust.
  std::unordered_map<std::string, const onnx::TypeProto*> declared;

  // An output parameter's sizes: symbols that arguments bind, or ones set in the program, which must then stand alone.
  std::vector<Expr> ParameterShape(const std::string& name, const std::vector<Expr>& shape);
  std::unordered_set<Name> bound_symbols;
  // Nodes whose results `wanted` needs, in dependency order, into `scope`.
  void Nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, Scope& scope,
             const std::vector<std::string>& wanted);
  void Initializers(const onnx::GraphProto& g, Scope& scope);
  // Lowers a function body whose inputs are the parameters already added; `outputs` become the rest of the parameters.
  Result<Program> Finish(const onnx::FunctionProto& f, const NodeCall& call, Scope& scope,
                         const std::vector<std::pair<Name, const PortView*>>& outputs);
  // The container holding a value, made where it is first needed.
  Name Materialize(const Val& v);
  void CopyValue(Name target, const Val& v);
  Name NewContainer(const std::string& stem, const ValueInfo& v, const std::vector<Expr>& shape);
  void Report(Diagnostic d);
  void Report(const Status& s, const NodeCall& call);

  // Ops whose nodes become control flow or other programs here, and no library node.
  struct OwnLowering {
    const char *domain, *op;
    void (Lowering::*lower)(const NodeCall& call, Scope& scope);
  };
  static const std::vector<OwnLowering>& OwnLowerings();

 private:
  friend class LoopLowering;
  friend class RuntimeSizes;
  friend class RuntimeAxes;
  struct Snapshot;
  void LowerNode(const onnx::NodeProto& node, Scope& scope);
  void LowerOp(NodeCall& call, Scope& scope);
  Val MakeOutput(const std::string& name, const Inferred& inferred, Scope& scope, std::vector<Name>* defines);
  void Poison(const onnx::NodeProto& node, Scope& scope);
  Val AsScalar(const Val& v);
  // Sizes that are values of inputs, as symbols read before the node (runtime_sizes.cc).
  void DefineSizes(NodeCall& call, std::vector<Inferred>* out);
  // registered.cc: ops without a schema
  Result<std::vector<Inferred>> InferRegistered(const NodeCall& call);
  Status RegisteredLacks(const NodeCall& call, size_t output, bool typed);
  void DefineRegisteredSizes(const NodeCall& call, std::vector<Inferred>* out);
  void UseDeclared(const NodeCall& call, const Scope& scope, std::vector<Inferred>* out);
  bool Alias(const NodeCall& call, const std::vector<Inferred>& out, Scope& scope);
  bool Constant(const NodeCall& call, Scope& scope);
  bool Fold(const NodeCall& call, const std::vector<Inferred>& out, Scope& scope);
  Result<Library> MakeLibrary(const NodeCall& call);
  Result<Attribute> ToAttribute(const onnx::AttributeProto& a);
  void Emit(const NodeCall& call, const std::vector<Inferred>& out, Scope& scope);
  void EmitWithOutputs(Library l, const NodeCall& call, const std::vector<Inferred>& out,
                       Scope& scope);                      // ports of outputs get containers
  void LowerGradient(const NodeCall& call, Scope& scope);  // gradient.cc
  void Inline(const onnx::FunctionProto& f, const NodeCall& call, Scope& scope);
  bool InlineSchemaFunction(const NodeCall& call, Scope& scope);
  // sequences.cc: remembers the elements of a sequence; gives a value made of remembered elements.
  void KeepElements(const NodeCall& call, Scope& scope);
  bool UseElements(const NodeCall& call, Scope& scope);
  // Axes that are values of inputs (runtime_axes.cc): the same by nodes without; false where the node has none.
  bool UseRuntimeAxes(const NodeCall& call, Scope& scope);
  // Nodes of our own, which see `values`; the outputs of the last.
  std::vector<Val> LowerWithin(std::vector<onnx::NodeProto> nodes, std::vector<std::pair<std::string, Val>> values,
                               Scope& scope);
  // control_flow.cc, loops.cc
  void LowerIf(const NodeCall& call, Scope& scope);
  void LowerLoop(const NodeCall& call, Scope& scope);
  void LowerScan(const NodeCall& call, Scope& scope);
  std::vector<Val> GraphOutputs(const onnx::GraphProto& g, Scope& scope, const NodeCall& call);
  std::vector<Val> LowerGraph(const onnx::GraphProto& g, Scope& scope, const NodeCall& call);
  Expr ScalarOf(const Val& v);  // a read of its only element, or its known value
  Val ScalarValue(const std::string& name, DType t, Expr value);

  const Registry& registry_;
  TensorSource* source_;
  const Functions* functions_;
  std::vector<std::unique_ptr<onnx::NodeProto>> kept_;  // nodes made here that calls point into
  std::vector<Val> journal_;                            // values in the order they got containers, for rolling back
  int depth_ = 0;
  int within_schema_ = 0;     // inside of functions of ONNX's own, whose values are not the model's
  double products_ = 0;       // multiply-adds that folding has spent
  int64_t budget_ = 2000000;  // nodes lowered in all: functions calling functions grow fast
};

// Names that a graph's nodes read and neither they nor the graph's inputs and initializers define.
void OuterNames(const onnx::GraphProto& g, std::unordered_set<std::string>* names);
// Every name a node reads: its inputs and what its subgraphs capture.
bool IsGradient(const onnx::NodeProto& node);
std::vector<std::string> ReadsOf(const onnx::NodeProto& node);
// An order in which every node comes after those it reads from; empty with a cycle, whose nodes are then named.
std::vector<int> Order(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, std::vector<int>* cycle);

}  // namespace headrace::onnx_import
