// Constant folding: a node whose inputs are all constants runs now, on the interpreter.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "importers/onnx/lower.h"
#include "importers/onnx/onnx_types.h"

namespace headrace::onnx_import {
namespace {

constexpr int64_t kMaxGrownBytes = 64 * 1024;
constexpr int64_t kMaxJoinedBytes = 32 << 20;  // of several into one: Concat(w, -w) again and again doubles
constexpr double kMaxProducts = 3e8;           // in all, of products and convolutions: seconds on the interpreter

bool IsRandom(const NodeCall& call) {
  static const std::unordered_set<std::string> ops = {"RandomNormal",      "RandomUniform", "RandomNormalLike",
                                                      "RandomUniformLike", "Multinomial",   "Bernoulli"};
  return ops.count(call.op()) || (call.op() == "Dropout" && call.In(2)) ||
         (call.schema && call.schema->HasFunction() && call.op() == "Bernoulli");
}

// An op of a plugin that a form computes from its inputs alone: no state, no generator.
bool IsFunctionOfInputs(const Registry& r, const NodeCall& call) {
  const OpSignature* op = r.FindOp(IrDomain(call.node->domain()), call.op(), call.opset);
  const bool seeded = op && std::any_of(op->attributes.begin(), op->attributes.end(),
                                        [](const AttributeSignature& a) { return a.name == "seed"; });
  const auto all = r.Implementations(IrDomain(call.node->domain()), call.op());
  return !seeded && std::any_of(all.begin(), all.end(), [](const auto* i) { return i->name == "pure"; });
}

// Multiply-adds of a product of A[m, k] and B[k, n]: √(mk · kn · mn). Of a convolution it is an estimate.
double Products(const NodeCall& call, const std::vector<Inferred>& out) {
  static const std::unordered_set<std::string> ops = {
      "MatMul",      "Gemm",       "Conv",   "ConvTranspose", "MatMulInteger", "QLinearConv", "QLinearMatMul",
      "ConvInteger", "DeformConv", "Einsum", "Attention",     "RNN",           "LSTM",        "GRU"};
  if (!ops.count(call.op()) || call.inputs.size() < 2 || !call.inputs[0] || !call.inputs[1] || out.empty()) return 0;
  double product = 1;
  for (const std::vector<Expr>& shape : {call.inputs[0]->shape, call.inputs[1]->shape, out[0].shape})
    for (const Expr& d : shape) product *= static_cast<double>(d ? AsInt(d).value_or(1) : 1);
  return std::sqrt(product);
}

// Weights that products take as they are: 8 bits each.
bool IsQuantised(const NodeCall& call) {
  if (call.op() != "DequantizeLinear" || !call.In(0)) return false;
  const DType t = call.In(0)->type.dtype;
  return (t == DType::kI8 || t == DType::kU8) && call.In(0)->shape.size() > 1;
}

int64_t Bytes(const Tensor& t) {
  if (t.dtype != DType::kString) return t.bytes();
  int64_t n = 0;
  for (const std::string& s : *t.strings) n += static_cast<int64_t>(s.size()) + 16;
  return n;
}

}  // namespace

bool Lowering::Fold(const NodeCall& call, const std::vector<Inferred>& out, Scope& scope) {
  if (!fold || call.inputs.empty() || IsRandom(call) || IsQuantised(call)) return false;
  if (!call.schema && !IsFunctionOfInputs(registry_, call)) return false;
  int64_t in_bytes = 0, out_bytes = 0, largest = 0;
  std::unordered_set<const ValueInfo*> counted;  // Concat(w, w) grows w
  for (const Val& v : call.inputs) {
    if (!v || !counted.insert(v.get()).second) continue;
    const bool literal = v->constant || (v->known && std::all_of(v->known->begin(), v->known->end(),
                                                                 [](const Expr& e) { return AsInt(e).has_value(); }));
    if (!literal || v->parameter || v->type.kind != ValueType::kTensor) return false;
    const int64_t bytes = v->constant ? Bytes(*v->constant) : static_cast<int64_t>(v->known->size()) * 8;
    in_bytes += bytes;
    largest = std::max(largest, bytes);
  }
  for (const Inferred& o : out) {
    if (!o.typed) continue;
    if (o.type.kind != ValueType::kTensor) return false;
    int64_t bytes = std::max<int64_t>(ByteSize(o.type.dtype), 1);
    for (const Expr& d : o.shape) {
      auto n = d ? AsInt(d) : std::nullopt;
      if (d && !ReadContainers(d).empty()) return false;
      if (!n) {
        bytes = 0;
        break;
      }  // data-dependent: at most about the input
      if (__builtin_mul_overflow(bytes, *n, &bytes)) return false;
    }
    out_bytes += bytes;
  }
  auto grown = [&](int64_t bytes) {
    return bytes > kMaxGrownBytes && (bytes > in_bytes || (bytes > largest && bytes > kMaxJoinedBytes));
  };
  if (grown(out_bytes)) return false;
  // What value inference says is exact and needs no run.
  if (out.size() == 1)
    if (auto known = InferValue(call, out[0])) {
      Val v = MakeOutput(call.node->output(0), out[0], scope, nullptr);
      v->known = std::move(known);
      return true;
    }
  const double products = Products(call, out);
  if (products_ + products > kMaxProducts) return false;
  products_ += products;
  const Backend* interpreter = registry_.FindBackend("interpreter");
  if (!interpreter || !interpreter->compile) return false;
  if (registry_.Implementations(IrDomain(call.node->domain()), call.op()).empty()) return false;

  // A program of this node alone.
  Lowering alone(registry_, source_, nullptr);
  alone.fold = false;
  alone.emit.sdfg.name = Name("fold");
  alone.emit.SetOrigin(emit.origin().Label());
  NodeCall copy = call;
  for (Val& v : copy.inputs)
    if (v) {
      v = std::make_shared<ValueInfo>(*v);
      v->container = Name();
    }
  Result<Library> made = alone.MakeLibrary(copy);
  if (!made.ok()) return false;
  std::vector<Port> ports;
  std::vector<int> index;
  for (size_t i = 0; i < out.size(); ++i) {
    if (call.node->output(static_cast<int>(i)).empty()) continue;
    Container c;
    c.name = alone.emit.Unique(call.node->output(static_cast<int>(i)));
    c.kind = ContainerKind::kParameter;
    c.dtype = out[i].type.dtype;
    for (size_t d = 0; d < out[i].shape.size(); ++d) {
      Expr dim = out[i].shape[d];
      if (!dim) {
        Name symbol = alone.emit.Unique("d");
        made->defines.push_back(symbol);
        dim = SymbolExpr(symbol);
      }
      c.shape.push_back(dim);
    }
    ports.push_back({made->outputs[i].name, c.name});
    alone.emit.sdfg.parameters.push_back(c.name);
    index.push_back(static_cast<int>(i));
    alone.emit.Add(std::move(c));
  }
  made->outputs = std::move(ports);
  alone.emit.Statement(std::move(*made));
  alone.emit.sdfg.body = alone.emit.CloseBody();
  Program program;
  program.entry = alone.emit.sdfg.name;
  program.Add(std::move(alone.emit.sdfg));
  if (!RunPipeline(registry_, "expand-library-nodes", program).ok()) return false;
  auto executable = interpreter->compile(program, {}, registry_);
  if (!executable.ok()) return false;
  auto values = (*executable)->Run({});
  if (!values.ok() || values->size() != index.size()) return false;
  int64_t bytes = 0;
  for (const Value& v : *values) {
    if (v.kind != Value::kTensor) return false;
    bytes += Bytes(v.tensor);
  }
  if (grown(bytes)) return false;
  for (size_t i = 0; i < index.size(); ++i) {
    const Tensor& t = (*values)[i].tensor;
    Val v = std::make_shared<ValueInfo>();
    v->name = call.node->output(index[i]);
    v->type.dtype = t.dtype;
    for (int64_t d : t.shape) v->shape.push_back(IntExpr(d));
    if (IsIntegral(t.dtype) && t.elements() <= kMaxKnownElements) v->known = ConstantElements(t);
    v->constant = t;
    scope.values[v->name] = v;
  }
  return true;
}

}  // namespace headrace::onnx_import
