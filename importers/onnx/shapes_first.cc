// Ops whose first version ONNX gives no inference function: opset 1 to 5 or 6, which old models still use.
#include "importers/onnx/onnx_types.h"
#include "importers/onnx/shapes.h"

namespace headrace::onnx_import {
namespace {

Status LikeFirst(const NodeCall& c, std::vector<Inferred>* out) {
  SetShape(out, 0, c.In(0)->shape);
  return {};
}

Status Cast(const NodeCall& c, std::vector<Inferred>* out) {
  if ((*out)[0].typed) return LikeFirst(c, out);
  const DType to = CastTarget(c);
  if (to == DType::kNone) {
    Diagnostic d;
    d.code = "E0540";
    d.message = "attribute 'to' names no type";
    d.got = "'" + c.Str("to", "") + "'";
    d.expected = "a name of TensorProto.DataType, such as 'FLOAT'";
    return Status(d);
  }
  (*out)[0].typed = true;
  (*out)[0].type.dtype = to;
  (*out)[0].proto.mutable_tensor_type()->set_elem_type(ToOnnxType(to));
  return LikeFirst(c, out);
}

Status Gemm(const NodeCall& c, std::vector<Inferred>* out) {
  const ValueInfo *a = c.In(0), *b = c.In(1), *bias = c.In(2);
  if (!b) return {};
  if (a->shape.size() != 2 || b->shape.size() != 2)
    return ShapeError("Gemm multiplies matrices", ToString(a->shape) + " times " + ToString(b->shape), "two dimensions each");
  const bool ta = c.Int("transA", 0) != 0, tb = c.Int("transB", 0) != 0;
  const Expr &k = a->shape[ta ? 0 : 1], &l = b->shape[tb ? 1 : 0];
  if (AsInt(k) && AsInt(l) && *AsInt(k) != *AsInt(l))
    return ShapeError("the inner dimensions differ", ToString(a->shape) + " times " + ToString(b->shape), "equal ones");
  const Shape product = {a->shape[ta ? 1 : 0], b->shape[tb ? 0 : 1]};
  if (bias) HR_RETURN_IF_ERROR(Broadcast({&product, &bias->shape}).status());
  SetShape(out, 0, product);
  return {};
}

// All spatial dimensions become 1.
Status GlobalPool(const NodeCall& c, std::vector<Inferred>* out) {
  Shape s = c.In(0)->shape;
  for (size_t d = 2; d < s.size(); ++d) s[d] = IntExpr(1);
  SetShape(out, 0, std::move(s));
  return {};
}

}  // namespace

DType CastTarget(const NodeCall& call) {
  const auto* to = call.Attr("to");
  if (!to) return DType::kNone;
  onnx::TensorProto::DataType named;
  if (to->type() != onnx::AttributeProto::STRING && to->s().empty()) return FromOnnxType(static_cast<int32_t>(to->i()));
  return onnx::TensorProto::DataType_Parse(to->s(), &named) ? FromOnnxType(named) : DType::kNone;
}

void AddFirstVersionRules(ShapeRules* rules) {
  for (const char* op : {"Abs", "Ceil", "Elu", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Neg", "Reciprocal",
                         "Relu", "Selu", "Sigmoid", "Sqrt", "Tanh"})
    (*rules)[op] = LikeFirst;
  (*rules)["Cast"] = Cast;
  (*rules)["Gemm"] = Gemm;
  (*rules)["GlobalLpPool"] = GlobalPool;
}

}  // namespace headrace::onnx_import
