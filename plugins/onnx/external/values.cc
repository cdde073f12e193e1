// Elements of every type, shapes, axes.
#include <cmath>
#include <cstring>

#include "plugins/onnx/external/call.h"

namespace onnx_ops::external {
namespace {

struct Type {
  const char* name;
  int64_t size;
};
const Type kTypes[] = {{"", 0},           {"bool", 1},       {"u2", 1},
                       {"i2", 1},         {"u4", 1},         {"i4", 1},
                       {"u8", 1},         {"i8", 1},         {"u16", 2},
                       {"i16", 2},        {"u32", 4},        {"i32", 4},
                       {"u64", 8},        {"i64", 8},        {"f4e2m1", 1},
                       {"f8e4m3fn", 1},   {"f8e4m3fnuz", 1}, {"f8e5m2", 1},
                       {"f8e5m2fnuz", 1}, {"f8e8m0", 1},     {"f16", 2},
                       {"bf16", 2},       {"f32", 4},        {"f64", 8},
                       {"c64", 8},        {"c128", 16},      {"string", sizeof(hr_string)}};

template <typename T>
T At(const hr_value& v, int64_t i) {
  T x;
  std::memcpy(&x, static_cast<const char*>(v.data) + i * static_cast<int64_t>(sizeof(T)), sizeof x);
  return x;
}

// A float of `e` exponent and `m` mantissa bits; `bias` 2^(e-1)-1 unless it is an "fnuz" type.
double Small(uint32_t bits, int e, int m, int bias) {
  const double sign = bits >> (e + m) & 1 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> m & ((1u << e) - 1));
  const double fraction = std::ldexp(static_cast<double>(bits & ((1u << m) - 1)), -m);
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
}

double FromBits(int32_t dtype, uint32_t b) {
  switch (dtype) {
    case HR_F16:
      if ((b & 0x7c00) == 0x7c00) return b & 0x3ff ? NAN : b & 0x8000 ? -INFINITY : INFINITY;
      return Small(b, 5, 10, 15);
    case HR_BF16: {
      const uint32_t wide = b << 16;
      float f;
      std::memcpy(&f, &wide, sizeof f);
      return f;
    }
    case HR_F4E2M1: return Small(b, 2, 1, 1);
    case HR_F8E4M3FN: return (b & 0x7f) == 0x7f ? NAN : Small(b, 4, 3, 7);
    case HR_F8E4M3FNUZ: return b == 0x80 ? NAN : Small(b, 4, 3, 8);
    case HR_F8E5M2:
      if ((b & 0x7c) == 0x7c) return b & 3 ? NAN : b & 0x80 ? -INFINITY : INFINITY;
      return Small(b, 5, 2, 15);
    case HR_F8E5M2FNUZ: return b == 0x80 ? NAN : Small(b, 5, 2, 16);
    case HR_F8E8M0: return b == 0xff ? NAN : std::ldexp(1.0, static_cast<int>(b) - 127);
    default: Fail(std::string("elements of type ") + TypeName(dtype) + " are not supported here");
  }
}

uint16_t ToHalf(double v) {
  if (std::isnan(v)) return 0x7e00;
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  const double a = std::fabs(v);
  if (a >= 65520) return sign | 0x7c00;
  int e;
  std::frexp(a, &e);
  const int unit = (e < -13 ? -13 : e) - 11;                  // of the last bit
  const double steps = std::nearbyint(std::ldexp(a, -unit));  // ties to even
  const double rounded = std::ldexp(steps, unit);
  if (rounded == 0) return sign;
  std::frexp(rounded, &e);
  if (e < -13) return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::ldexp(rounded, 24)));
  return static_cast<uint16_t>(sign | (((e + 14) << 10) + (static_cast<int>(std::ldexp(rounded, 11 - e)) - 1024)));
}

