// Functions of strings: concatenation, comparison, splitting, normalising, regular expressions,
// conversion from and to numbers.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cwchar>
#include <cwctype>
#include <unordered_set>

#include "plugins/onnx/external/call.h"
#include "plugins/onnx/external/expand.h"
#include "re2/re2.h"

namespace onnx_ops::external {
namespace {

// numpy's broadcasting of two shapes, and the flat position of an output element in each.
struct Broadcast {
  Shape out, a, b;
  Broadcast(const Shape& x, const Shape& y) {
    const size_t rank = std::max(x.size(), y.size());
    a.assign(rank, 1), b.assign(rank, 1);
    std::copy(x.begin(), x.end(), a.end() - static_cast<std::ptrdiff_t>(x.size()));
    std::copy(y.begin(), y.end(), b.end() - static_cast<std::ptrdiff_t>(y.size()));
    for (size_t d = 0; d < rank; ++d) {
      if (a[d] != b[d] && a[d] != 1 && b[d] != 1)
        Fail("the shapes " + Text(x) + " and " + Text(y) + " don't broadcast");
      out.push_back(a[d] == 1 ? b[d] : a[d]);
    }
  }
  static int64_t Place(const Shape& out, const Shape& in, int64_t flat) {
    int64_t at = 0, stride = 1;
    for (size_t d = out.size(); d-- > 0;) {
      const int64_t i = flat % out[d];
      flat /= out[d];
      if (in[d] != 1) at += i * stride;
      stride *= in[d];
    }
    return at;
  }
};

// As Python's str.split: without a delimiter at runs of white space, and those at the ends don't
// count.
std::vector<std::string> Pieces(const std::string& s, const std::string& delimiter, int64_t most) {
  std::vector<std::string> out;
  size_t at = 0;
  const char* const space = " \t\n\r\v\f";
  while (delimiter.empty()) {
    at = s.find_first_not_of(space, at);
    if (at == std::string::npos) return out;
    size_t end = s.find_first_of(space, at);
    if (most >= 0 && static_cast<int64_t>(out.size()) == most) end = s.size();
    out.push_back(s.substr(at, end == std::string::npos ? end : end - at));
    if (end == std::string::npos || end == s.size()) return out;
    at = end;
  }
  for (;;) {
    const size_t end =
        most >= 0 && static_cast<int64_t>(out.size()) == most ? std::string::npos : s.find(delimiter, at);
    out.push_back(s.substr(at, end == std::string::npos ? end : end - at));
    if (end == std::string::npos) return out;
    at = end + delimiter.size();
  }
}

// Case changes of UTF-8 by Unicode's simple mappings; bytes that are no UTF-8 stay.
std::string ChangeCase(const std::string& s, bool upper) {
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  std::string out;
  for (size_t i = 0; i < s.size();) {
    const unsigned char c = static_cast<unsigned char>(s[i]);
    const size_t length = c < 0x80                ? 1
                          : c >= 0xc2 && c < 0xe0 ? 2
                          : c >= 0xe0 && c < 0xf0 ? 3
                          : c >= 0xf0 && c < 0xf5 ? 4
                                                  : 1;
    uint32_t code = length == 1 ? c : c & (0x7f >> length);
    bool valid = i + length <= s.size() && (c < 0x80 || length > 1);
    for (size_t k = 1; valid && k < length; ++k) {
      const unsigned char next = static_cast<unsigned char>(s[i + k]);
      valid = (next & 0xc0) == 0x80;
      code = code << 6 | (next & 0x3f);
    }
    if (!valid) {
      out += s[i++];
      continue;
    }
    const bool ascii = code < 0x80 || !unicode;
    if (ascii) {
      if (upper && code >= 'a' && code <= 'z') code -= 32;
      if (!upper && code >= 'A' && code <= 'Z') code += 32;
    } else {
      code = static_cast<uint32_t>(upper ? towupper_l(static_cast<wint_t>(code), unicode)
                                         : towlower_l(static_cast<wint_t>(code), unicode));
    }
    if (code < 0x80) out += static_cast<char>(code);
    else if (code < 0x800) out += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    else if (code < 0x10000)
      out += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
              static_cast<char>(0x80 | (code & 63))};
    else
      out += {static_cast<char>(0xf0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 63)),
              static_cast<char>(0x80 | (code >> 6 & 63)), static_cast<char>(0x80 | (code & 63))};
    i += length;
  }
  return out;
}

