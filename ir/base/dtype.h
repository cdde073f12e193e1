// Element types. Sub-byte types take one byte per element inside a program and are packed at the boundary.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

enum class DType : uint8_t {
  kNone = 0,  // not typed yet
  kBool,
  kU2,
  kI2,
  kU4,
  kI4,
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kU64,
  kI64,
  kF4E2M1,
  kF8E4M3FN,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,
  kC128,
  kString,
  // Types of expressions only, never of containers: exact integers (sizes, map indices, integer literals) and
  // untyped reals (`0.5`, `1 / N`). Both take the type of what they meet; alone they are i64 and f64.
  kIndex,
  kReal,
};

// "f32", "bool", "f8e4m3fn", "bf16", "c64", "string", "index", "real".
std::string_view DTypeName(DType t);
std::optional<DType> ParseDType(std::string_view name);

int64_t ByteSize(DType t);  // bytes an element takes inside a program; strings: 0
int BitWidth(DType t);      // bits an element takes at the boundary (ONNX raw data, .npy)
bool IsInteger(DType t);    // every signed and unsigned integer and kIndex; not bool
bool IsSigned(DType t);     // signed integers and kIndex
bool IsFloat(DType t);      // f4 … f64 and kReal
bool IsFp8(DType t);        // f8 families
bool IsComplex(DType t);
inline bool IsUntyped(DType t) { return t == DType::kIndex || t == DType::kReal; }
// Largest and smallest finite values of a float type; ranges of an integer type (u64's highest fits in uint64_t).
double HighestFloat(DType t);
int64_t LowestInt(DType t);
uint64_t HighestInt(DType t);

// Conversions with the format's own rounding (nearest even) and overflow rule. `saturate` clamps to the largest
// finite value where the format would give inf or NaN. Bits are in the low bits of the result.
uint32_t EncodeFloat(DType t, double value, bool saturate = false);  // f4 … bf16 only
double DecodeFloat(DType t, uint32_t bits);

}  // namespace headrace
