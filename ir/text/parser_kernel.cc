// IR text: kernels (docs/schedules.md). `for`, `if`, `check`, `prefetch` and `local` stand among statements there.
#include <algorithm>

#include "ir/text/parser_program.h"

namespace headrace::internal {

// kernel = "kernel" NAME "(" parameters ")" [ "for" NAME ] [ "@" "flush" ] "{" { "let" … | declaration } { statement } "}"
void ProgramParser::ParseKernelHead() {
  if (!AcceptWord("for")) return;
  s_.device = ExpectName("the name of a device description after 'for'");
}

bool ProgramParser::AtKernelStatement() {
  if (!s_.kernel || Peek().kind != Token::kName || Peek().quoted || AtTarget() || Peek(1).Is(".")) return false;
  if (AtWord("for") || AtWord("local") || AtWord("check") || AtWord("prefetch")) return Peek(1).kind == Token::kName;
  return AtWord("if");
}

NodeId ProgramParser::ParseKernelStatement() {
  if (AtWord("for")) return ParseMap();
  if (AtWord("if")) return ParseChoice();
  return ParseTouch();
}

// if = "if" condition "{" statements "}" [ "else" ( if | "{" statements "}" ) ]
NodeId ProgramParser::ParseChoice() {
  Nesting nesting(*this);
  Take();
  If choice;
  in_statement_ = true;
  choice.condition = ParseResolved();
  in_statement_ = false;
  const Origin origin = ParseOrigin();
  choice.body = ParseStatementBody();
  if (ok() && AcceptWord("else")) {
    if (AtWord("if")) choice.otherwise.push_back(ParseChoice());
    else choice.otherwise = ParseStatementBody();
  }
  if (!ok()) return {};
  return s_.AddNode(std::move(choice), origin);
}

std::vector<NodeId> ProgramParser::ParseStatementBody() {
  if (!Expect("{", "to open the body")) return {};
  std::vector<NodeId> body = ParseStatements();
  Expect("}", "to close the body");
  return body;
}

// touch = ( "check" | "prefetch" ) NAME ( "[" args "]" | ".flat" "[" expr "]" )
NodeId ProgramParser::ParseTouch() {
  const bool checks = AtWord("check");
  Take();
  const Token at = Peek();
  in_statement_ = true;
  const Expr access = ParseResolved();
  in_statement_ = false;
  const Origin origin = ParseOrigin();
  ExpectStatementEnd();
  if (!ok()) return {};
  if (!access.Is(ExprKind::kRead) || access->has_default) {
    Fail(at, checks ? "'check' is followed by the access that it speaks of, as in check X[I[b], j]"
                    : "'prefetch' is followed by the element that it speaks of, as in prefetch X[i, j]");
    return {};
  }
  return s_.AddNode(Touch{access->name, access->args, access->flat, checks ? TouchKind::kCheck : TouchKind::kPrefetch}, origin);
}

// local = "local" NAME ":" type [ "@" STORAGE ]: a register unless it says otherwise
void ProgramParser::ParseLocal() {
  Take();
  const Token at = Peek();
  Container c;
  c.kind = ContainerKind::kTransient;
  c.storage = Storage::kRegister;
  c.name = ExpectName("a name after 'local'");
  Expect(":", "between the name and its type");
  if (!ok()) return;
  ParseType(c);
  ParseLayout(c);
  c.origin = ParseOrigin();
  ExpectStatementEnd();
  if (!ok()) return;
  if (c.kind == ContainerKind::kSequence || c.storage == Storage::kArena) {
    Fail(at, "'local' declares what one iteration owns: a register, shared memory or a worker's buffer");
    return;
  }
  if (const Container* known = s_.Find(c.name); known && known->kind == c.kind && known->storage == c.storage) {
    Fail(at, "there is already a local '" + c.name.str() + "' in this kernel", "names are of the whole kernel");
    return;
  }
  AddContainer(std::move(c), at);
}

// "assume" NAME "in" expr ":" expr [ ":" expr ], the word was taken
void ProgramParser::ParseGiven() {
  const Token at = Peek();
  Range r;
  r.index = NameOf(Take());
  Take();
  r.begin = ParseSize();
  Expect(":", "between the bounds");
  r.end = ParseSize();
  r.step = Accept(":") ? ParseSize() : Expr(1);
  ExpectStatementEnd();
  if (!ok()) return;
  const auto& symbols = s_.symbol_params;
  if (std::find(symbols.begin(), symbols.end(), r.index) == symbols.end()) {
    Fail(at, "'" + r.index.str() + "' is not a symbol that the kernel is given", "declare it: " + r.index.str() + ": symbol");
    return;
  }
  s_.given.push_back(std::move(r));
}

// The end of `begin:+length`: at most that of the range whose index it begins at.
Expr ProgramParser::ParseTileEnd(const Range& r, const Token& at) {
  const Expr length = ParseResolved();
  if (!ok()) return {};
  const Range* around = nullptr;
  for (const Range& o : open_ranges_)
    if (r.begin.Is(ExprKind::kSymbol) && o.index == r.begin->name) around = &o;
  if (!around) {
    Fail(at, "a part, begin:+length, begins at the index of a range around it",
         "write its bounds: " + r.index.str() + " in a:b");
    return {};
  }
  return Min(r.begin + length, around->end);
}

}  // namespace headrace::internal
