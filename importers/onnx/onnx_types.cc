#include "importers/onnx/onnx_types.h"

namespace headrace::onnx_import {
namespace {

using TP = onnx::TensorProto;
struct Pair {
  int32_t onnx;
  DType ours;
};
constexpr Pair kTypes[] = {
    {TP::FLOAT, DType::kF32},
    {TP::UINT8, DType::kU8},
    {TP::INT8, DType::kI8},
    {TP::UINT16, DType::kU16},
    {TP::INT16, DType::kI16},
    {TP::INT32, DType::kI32},
    {TP::INT64, DType::kI64},
    {TP::STRING, DType::kString},
    {TP::BOOL, DType::kBool},
    {TP::FLOAT16, DType::kF16},
    {TP::DOUBLE, DType::kF64},
    {TP::UINT32, DType::kU32},
    {TP::UINT64, DType::kU64},
    {TP::COMPLEX64, DType::kC64},
    {TP::COMPLEX128, DType::kC128},
    {TP::BFLOAT16, DType::kBF16},
    {TP::FLOAT8E4M3FN, DType::kF8E4M3FN},
    {TP::FLOAT8E4M3FNUZ, DType::kF8E4M3FNUZ},
    {TP::FLOAT8E5M2, DType::kF8E5M2},
    {TP::FLOAT8E5M2FNUZ, DType::kF8E5M2FNUZ},
    {TP::UINT4, DType::kU4},
    {TP::INT4, DType::kI4},
    {TP::FLOAT4E2M1, DType::kF4E2M1},
    {TP::FLOAT8E8M0, DType::kF8E8M0},
    {TP::UINT2, DType::kU2},
    {TP::INT2, DType::kI2},
};

}  // namespace

DType FromOnnxType(int32_t elem_type) {
  for (const Pair& p : kTypes)
    if (p.onnx == elem_type) return p.ours;
  return DType::kNone;
}

int32_t ToOnnxType(DType t) {
  for (const Pair& p : kTypes)
    if (p.ours == t) return p.onnx;
  return TP::UNDEFINED;
}

std::string OnnxTypeName(int32_t elem_type) {
  DType t = FromOnnxType(elem_type);
  if (t != DType::kNone) return std::string(DTypeName(t));
  return elem_type == 0 ? "undefined" : "element type " + std::to_string(elem_type);
}

Result<ValueType> FromTypeProto(const onnx::TypeProto& t) {
  ValueType v;
  if (t.has_tensor_type()) {
    v.dtype = FromOnnxType(t.tensor_type().elem_type());
    if (v.dtype == DType::kNone) return InvalidError("E0536",
                                                     "the tensor has " + OnnxTypeName(t.tensor_type().elem_type()));
    return v;
  }
  const bool sequence = t.has_sequence_type();
  if (sequence || t.has_optional_type()) {
    v.kind = sequence ? ValueType::kSequence : ValueType::kOptional;
    HR_ASSIGN_OR_RETURN(ValueType e,
                        FromTypeProto(sequence ? t.sequence_type().elem_type() : t.optional_type().elem_type()));
    v.dtype = e.dtype;
    v.element = std::make_shared<ValueType>(std::move(e));
    return v;
  }
  if (t.value_case() == onnx::TypeProto::VALUE_NOT_SET) return InvalidError("E0536", "the type is not set");
  return UnsupportedError("E0536", "values of type " + TypeText(t) + " are not supported");
}

std::string TypeText(const onnx::TypeProto& t) {
  switch (t.value_case()) {
    case onnx::TypeProto::kTensorType: return OnnxTypeName(t.tensor_type().elem_type());
    case onnx::TypeProto::kSparseTensorType: return "sparse(" + OnnxTypeName(t.sparse_tensor_type().elem_type()) + ")";
    case onnx::TypeProto::kSequenceType: return "seq(" + TypeText(t.sequence_type().elem_type()) + ")";
    case onnx::TypeProto::kOptionalType: return "optional(" + TypeText(t.optional_type().elem_type()) + ")";
    case onnx::TypeProto::kMapType:
      return "map(" + OnnxTypeName(t.map_type().key_type()) + ", " + TypeText(t.map_type().value_type()) + ")";
    case onnx::TypeProto::kOpaqueType: return "opaque(" + t.opaque_type().name() + ")";
    default: return "unknown";
  }
}

bool IsUnknown(const onnx::TensorShapeProto::Dimension& d) {
  if (d.has_dim_value()) return d.dim_value() == -1;
  return d.dim_param().empty() || d.dim_param() == "?";
}

std::string IrDomain(const std::string& domain) { return domain.empty() || domain == "ai.onnx" ? "onnx" : domain; }
std::string OnnxDomain(const std::string& ir_domain) { return ir_domain == "onnx" ? "" : ir_domain; }

AttributeType FromAttributeType(onnx::AttributeProto::AttributeType t) {
  using AP = onnx::AttributeProto;
  switch (t) {
    case AP::INT: return AttributeType::kInt;
    case AP::FLOAT: return AttributeType::kFloat;
    case AP::STRING: return AttributeType::kString;
    case AP::INTS: return AttributeType::kInts;
    case AP::FLOATS: return AttributeType::kFloats;
    case AP::STRINGS: return AttributeType::kStrings;
    case AP::TENSOR: return AttributeType::kTensor;
    case AP::GRAPH: return AttributeType::kGraph;
    default: return AttributeType::kOther;
  }
}

onnx::AttributeProto::AttributeType ToAttributeType(AttributeType t) {
  using AP = onnx::AttributeProto;
  for (AP::AttributeType type : {AP::INT, AP::FLOAT, AP::STRING, AP::INTS, AP::FLOATS, AP::STRINGS, AP::TENSOR, AP::GRAPH})
    if (FromAttributeType(type) == t) return type;
  return AP::UNDEFINED;
}

const char* AttributeTypeText(onnx::AttributeProto::AttributeType t) {
  using AP = onnx::AttributeProto;
  switch (t) {
    case AP::INT: return "an int";
    case AP::FLOAT: return "a float";
    case AP::STRING: return "a string";
    case AP::INTS: return "a list of ints";
    case AP::FLOATS: return "a list of floats";
    case AP::STRINGS: return "a list of strings";
    case AP::TENSOR: return "a tensor";
    case AP::TENSORS: return "a list of tensors";
    case AP::SPARSE_TENSOR: return "a sparse tensor";
    case AP::SPARSE_TENSORS: return "a list of sparse tensors";
    case AP::GRAPH: return "a graph";
    case AP::GRAPHS: return "a list of graphs";
    case AP::TYPE_PROTO: return "a type";
    case AP::TYPE_PROTOS: return "a list of types";
    default: return "undefined";
  }
}

onnx::AttributeProto::AttributeType TypeOfAttribute(const onnx::AttributeProto& a) {
  using AP = onnx::AttributeProto;
  if (a.type() != AP::UNDEFINED) return a.type();
  if (a.has_f()) return AP::FLOAT;
  if (a.has_i()) return AP::INT;
  if (a.has_s()) return AP::STRING;
  if (a.has_t()) return AP::TENSOR;
  if (a.has_g()) return AP::GRAPH;
  if (a.has_sparse_tensor()) return AP::SPARSE_TENSOR;
  if (a.has_tp()) return AP::TYPE_PROTO;
  if (a.floats_size()) return AP::FLOATS;
  if (a.ints_size()) return AP::INTS;
  if (a.strings_size()) return AP::STRINGS;
  if (a.tensors_size()) return AP::TENSORS;
  if (a.graphs_size()) return AP::GRAPHS;
  return AP::UNDEFINED;
}

}  // namespace headrace::onnx_import
