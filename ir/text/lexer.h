// Characters → tokens, one at a time. The other way: ir/base/spelling.h.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "ir/base/name.h"
#include "ir/base/status.h"

namespace headrace {

struct Token {
  enum Kind { kEnd, kName, kInt, kFloat, kString, kPunct, kBad } kind = kEnd;
  std::string_view raw;         // as written; punctuation is compared by this
  int line = 1, column = 1;     // 1-based, columns in bytes
  bool quoted = false;          // a name in backticks: never a keyword
  bool newline_before = false;  // first token of its line (or after ";"-less text): ends a statement outside brackets
  bool space_before = false;

  bool Is(std::string_view punct) const { return kind == kPunct && raw == punct; }
  bool IsWord(std::string_view word) const { return kind == kName && !quoted && raw == word; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Token Next();  // kEnd forever at the end; kBad with `problem()` set for what is no token
  const std::string& problem() const { return problem_; }
  std::string_view Line(int number) const;  // source line for carets

 private:
  Token Quoted(Token t, char quote);
  Token Number(Token t);
  Token Bad(Token t, size_t length, std::string problem);
  std::string_view text_;
  size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
  std::string problem_;
};

// ---- token → value ----
std::string Unquote(std::string_view raw);  // "a\n" or `a b` with its quotes → the text
Name NameOf(const Token& t);
// Digits (or 0x…) → magnitude; false when it needs more than 64 bits.
bool ParseMagnitude(std::string_view raw, uint64_t* value);
double ParseFloat(std::string_view raw);  // also out of range: ±inf, 0

}  // namespace headrace
