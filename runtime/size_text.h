// Sizes as a program's description spells them, "N", "2*N + 1", "(H + 1)//2", computed from the sizes that are known.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace headrace::runtime {

using Sizes = std::map<std::string, int64_t>;

// Integers, names, + - * // %, min, max and parentheses. Nothing when a name is unknown, the result is no 64-bit number, or
// the text has more than that.
std::optional<int64_t> EvaluateSize(const std::string& text, const Sizes& sizes);
bool IsName(const std::string& text);

}  // namespace headrace::runtime
