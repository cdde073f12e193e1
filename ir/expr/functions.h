// The functions that expressions may call: one table gives name, arity, typing and folding to parser, type inference,
// elaborator, interpreter and code generators. Backends hold an implementation per name and a test that none is missing.
#pragma once
#include <string_view>
#include <vector>

#include "ir/base/dtype.h"

namespace headrace {

enum class FnType : uint8_t {
  kFloatUnary,   // exp … : float (or complex) → same; integers are an error
  kSameUnary,    // abs sign floor ceil rint: numeric → same type
  kSameNary,     // min max clamp: operands meet in one type
  kFloatBinary,  // pow atan2 fmod
  kFloatNary,    // fma: floats that meet in one type
  kDot,          // dot2, dot4: small factors in pairs, added to a wide sum
  kPredicate,    // isnan isinf: → bool
  kIndexFn,      // wrap(i, n), reflect(i, n), clamp on indices
  kBitcast,      // bits: reinterpretation
  kRandom,       // uniform(seed, n): f32 in [0, 1), normal(seed, n): a pure function of both
};
struct FunctionInfo {
  std::string_view name;
  int min_arity, max_arity;
  FnType type;
  std::string_view doc;
};

// Scalar functions that survive into lowered IR:
//   exp expm1 log log1p log2 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf
//   abs sign floor ceil rint trunc  min max clamp(x, lo, hi)  pow atan2 fmod(x, y)  fma(x, y, z)  isnan isinf
//   dot2(a0, b0, a1, b1, s): bf16, s f32: fma(a0, b0, fma(a1, b1, s)), each step rounded to f32
//   dot4(a0, b0, … a3, b3, s): i8 or u8, s i32: s + a0*b0 + … + a3*b3, which wraps
//   hold(x) = x, with derivative 0
//   wrap(i, n) = i < 0 ? i + n : i   reflect(i, n)   popcount   uniform(seed, n)   real imag conj complex(re, im)
// min and max propagate NaN; rint rounds half to even; sign(NaN) = NaN; pow of integers is exact where representable.
// List and port functions (prod sum all any least most reverse concat fold unfold range rank dim dims stride len has dtype
// is_int is_bool is_fp8 lowest highest wide call f32(x)…) exist in forms only; the elaborator folds them away.
const std::vector<FunctionInfo>& ScalarFunctions();
const FunctionInfo* FindFunction(std::string_view name);

}  // namespace headrace