// The shortest decimal that reads back the same, NaN, INF; bool as True and False.
std::string NumberText(const hr_value& v, int64_t i) {
  if (v.dtype == HR_BOOL) return ToInt(v, i) ? "True" : "False";
  if (v.dtype == HR_U64) return std::to_string(static_cast<uint64_t>(ToInt(v, i)));
  if (!IsFloat(v.dtype)) return std::to_string(ToInt(v, i));
  const double d = ToDouble(v, i);
  if (d != d) return "NaN";
  if (std::isinf(d)) return d < 0 ? "-INF" : "INF";
  char buffer[64];
  const double a = std::fabs(d);
  const auto format = a == 0 || (a >= 1e-4 && a < 1e16) ? std::chars_format::fixed : std::chars_format::scientific;
  char* end = v.dtype == HR_F64 ? std::to_chars(buffer, buffer + sizeof buffer, d, format).ptr
                                : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(d), format).ptr;
  std::string s(buffer, end);
  if (format == std::chars_format::fixed && s.find('.') == std::string::npos) s += ".0";
  return s;
}

double Number(std::string s, bool* integral, int64_t* whole) {
  const size_t begin = s.find_first_not_of(" \t\n\r"), end = s.find_last_not_of(" \t\n\r");
  s = begin == std::string::npos ? "" : s.substr(begin, end - begin + 1);
  const char* text = s.c_str();
  char* rest = nullptr;
  errno = 0;
  *whole = std::strtoll(text, &rest, 10);
  *integral = !s.empty() && rest == text + s.size() && errno == 0;
  const double d = std::strtod(text, &rest);
  if (s.empty() || rest != text + s.size()) Fail("the string \"" + s.substr(0, 80) + "\" is no number");
  return d;
}

}  // namespace

HR_ONNX_FUNCTION(onnx_string_concat) {
  const hr_value &x = call.Tensor("X"), &y = call.Tensor("Y");
  const Broadcast w(ShapeOf(x), ShapeOf(y));
  std::vector<std::string> out(static_cast<size_t>(Count(w.out)));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i);
    out[i] = String(x, Broadcast::Place(w.out, w.a, at)) + String(y, Broadcast::Place(w.out, w.b, at));
  }
  call.MakeStrings(call.Output("Z"), w.out, out);
}

HR_ONNX_FUNCTION(onnx_string_equal) {
  const hr_value &x = call.Tensor("A"), &y = call.Tensor("B");
  const Broadcast w(ShapeOf(x), ShapeOf(y));
  uint8_t* out = call.Make<uint8_t>("C", HR_BOOL, w.out);
  for (int64_t i = 0; i < Count(w.out); ++i)
    out[i] = String(x, Broadcast::Place(w.out, w.a, i)) == String(y, Broadcast::Place(w.out, w.b, i));
}

HR_ONNX_FUNCTION(onnx_string_split) {
  const hr_value& x = call.Tensor("X");
  Shape shape = ShapeOf(x);
  const std::string delimiter = call.Str("delimiter", "");
  const int64_t n = Count(shape), most = call.Int("maxsplit", -1);
  std::vector<std::vector<std::string>> pieces;
  size_t longest = 0;
  for (int64_t i = 0; i < n; ++i) {
    pieces.push_back(Pieces(String(x, i), delimiter, most));
    longest = std::max(longest, pieces.back().size());
  }
  int64_t* counts = call.Make<int64_t>("Z", HR_I64, shape);
  std::vector<std::string> out;
  for (int64_t i = 0; i < n; ++i) {
    auto& p = pieces[static_cast<size_t>(i)];
    if (counts) counts[i] = static_cast<int64_t>(p.size());
    p.resize(longest);
    for (std::string& s : p) out.push_back(std::move(s));
  }
  shape.push_back(static_cast<int64_t>(longest));
  if (call.Output("Y") >= 0) call.MakeStrings(call.Output("Y"), shape, out);
}

