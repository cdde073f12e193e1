// IR text: programs, SDFGs, parameters and containers.
#include <algorithm>

#include "ir/text/parser.h"
#include "ir/text/parser_program.h"

namespace headrace {
namespace internal {
namespace {

const std::vector<std::string>& DeclarationWords() {
  static const std::vector<std::string> kWords = {"transient", "constant", "persistent", "view", "sequence", "assume"};
  return kWords;
}

}  // namespace

// program = { [ "entry" ] sdfg }
Program ProgramParser::Parse() {
  while (ok() && !AtEnd()) {
    if (AtWord("entry") && Peek(1).IsWord("sdfg")) {
      Token at = Take();
      if (!program_.entry.empty()) Fail(at, "a second 'entry sdfg'");
      program_.entry = Peek(1).kind == Token::kName ? NameOf(Peek(1)) : Name();
    }
    const bool at_one = AtWord("sdfg") || AtWord("kernel");
    if (!at_one && resumed()) break;  // brackets that an error left open or closed
    if (!at_one) {
      Fail(Peek(), "expected 'sdfg', found " + Shown(Peek()), DidYouMean(Peek().raw, {"sdfg", "kernel", "entry"}));
      break;
    }
    ParseSdfg();
  }
  if (ok() && program_.sdfgs.empty()) Fail(Peek(), "there is no sdfg in this text", "write sdfg name(X: f32[N]) { … }");
  if (ok() && program_.entry.empty()) program_.entry = program_.sdfgs[0]->name;
  if (ok() && !resumed()) CheckReferences();
  return std::move(program_);
}

// sdfg = ( "sdfg" | "kernel" ) NAME "(" parameters ")" [ "@" "flush" ] "{" { declaration | block | statement } "}"
void ProgramParser::ParseSdfg() {
  const Token word = Take();
  Token at = Peek();
  s_ = Sdfg();
  indices_.clear();
  open_ranges_.clear();
  symbol_uses_.clear();
  used_symbols_.clear();
  view_bases_.clear();
  defined_symbols_.clear();
  s_.name = ExpectName(word.raw == "kernel" ? "a name after 'kernel'" : "a name after 'sdfg'");
  if (ok() && program_.Find(s_.name)) Fail(at, "there is already an sdfg '" + s_.name.str() + "'");
  s_.kernel = word.raw == "kernel";
  ParseParameters();
  if (s_.kernel) ParseKernelHead();
  if (Accept("@")) {
    const Token flag = Peek();
    if (!AcceptWord("flush")) Fail(flag, "expected flush after '@', found " + Shown(flag), "an sdfg has one mark: @flush");
    s_.flush = true;
  }
  if (!Expect("{", "to open the body of the sdfg")) return;
  s_.body = ParseBlocks(/*top=*/true);
  if (resumed() && !At("}")) return;
  Expect("}", "to close the sdfg");
  if (!resumed()) {  // else what is missing may be in what could not be read
    for (const Token& base : view_bases_) ExpectContainer(base, NameOf(base));
    CheckSymbols();
  }
  if (!ok()) return;
  Name entry = program_.entry;
  Renumber(&s_);  // a map's body was read before the map itself
  program_.Add(std::move(s_));
  program_.entry = entry;
}

// parameter = { "inout" | "out" | "optional" } NAME ":" ( "symbol" | type [ layout ] ) [ origin ]
void ProgramParser::ParseParameters() {
  Newlines within(*this, false);
  if (!Expect("(", "before the parameters")) return;
  if (Accept(")")) return;
  do {
    Container c;
    c.kind = ContainerKind::kParameter;
    while (Peek(1).kind == Token::kName) {  // a qualifier: the name itself is followed by ":"
      if (AcceptWord("inout")) c.inout = true;
      else if (AcceptWord("out")) c.output = true;
      else if (AcceptWord("optional")) c.optional = true;
      else break;
    }
    Token at = Peek();
    c.name = ExpectName("a parameter's name");
    Expect(":", "between the parameter and its type");
    if (AcceptWord("symbol")) {
      const auto& symbols = s_.symbol_params;
      const bool named = std::find(symbols.begin(), symbols.end(), c.name) != symbols.end();
      const bool bound = !defined_symbols_.insert(c.name).second;  // by a shape: kernels get all of them by name
      if (named || s_.Find(c.name) || (bound && !s_.kernel)) Fail(at, "a second parameter '" + c.name.str() + "'");
      s_.symbol_params.push_back(c.name);
      continue;
    }
    ParseType(c);
    ParseLayout(c);
    c.origin = ParseOrigin();
    if (!ok()) return;
    for (const Expr& d : c.shape) {
      if (d.Is(ExprKind::kSymbol)) defined_symbols_.insert(d->name);
    }
    s_.parameters.push_back(c.name);
    AddContainer(std::move(c), at);
  } while (Accept(","));
  Expect(")", "after the parameters");
}

void ProgramParser::AddContainer(Container c, const Token& at) {
  if (!ok()) return;
  if (s_.Find(c.name)) {
    Fail(at, "there is already a container '" + c.name.str() + "' in this sdfg");
    return;
  }
  if (defined_symbols_.count(c.name)) {
    Fail(at, "a size and a container are both named '" + c.name.str() + "'", "rename one of them");
    return;
  }
  SetPlace(&c.origin, at);
  s_.Add(std::move(c));
}

void ProgramParser::SetPlace(Origin* o, const Token& at) {
  if (o->line() == 0) *o = o->At(file_name_, at.line, at.column);
}

// type = DTYPE [ "[" sizes "]" ] | "seq" "(" … ")" | "opt" "(" … ")"
void ProgramParser::ParseType(Container& c) {
  if ((AtWord("seq") || AtWord("opt")) && Peek(1).Is("(")) {
    c.kind = ContainerKind::kSequence;
    c.type = ParseValueType();
    return;
  }
  Token at = Peek();
  Name type = ExpectName("an element type");
  if (!ok()) return;
  std::optional<DType> dtype = ParseDType(type.view());
  if (!dtype || IsUntyped(*dtype) || *dtype == DType::kNone) {
    Fail(
        at, "unknown element type " + Shown(at),
        DidYouMean(at.raw, {"bool", "u2",  "i2",   "u4",  "i4",  "u8",  "i8",   "u16",    "i16",    "u32", "i32", "u64",
                            "i64",  "f16", "bf16", "f32", "f64", "c64", "c128", "string", "symbol", "seq", "opt"}));
    return;
  }
  c.dtype = *dtype;
  if (!Accept("[")) return;
  Newlines within(*this, false);
  if (Accept("]")) return;
  do c.shape.push_back(ParseSize());
  while (Accept(","));
  Expect("]", "after the sizes");
}

ValueType ProgramParser::ParseValueType() {
  Nesting nesting(*this);
  ValueType t;
  if ((AtWord("seq") || AtWord("opt")) && Peek(1).Is("(")) {
    t.kind = Take().raw == "seq" ? ValueType::kSequence : ValueType::kOptional;
    Take();
    t.element = std::make_shared<ValueType>(ParseValueType());
    t.dtype = t.element->dtype;
    Expect(")", "after the type");
    return t;
  }
  Container c;
  ParseType(c);
  if (!c.shape.empty()) Fail(Peek(), "a sequence's type has no sizes");
  t.dtype = c.dtype;
  return t;
}

// layout = { "strides" "[" sizes "]" | "layout" "[" dN { "," dN } "]" | "@" STORAGE | "@" "arena" "(" INT [ "," size ] ")" }
void ProgramParser::ParseLayout(Container& c) {
  while (ok()) {
    if (AtWord("strides") && Peek(1).Is("[")) {
      Token at = Take();
      Take();
      Newlines within(*this, false);
      if (!At("]")) {
        do c.strides.push_back(ParseSize());
        while (Accept(","));
      }
      Expect("]", "after the strides");
      if (ok() && c.strides.size() != c.shape.size()) {
        Fail(at, "'" + c.name.str() + "' has " + std::to_string(c.shape.size()) + " dimensions and " +
                     std::to_string(c.strides.size()) + " strides");
      }
    } else if (AtWord("layout") && Peek(1).Is("[")) {
      ParseOrder(c);
    } else if (At("@") && Peek(1).IsWord("arena") && Peek(2).Is("(")) {
      ParsePlace(c);
    } else if (Accept("@")) {
      const Token at = Peek();
      const Name n = ExpectName("a storage after '@'");
      const auto& all = AllStorages();
      const auto it = std::find_if(all.begin(), all.end(), [&](Storage s) { return StorageWord(s) == n.view(); });
      if (it != all.end()) {
        c.storage = *it;
      } else {
        std::vector<std::string> words;
        for (Storage s : all) words.emplace_back(StorageWord(s));
        Fail(at, "unknown storage " + Shown(at), DidYouMean(at.raw, words));
      }
    } else {
      return;
    }
  }
}

// The verifier asks whether each dimension is there once.
void ProgramParser::ParseOrder(Container& c) {
  Take(), Take();
  Newlines within(*this, false);
  std::vector<int> dims;
  do {
    const Token at = Peek();
    const std::string name = ExpectName("a dimension, as in layout [d0, d2, d1]").str();
    const std::string digits = name.substr(name.empty() ? 0 : 1);
    const bool number = !digits.empty() && digits.size() < 4 && digits.find_first_not_of("0123456789") == std::string::npos;
    if (ok() && (name[0] != 'd' || !number)) Fail(at, "'" + name + "' is no dimension", "the first one is d0, the next d1");
    if (ok()) dims.push_back(std::stoi(digits));
  } while (ok() && Accept(","));
  Expect("]", "after the dimensions");
  c.order = MemoryOrder(std::move(dims));
}

void ProgramParser::ParsePlace(Container& c) {
  Take(), Take(), Take();
  Newlines within(*this, false);
  const Token at = Peek();
  const int64_t slot = ExpectInt("the number of a slot of the arena");
  if (ok() && (slot < 0 || slot > INT32_MAX)) Fail(at, "slots of the arena are numbered from 0");
  c.place.slot = static_cast<int>(slot);
  if (Accept(",")) c.place.offset = ParseSize();
  Expect(")", "after the place");
}

// arena = "arena" "{" "slot" INT ":" size { ";" "slot" … } "}"
void ProgramParser::ParseArena() {
  Take();
  while (ok() && !At("}")) {
    if (Accept(";")) continue;
    ExpectWord("slot", "before its number, as in slot 0: 4096");
    const Token at = Peek();
    const int64_t number = ExpectInt("the number of a slot");
    if (ok() && number != static_cast<int64_t>(s_.arena.size()))
      Fail(at, "slots are numbered from 0: this is slot " + std::to_string(s_.arena.size()));
    Expect(":", "between a slot's number and its bytes");
    s_.arena.push_back(ParseSize());
    ExpectStatementEnd();
  }
  Expect("}", "to close the arena");
  ExpectStatementEnd();
}

bool ProgramParser::AtOrigin() {
  if (AtWord("by")) return Peek(1).kind == Token::kString;
  return AtWord("from") && (Peek(1).kind == Token::kString || Peek(1).Is("(") || Peek(1).raw == "grad");
}

Origin ProgramParser::ParseOrigin() {
  if (!AtOrigin()) return {};
  if (AtWord("from")) Take();
  return ParseSources(0);
}

// sources = source { "," source } [ "by" STRING ];  source = { "grad" } ( STRING | "(" sources ")" )
Origin ProgramParser::ParseSources(int depth) {
  constexpr int kMaxDepth = 100;
  std::vector<Origin> of;
  while (ok() && !AtWord("by")) {
    int gradients = 0;
    for (; AtWord("grad"); ++gradients) Take();
    Origin one;
    if (Peek().kind == Token::kString) {
      one = Origin(Unquote(Take().raw));
    } else if (Peek().Is("(") && depth < kMaxDepth) {
      Take();
      one = ParseSources(depth + 1);
      if (!Expect(")", "after an origin")) return {};
    } else {
      Fail(Peek(), "an origin is expected: a name in quotes, or those a pass made it from in brackets");
    }
    for (; gradients > 0; --gradients) one = one.Gradient({});
    of.push_back(one);
    const bool more = Peek().Is(",") && (Peek(1).kind == Token::kString || Peek(1).Is("(") ||
                                         (Peek(1).raw == "grad" && !Peek(1).quoted && !Peek(2).Is(":")));
    if (!more) break;
    Take();
  }
  Name pass;
  if (AtWord("by") && Peek(1).kind == Token::kString) {
    Take();
    pass = Name(Unquote(Take().raw));
  }
  return Origin::Merged(of, pass);
}

bool ProgramParser::IsDeclarationWord(const Token& t) {
  const auto& words = DeclarationWords();
  return t.kind == Token::kName && !t.quoted && std::find(words.begin(), words.end(), t.raw) != words.end();
}

bool ProgramParser::AtDeclaration() {
  if (Peek().kind != Token::kName || Peek().quoted) return false;
  if (AtWord("assume")) return !AtTarget() && !Peek(1).Is(".");
  if (AtWord("arena")) return Peek(1).Is("{");
  return IsDeclarationWord(Peek()) && Peek(1).kind == Token::kName &&
         Peek(2).Is(":");
}

// declaration = "transient" NAME ":" type layout | "constant" NAME ":" type "=" data | "persistent" …
//             | "view" NAME ":" type "of" NAME [ "offset" size ] layout | "sequence" NAME ":" valuetype | "assume" …
void ProgramParser::ParseDeclaration() {
  Token word = Take();
  if (word.raw == "assume") return ParseAssumption();
  if (word.raw == "arena") return ParseArena();
  Token at = Peek();
  Container c;
  c.name = NameOf(Take());
  Take();
  if (word.raw == "sequence") {
    c.kind = ContainerKind::kSequence;
    c.type = ParseValueType();
  } else {
    c.kind = word.raw == "constant"     ? ContainerKind::kConstant
             : word.raw == "persistent" ? ContainerKind::kState
             : word.raw == "view"       ? ContainerKind::kView
                                        : ContainerKind::kTransient;
    const ContainerKind kind = c.kind;
    ParseType(c);
    if (ok() && c.kind != kind) {
      c.kind = kind;
      Fail(at, "'" + c.name.str() + "' is a sequence", "declare it with 'sequence'");
    }
  }
  if (!ok()) return;
  if (c.kind == ContainerKind::kView) {
    ExpectWord("of", "and the name of its base after a view");
    view_bases_.push_back(Peek());
    c.base = ExpectName("the view's base");
    if (AcceptWord("offset")) c.offset = ParseSize();
  }
  if (c.kind == ContainerKind::kConstant) {
    std::vector<int64_t> shape;
    for (const Expr& d : c.shape) {
      std::optional<int64_t> n = AsInt(d);
      if (!n || *n < 0) {
        Fail(at, "a constant's sizes are numbers, found " + ToString(d));
        return;
      }
      shape.push_back(*n);
    }
    if (Expect("=", "and a value after a constant's type")) c.data = ParseData(c.dtype, shape);
  }
  ParseLayout(c);
  c.origin = ParseOrigin();
  ExpectStatementEnd();
  AddContainer(std::move(c), at);
}

// assumption = size-number ( "<=" | "<" ) NAME [ ( "<=" | "<" ) number ] | NAME ( "<=" | "<" | ">=" | ">" | "==" ) number
void ProgramParser::ParseAssumption() {
  static const char* const kNumber = "a number in 'assume', as in assume 1 <= N <= 64";
  auto below = [&](int64_t* slack) {  // how far below the number the name must stay
    if (!At("<") && !At("<=")) return false;
    *slack = Take().raw == "<" ? 1 : 0;
    return true;
  };
  if (s_.kernel && Peek().kind == Token::kName && Peek(1).IsWord("in")) return ParseGiven();
  do {
    Interval interval;
    int64_t slack = 0;
    Name name;
    Token at = Peek();
    if (Peek().kind != Token::kName) {
      int64_t low = ExpectInt(kNumber);
      if (!below(&slack)) Fail(Peek(), "expected '<=' in 'assume', found " + Shown(Peek()));
      if (slack && low == INT64_MAX) Fail(at, "no number is larger than " + std::to_string(low));
      interval.lo = ok() ? low + slack : 0;
      at = Peek();
      name = ExpectName("a symbol in 'assume'");
      if (below(&slack)) {
        int64_t high = ExpectInt(kNumber);
        if (slack && high == INT64_MIN) Fail(at, "no number is smaller than " + std::to_string(high));
        interval.hi = ok() ? high - slack : 0;
      }
    } else {
      name = NameOf(Take());
      Token op = Take();
      int64_t n = op.kind == Token::kPunct ? ExpectInt(kNumber) : 0;
      if (op.Is("<=")) interval.hi = n;
      else if (op.Is("<") && n != INT64_MIN) interval.hi = n - 1;
      else if (op.Is(">=")) interval.lo = n;
      else if (op.Is(">") && n != INT64_MAX) interval.lo = n + 1;
      else if (op.Is("==")) interval.lo = interval.hi = n;
      else Fail(op, "expected a comparison with a number in 'assume', found " + Shown(op), "as in assume 1 <= N <= 64");
    }
    if (!ok()) return;
    for (auto& [known, bounds] : s_.assumptions.bounds) {
      if (known == name)
        Fail(at, "a second assumption about '" + name.str() + "'", "join them: lowest <= name <= highest");
    }
    s_.assumptions.bounds.emplace_back(name, interval);
  } while (Accept(","));
  ExpectStatementEnd();
}

}  // namespace internal

Result<Program> ParseProgram(std::string_view text, const std::string& file) {
  internal::ProgramParser parser(text, file);
  Program p = parser.Parse();
  if (!parser.ok() || parser.resumed()) return parser.status();
  return p;
}

}  // namespace headrace
