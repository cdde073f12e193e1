#include "ir/expr/functions.h"

#include <string>
#include <unordered_map>

namespace headrace {

const std::vector<FunctionInfo>& ScalarFunctions() {
  static const auto* const kTable = new std::vector<FunctionInfo>{
      {"exp", 1, 1, FnType::kFloatUnary, "e to the power of x"},
      {"expm1", 1, 1, FnType::kFloatUnary, "exp(x) - 1, exact near 0"},
      {"log", 1, 1, FnType::kFloatUnary, "natural logarithm"},
      {"log1p", 1, 1, FnType::kFloatUnary, "log(1 + x), exact near 0"},
      {"log2", 1, 1, FnType::kFloatUnary, "logarithm to base 2"},
      {"sqrt", 1, 1, FnType::kFloatUnary, "square root"},
      {"rsqrt", 1, 1, FnType::kFloatUnary, "1 / sqrt(x)"},
      {"sin", 1, 1, FnType::kFloatUnary, "sine"},
      {"cos", 1, 1, FnType::kFloatUnary, "cosine"},
      {"tan", 1, 1, FnType::kFloatUnary, "tangent"},
      {"asin", 1, 1, FnType::kFloatUnary, "inverse sine"},
      {"acos", 1, 1, FnType::kFloatUnary, "inverse cosine"},
      {"atan", 1, 1, FnType::kFloatUnary, "inverse tangent"},
      {"sinh", 1, 1, FnType::kFloatUnary, "hyperbolic sine"},
      {"cosh", 1, 1, FnType::kFloatUnary, "hyperbolic cosine"},
      {"tanh", 1, 1, FnType::kFloatUnary, "hyperbolic tangent"},
      {"asinh", 1, 1, FnType::kFloatUnary, "inverse hyperbolic sine"},
      {"acosh", 1, 1, FnType::kFloatUnary, "inverse hyperbolic cosine"},
      {"atanh", 1, 1, FnType::kFloatUnary, "inverse hyperbolic tangent"},
      {"erf", 1, 1, FnType::kFloatUnary, "error function"},
      {"abs", 1, 1, FnType::kSameUnary, "magnitude; of complex numbers a real"},
      {"sign", 1, 1, FnType::kSameUnary, "-1, 0 or 1; NaN stays NaN"},
      {"floor", 1, 1, FnType::kSameUnary, "largest integer not above x"},
      {"ceil", 1, 1, FnType::kSameUnary, "smallest integer not below x"},
      {"rint", 1, 1, FnType::kSameUnary, "nearest integer, halves to even"},
      {"trunc", 1, 1, FnType::kSameUnary, "x without its fraction"},
      {"hold", 1, 1, FnType::kSameUnary, "x itself, with derivative 0"},
      {"popcount", 1, 1, FnType::kSameUnary, "number of set bits of an integer"},
      {"conj", 1, 1, FnType::kSameUnary, "complex conjugate"},
      {"real", 1, 1, FnType::kFloatUnary, "real part of a complex number"},
      {"imag", 1, 1, FnType::kFloatUnary, "imaginary part of a complex number"},
      {"complex", 2, 2, FnType::kFloatBinary, "complex number of two reals"},
      {"min", 2, 2, FnType::kSameNary, "smaller value; NaN if either is"},
      {"max", 2, 2, FnType::kSameNary, "larger value; NaN if either is"},
      {"clamp", 3, 3, FnType::kSameNary, "clamp(x, lo, hi) = min(max(x, lo), hi)"},
      {"pow", 2, 2, FnType::kFloatBinary, "x to the power of y; exact on integers where representable"},
      {"atan2", 2, 2, FnType::kFloatBinary, "angle of the point (y, x): atan2(y, x)"},
      {"fmod", 2, 2, FnType::kFloatBinary, "remainder with the sign of x"},
      {"fma", 3, 3, FnType::kFloatNary, "x * y + z, rounded once; twice where the processor has no such instruction"},
      {"dot2", 5, 5, FnType::kDot, "dot2(a0, b0, a1, b1, s) of bf16 and an f32 s: a0 * b0 + (a1 * b1 + s), each sum rounded to f32"},
      {"dot4", 9, 9, FnType::kDot, "dot4(a0, b0, … a3, b3, s) of 8-bit integers and an i32 s: s and the products' sum; it wraps"},
      {"isnan", 1, 1, FnType::kPredicate, "is it NaN?"},
      {"isinf", 1, 1, FnType::kPredicate, "is it +inf or -inf?"},
      {"wrap", 2, 2, FnType::kIndexFn, "wrap(i, n) = i < 0 ? i + n : i"},
      {"reflect", 2, 2, FnType::kIndexFn, "i mirrored at 0 and n - 1, any number of times"},
      {"uniform", 2, 2, FnType::kRandom, "uniform(seed, n): f32 in [0, 1), a pure function of both"},
      {"normal", 2, 2, FnType::kRandom, "normal(seed, n): standard normal f32, a pure function of both"},
  };
  return *kTable;
}

const FunctionInfo* FindFunction(std::string_view name) {
  static const auto* const kIndex = [] {
    auto* index = new std::unordered_map<std::string_view, const FunctionInfo*>();
    for (const FunctionInfo& f : ScalarFunctions()) index->emplace(f.name, &f);
    return index;
  }();
  auto it = kIndex->find(name);
  return it == kIndex->end() ? nullptr : it->second;
}

}  // namespace headrace
