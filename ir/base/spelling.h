// How names, numbers and strings are spelt, for every printer: text that lexes back to the same (ir/text/lexer.h).
#pragma once
#include <string>
#include <string_view>

#include "ir/base/name.h"

namespace headrace {

// What names are made of.
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool IsIdentifier(std::string_view s);       // a letter or _, then letters, digits, _
std::string NameText(Name n);                // itself, or in backticks: no identifier, or one of inf nan true false
std::string Escaped(std::string_view s, char quote);  // in these quotes
std::string StringText(std::string_view s);  // "…" with escapes
std::string FloatText(double v);  // shortest that reads back the same; always with a point, exponent, inf or nan
std::string FloatText(float v);   // shortest for 32 bits

}  // namespace headrace
