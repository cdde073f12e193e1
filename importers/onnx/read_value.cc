// Values beside a model: serialized TensorProto, SequenceProto or OptionalProto.
#include <fstream>

#include "importers/onnx/tensor_data.h"
#include "onnx/onnx-data.pb.h"

namespace headrace::onnx_import {
namespace {

constexpr int kMaxNesting = 16;

Result<Value> FromSequence(const onnx::SequenceProto& s, TensorSource& source, int depth);

Result<Value> FromOptional(const onnx::OptionalProto& o, TensorSource& source, int depth) {
  if (o.has_tensor_value()) {
    HR_ASSIGN_OR_RETURN(Tensor t, source.Load(o.tensor_value()));
    return Value(std::move(t));
  }
  if (o.has_sequence_value()) return FromSequence(o.sequence_value(), source, depth + 1);
  if (o.has_optional_value() && depth < kMaxNesting) return FromOptional(o.optional_value(), source, depth + 1);
  if (o.has_map_value()) return UnsupportedError("E0538", "maps are not supported");
  return Value();
}

Result<Value> FromSequence(const onnx::SequenceProto& s, TensorSource& source, int depth) {
  if (depth > kMaxNesting) return InvalidError("E0538", "values are nested too deeply");
  if (s.map_values_size() > 0) return UnsupportedError("E0538", "maps are not supported");
  Value v;
  v.kind = Value::kSequence;
  for (const auto& t : s.tensor_values()) {
    HR_ASSIGN_OR_RETURN(Tensor item, source.Load(t));
    v.items.emplace_back(std::move(item));
  }
  for (const auto& t : s.sparse_tensor_values()) {
    HR_ASSIGN_OR_RETURN(Tensor item, source.Load(t));
    v.items.emplace_back(std::move(item));
  }
  for (const auto& inner : s.sequence_values()) {
    HR_ASSIGN_OR_RETURN(Value item, FromSequence(inner, source, depth + 1));
    v.items.push_back(std::move(item));
  }
  for (const auto& inner : s.optional_values()) {
    HR_ASSIGN_OR_RETURN(Value item, FromOptional(inner, source, depth + 1));
    v.items.push_back(std::move(item));
  }
  return v;
}

}  // namespace

// The three messages carry no mark of which they are. A tensor is whatever is a whole tensor; the rest is read as a
// sequence, which an optional shares its field numbers with: an optional tensor reads as a sequence of at most one.
Result<Value> ReadValueFile(const std::string& path) {
  HR_ASSIGN_OR_RETURN(MappedFile file, MapFile(path));
  TensorSource source;
  onnx::TensorProto tensor;
  Status why = InvalidError("E0538", "not a tensor");
  const int size = static_cast<int>(std::min<int64_t>(file.bytes->size(), INT32_MAX));
  if (file.bytes->size() <= INT32_MAX && tensor.ParseFromArray(file.bytes->data(), size)) {
    Result<Tensor> t = source.Load(tensor);
    if (t.ok()) return Value(std::move(*t));
    why = t.status();
  }
  onnx::SequenceProto sequence;
  if (sequence.ParseFromArray(file.bytes->data(), size) && sequence.unknown_fields().empty()) {
    const int items = sequence.tensor_values_size() + sequence.sparse_tensor_values_size() +
                      sequence.sequence_values_size() + sequence.map_values_size() + sequence.optional_values_size();
    if (items == 0 && sequence.elem_type() == onnx::SequenceProto::UNDEFINED)
      return Value();  // an optional without a value
    Result<Value> v = FromSequence(sequence, source, 0);
    if (v.ok()) return v;
    if (v.status().kind() == ErrorKind::kUnsupported) return WithFile(v.status(), path);
  }
  return WithFile(why, path);
}

}  // namespace headrace::onnx_import