// Elements that are stop words go, then the case of the rest is changed. Nothing left = one empty
// string.
HR_ONNX_FUNCTION(onnx_string_normalizer) {
  const hr_value& x = call.Tensor("X");
  Shape shape = ShapeOf(x);
  Require(shape.size() == 1 || (shape.size() == 2 && shape[0] == 1), "StringNormalizer needs the shape [C] or [1, C]");
  const std::string action = call.Str("case_change_action", "NONE");
  Require(action == "NONE" || action == "LOWER" || action == "UPPER",
          "case_change_action must be NONE, LOWER or UPPER");
  const bool sensitive = call.Int("is_case_sensitive", 0) != 0;
  auto key = [&](const std::string& s) { return sensitive ? s : ChangeCase(s, false); };
  std::unordered_set<std::string> stops;
  for (const std::string& s : call.StrList("stopwords")) stops.insert(key(s));
  std::vector<std::string> out;
  for (int64_t i = 0; i < Count(shape); ++i) {
    const std::string s = String(x, i);
    if (!stops.count(key(s))) out.push_back(action == "NONE" ? s : ChangeCase(s, action == "UPPER"));
  }
  if (out.empty()) out.emplace_back();
  shape.back() = static_cast<int64_t>(out.size());
  call.MakeStrings(call.Output("Y"), shape, out);
}

// RE2: linear in the text whatever the pattern.
HR_ONNX_FUNCTION(onnx_regex_full_match) {
  const hr_value& x = call.Tensor("X");
  RE2::Options options;
  options.set_log_errors(false);
  const RE2 pattern(call.Str("pattern", ""), options);
  if (!pattern.ok()) Fail("the pattern is no RE2 regular expression: " + pattern.error());
  const Shape shape = ShapeOf(x);
  uint8_t* y = call.Make<uint8_t>("Y", HR_BOOL, shape);
  for (int64_t i = 0; i < Count(shape); ++i) y[i] = RE2::FullMatch(String(x, i), pattern);
}

HR_ONNX_FUNCTION(onnx_string_cast) {
  const hr_value& x = call.Tensor("input");
  const Shape shape = ShapeOf(x);
  const int32_t type = static_cast<int32_t>(call.Int("element_type", 0));
  const int64_t n = Count(shape);
  if (type == HR_STRING) {
    std::vector<std::string> out;
    for (int64_t i = 0; i < n; ++i) out.push_back(x.dtype == HR_STRING ? String(x, i) : NumberText(x, i));
    return call.MakeStrings(call.Output("output"), shape, out);
  }
  void* y = call.Make<void>("output", type, shape);
  for (int64_t i = 0; i < n; ++i) {
    bool integral;
    int64_t whole;
    const double d = Number(String(x, i), &integral, &whole);
    if (type == HR_I64 && integral) static_cast<int64_t*>(y)[i] = whole;
    else if (IsFloat(type)) Store(type, y, i, d);
    else if (std::fabs(d) < 0x1p63) Store(type, y, i, d);
    else Fail("a string's number does not fit in " + std::string(TypeName(type)));
  }
}

void RegisterStrings(Registrar& r) {
  for (const char* f :
       {"string_concat", "string_equal", "string_split", "string_normalizer", "regex_full_match", "string_cast"})
    AddFunction(r, f);
  Add(r, "StringConcat", "string_concat");
  Add(r, "StringSplit", "string_split");
  Add(r, "StringNormalizer", "string_normalizer");
  Add(r, "RegexFullMatch", "regex_full_match");
  Add(r, "Equal", "string_equal",
      [](const Node& n) { return n.input("A")->dtype == HR_STRING ? "" : "serves strings only"; });
  for (const char* op : {"Cast", "CastLike"})
    r.impl(
        op, "external",
        [](const Node& n) {
          return n.input("input")->dtype == HR_STRING || n.output("output")->dtype == HR_STRING ? ""
                                                                                                : "serves strings only";
        },
        [](const Node& n) {
          std::string text = CallText(n, "string_cast");
          return text.insert(text.find("{inputs = ") + 1,
                             "element_type = " + std::to_string(n.output("output")->dtype) + ", ");
        });
}

}  // namespace onnx_ops::external
