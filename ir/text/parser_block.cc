// IR text: control flow.
#include "ir/text/parser_program.h"

namespace headrace::internal {

namespace {
bool IsFlowWord(const Token& t) {
  for (const char* w : {"state", "for", "while", "do", "loop", "if", "break", "continue", "let", "require"}) {
    if (t.IsWord(w)) return true;
  }
  return false;
}
}  // namespace

bool ProgramParser::AtBlock() {
  if (!IsFlowWord(Peek()) || AtKernelStatement()) return false;
  if (AtWord("let")) return Peek(1).kind == Token::kName;
  if (AtWord("require")) return !AtTarget() && !Peek(1).Is(".") && !Peek(1).Is(":");
  return !AtTarget() && !Peek(1).Is(".");  // `loop.op(…)` is a library node
}

// Statements outside of any state go into one of their own.
std::vector<BlockId> ProgramParser::ParseBlocks(bool top) {
  std::vector<BlockId> out;
  BlockId implicit;
  while (ok() && !AtEnd() && !At("}")) {
    if (Accept(";")) continue;
    const size_t indices = indices_.size();
    const Token first = Peek(), second = Peek(1);
    if (AtKernelStatement() && AtWord("local")) {
      ParseLocal();
    } else if (AtDeclaration()) {
      if (!top) Fail(Peek(), "containers are declared in the body of the sdfg, not inside " + Shown(Peek()));
      ParseDeclaration();
    } else if (AtBlock()) {
      if (s_.kernel && !AtWord("let"))
        Fail(Peek(), "a kernel is a list of statements", "in a kernel stand let, for, if, map, check, prefetch and tasklets");
      implicit = {};
      ParseBlock(out);
    } else {
      if (!implicit.valid()) {
        implicit = s_.AddBlock(State{});
        out.push_back(implicit);
      }
      NodeId n = ParseStatement();
      if (ok()) std::get<State>(s_.blocks.Mutable(implicit).control).statements.push_back(n);
    }
    if (ok() || !Resume(first)) continue;
    if (IsDeclarationWord(first) || first.IsWord("let")) Forgive(second);
    indices_.resize(indices);
    in_statement_ = false;
  }
  return out;
}

std::vector<BlockId> ProgramParser::ParseBlockBody() {
  if (!Expect("{", "to open the body")) return {};
  std::vector<BlockId> body = ParseBlocks(/*top=*/false);
  Expect("}", "to close the body");
  return body;
}

void ProgramParser::ParseBlock(std::vector<BlockId>& out) {
  const Token at = Peek();
  const size_t before = out.size();
  ParseBlockHere(out);
  if (ok() && out.size() > before) SetPlace(&s_.blocks.Mutable(out.back()).origin, at);
}

void ProgramParser::ParseBlockHere(std::vector<BlockId>& out) {
  Nesting nesting(*this);
  if (AtWord("state")) return ParseState(out);
  if (AtWord("for")) return ParseFor(out, /*do_while=*/false);
  if (AtWord("while") || AtWord("loop")) return ParseWhile(out);
  if (AtWord("do")) return ParseDo(out);
  if (AtWord("if")) return ParseIf(out);
  Token word = Take();
  Control control = Break{};
  if (word.raw == "continue") control = Continue{};
  if (word.raw == "let") {
    Assign a;
    a.symbol = ExpectName("a name after 'let'");
    Expect("=", "in 'let'");
    a.value = ParseResolved();
    if (AtWord("else")) {
      Take();
      a.message = ExpectString("what to say when the value can't be read");
    }
    defined_symbols_.insert(a.symbol);
    control = std::move(a);
  }
  if (word.raw == "require") {  // "require" expr "else" STRING { "," expr }
    Require r;
    r.condition = ParseResolved();
    ExpectWord("else", "after the condition of 'require'");
    r.message = ExpectString("what to say where the condition is false");
    while (Accept(",")) r.values.push_back(ParseResolved());
    control = std::move(r);
  }
  Origin origin = ParseOrigin();
  ExpectStatementEnd();
  out.push_back(s_.AddBlock(std::move(control), origin));
}

// state = "state" [ NAME ] [ origin ] "{" statements "}"
void ProgramParser::ParseState(std::vector<BlockId>& out) {
  Take();
  State state;
  if (Peek().kind == Token::kName && !AtOrigin()) state.label = NameOf(Take());
  Origin origin = ParseOrigin();
  if (!Expect("{", "to open the state")) return;
  state.statements = ParseStatements();
  Expect("}", "to close the state");
  out.push_back(s_.AddBlock(std::move(state), origin));
}

// for = "for" NAME "in" begin ":" end [ ":" step ] body | "for" NAME "=" init ";" [ condition ] ";" NAME "=" update body
void ProgramParser::ParseFor(std::vector<BlockId>& out, bool do_while) {
  Take();
  const Token variable = Peek();
  Loop loop;
  loop.var = ExpectName("the loop's variable");
  defined_symbols_.insert(loop.var);
  if (!do_while && AcceptWord("in")) {
    Expr begin = ParseResolved();
    Expect(":", "between the bounds of the loop");
    Expr end = ParseResolved();
    Expr step = Accept(":") ? ParseResolved() : Expr(1);
    if (!ok()) return;
    if (AsInt(step) == 0) Fail(variable, "a loop's step is not zero");
    loop = RangeLoop(loop.var, begin, end, step);
  } else {
    Expect("=", "or 'in' after the loop's variable");
    loop.init = ParseResolved();
    Expect(";", "after the first value");
    if (!At(";")) loop.condition = ParseResolved();
    Expect(";", "after the condition");
    Token at = Peek();
    if (ok() && ExpectName("the loop's variable") != loop.var) {
      Fail(at, "a loop updates its own variable: expected '" + loop.var.str() + " = …', found " + Shown(at));
    }
    Expect("=", "after the loop's variable");
    loop.update = ParseResolved();
  }
  loop.do_while = do_while;
  Origin origin = ParseOrigin();
  loop.body = ParseBlockBody();
  if (ok()) out.push_back(s_.AddBlock(std::move(loop), origin));
}

// while = "while" condition body; "loop" body runs until a break
void ProgramParser::ParseWhile(std::vector<BlockId>& out) {
  Loop loop;
  if (Take().raw == "while") loop.condition = ParseResolved();
  Origin origin = ParseOrigin();
  loop.body = ParseBlockBody();
  if (ok()) out.push_back(s_.AddBlock(std::move(loop), origin));
}

// do = "do" body "while" condition | "do" for: the condition is tested after each round
void ProgramParser::ParseDo(std::vector<BlockId>& out) {
  Take();
  if (AtWord("for")) return ParseFor(out, /*do_while=*/true);
  Loop loop;
  loop.do_while = true;
  Origin origin = ParseOrigin();
  loop.body = ParseBlockBody();
  ExpectWord("while", "after the body of 'do'");
  loop.condition = ParseResolved();
  ExpectStatementEnd();
  if (ok()) out.push_back(s_.AddBlock(std::move(loop), origin));
}

// if = "if" condition body { "else" "if" condition body } [ "else" body ]
void ProgramParser::ParseIf(std::vector<BlockId>& out) {
  Conditional c;
  Origin origin;
  Take();
  Branch first;
  first.condition = ParseResolved();
  origin = ParseOrigin();
  first.body = ParseBlockBody();
  c.branches.push_back(std::move(first));
  while (ok() && AcceptWord("else")) {
    Branch b;
    const bool last = !AcceptWord("if");
    if (!last) b.condition = ParseResolved();
    b.body = ParseBlockBody();
    c.branches.push_back(std::move(b));
    if (last) break;
  }
  if (ok()) out.push_back(s_.AddBlock(std::move(c), origin));
}

}  // namespace headrace::internal
