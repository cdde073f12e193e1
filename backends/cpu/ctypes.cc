#include "backends/cpu/ctypes.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <set>

namespace headrace::cpu {

const char* StorageType(DType t) {
  switch (t) {
    case DType::kBool:
    case DType::kU2:
    case DType::kU4:
    case DType::kU8:
    case DType::kF4E2M1:
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0: return "uint8_t";
    case DType::kI2:
    case DType::kI4:
    case DType::kI8: return "int8_t";
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16: return "uint16_t";
    case DType::kI16: return "int16_t";
    case DType::kU32: return "uint32_t";
    case DType::kI32: return "int32_t";
    case DType::kU64: return "uint64_t";
    case DType::kF32: return "float";
    case DType::kF64:
    case DType::kReal: return "double";
    case DType::kC64: return "hr_c64";
    case DType::kC128: return "hr_c128";
    case DType::kString: return "hr_string";
    case DType::kI64:
    case DType::kIndex:
    case DType::kNone: return "int64_t";
  }
  return "int64_t";
}

DType Computed(DType t) {
  switch (t) {
    case DType::kF4E2M1:
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0:
    case DType::kF16:
    case DType::kBF16: return DType::kF32;
    case DType::kReal: return DType::kF64;
    case DType::kNone:
    case DType::kIndex: return DType::kI64;
    default: return t;
  }
}

const char* ValueType(DType t) { return t == DType::kBool ? "bool" : StorageType(Computed(t)); }

std::string IntLiteral(int64_t v, DType t) {
  if (IsFloat(t)) return FloatLiteral(static_cast<double>(v), t);
  if (t == DType::kBool) return v ? "true" : "false";
  if (IsComplex(t))
    return std::string(StorageType(t)) + "{" +
           FloatLiteral(static_cast<double>(v), t == DType::kC64 ? DType::kF32 : DType::kF64) + ", 0}";
  if (t == DType::kU64) return std::to_string(static_cast<uint64_t>(v)) + "u";
  if (v == INT64_MIN) return "INT64_MIN";
  return std::to_string(v);
}

std::string FloatLiteral(double v, DType t) {
  if (IsComplex(t))
    return std::string(StorageType(t)) + "{" + FloatLiteral(v, t == DType::kC64 ? DType::kF32 : DType::kF64) + ", 0}";
  if (!IsFloat(t)) return IntLiteral(static_cast<int64_t>(v), t);
  const bool single = Computed(t) == DType::kF32;
  const char* suffix = single ? "f" : "";
  if (single) v = static_cast<float>(v);
  if (std::isnan(v)) return single ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
  if (std::isinf(v)) return std::string(v < 0 ? "-" : "") + (single ? "__builtin_inff()" : "__builtin_inf()");
  char buffer[40];
  for (int precision = 1; precision <= 17; ++precision) {  // the shortest decimal that reads back
    std::snprintf(buffer, sizeof buffer, "%.*g", precision, v);
    double back = 0;
    std::sscanf(buffer, "%lf", &back);
    if (single ? static_cast<float>(back) == static_cast<float>(v) : back == v) break;
  }
  std::string s = buffer;
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s + suffix;
}

std::string StringLiteral(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 32) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\%03o", c);
      out += buffer;
    } else out += c;
  }
  return out + "\"";
}

std::string RoundedCode(const std::string& v, const std::string& zero, DType to) {
  return std::string("(") + StorageType(to) + ")hr_round_small(" + v + ", " + zero + ", " + std::to_string(LowestInt(to)) + ", " + std::to_string(HighestInt(to)) + ")";
}

std::string LoadCode(DType t, const std::string& lvalue) {
  if (t == DType::kBool) return "(" + lvalue + " != 0)";
  if (IsFloat(t) && Computed(t) != t) return "hr_" + std::string(DTypeName(t)) + "_to_f32(" + lvalue + ")";
  return lvalue;
}

