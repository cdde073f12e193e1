// ONNX's type and shape inference functions, one node at a time, with our expressions as their symbolic dimensions.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <unordered_map>

#include "importers/onnx/node_call.h"
#include "importers/onnx/onnx_types.h"
#include "ir/text/parser.h"
#include "onnx/defs/shape_inference.h"

namespace headrace::onnx_import {
namespace {

constexpr int64_t kMaxInferenceElements = 4096;  // of constants shown to ONNX's functions

class NodeContext final : public onnx::InferenceContext {
 public:
  explicit NodeContext(const NodeCall& call) : call_(call), outputs_(static_cast<size_t>(call.node->output_size())) {
    for (const auto& a : call.node->attribute()) attributes_[a.name()] = &a;
    types_.resize(call.inputs.size());
    for (size_t i = 0; i < call.inputs.size(); ++i)
      if (call.inputs[i]) {
        types_[i] = ToTypeProto(*call.inputs[i]);
        for (const Expr& d : call.inputs[i]->shape)
          if (!AsInt(d)) dims_.emplace(ToString(d), d);
      }
  }
  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    auto it = attributes_.find(name);
    return it == attributes_.end() ? nullptr : it->second;
  }
  size_t getNumInputs() const override { return types_.size(); }
  const onnx::TypeProto* getInputType(size_t i) const override {
    return i < types_.size() && call_.inputs[i] ? &types_[i] : nullptr;
  }
  const onnx::TensorProto* getInputData(size_t i) const override {
    if (!call_.In(i)) return nullptr;
    auto it = data_.find(i);
    if (it == data_.end()) {
      onnx::TensorProto t;
      bool ok = SetTensorData(*call_.In(i), &t);
      it = data_.emplace(i, std::make_pair(ok, std::move(t))).first;
    }
    return it->second.first ? &it->second.second : nullptr;
  }
  size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(size_t i) override {
    if (i >= outputs_.size()) throw onnx::InferenceError("output " + std::to_string(i) + " does not exist");
    return &outputs_[i];
  }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override { return nullptr; }
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t i) const override {
    const ValueInfo* v = call_.In(i);
    if (!v || !v->known || v->shape.size() > 1) return nullptr;
    auto it = symbolic_.find(i);
    if (it == symbolic_.end()) {
      onnx::TensorShapeProto s;
      for (const Expr& e : *v->known) {
        auto* d = s.add_dim();
        if (auto c = AsInt(e)) d->set_dim_value(*c);
        else {
          std::string text = ToString(e);
          dims_.emplace(text, e);
          d->set_dim_param(text);
        }
      }
      it = symbolic_.emplace(i, std::move(s)).first;
    }
    return &it->second;
  }
  std::string getDisplayName() const override { return "node " + call_.node->name(); }

  const onnx::TypeProto& output(size_t i) const { return outputs_[i]; }
  Expr DimOf(const onnx::TensorShapeProto::Dimension& d) const {
    if (d.has_dim_value()) return IntExpr(d.dim_value());
    auto it = dims_.find(d.dim_param());
    return it == dims_.end() ? Expr() : it->second;
  }

 private:
  const NodeCall& call_;
  std::unordered_map<std::string, const onnx::AttributeProto*> attributes_;
  std::vector<onnx::TypeProto> types_, outputs_;
  mutable std::map<size_t, std::pair<bool, onnx::TensorProto>> data_;
  mutable std::map<size_t, onnx::TensorShapeProto> symbolic_;
  mutable std::unordered_map<std::string, Expr> dims_;  // text of a dimension → the dimension
};

std::string Cleaned(std::string what) {
  for (const char* mark : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
    size_t at = what.find(mark);
    if (at != std::string::npos) what = what.substr(at + std::string(mark).size());
  }
  size_t context = what.find("\n\n==> Context");
  if (context != std::string::npos) what = what.substr(0, context);
  return what;
}

}  // namespace

