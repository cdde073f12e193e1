#include "ir/base/spelling.h"

#include <charconv>
#include <cmath>

namespace headrace {
namespace {

template <typename T>
std::string Shortest(T v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string s(buffer, end);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

}  // namespace

std::string Escaped(std::string_view s, char quote) {
  static const char kHex[] = "0123456789abcdef";
  std::string out(1, quote);
  for (char c : s) {
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 32 || c == 127) {
      out += "\\x";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out += quote;
}

bool IsIdentifier(std::string_view s) {
  if (s.empty() || !IsLetter(s[0])) return false;
  for (char c : s) {
    if (!IsLetter(c) && !IsDigit(c)) return false;
  }
  return true;
}

std::string NameText(Name n) {
  std::string_view s = n.view();
  if (!IsIdentifier(s) || s == "inf" || s == "nan" || s == "true" || s == "false") return Escaped(s, '`');
  return std::string(s);
}

std::string StringText(std::string_view s) { return Escaped(s, '"'); }
std::string FloatText(double v) { return Shortest(v); }
std::string FloatText(float v) { return Shortest(v); }

}  // namespace headrace
