// Pure forms: statements over the expression grammar (docs/notation.md, "Pure forms").
#include "ir/text/parser.h"
#include "ir/text/parser_internal.h"

namespace headrace {
namespace internal {
namespace {

class FormParser : public ParserBase {
 public:
  using ParserBase::ParserBase;

  // form = { stmt ( NEWLINE | ";" ) }, up to "}" or the end
  std::vector<FormStmt> Statements() {
    std::vector<FormStmt> out;
    while (ok() && !AtEnd() && !At("}")) {
      if (Accept(";")) continue;
      out.push_back(Statement());
    }
    return out;
  }

 private:
  FormStmt Statement() {
    Nesting nesting(*this);
    FormStmt s;
    s.line = Peek().line;
    s.column = Peek().column;
    const bool named = Peek(1).kind == Token::kName;
    if (AtWord("let") && named) Let(s);
    else if (AtWord("each") && named && Peek(2).IsWord("in")) Each(s);
    else if (AtWord("for") && named && Peek(2).IsWord("in")) For(s);
    else if (AtWord("shape") && named) Shape(s);
    else if (AtWord("if") && !AtTarget()) If(s);
    else if (AtWord("require") && !AtTarget()) Require(s);
    else Assignment(s);
    return s;
  }

  std::vector<FormStmt> Block(const char* where) {
    Newlines within(*this, true);
    if (!Expect("{", where)) return {};
    std::vector<FormStmt> body = Statements();
    Expect("}", "to close the block");
    return body;
  }

  // "let" NAME [ "(" NAME {"," NAME} ")" ] "=" expr
  void Let(FormStmt& s) {
    s.kind = FormStmt::kLet;
    Take();
    s.name = ExpectName("a name after 'let'");
    if (Accept("(")) {
      do s.parameters.push_back(ExpectName("a parameter's name"));
      while (Accept(","));
      Expect(")", "after the parameters");
      if (s.name == "rank" && s.parameters.size() == 1) {
        s.kind = FormStmt::kLetRank;
        s.name = s.parameters[0];
        s.parameters.clear();
      }
    }
    Expect("=", "in 'let'");
    s.value = ParseExpression();
    ExpectStatementEnd();
  }

  // "each" NAME "in" ( PORTS | expr ":" expr ) block
  void Each(FormStmt& s) {
    s.kind = FormStmt::kEach;
    Take();
    s.name = NameOf(Take());
    Take();
    s.value = ParseExpression();
    if (Accept(":")) {
      s.begin = s.value;
      s.end = ParseExpression();
    }
    s.body = Block("to open the body of 'each'");
  }

  // "for" NAME "in" expr ":" expr block
  void For(FormStmt& s) {
    s.kind = FormStmt::kFor;
    Take();
    s.name = NameOf(Take());
    Take();
    s.begin = ParseExpression();
    Expect(":", "between the bounds of 'for'");
    s.end = ParseExpression();
    s.body = Block("to open the body of 'for'");
  }

  // "shape" NAME "[" expr {"," expr} "]"
  void Shape(FormStmt& s) {
    s.kind = FormStmt::kShape;
    Take();
    s.name = NameOf(Take());
    s.has_index = true;
    if (Expect("[", "after the port in 'shape'")) s.index = ParseList("]");
    ExpectStatementEnd();
  }

  // "if" expr block [ "else" ( block | if ) ]
  void If(FormStmt& s) {
    s.kind = FormStmt::kIf;
    Take();
    s.value = ParseExpression();
    s.body = Block("to open the body of 'if'");
    if (!AcceptWord("else")) return;
    if (AtWord("if")) s.otherwise.push_back(Statement());
    else s.otherwise = Block("or 'if' after 'else'");
  }

  // "require" expr "else" STRING { "," expr }
  void Require(FormStmt& s) {
    s.kind = FormStmt::kRequire;
    Take();
    s.value = ParseExpression();
    ExpectWord("else", "after the condition of 'require'");
    s.message = ExpectString("what to say where the condition is false");
    while (Accept(",")) s.index.push_back(ParseExpression());
    ExpectStatementEnd();
  }

  // target [ "??" ] op expr [ "over" range {"," range} ]
  void Assignment(FormStmt& s) {
    static const std::vector<std::string> kWords = {"let", "if", "each", "for", "shape", "require"};
    if (Peek().kind == Token::kName && !AtTarget()) {
      Fail(Peek(), "expected a statement, found " + Shown(Peek()), DidYouMean(Peek().raw, kWords));
      return;
    }
    Target t = ParseTarget();
    s.name = t.name;
    s.index = std::move(t.index);
    s.has_index = t.has_index;
    s.flat = t.flat;
    s.guarded = t.guarded;
    s.op = t.op;
    s.value = ParseExpression();
    if (AcceptWord("over")) {
      do s.over.push_back(OverRange());
      while (Accept(","));
    }
    ExpectStatementEnd();
  }

  // range = NAME [".."] "in" expr ":" expr | NAME [ "[" args "]" ]
  FormRange OverRange() {
    FormRange r;
    if (Peek().kind == Token::kName && (Peek(1).IsWord("in") || Peek(1).Is(".."))) {
      r.index = NameOf(Take());
      r.group = Accept("..");
      ExpectWord("in", "after the index");
      r.begin = ParseExpression();
      Expect(":", "between the bounds of the range");
      r.end = ParseExpression();
    } else {
      Token at = Peek();
      r.access = ParsePostfix();
      if (ok() && !r.access.Is(ExprKind::kSymbol) && !r.access.Is(ExprKind::kRead)) {
        Fail(at, "expected 'index in begin:end' or a tensor after 'over'");
      }
    }
    return r;
  }
};

}  // namespace
}  // namespace internal

Result<Form> ParseForm(std::string_view text, const std::string& what) {
  internal::FormParser parser(text, what);
  Form form;
  form.text = std::string(text);
  form.statements = parser.Statements();
  parser.ExpectEnd();
  if (!parser.ok()) return parser.status();
  return form;
}

}  // namespace headrace
