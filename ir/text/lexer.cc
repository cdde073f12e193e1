#include "ir/text/lexer.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "ir/base/spelling.h"

namespace headrace {
namespace {

bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
int HexValue(char c) { return IsDigit(c) ? c - '0' : (c | 32) - 'a' + 10; }

// Longest first where one is the beginning of another.
constexpr std::string_view kTwoCharacters[] = {
    "..", "->", ":=", "??", "?:", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "+=", "*=", "//"};
constexpr std::string_view kOneCharacter = "+-*/%&|^~!<>=?:;,.()[]{}@";

}  // namespace

Token Lexer::Bad(Token t, size_t length, std::string problem) {
  t.kind = Token::kBad;
  t.raw = text_.substr(at_, length);
  at_ = std::min(text_.size(), at_ + length);
  problem_ = std::move(problem);
  return t;
}

Token Lexer::Next() {
  Token t;
  t.newline_before = at_ == 0;
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == '\n') {
      ++at_;
      ++line_;
      line_start_ = at_;
      t.newline_before = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      break;
    }
    t.space_before = true;
  }
  t.line = line_;
  t.column = static_cast<int>(at_ - line_start_) + 1;
  if (at_ >= text_.size()) return t;
  const char c = text_[at_];
  if (IsLetter(c)) {
    size_t end = at_ + 1;
    while (end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]))) ++end;
    t.kind = Token::kName;
    t.raw = text_.substr(at_, end - at_);
    at_ = end;
    return t;
  }
  auto digit_at = [&](size_t i) { return i < text_.size() && IsDigit(text_[i]); };
  if (IsDigit(c) || (c == '.' && digit_at(at_ + 1))) return Number(t);
  if (c == '"') return Quoted(t, '"');
  if (c == '`') return Quoted(t, '`');
  for (std::string_view p : kTwoCharacters) {
    if (text_.substr(at_, 2) != p) continue;
    t.kind = Token::kPunct;
    t.raw = text_.substr(at_, 2);
    at_ += 2;
    return t;
  }
  if (kOneCharacter.find(c) != std::string_view::npos) {
    t.kind = Token::kPunct;
    t.raw = text_.substr(at_++, 1);
    return t;
  }
  if (text_.substr(at_, 3) == "\xe2\x80\xa6")
    return Bad(t, 3, "'…' stands for values that were left out when this was printed");
  size_t length = 1;  // one whole UTF-8 character
  if (static_cast<unsigned char>(c) >= 0xc0) {
    while (at_ + length < text_.size() && (text_[at_ + length] & 0xc0) == 0x80 && length < 4) ++length;
  }
  std::string shown = static_cast<unsigned char>(c) < 32 ? Escaped(text_.substr(at_, 1), '\'')
                                                         : "'" + std::string(text_.substr(at_, length)) + "'";
  return Bad(t, length, "unexpected character " + shown);
}

Token Lexer::Quoted(Token t, char quote) {
  size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
    if (text_[end] == '\\') {
      const char e = end + 1 < text_.size() ? text_[end + 1] : 0;
      const bool hex = e == 'x' && end + 3 < text_.size() && IsHexDigit(text_[end + 2]) && IsHexDigit(text_[end + 3]);
      if (!hex && e != quote && e != '\\' && e != 'n' && e != 't') {
        return Bad(t, end + 1 - at_,
                   "unknown escape: write \\\\, \\n, \\t, \\xHH or the quote itself after a backslash");
      }
      end += hex ? 4 : 2;
    } else {
      ++end;
    }
  }
  if (end >= text_.size() || text_[end] != quote) {
    return Bad(t, end - at_,
               quote == '"' ? "this string has no closing quote on its line"
                            : "this quoted name has no closing backtick on its line");
  }
  t.kind = quote == '"' ? Token::kString : Token::kName;
  t.quoted = quote == '`';
  t.raw = text_.substr(at_, end + 1 - at_);
  at_ = end + 1;
  return t;
}

Token Lexer::Number(Token t) {
  size_t end = at_;
  auto digits = [&] {
    while (end < text_.size() && IsDigit(text_[end])) ++end;
  };
  t.kind = Token::kInt;
  if (text_[at_] == '0' && at_ + 2 < text_.size() && text_[at_ + 1] == 'x' && IsHexDigit(text_[at_ + 2])) {
    end += 2;
    while (end < text_.size() && IsHexDigit(text_[end])) ++end;
  } else {
    digits();
    // `0..` is a number and an ellipsis, `1.5` and `1.` are numbers
    if (end < text_.size() && text_[end] == '.' && !(end + 1 < text_.size() && text_[end + 1] == '.')) {
      t.kind = Token::kFloat;
      ++end;
      digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      size_t exponent = end + 1;
      if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
      if (exponent < text_.size() && IsDigit(text_[exponent])) {
        t.kind = Token::kFloat;
        end = exponent;
        digits();
      }
    }
  }
  if (end < text_.size() && IsLetter(text_[end])) {
    while (end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]))) ++end;
    return Bad(
        t, end - at_,
        "'" + std::string(text_.substr(at_, std::min<size_t>(end - at_, 40))) + "' is neither a number nor a name");
  }
  t.raw = text_.substr(at_, end - at_);
  at_ = end;
  return t;
}

std::string_view Lexer::Line(int number) const {
  size_t begin = 0;
  for (int i = 1; i < number; ++i) {
    size_t next = text_.find('\n', begin);
    if (next == std::string_view::npos) return {};
    begin = next + 1;
  }
  std::string_view line = text_.substr(begin, text_.find('\n', begin) - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::string Unquote(std::string_view raw) {
  std::string out;
  for (size_t i = 1; i + 1 < raw.size(); ++i) {
    if (raw[i] != '\\') {
      out += raw[i];
    } else if (raw[++i] == 'x') {
      out += static_cast<char>(HexValue(raw[i + 1]) * 16 + HexValue(raw[i + 2]));
      i += 2;
    } else {
      out += raw[i] == 'n' ? '\n' : raw[i] == 't' ? '\t' : raw[i];
    }
  }
  return out;
}

Name NameOf(const Token& t) { return t.quoted ? Name(Unquote(t.raw)) : Name(t.raw); }

bool ParseMagnitude(std::string_view raw, uint64_t* value) {
  int base = 10;
  if (raw.size() > 2 && raw[1] == 'x') {
    base = 16;
    raw.remove_prefix(2);
  }
  auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), *value, base);
  return error == std::errc() && end == raw.data() + raw.size();
}

double ParseFloat(std::string_view raw) {
  double v = 0;
  auto result = std::from_chars(raw.data(), raw.data() + raw.size(), v);
  if (result.ec != std::errc::result_out_of_range) return v;
  // from_chars does not say which way: the decimal exponent of the leading digit does.
  size_t e = raw.find_first_of("eE");
  std::string_view mantissa = raw.substr(0, e);
  int64_t exponent = 0;
  if (e != std::string_view::npos) {
    size_t digits = e + 1 + (raw[e + 1] == '+');
    if (std::from_chars(raw.data() + digits, raw.data() + raw.size(), exponent).ec != std::errc()) {
      exponent = raw[e + 1] == '-' ? -1000000000000 : 1000000000000;
    }
  }
  int64_t point = std::min(mantissa.find('.'), mantissa.size());
  int64_t leading = mantissa.find_first_not_of("0.");
  exponent += leading < point ? point - 1 - leading : point - leading;
  return exponent > 0 ? std::numeric_limits<double>::infinity() : 0;
}

}  // namespace headrace
