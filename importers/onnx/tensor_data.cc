#include "importers/onnx/tensor_data.h"

#include <cstring>

#include "importers/onnx/onnx_types.h"
#include "importers/onnx/wire.h"

namespace headrace::onnx_import {
namespace {

using TP = onnx::TensorProto;

Status BadTensor(const std::string& name, const std::string& what, std::string got = "", std::string expected = "") {
  Diagnostic d;
  d.code = "E0511";
  d.message = "tensor '" + name + "': " + what;
  d.got = std::move(got);
  d.expected = std::move(expected);
  return Status(d);
}

template <typename T, typename Field>
void Append(const Field& values, std::string* out) {
  out->reserve(out->size() + values.size() * sizeof(T));
  for (auto v : values) {
    T x = static_cast<T>(v);
    out->append(reinterpret_cast<const char*>(&x), sizeof x);
  }
}

// The typed fields as the bytes raw_data would hold.
Result<std::string> TypedBytes(const TP& t, DType type) {
  std::string out;
  switch (type) {
    case DType::kF32:
    case DType::kC64: Append<float>(t.float_data(), &out); break;
    case DType::kF64:
    case DType::kC128: Append<double>(t.double_data(), &out); break;
    case DType::kI64: Append<int64_t>(t.int64_data(), &out); break;
    case DType::kU64: Append<uint64_t>(t.uint64_data(), &out); break;
    case DType::kU32: Append<uint32_t>(t.uint64_data(), &out); break;
    case DType::kI32: Append<int32_t>(t.int32_data(), &out); break;
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: Append<uint16_t>(t.int32_data(), &out); break;
    default: Append<uint8_t>(t.int32_data(), &out); break;
  }
  return out;
}

// Packed elements of 2 or 4 bits, the first in the lowest bits, one byte each.
void Unpack(const char* packed, int bits, bool is_signed, int64_t n, char* out) {
  const int per_byte = 8 / bits, mask = (1 << bits) - 1, sign = 1 << (bits - 1);
  for (int64_t i = 0; i < n; ++i) {
    int v = static_cast<uint8_t>(packed[i / per_byte]) >> (i % per_byte * bits) & mask;
    if (is_signed && (v & sign)) v -= 1 << bits;
    out[i] = static_cast<char>(v);
  }
}

bool AllBool(const char* data, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (data[i] & ~1) return false;
  return true;
}

}  // namespace

Result<int64_t> CheckedElements(const int64_t* dims, int rank, int bits) {
  // Zero-size tensors are checked without their zeros: strides must not overflow either.
  int64_t nonzero = 1;
  bool zero = false;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return InvalidError("E0513", "dimension " + std::to_string(i) + " is negative (" + std::to_string(dims[i]) + ")");
    if (dims[i] == 0) zero = true;
    else if (__builtin_mul_overflow(nonzero, dims[i], &nonzero) || nonzero > (INT64_MAX / 4) / std::max(bits, 8))
      return InvalidError("E0513", "the dimensions describe more elements than any memory can hold");
  }
  return zero ? 0 : nonzero;
}

Result<TensorSource::Bytes> TensorSource::Locate(const TP& t, int64_t needed) {
  Bytes b;
  if (t.data_location() == TP::EXTERNAL) {
    if (!external_) return BadTensor(t.name(), "external data is not allowed here");
    std::string location;
    int64_t offset = 0, length = -1;
    for (const auto& entry : t.external_data()) {
      if (entry.key() == "location") location = entry.value();
      if (entry.key() != "offset" && entry.key() != "length") continue;
      const std::string& text = entry.value();
      int64_t v = 0;
      bool digits = !text.empty() && text.size() <= 18;
      for (char c : text) digits = digits && c >= '0' && c <= '9';
      if (!digits)
        return BadTensor(t.name(), "external data has a bad " + entry.key(), "'" + text + "'", "a number of bytes");
      v = std::stoll(text);
      (entry.key() == "offset" ? offset : length) = v;
    }
    HR_ASSIGN_OR_RETURN(MappedFile file, files_.Open(location));
    if (length >= 0 && length != needed)
      return BadTensor(t.name(), "external data has the wrong length", std::to_string(length) + " bytes",
                       std::to_string(needed) + " bytes");
    if (offset > file.bytes->size() || needed > file.bytes->size() - offset)
      return BadTensor(t.name(), "external data ends before the tensor does",
                       "a file of " + std::to_string(file.bytes->size()) + " bytes",
                       std::to_string(needed) + " bytes from byte " + std::to_string(offset));
    b.data = file.bytes->data() + offset;
    b.size = needed;
    b.keep = file.bytes;
    return b;
  }
  if (auto taken = TakenRange(t)) {
    if (!model_ || taken->offset < 0 || taken->length < 0 || taken->offset > model_->size() ||
        taken->length > model_->size() - taken->offset)
      return BadTensor(t.name(), "its data lies outside the file");
    b.data = model_->data() + taken->offset;
    b.size = taken->length;
    b.keep = model_;
    return b;
  }
  b.data = t.raw_data().data();
  b.size = static_cast<int64_t>(t.raw_data().size());
  return b;
}

