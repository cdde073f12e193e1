#include "ir/base/dtype.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/base/status.h"

namespace headrace {
namespace {

enum class Class : uint8_t { kOther, kSigned, kUnsigned, kFloat, kComplex };
struct Info {
  std::string_view name;
  Class kind;
  int8_t bytes;
  int16_t bits;
};
// In the order of DType.
constexpr Info kInfo[] = {
    {"none", Class::kOther, 0, 0},       {"bool", Class::kOther, 1, 8},       {"u2", Class::kUnsigned, 1, 2},
    {"i2", Class::kSigned, 1, 2},        {"u4", Class::kUnsigned, 1, 4},      {"i4", Class::kSigned, 1, 4},
    {"u8", Class::kUnsigned, 1, 8},      {"i8", Class::kSigned, 1, 8},        {"u16", Class::kUnsigned, 2, 16},
    {"i16", Class::kSigned, 2, 16},      {"u32", Class::kUnsigned, 4, 32},    {"i32", Class::kSigned, 4, 32},
    {"u64", Class::kUnsigned, 8, 64},    {"i64", Class::kSigned, 8, 64},      {"f4e2m1", Class::kFloat, 1, 4},
    {"f8e4m3fn", Class::kFloat, 1, 8},   {"f8e4m3fnuz", Class::kFloat, 1, 8}, {"f8e5m2", Class::kFloat, 1, 8},
    {"f8e5m2fnuz", Class::kFloat, 1, 8}, {"f8e8m0", Class::kFloat, 1, 8},     {"f16", Class::kFloat, 2, 16},
    {"bf16", Class::kFloat, 2, 16},      {"f32", Class::kFloat, 4, 32},       {"f64", Class::kFloat, 8, 64},
    {"c64", Class::kComplex, 8, 64},     {"c128", Class::kComplex, 16, 128},  {"string", Class::kOther, 0, 0},
    {"index", Class::kSigned, 8, 64},    {"real", Class::kFloat, 8, 64},
};
constexpr int kCount = sizeof(kInfo) / sizeof(kInfo[0]);
static_assert(kCount == static_cast<int>(DType::kReal) + 1, "one row per DType");

const Info& Of(DType t) {
  HR_CHECK(static_cast<int>(t) < kCount, "not a DType");
  return kInfo[static_cast<int>(t)];
}

// How a small float is laid out and what its overflow gives.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  uint32_t max_finite;  // magnitude bits of the largest finite value
  uint32_t infinity;    // magnitude bits, or 0 when there is none
  uint32_t nan;         // all bits, or 0 when there is none
  bool unsigned_zero;   // "uz": 0x80 is NaN, there is no -0
};
Format FormatOf(DType t) {
  switch (t) {
    case DType::kF4E2M1: return {2, 1, 1, 0x7, 0, 0, false};
    case DType::kF8E4M3FN: return {4, 3, 7, 0x7E, 0, 0x7F, false};
    case DType::kF8E4M3FNUZ: return {4, 3, 8, 0x7F, 0, 0x80, true};
    case DType::kF8E5M2: return {5, 2, 15, 0x7B, 0x7C, 0x7F, false};
    case DType::kF8E5M2FNUZ: return {5, 2, 16, 0x7F, 0, 0x80, true};
    case DType::kF16: return {5, 10, 15, 0x7BFF, 0x7C00, 0x7E00, false};
    case DType::kBF16: return {8, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, false};
    default: break;
  }
  HR_CHECK(false, "no small float format");
}

// Powers of two only, no sign, no zero; 255 is NaN. Magnitudes round to the nearest power, ties up,
// as ONNX's "nearest"; anything below the smallest (zero too) becomes the smallest. Negative values
// have no meaning here: NaN.
uint32_t EncodeE8M0(double v, bool saturate) {
  if (std::isnan(v) || v < 0) return 0xFF;
  if (std::isinf(v)) return saturate ? 0xFE : 0xFF;
  if (v == 0) return 0;
  int e;
  const double m = std::frexp(v, &e);       // v = m * 2^e, m in [0.5, 1)
  const int power = m >= 0.75 ? e : e - 1;  // 2^(e-1) * 1.5 is the middle
  if (power < -127) return 0;
  if (power > 127) return saturate ? 0xFE : 0xFF;
  return static_cast<uint32_t>(power + 127);
}

}  // namespace