const onnx::AttributeProto* NodeCall::Attr(const std::string& name) const {
  for (const auto& a : node->attribute())
    if (a.name() == name) return &a;
  return nullptr;
}
int64_t NodeCall::Int(const std::string& name, int64_t otherwise) const {
  const auto* a = Attr(name);
  return a ? a->i() : otherwise;
}
std::string NodeCall::Str(const std::string& name, const std::string& otherwise) const {
  const auto* a = Attr(name);
  return a ? a->s() : otherwise;
}
std::optional<std::vector<int64_t>> NodeCall::Ints(const std::string& name) const {
  const auto* a = Attr(name);
  if (!a) return std::nullopt;
  return std::vector<int64_t>(a->ints().begin(), a->ints().end());
}
std::string NodeCall::Label() const {
  return IrDomain(node->domain()) + "." + node->op_type() + " (opset " + std::to_string(opset) + ")";
}
const std::vector<Expr>* NodeCall::Known(size_t i) const {
  const ValueInfo* v = In(i);
  return v && v->known ? &*v->known : nullptr;
}
std::optional<std::vector<int64_t>> NodeCall::KnownInts(size_t i) const {
  const std::vector<Expr>* k = Known(i);
  if (!k) return std::nullopt;
  std::vector<int64_t> out;
  for (const Expr& e : *k) {
    auto v = AsInt(e);
    if (!v) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

bool IsIntegral(DType t) { return t == DType::kBool || IsInteger(t); }

std::vector<Expr> ConstantElements(const Tensor& t) {
  std::vector<Expr> out;
  const int64_t n = t.elements();
  for (int64_t i = 0; i < n; ++i) out.push_back(IntExpr(t.GetInt(i)));
  return out;
}

onnx::TypeProto ToTypeProto(const ValueInfo& v) {
  if (v.type.kind != ValueType::kTensor) return v.proto;
  onnx::TypeProto t;
  auto* tensor = t.mutable_tensor_type();
  tensor->set_elem_type(ToOnnxType(v.type.dtype));
  auto* shape = tensor->mutable_shape();
  for (const Expr& d : v.shape) {
    auto* dim = shape->add_dim();
    if (auto c = AsInt(d)) dim->set_dim_value(*c);
    else dim->set_dim_param(ToString(d));
  }
  return t;
}

bool SetTensorData(const ValueInfo& v, onnx::TensorProto* out) {
  if (v.type.kind != ValueType::kTensor) return false;
  out->set_data_type(ToOnnxType(v.type.dtype));
  for (const Expr& d : v.shape) {
    auto c = AsInt(d);
    if (!c) return false;
    out->add_dims(*c);
  }
  if (v.constant) {
    const Tensor& t = *v.constant;
    if (t.elements() > kMaxInferenceElements) return false;
    if (t.dtype == DType::kString) {
      for (const std::string& s : *t.strings) out->add_string_data(s);
    } else if (BitWidth(t.dtype) < 8) {
      for (int64_t i = 0; i < t.elements(); ++i) out->add_int32_data(t.as<uint8_t>()[i]);
    } else {
      out->set_raw_data(t.data->data(), static_cast<size_t>(t.bytes()));
    }
    return true;
  }
  if (!v.known || v.type.dtype != DType::kI64) return false;
  for (const Expr& e : *v.known) {
    auto c = AsInt(e);
    if (!c) return false;
    out->add_int64_data(*c);
  }
  return true;
}

namespace {

// What ONNX's functions use without a look: as a place in a shape, or after a cast to int.
// Terms of letters and at most one `...`, with commas between them and at most one `->`. ONNX's function never ends where dots are others.
bool IsEquation(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  if (arrow != std::string::npos) {
    if (text.find(',', arrow) != std::string::npos) return false;
    text.replace(arrow, 2, ",");
  }
  int dots = 0;  // of this term
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') dots = 0;
    else if (text.compare(i, 3, "...") == 0 && dots++ == 0) i += 2;
    else if (!std::isalpha(static_cast<unsigned char>(text[i]))) return false;
  }
  return true;
}

Status CheckAttributes(const NodeCall& call) {
  auto bad = [](const std::string& name, int64_t got, const std::string& expected) {
    Diagnostic d;
    d.code = "E0540";
    d.message = "attribute '" + name + "' is out of range";
    d.got = std::to_string(got);
    d.expected = expected;
    return Status(d);
  };
  const int64_t outputs = call.node->output_size();
  if (call.op() == "Split" && call.Int("num_outputs", outputs) != outputs)
    return bad("num_outputs", call.Int("num_outputs", 0), std::to_string(outputs));
  if (call.op() == "Einsum" && !IsEquation(call.Str("equation", ""))) {
    Diagnostic d;
    d.code = "E0540";
    d.message = "attribute 'equation' is none: '" + call.Str("equation", "") + "'";
    d.expected = "terms of letters and at most one '...', as in 'b...i,bij->b...j'";
    return Status(d);
  }
  const int64_t axis = call.Int("axis", 0);
  if (axis != static_cast<int32_t>(axis)) return bad("axis", axis, "an axis of the input");
  if (call.op() == "GatherND" && call.In(0) && call.In(1)) {
    const size_t least = std::min(call.In(0)->shape.size(), call.In(1)->shape.size());
    const int64_t dims = call.Int("batch_dims", 0);
    if (least > 0 && (dims < 0 || dims >= static_cast<int64_t>(least)))
      return bad("batch_dims", dims, "0 to " + std::to_string(least - 1));
  }
  return {};
}

}  // namespace

Result<std::vector<Inferred>> InferNode(const NodeCall& call) {
  HR_RETURN_IF_ERROR(CheckAttributes(call));
  NodeContext context(call);
  std::vector<Inferred> out(static_cast<size_t>(call.node->output_size()));
  Status failed;
  // ONNX's function refuses a 1 that meets a 0 here; ours knows every broadcast.
  static const std::set<std::string> kOurs = {"Max", "Mean", "Min", "Sum"};
  if (call.schema) {
    try {
      call.schema->GetTypeAndShapeInferenceFunction()(context);
      call.schema->CheckInputOutputType(context);
    } catch (const std::exception& e) {
      Diagnostic d;
      d.code = "E0540";
      d.message = Cleaned(e.what());
      if (!kOurs.count(call.op()) || call.schema->since_version() < 8) failed = Status(d);
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const onnx::TypeProto& t = context.output(i);
    if (t.value_case() == onnx::TypeProto::VALUE_NOT_SET) continue;
    Result<ValueType> type = FromTypeProto(t);
    if (!type.ok()) {
      if (type.status().kind() == ErrorKind::kUnsupported) return type.status();
      continue;
    }
    out[i].typed = true;
    out[i].type = *type;
    out[i].proto = t;
    if (t.has_tensor_type() && t.tensor_type().has_shape()) {
      out[i].has_rank = true;
      for (const auto& d : t.tensor_type().shape().dim()) out[i].shape.push_back(context.DimOf(d));
    }
  }
  if (!failed.ok()) return failed;
  HR_RETURN_IF_ERROR(SharpenShapes(call, &out));
  for (const Inferred& o : out)
    for (const Expr& d : o.shape)
      if (d && AsInt(d) && *AsInt(d) < 0) {
        Diagnostic bad;
        bad.code = "E0541";
        bad.message = "an output dimension would be negative (" + std::to_string(*AsInt(d)) + ")";
        return Status(bad);
      }
  return out;
}

}  // namespace headrace::onnx_import