namespace {

bool IsSubByte(DType t) { return t == DType::kU2 || t == DType::kI2 || t == DType::kU4 || t == DType::kI4; }

// Keeps the low bits of a value of a sub-byte type.
std::string Narrow(DType t, const std::string& v) { return "hr_wrap_" + std::string(DTypeName(t)) + "(" + v + ")"; }

std::string ToInt(const std::string& v, DType from, DType to, bool saturate) {
  const std::string cast = std::string("(") + StorageType(to) + ")";
  if (IsFloat(from)) {
    if (to == DType::kU64) return saturate ? "hr_sat_u64(" + v + ")" : "hr_f64_to_u64(" + v + ")";
    if (saturate && from == DType::kF32 && ByteSize(to) <= 2)
      return cast + "hr_sat_small(" + v + ", " + std::to_string(LowestInt(to)) + ".0f, " + std::to_string(HighestInt(to)) + ".0f)";
    std::string wide = "hr_f64_to_i64(" + v + ")";
    if (saturate && to != DType::kI64)
      wide = "hr_clamp_i64(" + wide + ", " + std::to_string(LowestInt(to)) + ", " +
             std::to_string(static_cast<int64_t>(HighestInt(to))) + ")";
    if (to == DType::kI64 || to == DType::kIndex) return wide;
    return IsSubByte(to) ? Narrow(to, wide) : cast + wide;
  }
  std::string w = v;
  if (saturate && from != DType::kBool) {
    if (to == DType::kU64) return IsSigned(from) ? "(uint64_t)hr_clamp_i64(" + v + ", 0, INT64_MAX)" : cast + v;
    int64_t high = HighestInt(to) > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(HighestInt(to));
    if (from == DType::kU64)
      w = "(" + v + " > " + std::to_string(high) + "u ? (int64_t)" + std::to_string(high) + " : (int64_t)" + v + ")";
    else
      w = "hr_clamp_i64(" + v + ", " + (to == DType::kI64 ? "INT64_MIN" : std::to_string(LowestInt(to))) + ", " +
          std::to_string(high) + ")";
  }
  return IsSubByte(to) ? Narrow(to, w) : cast + "(" + w + ")";
}

}  // namespace

std::string ConvertCode(const std::string& value, DType from, DType to, bool saturate) {
  from = Computed(from);
  const bool rounds = IsFloat(to) && Computed(to) != to && to != DType::kReal;  // to a small float: round, keep as f32
  if (!rounds) to = Computed(to);
  if (from == to) return value;
  if (rounds) {
    const std::string name(DTypeName(to));
    std::string v = value;
    if (!IsFloat(from)) v = "(double)(" + v + ")", from = DType::kF64;
    const std::string encode =
        "hr_" + std::string(DTypeName(from)) + "_to_" + name + (saturate ? "_sat" : "") + "(" + v + ")";
    return "hr_" + name + "_to_f32(" + encode + ")";
  }
  if (to == DType::kBool) return IsComplex(from) ? "hr_truth(" + value + ")" : "(" + value + " != 0)";
  if (IsComplex(to)) {
    if (IsComplex(from)) return std::string("hr_to_") + std::string(DTypeName(to)) + "(" + value + ")";
    return std::string(StorageType(to)) + "{(" + (to == DType::kC64 ? "float" : "double") + ")(" + value + "), 0}";
  }
  if (IsComplex(from))
    return ConvertCode("(" + value + ").re", from == DType::kC64 ? DType::kF32 : DType::kF64, to, saturate);
  if (IsInteger(to)) return ToInt(value, from, to, saturate);
  return std::string("(") + ValueType(to) + ")(" + value + ")";
}

namespace {

// What is between `before`, which ends with a parenthesis, and the one that closes it at the very end of `text`; "" if it isn't so.
std::string Between(const std::string& before, const std::string& text) {
  if (text.rfind(before, 0) != 0) return "";
  int depth = 1;
  size_t close = before.size();
  for (; close < text.size(); ++close) {
    depth += text[close] == '(' ? 1 : text[close] == ')' ? -1 : 0;
    if (depth == 0) break;
  }
  return close + 1 == text.size() ? text.substr(before.size(), close - before.size()) : "";
}

}  // namespace

std::string StoreCode(DType t, const std::string& value, DType value_type, bool exact) {
  if (IsFloat(t) && Computed(t) != t) {
    DType from = Computed(value_type);
    std::string v = value;
    if (!IsFloat(from)) v = "(double)(" + v + ")", from = DType::kF64;
    // What was read from a t, or just rounded to one by ConvertCode: the code is taken, instead of converting there and back.
    if (const std::string code = Between("hr_" + std::string(DTypeName(t)) + "_to_f32(", v); !code.empty()) return code;
    if (exact && from == DType::kF32) return "hr_exact_" + std::string(DTypeName(t)) + "(" + v + ")";
    return "hr_" + std::string(DTypeName(from)) + "_to_" + std::string(DTypeName(t)) + "(" + v + ")";
  }
  return ConvertCode(value, value_type, t);
}

std::string Identifier(std::string_view name) {
  // Words of C++, names of its library, and names of the generated code.
  static const std::set<std::string, std::less<>> kReserved = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
      "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept",
      "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do",
      "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend",
      "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
      "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires",
      "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template",
      "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using",
      "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "int8_t", "int16_t", "int32_t", "int64_t",
      "uint8_t", "uint16_t", "uint32_t", "uint64_t", "size_t", "std", "assert", "errno", "linux", "unix", "stdin",
      "stdout", "stderr", "f", "x", "arena", "a", "chunk", "offset"};
  std::string s;
  for (char c : name) s += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) s = "v" + s;
  // In capitals it may be a macro; a short one is none that we include.
  const bool capitals = s.size() > 2 && std::none_of(s.begin(), s.end(), [](unsigned char c) { return std::islower(c); });
  if (kReserved.count(s) || capitals || s.rfind("hr_", 0) == 0) s += "_";
  return s;
}

}  // namespace headrace::cpu