std::string_view DTypeName(DType t) { return Of(t).name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (int i = 1; i < kCount; ++i) {
    if (kInfo[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int64_t ByteSize(DType t) { return Of(t).bytes; }
int BitWidth(DType t) { return Of(t).bits; }
bool IsInteger(DType t) { return Of(t).kind == Class::kSigned || Of(t).kind == Class::kUnsigned; }
bool IsSigned(DType t) { return Of(t).kind == Class::kSigned; }
bool IsFloat(DType t) { return Of(t).kind == Class::kFloat; }
bool IsComplex(DType t) { return Of(t).kind == Class::kComplex; }
bool IsFp8(DType t) { return t >= DType::kF8E4M3FN && t <= DType::kF8E8M0; }

double HighestFloat(DType t) {
  switch (t) {
    case DType::kF32:
    case DType::kC64: return std::numeric_limits<float>::max();
    case DType::kF64:
    case DType::kC128:
    case DType::kReal: return std::numeric_limits<double>::max();
    case DType::kF8E8M0: return std::ldexp(1.0, 127);
    default: return DecodeFloat(t, FormatOf(t).max_finite);
  }
}

int64_t LowestInt(DType t) {
  HR_CHECK(IsInteger(t), "LowestInt of " + std::string(DTypeName(t)));
  return IsSigned(t) ? -(int64_t{1} << (BitWidth(t) - 2)) * 2 : 0;
}

uint64_t HighestInt(DType t) {
  HR_CHECK(IsInteger(t), "HighestInt of " + std::string(DTypeName(t)));
  return ~uint64_t{0} >> (64 - BitWidth(t) + (IsSigned(t) ? 1 : 0));
}

uint32_t EncodeFloat(DType t, double value, bool saturate) {
  if (t == DType::kF8E8M0) return EncodeE8M0(value, saturate);
  const Format f = FormatOf(t);
  const uint32_t sign = (std::signbit(value) ? 1u : 0u) << (f.exponent_bits + f.mantissa_bits);
  // f4 has neither NaN nor infinity: everything too large saturates, and NaN becomes -0, as in
  // ml_dtypes.
  if (std::isnan(value)) return f.nan == 0 ? 0x8 : f.unsigned_zero ? f.nan : f.nan | sign;
  const uint32_t overflow = saturate || (f.infinity == 0 && f.nan == 0) ? sign | f.max_finite
                            : f.infinity != 0                           ? sign | f.infinity
                            : f.unsigned_zero                           ? f.nan
                                                                        : sign | f.nan;
  if (std::isinf(value)) return overflow;
  const double a = std::fabs(value);
  if (a == 0) return f.unsigned_zero ? 0 : sign;
  int e;
  std::frexp(a, &e);                                 // a = m * 2^e, m in [0.5, 1)
  const int exponent = std::max(e - 1, 1 - f.bias);  // of the unit's place; subnormals share the smallest
  // In units of the last place: at most mantissa_bits + 1 bits before the point. nearbyint would
  // follow the caller's rounding mode, so round half to even by hand; both steps are exact in a
  // double.
  const double scaled = std::ldexp(a, f.mantissa_bits - exponent);
  const double floor = std::floor(scaled);
  const double rest = scaled - floor;
  uint32_t units = static_cast<uint32_t>(floor);
  if (rest > 0.5 || (rest == 0.5 && (units & 1))) ++units;
  // Adding the exponent to the units carries into it when rounding reached the next power of two.
  if (exponent + f.bias > (1 << f.exponent_bits)) return overflow;
  const uint32_t bits = (static_cast<uint32_t>(exponent + f.bias - 1) << f.mantissa_bits) + units;
  if (bits > f.max_finite) return overflow;
  if (bits == 0 && f.unsigned_zero) return 0;
  return sign | bits;
}

double DecodeFloat(DType t, uint32_t bits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (t == DType::kF8E8M0) return (bits & 0xFF) == 0xFF ? nan : std::ldexp(1.0, static_cast<int>(bits & 0xFF) - 127);
  const Format f = FormatOf(t);
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  bits &= (2u << magnitude_bits) - 1;
  const bool negative = (bits >> magnitude_bits) & 1;
  const uint32_t magnitude = bits & ((1u << magnitude_bits) - 1);
  if (f.unsigned_zero && bits == f.nan) return nan;
  if (!f.unsigned_zero && f.infinity != 0 && magnitude >= f.infinity) {
    if (magnitude != f.infinity) return nan;
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  if (magnitude > f.max_finite) return nan;
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  const double v = exponent == 0 ? std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits)
                                 : std::ldexp(static_cast<double>(mantissa + (1u << f.mantissa_bits)),
                                              exponent - f.bias - f.mantissa_bits);
  return negative ? -v : v;
}

}  // namespace headrace
