// IR text: tasklets, maps, calls and library nodes.
#include <algorithm>

#include "ir/base/spelling.h"
#include "ir/text/parser_program.h"

namespace headrace::internal {

std::vector<NodeId> ProgramParser::ParseStatements() {
  std::vector<NodeId> out;
  while (ok() && !AtEnd() && !At("}")) {
    if (Accept(";")) continue;
    const size_t indices = indices_.size();
    const Token first = Peek();
    if (AtKernelStatement() && AtWord("local")) {
      ParseLocal();
      continue;
    }
    NodeId n = ParseStatement();
    if (ok()) {
      out.push_back(n);
    } else if (Resume(first)) {
      indices_.resize(indices);
      open_ranges_.clear();
      in_statement_ = false;
    }
  }
  return out;
}

NodeId ProgramParser::ParseStatement() {
  const Token at = Peek();
  const NodeId n = ParseStatementHere();
  if (ok() && n.valid()) SetPlace(n, at);
  return n;
}

void ProgramParser::SetPlace(NodeId n, const Token& at) {
  if (s_.nodes[n].origin.line() > 0) return;
  SetPlace(&s_.nodes.Mutable(n).origin, at);
  std::vector<NodeId> inside;
  ForEachBody(s_.nodes[n].body,
              [&](const std::vector<NodeId>& body) { inside.insert(inside.end(), body.begin(), body.end()); });
  for (NodeId inner : inside) SetPlace(inner, at);
}

NodeId ProgramParser::ParseStatementHere() {
  Nesting nesting(*this);
  const Token first = Peek();
  const bool library = first.kind == Token::kName && Peek(1).Is(".") && !AtTarget();
  if (library) return ParseLibrary();
  if (AtTarget()) return ParseTasklet();
  if (AtKernelStatement()) return ParseKernelStatement();
  if (AtWord("map")) return ParseMap();
  if (AtWord("call") && Peek(1).kind == Token::kName) return ParseNestedCall();
  std::string hint;
  if (AtBlock()) {
    hint = indices_.empty() ? "end the state before control flow" : "inside a map write `condition ? a : b`, or a map";
  } else if (AtWord("local")) {
    hint = "locals are of kernels; here write transient";
  } else if (AtDeclaration()) {
    hint = "declare containers in the body of the sdfg, outside of states";
  } else if (first.kind == Token::kName) {
    hint = DidYouMean(first.raw, {"map", "call", "state", "for", "while", "do", "loop", "if", "break", "continue",
                                  "let", "transient", "constant", "persistent", "view", "sequence", "assume"});
  }
  Fail(first, "expected a statement, found " + Shown(first), hint);
  return {};
}

namespace {

// Extents of the dimensions where `index` stands bare; guarded accesses count only when there is no other.
void BareExtents(const Sdfg& s, Name container, const std::vector<Expr>& args, size_t rank, bool flat, bool guarded,
                 Name index, std::vector<Expr>* sure, std::vector<Expr>* maybe) {
  const Container& c = s.Get(container);
  for (size_t d = 0; d < rank; ++d)
    if (args[d].Is(ExprKind::kSymbol) && args[d]->name == index)
      (guarded ? maybe : sure)->push_back(flat ? NumElements(c) : c.shape[d]);
}

}  // namespace

// Outside of maps, names that nothing defines are indices: `C[i, j] += A[i, k] * B[k, j]` is a map over i, j and k. The
// target's come first, then the reduced ones; each runs over the dimensions where it stands bare.
NodeId ProgramParser::MapAround(Tasklet t, const std::vector<Name>& indices, const Token& at) {
  Map map;
  const std::vector<Name> left = [&] {
    std::vector<Name> names;
    for (const Expr& e : t.index)
      for (Name n : FreeSymbols(e)) names.push_back(n);
    return names;
  }();
  for (Name index : indices) {
    std::vector<Expr> sure, maybe;
    BareExtents(s_, t.target, t.index, t.index.size(), t.flat, t.guarded, index, &sure, &maybe);
    auto visit = [&](const Expr& e) {
      Visit(e, [&](const Expr& x) {
        if (x.Is(ExprKind::kRead))
          BareExtents(s_, x->name, x->args, x->args.size() - x->has_default, x->flat, x->has_default, index, &sure,
                      &maybe);
        return true;
      });
    };
    visit(t.value);
    for (const Expr& e : t.index) visit(e);
    const std::vector<Expr>& extents = sure.empty() ? maybe : sure;
    if (extents.empty()) continue;  // then it is no index but a mistake, and CheckSymbols says so
    for (const Expr& e : extents) {
      if (ProveEq(e, extents[0], s_.assumptions) == Truth::kYes) continue;
      Fail(at, "index '" + index.str() + "' runs over " + ToString(extents[0]) + " and over " + ToString(e),
           "write the map: map " + NameText(index) + " in 0:" + ToString(extents[0]) + " { … }");
      return {};
    }
    if (t.op == WriteOp::kAssign && std::find(left.begin(), left.end(), index) == left.end()) {
      Fail(at, "'=' with the index '" + index.str() + "' on the right only", "reduce it with +=, *=, max= or min=");
      return {};
    }
    map.ranges.push_back({index, IntExpr(0), extents[0], IntExpr(1)});
    auto gone = [&](const auto& use) { return use.first == index; };
    symbol_uses_.erase(std::remove_if(symbol_uses_.begin(), symbol_uses_.end(), gone), symbol_uses_.end());
    used_symbols_.erase(index);
  }
  Origin origin = ParseOrigin();
  ExpectStatementEnd();
  if (!ok()) return {};
  const NodeId tasklet = s_.AddNode(std::move(t), origin);
  if (map.ranges.empty()) return tasklet;
  map.body = {tasklet};
  return s_.AddNode(std::move(map));
}

// tasklet = target [ "??" ] op expr
NodeId ProgramParser::ParseTasklet() {
  const Token at = Peek();
  const size_t known = symbol_uses_.size();
  in_statement_ = true;
  Target target = ParseTarget();
  const Container* c = ok() ? ExpectContainer(target.at, target.name) : nullptr;
  if (!c) return {};
  const size_t rank = target.flat ? 1 : c->shape.size();
  if (target.index.size() != rank) {
    Fail(target.at, "'" + target.name.str() + "' has " + std::to_string(rank) + " dimensions, the target has " +
                        std::to_string(target.index.size()) + " indices");
    return {};
  }
  Tasklet t;
  t.target = target.name;
  for (const Expr& e : target.index) t.index.push_back(Resolve(e));
  t.flat = target.flat;
  t.guarded = target.guarded;
  t.op = target.op;
  t.value = ParseResolved();
  in_statement_ = false;
  if (!ok()) return {};
  std::vector<Name> indices;  // in text order, the target's first
  if (indices_.empty()) {
    for (size_t i = known; i < symbol_uses_.size(); ++i)
      if (!defined_symbols_.count(symbol_uses_[i].first)) indices.push_back(symbol_uses_[i].first);
  }
  return MapAround(std::move(t), indices, at);
}

// map = "map" [ NAME "in" begin ":" [ "+" ] end [ ":" step ] {"," …} ] schedule [ origin ] "{" statements "}"
// In a kernel the word may be "for": the iterations come in their order.
NodeId ProgramParser::ParseMap() {
  const bool ordered = Take().raw == "for";
  Map map;
  const size_t outer = indices_.size(), outer_ranges = open_ranges_.size();
  in_statement_ = true;
  if (Peek().kind == Token::kName && Peek(1).IsWord("in")) {
    do {
      Range r;
      Token at = Peek();
      r.index = ExpectName("a map's index");
      ExpectWord("in", "after the map's index");
      r.begin = ParseResolved();
      Expect(":", "between the bounds of the map");
      r.end = s_.kernel && Accept("+") ? ParseTileEnd(r, at) : ParseResolved();
      r.step = Accept(":") ? ParseResolved() : Expr(1);
      if (!ok()) return {};
      if (AsInt(r.step) == 0) Fail(at, "a map's step is not zero");
      if (IsIndex(r.index)) Fail(at, "'" + r.index.str() + "' is already the index of a map around this one");
      indices_.push_back(r.index);  // later ranges may use it; whether they do is the verifier's business
      open_ranges_.push_back(r);
      map.ranges.push_back(std::move(r));
    } while (Accept(","));
  }
  in_statement_ = false;
  map.schedule = ordered ? Schedule::kSequential : ParseSchedule();
  Origin origin = ParseOrigin();
  if (Expect("{", "to open the map")) map.body = ParseStatements();
  Expect("}", "to close the map");
  indices_.resize(outer);
  open_ranges_.resize(outer_ranges);
  if (!ok()) return {};
  return s_.AddNode(std::move(map), origin);
}

// schedule = [ "@" KIND ]
Schedule ProgramParser::ParseSchedule() {
  if (!Accept("@")) return Schedule::kDefault;
  const Token at = Peek();
  const Name word = ExpectName("a schedule after '@'");
  std::vector<std::string> words;
  for (Schedule s : AllSchedules()) {
    if (s == Schedule::kDefault) continue;
    if (ScheduleWord(s) == word.view()) return s;
    words.emplace_back(ScheduleWord(s));
  }
  Fail(at, "unknown schedule " + Shown(at), DidYouMean(at.raw, words));
  return Schedule::kDefault;
}

// call = "call" NAME "(" [ binding {"," binding} ] ")" [ origin ]
// binding = PARAMETER "=" container [ "[" indices, ":" … "]" ] | SYMBOL ":=" expr
NodeId ProgramParser::ParseNestedCall() {
  Take();
  Nested call;
  references_.push_back({Peek().kind == Token::kName ? NameOf(Peek()) : Name(), {Peek().line, Peek().column, true}});
  call.callee = ExpectName("the name of an sdfg");
  in_statement_ = true;
  Expect("(", "after the callee");
  {
    Newlines within(*this, false);
    while (ok() && !At(")")) {
      Name port = ExpectName("a parameter of the callee");
      if (Accept(":=")) {
        call.symbols.emplace_back(port, ParseResolved());
      } else {
        Expect("=", "or ':=' after the callee's parameter");
        Token at = Peek();
        Argument a;
        a.port = port;
        a.container = ExpectName("a container");
        const Container* c = ok() ? ExpectContainer(at, a.container) : nullptr;
        if (c && Accept("[")) {
          std::vector<Expr> index = ParseArguments("]");
          if (ok() && index.size() != c->shape.size()) {
            Fail(at, "'" + a.container.str() + "' has " + std::to_string(c->shape.size()) + " dimensions, " +
                         std::to_string(index.size()) + " given");
          }
          bool rest = false;
          for (const Expr& e : index) {
            if (!ok()) break;
            const bool all = e.Is(ExprKind::kColon) && e->args.empty();
            if (rest && !all) {
              Fail(at, "an argument is narrowed by its leading indices only, as in X[i, :]",
                   "use a view for other parts");
            }
            rest |= all;
            if (!all) a.index.push_back(Resolve(e));
          }
        }
        call.arguments.push_back(std::move(a));
      }
      if (!Accept(",")) break;
    }
    Expect(")", "after the arguments");
  }
  in_statement_ = false;
  Origin origin = ParseOrigin();
  ExpectStatementEnd();
  if (!ok()) return {};
  return s_.AddNode(std::move(call), origin);
}

// library = NAME {"." NAME} [ ":" INT ] [ "{" attributes "}" ] "(" ports ")" [ "->" "(" ports ")" ]
//           { "defines" "(" names ")" | "impl" STRING } [ origin ]
NodeId ProgramParser::ParseLibrary() {
  Library l;
  std::string domain;
  Name last = NameOf(Take());
  for (bool first = true; ok() && Accept("."); first = false) {
    domain += (first ? "" : ".") + last.str();
    last = ExpectName("an operator's name");
  }
  l.domain = Name(domain);
  l.op = last;
  if (Accept(":")) {
    Token at = Peek();
    int64_t version = ExpectInt("a version");
    if (version < 0 || version > 1 << 30) Fail(at, "a version is a small positive number");
    l.version = static_cast<int>(version);
  }
  if (Accept("{")) ParseAttributes(l.attributes);
  l.inputs = ParsePorts("before the inputs");
  if (Accept("->")) l.outputs = ParsePorts("before the outputs");
  while (ok()) {
    if (AtWord("defines") && Peek(1).Is("(")) {
      Take();
      Take();
      do {
        l.defines.push_back(ExpectName("a symbol"));
        defined_symbols_.insert(l.defines.back());
      } while (Accept(","));
      Expect(")", "after 'defines (…'");
    } else if (AtWord("impl") && Peek(1).kind == Token::kString) {
      Take();
      l.implementation = Name(ExpectString("a name"));
    } else {
      break;
    }
  }
  Origin origin = ParseOrigin();
  ExpectStatementEnd();
  if (!ok()) return {};
  return s_.AddNode(std::move(l), origin);
}

// ports = "(" [ PORT "=" CONTAINER {"," …} ] ")": a variadic port repeats its name, an absent one is left out
std::vector<Port> ProgramParser::ParsePorts(const char* where) {
  std::vector<Port> ports;
  if (!Expect("(", where)) return ports;
  Newlines within(*this, false);
  while (ok() && !At(")")) {
    Port p;
    p.name = ExpectName("a port's name");
    Expect("=", "between the port and its container");
    Token at = Peek();
    p.container = ExpectName("a container");
    if (ok() && ExpectContainer(at, p.container)) ports.push_back(p);
    if (!Accept(",")) break;
  }
  Expect(")", "after the ports");
  return ports;
}

// attributes = "{" [ NAME "=" value {"," …} ] "}", the brace was taken
void ProgramParser::ParseAttributes(Attributes& attributes) {
  Newlines within(*this, false);
  while (ok() && !At("}")) {
    Token at = Peek();
    Name name = ExpectName("an attribute's name");
    Expect("=", "after the attribute's name");
    if (ok() && FindAttribute(attributes, name)) Fail(at, "a second attribute '" + name.str() + "'");
    attributes.emplace_back(name, ParseAttribute());
    if (!Accept(",")) break;
  }
  Expect("}", "after the attributes");
  std::sort(attributes.begin(), attributes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

}  // namespace headrace::internal
