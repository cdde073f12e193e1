// Shared by the parser's files: token stream, errors and the expression grammar. Not for other rooms.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ir/base/status.h"
#include "ir/expr/expr.h"
#include "ir/text/form.h"
#include "ir/text/lexer.h"

namespace headrace::internal {

constexpr int kMaxNesting = 256;  // brackets and blocks: the recursion of the parser
constexpr size_t kMaxErrors = 20;  // of one text
constexpr int kMaxHeight = 1000;  // levels of one expression tree: the recursion of everyone who walks it

// The closest of `candidates` to a misspelt word as "did you mean 'x'?", or "".
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

// Recursive descent. An error sticks and turns every later token into the end of the text, so that every loop stops by
// itself; results are only valid while ok(). Where statements begin the parser may go on after it (Resume), to say more
// than one thing at a time: then status() has them all, and there is no result.
class ParserBase {
 public:
  ParserBase(std::string_view text, std::string file) : lexer_(text), file_(std::move(file)) {}
  bool ok() const { return error_.message.empty(); }
  bool resumed() const { return !past_.empty(); }
  Status status() const;

  // expr = or [ "?" expr ":" expr ]
  Expr ParseExpression();
  void ExpectEnd();

 protected:
  // ---- tokens ----
  const Token& Peek(int ahead = 0);
  Token Take();
  bool At(std::string_view punct) { return Peek().Is(punct); }
  bool AtWord(std::string_view word) { return Peek().IsWord(word); }
  bool Accept(std::string_view punct);
  bool AcceptWord(std::string_view word);
  bool Expect(std::string_view punct, const char* where);
  bool ExpectWord(std::string_view word, const char* where);
  Name ExpectName(const char* what);
  int64_t ExpectInt(const char* what);  // with an optional minus
  std::string ExpectString(const char* what);
  bool AtEnd() { return Peek().kind == Token::kEnd; }
  // Is this the end of a statement: newline, ";", "}" or the end of the text?
  bool AtStatementEnd();
  void ExpectStatementEnd();
  std::string Shown(const Token& t) const;  // for messages: "'x'", "the end of the text"

  // ---- errors ----
  // After an error: keeps it and goes on behind the end of the statement that began with `first`. False when that makes
  // no sense.
  bool Resume(const Token& first);
  // A declaration of this name failed: what misses it is no error of its own.
  void Forgive(const Token& name) {
    if (name.kind == Token::kName) forgiven_.push_back("'" + std::string(name.raw) + "'");
  }
  void Fail(const Token& at, std::string message, std::string hint = "");
  void FailAt(int line, int column, std::string message, std::string hint = "");
  void FailAs(const Token& at, const Diagnostic& d);  // with the code of what was found out elsewhere

  // ---- expressions (parser_expr.cc) ----
  Expr ParseUnary();
  Expr ParsePostfix();
  Expr ParseArgument();
  std::vector<Expr> ParseArguments(std::string_view close);  // up to and with `close`
  std::vector<Expr> ParseList(std::string_view close);       // plain expressions

  // target = NAME [ ".flat" ] [ "[" args "]" ] [ "??" ] op
  struct Target {
    Token at;
    Name name;
    bool flat = false, has_index = false, guarded = false;
    std::vector<Expr> index;
    WriteOp op = WriteOp::kAssign;
  };
  Target ParseTarget();
  // Does the statement start with a target, whatever its first word is? (`map[i] = 1` writes a container named map)
  bool AtTarget();
  bool AtWriteOp(int ahead);

  // Nesting guard: `Nesting nesting(*this);` at the start of every recursive rule.
  class Nesting {
   public:
    explicit Nesting(ParserBase& p);
    ~Nesting() { --p_.depth_; }

   private:
    ParserBase& p_;
  };
  // Inside brackets newlines mean nothing; inside braces they separate statements.
  class Newlines {
   public:
    Newlines(ParserBase& p, bool matter) : p_(p), saved_(p.newlines_matter_) { p.newlines_matter_ = matter; }
    ~Newlines() { p_.newlines_matter_ = saved_; }

   private:
    ParserBase& p_;
    bool saved_;
  };

  Lexer lexer_;
  std::string file_;

 private:
  Expr ParseBinary(int lowest);
  Expr ParsePrimary();
  Expr ParseNumber(bool negative);
  Expr ParseCall(const Token& name);
  Expr Make(ExprNode node, const Token& at);  // gives it its place and checks the height
  bool Continues() { return !(newlines_matter_ && Peek().newline_before); }

  std::vector<Token> ahead_;
  size_t next_ = 0;
  Diagnostic error_;
  std::vector<Diagnostic> past_;  // errors before it
  std::vector<std::string> forgiven_;
  int depth_ = 0;
  int height_ = 0;  // of the expression parsed last
  bool newlines_matter_ = true;
};

}  // namespace headrace::internal
