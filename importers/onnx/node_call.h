// What the importer knows about values and nodes while it walks a model.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace headrace::onnx_import {

// One value of the model. Its container is made when a statement first needs it.
struct ValueInfo {
  std::string name;  // in the model
  ValueType type;
  std::vector<Expr> shape;                 // of a tensor: always known, its dimensions expressions over symbols
  std::optional<std::vector<Expr>> known;  // elements of a small integer or bool tensor (bools as 0 and 1), row-major
  std::optional<Tensor> constant;
  bool parameter = false;  // a float initializer that keeps its identity: never folded into something else
  onnx::TypeProto proto;   // the whole type, of sequences and optionals
  std::vector<std::shared_ptr<ValueInfo>> elements;  // of a sequence, where they are known (sequences.cc)
  bool poison = false;                               // an error was reported where it is made: its users stay silent
  Name container;
  int body = 0;  // where the container was written (Emitter::IsOpen)
};
using Val = std::shared_ptr<ValueInfo>;

constexpr int64_t kMaxKnownElements = 1024;

struct NodeCall {
  const onnx::NodeProto* node = nullptr;
  const onnx::OpSchema* schema = nullptr;  // null: an op of a plugin
  int opset = 1;                           // of the node's domain
  std::vector<Val> inputs;                 // null = absent

  const std::string& op() const { return node->op_type(); }
  int since() const { return schema ? schema->since_version() : opset; }
  const ValueInfo* In(size_t i) const { return i < inputs.size() ? inputs[i].get() : nullptr; }
  const onnx::AttributeProto* Attr(const std::string& name) const;
  int64_t Int(const std::string& name, int64_t otherwise) const;
  std::string Str(const std::string& name, const std::string& otherwise) const;
  std::optional<std::vector<int64_t>> Ints(const std::string& name) const;
  std::string Label() const;  // "onnx.Conv (opset 11)"
  // Integers given as input i: elements, or nothing when absent or unknown.
  const std::vector<Expr>* Known(size_t i) const;
  std::optional<std::vector<int64_t>> KnownInts(size_t i) const;  // all of them literal
};

// What inference found about one output. Null dimensions are not known before the node ran.
struct Inferred {
  bool typed = false, has_rank = false;
  ValueType type;
  onnx::TypeProto proto;
  std::vector<Expr> shape;
  std::optional<std::vector<Expr>> known;  // of ops without a schema; else InferValue says it
};

// Types and shapes: ONNX's own function, then ours where symbols would be lost (shapes.cc).
Result<std::vector<Inferred>> InferNode(const NodeCall& call);
// Replaces what ONNX's function found by something sharper, for ops that have a rule; an error when the shapes are wrong.
Status SharpenShapes(const NodeCall& call, std::vector<Inferred>* outputs);
// Elements of output 0, where it is a small integer tensor computed from known ones (values.cc).
std::optional<std::vector<Expr>> InferValue(const NodeCall& call, const Inferred& output);

onnx::TypeProto ToTypeProto(const ValueInfo& v);
bool SetTensorData(const ValueInfo& v, onnx::TensorProto* out);  // small constants only
std::vector<Expr> ConstantElements(const Tensor& t);             // integers and bools
DType CastTarget(const NodeCall& call);  // of a Cast; until opset 6 `to` is a name
bool IsIntegral(DType t);                                        // integers and bool

}  // namespace headrace::onnx_import