Result<Tensor> TensorSource::Load(const TP& t) {
  const DType type = FromOnnxType(t.data_type());
  if (type == DType::kNone) return BadTensor(t.name(), "it has no element type we know", OnnxTypeName(t.data_type()));
  if (t.has_segment()) return BadTensor(t.name(), "tensors in segments are not supported");
  const int bits = type == DType::kString ? 8 : BitWidth(type);
  Result<int64_t> count = CheckedElements(t.dims().data(), t.dims_size(), bits);
  if (!count.ok()) return BadTensor(t.name(), count.status().message());
  const int64_t n = *count;
  std::vector<int64_t> shape(t.dims().begin(), t.dims().end());

  if (type == DType::kString) {
    if (t.string_data_size() != n)
      return BadTensor(t.name(), "its data does not fit its dimensions",
                       std::to_string(t.string_data_size()) + " strings", std::to_string(n));
    Tensor out;
    out.dtype = type;
    out.shape = std::move(shape);
    out.strings = std::make_shared<std::vector<std::string>>(t.string_data().begin(), t.string_data().end());
    return out;
  }
  const int64_t needed = (n * bits + 7) / 8;
  Bytes bytes;
  std::string typed;
  const bool raw = t.data_location() == TP::EXTERNAL || t.has_raw_data() || TakenRange(t);
  const int fields = raw + (t.float_data_size() > 0) + (t.int32_data_size() > 0) + (t.int64_data_size() > 0) +
                     (t.double_data_size() > 0) + (t.uint64_data_size() > 0) + (t.string_data_size() > 0);
  if (fields > 1) return BadTensor(t.name(), "its data is given twice, in two fields");
  if (raw) {
    HR_ASSIGN_OR_RETURN(bytes, Locate(t, needed));
  } else {
    HR_ASSIGN_OR_RETURN(typed, TypedBytes(t, type));
    bytes.data = typed.data();
    bytes.size = static_cast<int64_t>(typed.size());
  }
  if (bytes.size != needed)
    return BadTensor(
        t.name(), "its data does not fit its dimensions", std::to_string(bytes.size) + " bytes",
        std::to_string(needed) + " bytes for " + std::to_string(n) + " elements of " + std::string(DTypeName(type)));

  const int64_t unit = IsComplex(type) ? ByteSize(type) / 2 : ByteSize(type);
  const bool aligned =
      reinterpret_cast<uintptr_t>(bytes.data) % static_cast<uintptr_t>(std::max<int64_t>(unit, 1)) == 0;
  const bool as_is = bits >= 8 && (type != DType::kBool || AllBool(bytes.data, n));
  Tensor out;
  out.dtype = type;
  out.shape = std::move(shape);
  if (bytes.keep && aligned && as_is) {
    out.data = Buffer::Wrap(const_cast<char*>(bytes.data), bytes.size, bytes.keep, /*writable=*/false);
    return out;
  }
  out.data = Buffer::Allocate(n * ByteSize(type));
  if (bits < 8) Unpack(bytes.data, bits, IsSigned(type), n, out.data->data());
  else if (type == DType::kBool)
    for (int64_t i = 0; i < n; ++i) out.data->data()[i] = bytes.data[i] != 0;
  else if (n > 0) std::memcpy(out.data->data(), bytes.data, static_cast<size_t>(bytes.size));
  return out;
}

Result<Tensor> TensorSource::Load(const onnx::SparseTensorProto& t) {
  const std::string& name = t.values().name();
  HR_ASSIGN_OR_RETURN(Tensor values, Load(t.values()));
  HR_ASSIGN_OR_RETURN(Tensor indices, Load(t.indices()));
  if (indices.dtype != DType::kI64)
    return BadTensor(name, "sparse indices must be i64", std::string(DTypeName(indices.dtype)));
  if (values.shape.size() != 1 || values.dtype == DType::kString)
    return BadTensor(name, "sparse values must be a list of numbers");
  std::vector<int64_t> shape(t.dims().begin(), t.dims().end());
  const int rank = t.dims_size();
  Result<int64_t> count = CheckedElements(shape.data(), rank, BitWidth(values.dtype));
  if (!count.ok()) return BadTensor(name, count.status().message());
  const int64_t nnz = values.shape[0];
  const bool linear = indices.shape.size() == 1;
  if (!(linear && indices.shape[0] == nnz) &&
      !(indices.shape.size() == 2 && indices.shape[0] == nnz && indices.shape[1] == rank))
    return BadTensor(name, "sparse indices don't match the values");
  const int64_t unit = ByteSize(values.dtype);
  if (*count > dense_budget_ / unit) return BadTensor(name, "the sparse tensor is too large to make dense");
  dense_budget_ -= *count * unit;
  HR_ASSIGN_OR_RETURN(Tensor out, Tensor::Create(values.dtype, shape));
  if (*count > 0) std::memset(out.data->data(), 0, static_cast<size_t>(*count * unit));
  for (int64_t i = 0, before = -1; i < nnz; ++i) {
    int64_t at = 0;
    if (linear) {
      at = indices.as<int64_t>()[i];
    } else {
      for (int d = 0; d < rank; ++d) {
        int64_t x = indices.as<int64_t>()[i * rank + d];
        if (x < 0 || x >= shape[d]) return BadTensor(name, "a sparse index lies outside the dimensions");
        at = at * shape[d] + x;
      }
    }
    if (at < 0 || at >= *count) return BadTensor(name, "a sparse index lies outside the dimensions");
    if (at <= before) return BadTensor(name, "sparse indices must be in ascending order, each once");
    before = at;
    std::memcpy(out.data->data() + at * unit, values.data->data() + i * unit, static_cast<size_t>(unit));
  }
  return out;
}

}  // namespace headrace::onnx_import
