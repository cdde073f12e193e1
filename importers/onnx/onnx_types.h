// ONNX's types as ours and back: element types, type protos, attributes.
#pragma once
#include <string>

#include "ir/graph/graph.h"
#include "ir/registry/registry.h"
#include "onnx/onnx_pb.h"

namespace headrace::onnx_import {

DType FromOnnxType(int32_t elem_type);  // kNone for UNDEFINED and numbers we don't know
int32_t ToOnnxType(DType t);
std::string OnnxTypeName(int32_t elem_type);  // "float16", for messages

// Tensor, sequence and optional types; maps, sparse tensors and opaque types are errors that say so.
Result<ValueType> FromTypeProto(const onnx::TypeProto& t);
std::string TypeText(const onnx::TypeProto& t);  // "seq(f32)", "f32", "map(i64, f32)": as signatures spell types

// A size that is not known and has no name. Paddle's and other exporters write such as -1 or "?".
bool IsUnknown(const onnx::TensorShapeProto::Dimension& d);

// "ai.onnx" and "" are the domain "onnx" of the IR; other domains keep their names.
std::string IrDomain(const std::string& domain);
std::string OnnxDomain(const std::string& ir_domain);

AttributeType FromAttributeType(onnx::AttributeProto::AttributeType t);
onnx::AttributeProto::AttributeType ToAttributeType(AttributeType t);
const char* AttributeTypeText(onnx::AttributeProto::AttributeType t);
// The type an attribute has: as declared, or from the filled field for IR versions that had no type field.
onnx::AttributeProto::AttributeType TypeOfAttribute(const onnx::AttributeProto& a);

}  // namespace headrace::onnx_import
