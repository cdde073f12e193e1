// The one expression grammar (docs/notation.md): sizes, subsets, conditions, tasklet bodies, pure forms.
#include <cmath>
#include <limits>

#include "ir/text/parser.h"
#include "ir/text/parser_internal.h"

namespace headrace {
namespace internal {
namespace {

struct BinaryOp {
  std::string_view token;
  Op op;
  int precedence;  // as in C, larger binds tighter
};
constexpr BinaryOp kBinaryOps[] = {
    {"||", Op::kOr, 1},  {"&&", Op::kAnd, 2}, {"|", Op::kBitOr, 3},      {"^", Op::kBitXor, 4}, {"&", Op::kBitAnd, 5},
    {"==", Op::kEq, 6},  {"!=", Op::kNe, 6},  {"<", Op::kLt, 7},         {"<=", Op::kLe, 7},    {">", Op::kGt, 7},
    {">=", Op::kGe, 7},  {"<<", Op::kShl, 8}, {">>", Op::kShr, 8},       {"+", Op::kAdd, 9},    {"-", Op::kSub, 9},
    {"*", Op::kMul, 10}, {"/", Op::kDiv, 10}, {"//", Op::kFloorDiv, 10}, {"%", Op::kMod, 10},
};

const BinaryOp* FindBinaryOp(const Token& t) {
  if (t.kind != Token::kPunct) return nullptr;
  for (const BinaryOp& b : kBinaryOps) {
    if (b.token == t.raw) return &b;
  }
  return nullptr;
}

ExprNode NodeOf(ExprKind kind, std::vector<Expr> args = {}, DType dtype = DType::kNone) {
  ExprNode n;
  n.kind = kind;
  n.args = std::move(args);
  n.dtype = dtype;
  return n;
}

}  // namespace

Expr ParserBase::Make(ExprNode node, const Token& at) {
  if (!ok()) return {};
  if (++height_ > kMaxHeight) {
    Fail(at, "this expression is more than " + std::to_string(kMaxHeight) + " levels deep",
         "split it with a transient or a let");
    return {};
  }
  node.line = at.line;
  node.column = at.column;
  return Expr(std::move(node));
}

Expr ParserBase::ParseExpression() {
  Nesting nesting(*this);
  Token at = Peek();
  Expr condition = ParseBinary(1);
  if (!At("?") || !Continues()) return condition;
  Take();
  int height = height_;
  Expr yes = ParseExpression();
  height = std::max(height, height_);
  Expect(":", "between the two values of '? :'");
  Expr no = ParseExpression();
  height_ = std::max(height, height_);
  return Make(NodeOf(ExprKind::kSelect, {condition, yes, no}), at);
}

Expr ParserBase::ParseBinary(int lowest) {
  Token at = Peek();
  Expr left = ParseUnary();
  while (ok()) {
    const BinaryOp* op = FindBinaryOp(Peek());
    if (!op || op->precedence < lowest || !Continues()) return left;
    Take();
    int height = height_;
    Expr right = ParseBinary(op->precedence + 1);
    height_ = std::max(height, height_);
    ExprNode n = NodeOf(ExprKind::kBinary, {left, right});
    n.op = op->op;
    left = Make(std::move(n), at);
  }
  return left;
}

// unary = ("-"|"!"|"~") unary | postfix [ ( "??" | "?:" ) unary ]
Expr ParserBase::ParseUnary() {
  Nesting nesting(*this);
  Token at = Peek();
  Op op = At("-") ? Op::kNeg : At("!") ? Op::kNot : At("~") ? Op::kBitNot : Op::kNone;
  if (op != Op::kNone) {
    Take();
    // A minus sign and a number are one literal, so that -9223372036854775808 exists and -1 is a constant.
    if (op == Op::kNeg) {
      const bool number = Peek().kind == Token::kInt || Peek().kind == Token::kFloat || AtWord("inf");
      const Token& after = Peek(1);
      if (number && !after.Is("??") && !after.Is("?:") && !after.Is("[") && !after.Is("(") && !after.Is(".")) return ParseNumber(true);
    }
    ExprNode n = NodeOf(ExprKind::kUnary, {ParseUnary()});
    n.op = op;
    return Make(std::move(n), at);
  }
  Expr e = ParsePostfix();
  const bool absent = At("?:");
  if ((!absent && !At("??")) || !Continues() || AtWriteOp(1)) return e;
  Take();
  int height = height_;
  Expr otherwise = ParseUnary();
  height_ = std::max(height, height_);
  if (!ok()) return {};
  if (absent) return Make(NodeOf(ExprKind::kAbsent, {e, otherwise}), at);
  if (e.Is(ExprKind::kRead) && !e->has_default) {
    ExprNode n = *e;
    n.args.push_back(otherwise);
    n.has_default = true;
    return Make(std::move(n), at);
  }
  return Make(NodeOf(ExprKind::kGuard, {e, otherwise}), at);
}

// postfix = primary { "[" args "]" | ".flat" "[" args "]" }; a name with brackets is a read, a name with parentheses a call
Expr ParserBase::ParsePostfix() {
  Token at = Peek();
  Expr e;
  const bool word =
      at.kind == Token::kName && !at.IsWord("inf") && !at.IsWord("nan") && !at.IsWord("true") && !at.IsWord("false");
  if (word) {
    Take();
    if (At("(") && Continues()) {
      e = ParseCall(at);
    } else {
      ExprNode n = NodeOf(ExprKind::kSymbol);
      n.name = NameOf(at);
      height_ = 0;
      const bool flat = At(".") && Peek(1).IsWord("flat");
      if (flat) {
        Take();
        Take();
        if (!At("[")) Fail(Peek(), "expected '[' after '.flat', found " + Shown(Peek()));
      }
      if (At("[") && Continues()) {
        Take();
        n.kind = ExprKind::kRead;
        n.flat = flat;
        n.args = ParseArguments("]");
      }
      e = Make(std::move(n), at);
    }
  } else {
    e = ParsePrimary();
  }
  while (ok() && At("[") && Continues()) {
    Take();
    int height = height_;
    std::vector<Expr> args = ParseArguments("]");
    height_ = std::max(height, height_);
    args.insert(args.begin(), e);
    e = Make(NodeOf(ExprKind::kIndex, std::move(args)), at);
  }
  if (ok() && At("(") && Continues()) {
    Fail(Peek(), "only a function's name can be called", "write an operator before '(' if you meant a product");
  }
  return e;
}

Expr ParserBase::ParsePrimary() {
  Token t = Peek();
  if (t.kind == Token::kInt || t.kind == Token::kFloat || t.IsWord("inf") || t.IsWord("nan")) return ParseNumber(false);
  Take();
  height_ = 0;
  if (t.IsWord("true") || t.IsWord("false")) {
    ExprNode n = NodeOf(ExprKind::kBool, {}, DType::kBool);
    n.ivalue = t.raw == "true";
    return Make(std::move(n), t);
  }
  if (t.kind == Token::kString) {
    ExprNode n = NodeOf(ExprKind::kString, {}, DType::kString);
    n.text = Unquote(t.raw);
    return Make(std::move(n), t);
  }
  if (t.Is("(")) {
    Newlines within(*this, false);
    Expr e = ParseExpression();
    Expect(")", "to close the parenthesis");
    return e;
  }
  if (t.Is("[")) return Make(NodeOf(ExprKind::kList, ParseList("]")), t);
  Fail(t, "expected an expression, found " + Shown(t));
  return {};
}

Expr ParserBase::ParseNumber(bool negative) {
  Token t = Take();
  height_ = 0;
  ExprNode n = NodeOf(ExprKind::kInt, {}, DType::kIndex);
  if (t.kind == Token::kInt) {
    uint64_t magnitude = 0;
    if (!ParseMagnitude(t.raw, &magnitude) || magnitude > (uint64_t{1} << 63) - !negative) {
      Fail(t, "the number " + Shown(t) + " does not fit in 64 bits", "write it with a decimal point to get a float");
    }
    n.ivalue = static_cast<int64_t>(negative ? -magnitude : magnitude);
    return Make(std::move(n), t);
  }
  n.kind = ExprKind::kFloat;
  n.dtype = DType::kReal;
  double v = t.raw == "inf"   ? std::numeric_limits<double>::infinity()
             : t.raw == "nan" ? std::numeric_limits<double>::quiet_NaN()
                              : ParseFloat(t.raw);
  if (std::isinf(v) && t.kind == Token::kFloat) Fail(t, "the number " + Shown(t) + " is too large", "write inf");
  n.fvalue = negative ? -v : v;
  return Make(std::move(n), t);
}

// f32(x), cast(x, f32) and sat(x, i8) are casts; every other call is by name. The name was taken.
Expr ParserBase::ParseCall(const Token& name) {
  Take();
  std::vector<Expr> args = ParseList(")");
  if (!ok()) return {};
  auto type_named = [](Name n) -> std::optional<DType> {
    std::optional<DType> t = ParseDType(n.view());
    return t && !IsUntyped(*t) && *t != DType::kNone ? t : std::nullopt;  // real(x) is the real part
  };
  const Name fn = NameOf(name);
  std::optional<DType> to = name.quoted ? std::nullopt : type_named(fn);
  const bool saturate = fn == "sat";
  if (!to && args.size() == 2 && (saturate || fn == "cast") && args[1].Is(ExprKind::kSymbol)) {
    to = type_named(args[1]->name);
    if (to) args.pop_back();
  }
  ExprNode n = NodeOf(ExprKind::kCall, std::move(args));
  n.name = fn;
  if (to) {
    if (n.args.size() != 1) {
      Fail(name, "'" + fn.str() + "(…)' converts one value, found " + std::to_string(n.args.size()));
      return {};
    }
    n.kind = ExprKind::kCast;
    n.name = {};
    n.dtype = *to;
    n.saturate = saturate;
  }
  return Make(std::move(n), name);
}

// arg = ".." | ":" | expr ":" expr | expr [ ".." ] [ "@" unary ]
Expr ParserBase::ParseArgument() {
  Token at = Peek();
  height_ = 0;
  if (Accept("..")) return Make(NodeOf(ExprKind::kEllipsis), at);
  if (Accept(":")) return Make(NodeOf(ExprKind::kColon), at);
  Expr e = ParseExpression();
  int height = height_;
  if (Accept(":")) {
    Expr end = ParseExpression();
    height_ = std::max(height, height_);
    return Make(NodeOf(ExprKind::kColon, {e, end}), at);
  }
  if (ok() && Accept("..")) {
    if (e.Is(ExprKind::kSymbol) && !at.Is("(")) {  // `(at)..` splices the list at
      ExprNode n = NodeOf(ExprKind::kGroup);
      n.name = e->name;
      e = Make(std::move(n), at);
    } else {
      e = Make(NodeOf(ExprKind::kSplice, {e}), at);
    }
  }
  if (ok() && Accept("@")) {
    height = height_;
    Expr axes = ParseUnary();
    height_ = std::max(height, height_);
    e = Make(NodeOf(ExprKind::kPlaced, {e, axes}), at);
  }
  return e;
}

std::vector<Expr> ParserBase::ParseArguments(std::string_view close) {
  Newlines within(*this, false);
  std::vector<Expr> args;
  int height = 0;
  if (!At(close)) {
    do {
      args.push_back(ParseArgument());
      height = std::max(height, height_);
    } while (Accept(","));
  }
  Expect(close, "after the indices");
  height_ = height;
  return args;
}

std::vector<Expr> ParserBase::ParseList(std::string_view close) {
  Newlines within(*this, false);
  std::vector<Expr> args;
  int height = 0;
  if (!At(close)) {
    do {
      args.push_back(ParseExpression());
      height = std::max(height, height_);
    } while (Accept(","));
  }
  Expect(close, close == ")" ? "after the arguments" : "after the list");
  height_ = height;
  return args;
}

// `max=` and `min=` are operators only here and only without a space: max and min are names everywhere else.
bool ParserBase::AtWriteOp(int ahead) {
  const Token t = Peek(ahead);
  if (t.Is("=") || t.Is("+=") || t.Is("*=")) return true;
  return (t.IsWord("max") || t.IsWord("min")) && Peek(ahead + 1).Is("=") && !Peek(ahead + 1).space_before;
}

bool ParserBase::AtTarget() {
  if (Peek().kind != Token::kName) return false;
  const Token& t = Peek(1);
  return t.Is("[") || t.Is("??") || (t.Is(".") && Peek(2).IsWord("flat")) || AtWriteOp(1);
}

ParserBase::Target ParserBase::ParseTarget() {
  Target target;
  target.at = Peek();
  target.name = ExpectName("a statement");
  if (At(".") && Peek(1).IsWord("flat")) {
    Take();
    Take();
    target.flat = true;
  }
  if (Accept("[")) {
    target.has_index = true;
    target.index = ParseArguments("]");
  } else if (target.flat) {
    Expect("[", "after '.flat'");
  }
  target.guarded = Accept("??");
  if (!AtWriteOp(0)) {
    std::string hint;
    if (At("-") && Peek(1).Is("=")) hint = "write += with the value negated";
    if (At("/") && Peek(1).Is("=")) hint = "write *= with the reciprocal";
    Fail(Peek(), "expected one of = += *= max= min= after the target, found " + Shown(Peek()), hint);
    return target;
  }
  Token op = Take();
  if (op.kind == Token::kName) Take();
  target.op = op.Is("=")        ? WriteOp::kAssign
              : op.Is("+=")     ? WriteOp::kAdd
              : op.Is("*=")     ? WriteOp::kMul
              : op.raw == "max" ? WriteOp::kMax
                                : WriteOp::kMin;
  return target;
}

}  // namespace internal

Result<Expr> ParseExpr(std::string_view text) {
  struct Parser : internal::ParserBase {
    using ParserBase::ParserBase;
    Expr Run() {
      Newlines within(*this, false);
      Expr e = ParseExpression();
      ExpectEnd();
      return e;
    }
  } parser(text, "<expression>");
  Expr e = parser.Run();
  if (!parser.ok()) return parser.status();
  return e;
}

}  // namespace headrace
