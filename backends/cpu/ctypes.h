// How element types are spelled in generated code: stored (in memory) and computed (in registers).
#pragma once
#include <string>

#include "ir/base/dtype.h"

namespace headrace::cpu {

const char* StorageType(DType t);  // f16 → "uint16_t", bool → "uint8_t", kIndex → "int64_t"
const char* ValueType(DType t);    // f16 → "float", bool → "bool", kReal → "double"
// The type whose C++ type is ValueType(t): f16, bf16, f8 → f32; kNone, kIndex → i64; kReal → f64.
DType Computed(DType t);
std::string IntLiteral(int64_t v, DType t);
std::string FloatLiteral(double v, DType t);
std::string StringLiteral(const std::string& s);
std::string RoundedCode(const std::string& v, const std::string& zero, DType to);  // sat(rint(v) + zero), an f32 and an i32, as 8 bits
std::string LoadCode(DType t, const std::string& lvalue);                    // memory → value
std::string StoreCode(DType t, const std::string& value, DType value_type, bool exact = false);  // value → memory's type
std::string ConvertCode(const std::string& value, DType from, DType to, bool saturate = false);  // value → value
std::string Identifier(std::string_view name);  // a C++ identifier near `name`, never a keyword

}  // namespace headrace::cpu
