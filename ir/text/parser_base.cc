// Token stream and errors of the parser.
#include <algorithm>
#include <utility>

#include "ir/base/closest_word.h"
#include "ir/text/parser_internal.h"

namespace headrace::internal {

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() < 2 || word.size() > 64) return "";  // one letter is close to every other
  std::string close = ClosestWord(std::string(word), candidates);
  return close.empty() ? "" : "did you mean '" + close + "'?";
}

Status ParserBase::status() const {
  std::vector<Diagnostic> all = past_;
  if (!ok()) all.push_back(error_);
  return Status(std::move(all));
}

bool ParserBase::Resume(const Token& first) {
  if (ok() || past_.size() + 1 >= kMaxErrors) return false;
  if (next_ < ahead_.size() && ahead_[next_].kind == Token::kBad) return false;
  Diagnostic error = std::exchange(error_, Diagnostic());
  const bool follows = std::any_of(forgiven_.begin(), forgiven_.end(), [&](const std::string& name) {
    return error.message.find(name) != std::string::npos;
  });
  int open = 0;  // brackets that the statement opens
  for (;;) {
    const Token& t = Peek();
    if (!ok() || t.kind == Token::kEnd) break;
    const bool begins = t.line == first.line && t.column == first.column;
    if (open == 0 && (t.Is("}") || t.Is(";") || (!begins && t.newline_before))) break;
    if (t.Is("{") || t.Is("(") || t.Is("[")) ++open;
    if (open > 0 && (t.Is("}") || t.Is(")") || t.Is("]"))) --open;
    Take();
  }
  if (!ok()) {  // a character that is no token
    error_ = std::move(error);
    return false;
  }
  if (!follows) past_.push_back(std::move(error));
  return true;
}

const Token& ParserBase::Peek(int ahead) {
  static const Token kEndToken;
  if (!ok()) return kEndToken;
  if (next_ > 64) {
    ahead_.erase(ahead_.begin(), ahead_.begin() + next_);
    next_ = 0;
  }
  while (ahead_.size() - next_ <= static_cast<size_t>(ahead)) {
    ahead_.push_back(lexer_.Next());
    if (ahead_.back().kind == Token::kBad) {
      Fail(ahead_.back(), lexer_.problem());
      return kEndToken;
    }
  }
  return ahead_[next_ + ahead];
}

Token ParserBase::Take() {
  Token t = Peek();
  if (ok() && t.kind != Token::kEnd) ++next_;
  return t;
}

bool ParserBase::Accept(std::string_view punct) {
  if (!At(punct)) return false;
  Take();
  return true;
}

bool ParserBase::AcceptWord(std::string_view word) {
  if (!AtWord(word)) return false;
  Take();
  return true;
}

std::string ParserBase::Shown(const Token& t) const {
  if (t.kind == Token::kEnd) return "the end of the text";
  std::string s(t.raw.substr(0, 60));
  if (t.raw.size() > 60) s += "…";
  return t.kind == Token::kString || t.quoted ? s : "'" + s + "'";
}

bool ParserBase::Expect(std::string_view punct, const char* where) {
  if (Accept(punct)) return true;
  Fail(Peek(), "expected '" + std::string(punct) + "' " + where + ", found " + Shown(Peek()));
  return false;
}

bool ParserBase::ExpectWord(std::string_view word, const char* where) {
  if (AcceptWord(word)) return true;
  Fail(Peek(), "expected '" + std::string(word) + "' " + where + ", found " + Shown(Peek()));
  return false;
}

Name ParserBase::ExpectName(const char* what) {
  if (Peek().kind == Token::kName) return NameOf(Take());
  Fail(Peek(), std::string("expected ") + what + ", found " + Shown(Peek()));
  return {};
}

int64_t ParserBase::ExpectInt(const char* what) {
  Token at = Peek();
  const bool negative = Accept("-");
  uint64_t magnitude = 0;
  if (Peek().kind != Token::kInt) {
    Fail(Peek(), std::string("expected ") + what + ", found " + Shown(Peek()));
    return 0;
  }
  Token t = Take();
  const uint64_t limit = (uint64_t{1} << 63) - !negative;
  if (!ParseMagnitude(t.raw, &magnitude) || magnitude > limit) {
    Fail(at, "the number " + Shown(t) + " does not fit in 64 bits");
    return 0;
  }
  return static_cast<int64_t>(negative ? -magnitude : magnitude);
}

std::string ParserBase::ExpectString(const char* what) {
  if (Peek().kind == Token::kString) return Unquote(Take().raw);
  Fail(Peek(), std::string("expected ") + what + " in double quotes, found " + Shown(Peek()));
  return "";
}

bool ParserBase::AtStatementEnd() {
  const Token& t = Peek();
  return t.kind == Token::kEnd || t.newline_before || t.Is(";") || t.Is("}");
}

void ParserBase::ExpectStatementEnd() {
  if (AtStatementEnd()) return;
  Fail(Peek(), "expected a new line or ';' after the statement, found " + Shown(Peek()));
}

void ParserBase::ExpectEnd() {
  if (!AtEnd()) Fail(Peek(), "unexpected " + Shown(Peek()) + " after the end of the expression");
}

void ParserBase::Fail(const Token& at, std::string message, std::string hint) {
  if (hint.empty() && at.raw.substr(0, 2) == "//") hint = "comments begin with '#'";
  FailAt(at.line, at.column, std::move(message), std::move(hint));
}

void ParserBase::FailAt(int line, int column, std::string message, std::string hint) {
  if (!ok()) return;  // the first error explains the others
  error_.kind = ErrorKind::kInvalid;
  error_.code = "E0100";
  error_.message = std::move(message);
  error_.file = file_;
  error_.line = line;
  error_.column = column;
  error_.source_line = std::string(lexer_.Line(line));
  error_.hint = std::move(hint);
}

void ParserBase::FailAs(const Token& at, const Diagnostic& d) {
  if (!ok()) return;
  Fail(at, d.message, d.hint);
  error_.code = d.code;
}

ParserBase::Nesting::Nesting(ParserBase& p) : p_(p) {
  if (++p.depth_ > kMaxNesting) {
    p.Fail(p.Peek(), "nested more than " + std::to_string(kMaxNesting) + " levels deep");
  }
}

}  // namespace headrace::internal
