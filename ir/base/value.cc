#include "ir/base/value.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace headrace {
namespace {

int64_t PhysicalMemory() {
  static const int64_t bytes = [] {
    const int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? pages * size : std::numeric_limits<int64_t>::max();
  }();
  return bytes;
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}

// Truncates toward zero; what does not fit becomes the nearest end, NaN 0.
int64_t ToInt(double v) {
  if (std::isnan(v)) return 0;
  if (v >= 9223372036854775808.0) return std::numeric_limits<int64_t>::max();
  if (v < -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}

uint64_t ToUnsigned(double v) {
  if (!(v > 0)) return 0;
  return v >= 18446744073709551616.0 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(v);
}

}  // namespace

std::shared_ptr<Buffer> Buffer::Allocate(int64_t bytes) {
  auto b = std::make_shared<Buffer>();
  const size_t rounded = (static_cast<size_t>(bytes < 1 ? 1 : bytes) + 63) / 64 * 64;
  void* p = std::aligned_alloc(64, rounded);
  if (p == nullptr) return nullptr;
  b->data_ = static_cast<char*>(p);
  b->size_ = bytes;
  b->keep_ = std::shared_ptr<void>(p, std::free);
  return b;
}

std::shared_ptr<Buffer> Buffer::Wrap(void* data, int64_t bytes, std::shared_ptr<void> keep, bool writable) {
  (void)writable;  // a promise of the caller's: a read-only mapping faults by itself
  auto b = std::make_shared<Buffer>();
  b->data_ = static_cast<char*>(data);
  b->size_ = bytes;
  b->keep_ = std::move(keep);
  return b;
}

Buffer::~Buffer() = default;

Result<Tensor> Tensor::Create(DType t, std::vector<int64_t> shape) {
  int64_t count = 1;
  bool overflow = false, empty = false;
  for (int64_t d : shape) {
    if (d < 0)
      return InvalidError("E0130",
                          "a tensor can't have the shape " + ShapeText(shape), "every extent must be 0 or more");
    empty |= d == 0;
    overflow |= __builtin_mul_overflow(count, d, &count);
  }
  if (empty) count = 0, overflow = false;
  const int64_t size = t == DType::kString ? static_cast<int64_t>(sizeof(std::string)) : ByteSize(t);
  int64_t bytes = 0;
  if (size == 0) return InternalError("a tensor can't have the type " + std::string(DTypeName(t)));
  if (overflow || __builtin_mul_overflow(count, size, &bytes) || bytes > PhysicalMemory()) {
    return InvalidError("E0131", "a tensor of type " + std::string(DTypeName(t)) + " and shape " + ShapeText(shape) +
                            " does not fit in this machine's memory",
                        "check the sizes");
  }
  Tensor out;
  out.dtype = t;
  out.shape = std::move(shape);
  if (t == DType::kString) {
    try {
      out.strings = std::make_shared<std::vector<std::string>>(count);
    } catch (const std::bad_alloc&) { return InvalidError("E0132",
                                                          "out of memory for " + std::to_string(count) + " strings"); }
    return out;
  }
  out.data = Buffer::Allocate(bytes);
  if (out.data == nullptr)
    return InvalidError("E0132", "out of memory for a tensor of type " + std::string(DTypeName(t)) + " and shape " +
                        ShapeText(out.shape) + " (" + std::to_string(bytes) + " bytes)");
  return out;
}

int64_t Tensor::elements() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

double Tensor::GetDouble(int64_t i) const {
  switch (dtype) {
    case DType::kF32: return as<float>()[i];
    case DType::kF64:
    case DType::kReal: return as<double>()[i];
    case DType::kF16:
    case DType::kBF16: return DecodeFloat(dtype, as<uint16_t>()[i]);
    case DType::kU64: return static_cast<double>(as<uint64_t>()[i]);
    default: return IsFloat(dtype) ? DecodeFloat(dtype, as<uint8_t>()[i]) : static_cast<double>(GetInt(i));
  }
}

int64_t Tensor::GetInt(int64_t i) const {
  switch (dtype) {
    case DType::kBool: return as<uint8_t>()[i] != 0;
    case DType::kU2:
    case DType::kU4:
    case DType::kU8: return as<uint8_t>()[i];
    case DType::kI2:
    case DType::kI4:
    case DType::kI8: return as<int8_t>()[i];
    case DType::kU16: return as<uint16_t>()[i];
    case DType::kI16: return as<int16_t>()[i];
    case DType::kU32: return as<uint32_t>()[i];
    case DType::kI32: return as<int32_t>()[i];
    case DType::kU64:
    case DType::kI64:
    case DType::kIndex: return as<int64_t>()[i];
    default: HR_CHECK(IsFloat(dtype), "GetInt of " + std::string(DTypeName(dtype))); return ToInt(GetDouble(i));
  }
}

void Tensor::SetDouble(int64_t i, double v) {
  switch (dtype) {
    case DType::kF32: as<float>()[i] = static_cast<float>(v); return;
    case DType::kF64:
    case DType::kReal: as<double>()[i] = v; return;
    case DType::kF16:
    case DType::kBF16: as<uint16_t>()[i] = static_cast<uint16_t>(EncodeFloat(dtype, v)); return;
    case DType::kBool: as<uint8_t>()[i] = v != 0; return;
    case DType::kU64: as<uint64_t>()[i] = v < 0 ? static_cast<uint64_t>(ToInt(v)) : ToUnsigned(v); return;
    case DType::kC64: as<float>()[2 * i] = static_cast<float>(v), as<float>()[2 * i + 1] = 0; return;
    case DType::kC128: as<double>()[2 * i] = v, as<double>()[2 * i + 1] = 0; return;
    case DType::kString:
    case DType::kNone: HR_CHECK(false, "SetDouble of " + std::string(DTypeName(dtype))); return;
    default: break;
  }
  if (IsFloat(dtype)) as<uint8_t>()[i] = static_cast<uint8_t>(EncodeFloat(dtype, v));
  else SetInt(i, ToInt(v));
}

void Tensor::SetInt(int64_t i, int64_t v) {
  switch (dtype) {
    case DType::kBool: as<uint8_t>()[i] = v != 0; return;
    case DType::kU2: as<uint8_t>()[i] = v & 3; return;
    case DType::kU4: as<uint8_t>()[i] = v & 15; return;
    case DType::kI2: as<int8_t>()[i] = static_cast<int8_t>(((v & 3) ^ 2) - 2); return;
    case DType::kI4: as<int8_t>()[i] = static_cast<int8_t>(((v & 15) ^ 8) - 8); return;
    case DType::kU8:
    case DType::kI8: as<uint8_t>()[i] = static_cast<uint8_t>(v); return;
    case DType::kU16:
    case DType::kI16: as<uint16_t>()[i] = static_cast<uint16_t>(v); return;
    case DType::kU32:
    case DType::kI32: as<uint32_t>()[i] = static_cast<uint32_t>(v); return;
    case DType::kU64:
    case DType::kI64:
    case DType::kIndex: as<int64_t>()[i] = v; return;
    default: SetDouble(i, static_cast<double>(v)); return;
  }
}

}  // namespace headrace