uint16_t ToBrain(double v) {
  if (std::isnan(v)) return 0x7fc0;
  const float f = static_cast<float>(v);
  uint32_t b;
  std::memcpy(&b, &f, sizeof b);
  return static_cast<uint16_t>((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

template <typename T>
void Put(void* data, int64_t i, T x) {
  std::memcpy(static_cast<char*>(data) + i * static_cast<int64_t>(sizeof(T)), &x, sizeof x);
}

}  // namespace

void Fail(const std::string& message) { throw std::runtime_error(message); }

int64_t Count(const Shape& shape) {
  int64_t n = 1;
  bool empty = false;
  for (int64_t d : shape) {
    Require(d >= 0, "a size is negative");
    empty |= d == 0;
  }
  for (int64_t d : shape)
    if (!empty && __builtin_mul_overflow(n, d, &n)) Fail("a tensor of shape " + Text(shape) + " is too large");
  return empty ? 0 : n;
}

Shape ShapeOf(const hr_value& v) { return Shape(v.shape, v.shape + v.rank); }

std::string Text(const Shape& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}

int64_t Size(int32_t dtype) {
  if (dtype <= 0 || dtype > HR_STRING) Fail("an unknown element type");
  return kTypes[dtype].size;
}
const char* TypeName(int32_t dtype) { return dtype <= 0 || dtype > HR_STRING ? "?" : kTypes[dtype].name; }
bool IsFloat(int32_t dtype) { return dtype >= HR_F4E2M1 && dtype <= HR_F64; }
bool IsUnsigned(int32_t dtype) {
  return dtype == HR_BOOL || dtype == HR_U2 || dtype == HR_U4 || dtype == HR_U8 || dtype == HR_U16 || dtype == HR_U32 ||
         dtype == HR_U64;
}

int64_t WrapAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    Fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  return axis < 0 ? axis + rank : axis;
}

Split3 SplitAt(const Shape& s, int64_t axis) {
  Split3 r{1, s[static_cast<size_t>(axis)], 1};
  for (size_t d = 0; d < s.size(); ++d) {
    if (static_cast<int64_t>(d) < axis) r.outer *= s[d];
    if (static_cast<int64_t>(d) > axis) r.inner *= s[d];
  }
  return r;
}

int64_t ToInt(const hr_value& v, int64_t i) {
  switch (v.dtype) {
    case HR_BOOL: return At<uint8_t>(v, i) != 0;
    case HR_U2:
    case HR_U4:
    case HR_U8: return At<uint8_t>(v, i);
    case HR_I2:
    case HR_I4:
    case HR_I8: return At<int8_t>(v, i);
    case HR_U16: return At<uint16_t>(v, i);
    case HR_I16: return At<int16_t>(v, i);
    case HR_U32: return At<uint32_t>(v, i);
    case HR_I32: return At<int32_t>(v, i);
    case HR_U64: return static_cast<int64_t>(At<uint64_t>(v, i));
    case HR_I64: return At<int64_t>(v, i);
    default: {
      const double d = ToDouble(v, i);
      return d >= 9223372036854775808.0   ? INT64_MAX
             : d < -9223372036854775808.0 ? INT64_MIN
             : d != d                     ? 0
                                          : static_cast<int64_t>(d);
    }
  }
}

double ToDouble(const hr_value& v, int64_t i) {
  switch (v.dtype) {
    case HR_F64: return At<double>(v, i);
    case HR_F32: return At<float>(v, i);
    case HR_F16:
    case HR_BF16: return FromBits(v.dtype, At<uint16_t>(v, i));
    case HR_F4E2M1:
    case HR_F8E4M3FN:
    case HR_F8E4M3FNUZ:
    case HR_F8E5M2:
    case HR_F8E5M2FNUZ:
    case HR_F8E8M0: return FromBits(v.dtype, At<uint8_t>(v, i));
    case HR_U64: return static_cast<double>(At<uint64_t>(v, i));
    case HR_C64:
    case HR_C128:
    case HR_STRING: Fail(std::string("elements of type ") + TypeName(v.dtype) + " are no numbers here");
    default: return static_cast<double>(ToInt(v, i));
  }
}

std::vector<double> Doubles(const hr_value& v) {
  std::vector<double> out(static_cast<size_t>(Count(ShapeOf(v))));
  for (size_t i = 0; i < out.size(); ++i) out[i] = ToDouble(v, static_cast<int64_t>(i));
  return out;
}

std::vector<int64_t> Ints(const hr_value& v) {
  std::vector<int64_t> out(static_cast<size_t>(Count(ShapeOf(v))));
  for (size_t i = 0; i < out.size(); ++i) out[i] = ToInt(v, static_cast<int64_t>(i));
  return out;
}

std::string String(const hr_value& v, int64_t i) {
  if (v.dtype != HR_STRING) Fail(std::string("strings are expected, not ") + TypeName(v.dtype));
  const hr_string& s = static_cast<const hr_string*>(v.data)[i];
  return s.size > 0 ? std::string(s.data, static_cast<size_t>(s.size)) : std::string();
}

void Store(int32_t dtype, void* data, int64_t i, double value) {
  switch (dtype) {
    case HR_F64: return Put(data, i, value);
    case HR_F32: return Put(data, i, static_cast<float>(value));
    case HR_F16: return Put(data, i, ToHalf(value));
    case HR_BF16: return Put(data, i, ToBrain(value));
    case HR_BOOL: return Put(data, i, static_cast<uint8_t>(value != 0));
    case HR_U8: return Put(data, i, static_cast<uint8_t>(static_cast<int64_t>(value)));
    case HR_I8: return Put(data, i, static_cast<int8_t>(static_cast<int64_t>(value)));
    case HR_U16: return Put(data, i, static_cast<uint16_t>(static_cast<int64_t>(value)));
    case HR_I16: return Put(data, i, static_cast<int16_t>(static_cast<int64_t>(value)));
    case HR_U32: return Put(data, i, static_cast<uint32_t>(static_cast<int64_t>(value)));
    case HR_I32: return Put(data, i, static_cast<int32_t>(static_cast<int64_t>(value)));
    case HR_I64: return Put(data, i, static_cast<int64_t>(value));
    case HR_U64: return Put(data, i, static_cast<uint64_t>(value));
    default: Fail(std::string("elements of type ") + TypeName(dtype) + " can't be written here");
  }
}

}  // namespace onnx_ops::external
