#include "ir/expr/expr.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "ir/base/status.h"

namespace headrace {
namespace {

uint64_t Mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9E3779B97F4A7C15ull + (h << 6) + (h >> 2);
  h *= 0xFF51AFD7ED558CCDull;
  return h ^ (h >> 32);
}

uint64_t Bits(double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}

uint64_t HashOf(const ExprNode& n) {
  uint64_t h = Mix(static_cast<uint64_t>(n.kind) << 8 | static_cast<uint64_t>(n.op),
                   uint64_t{n.flat} | uint64_t{n.has_default} << 1 | uint64_t{n.saturate} << 2);
  if (n.kind == ExprKind::kCast) h = Mix(h, static_cast<uint64_t>(n.dtype));
  h = Mix(h, static_cast<uint64_t>(n.ivalue));
  if (n.kind == ExprKind::kFloat) h = Mix(h, Bits(n.fvalue));
  h = Mix(h, n.name.id());
  if (!n.text.empty()) h = Mix(h, std::hash<std::string>()(n.text));
  for (const Expr& a : n.args) h = Mix(h, a ? a->hash : 1);
  return h;
}

bool SameNode(const ExprNode& a, const ExprNode& b) {  // all but the arguments
  return a.hash == b.hash && a.kind == b.kind && a.op == b.op && a.flat == b.flat && a.has_default == b.has_default &&
         a.saturate == b.saturate && (a.kind != ExprKind::kCast || a.dtype == b.dtype) && a.ivalue == b.ivalue &&
         (a.kind != ExprKind::kFloat || Bits(a.fvalue) == Bits(b.fvalue)) && a.name == b.name && a.text == b.text &&
         a.args.size() == b.args.size();
}

// Trees share subtrees, and two that were built apart have exponentially many paths: after a few
// nodes, pairs that were found equal are remembered.
class Equality {
 public:
  bool Holds(const Expr& a, const Expr& b) {
    if (a.id() == b.id()) return true;
    if (!a || !b || !SameNode(*a, *b)) return false;
    const bool remember = ++visits_ > 64 && !a->args.empty();
    if (remember && equal_.count({a.id(), b.id()})) return true;
    for (size_t i = 0; i < a->args.size(); ++i) {
      if (!Holds(a->args[i], b->args[i])) return false;  // and then everything is unequal
    }
    if (remember) equal_.insert({a.id(), b.id()});
    return true;
  }

 private:
  int visits_ = 0;
  std::set<std::pair<const void*, const void*>> equal_;
};

ExprNode Blank(ExprKind kind) {
  ExprNode n{};
  n.kind = kind;
  return n;
}

}  // namespace

std::string_view OpToken(Op op) {
  switch (op) {
    case Op::kNone: return "";
    case Op::kNeg: return "-";
    case Op::kNot: return "!";
    case Op::kBitNot: return "~";
    case Op::kAdd: return "+";
    case Op::kSub: return "-";
    case Op::kMul: return "*";
    case Op::kDiv: return "/";
    case Op::kFloorDiv: return "//";
    case Op::kMod: return "%";
    case Op::kShl: return "<<";
    case Op::kShr: return ">>";
    case Op::kBitAnd: return "&";
    case Op::kBitOr: return "|";
    case Op::kBitXor: return "^";
    case Op::kEq: return "==";
    case Op::kNe: return "!=";
    case Op::kLt: return "<";
    case Op::kLe: return "<=";
    case Op::kGt: return ">";
    case Op::kGe: return ">=";
    case Op::kAnd: return "&&";
    case Op::kOr: return "||";
  }
  return "?";
}

Expr::Expr(ExprNode node) {
  // One NaN and no more, so that equal trees are equal.
  if (std::isnan(node.fvalue)) node.fvalue = std::numeric_limits<double>::quiet_NaN();
  node.hash = HashOf(node);
  n_ = std::make_shared<const ExprNode>(std::move(node));
}
Expr::Expr(int64_t v) : Expr(IntExpr(v)) {}
Expr::Expr(Name symbol) : Expr(SymbolExpr(symbol)) {}

bool operator==(const Expr& a, const Expr& b) {
  return a.n_ == b.n_ || (a.n_ && b.n_ && a.n_->hash == b.n_->hash && Equality().Holds(a, b));
}

// ---- constructors ----

Expr IntExpr(int64_t v) {
  ExprNode n = Blank(ExprKind::kInt);
  n.ivalue = v;
  n.canonical = true;
  return Expr(std::move(n));
}

Expr FloatExpr(double v) {
  ExprNode n = Blank(ExprKind::kFloat);
  n.fvalue = v;
  return Expr(std::move(n));
}

Expr BoolExpr(bool v) {
  ExprNode n = Blank(ExprKind::kBool);
  n.ivalue = v;
  return Expr(std::move(n));
}

Expr SymbolExpr(Name name) {
  ExprNode n = Blank(ExprKind::kSymbol);
  n.name = name;
  n.canonical = true;
  return Expr(std::move(n));
}

Expr ReadExpr(Name container, std::vector<Expr> indices, Expr default_value, bool flat) {
  ExprNode n = Blank(ExprKind::kRead);
  n.name = container;
  n.flat = flat;
  n.args = std::move(indices);
  if (default_value) {
    n.has_default = true;
    n.args.push_back(std::move(default_value));
  }
  return Expr(std::move(n));
}

Expr UnaryExpr(Op op, Expr a) {
  ExprNode n = Blank(ExprKind::kUnary);
  n.op = op;
  n.args = {std::move(a)};
  return Expr(std::move(n));
}

Expr BinaryExpr(Op op, Expr a, Expr b) {
  ExprNode n = Blank(ExprKind::kBinary);
  n.op = op;
  n.args = {std::move(a), std::move(b)};
  return Expr(std::move(n));
}

Expr SelectExpr(Expr c, Expr a, Expr b) {
  ExprNode n = Blank(ExprKind::kSelect);
  n.args = {std::move(c), std::move(a), std::move(b)};
  return Expr(std::move(n));
}

Expr CallExpr(Name fn, std::vector<Expr> args) {
  ExprNode n = Blank(ExprKind::kCall);
  n.name = fn;
  n.args = std::move(args);
  return Expr(std::move(n));
}

Expr CastExpr(DType t, Expr a, bool saturate) {
  ExprNode n = Blank(ExprKind::kCast);
  n.dtype = t;
  n.saturate = saturate;
  n.args = {std::move(a)};
  return Expr(std::move(n));
}

Expr WithType(const Expr& e, DType t) {
  if (e->dtype == t) return e;
  ExprNode n = *e;
  n.dtype = t;
  return Expr(std::move(n));
}

Expr WithArgs(const Expr& e, std::vector<Expr> args) {
  ExprNode n = *e;
  n.args = std::move(args);
  n.canonical = false;
  return Expr(std::move(n));
}

// ---- traversal ----

Expr Substitute(const Expr& e, const NameMap& symbols) {
  Expr out = Transform(e, [&](const Expr& x) -> Expr {
    if (!x.Is(ExprKind::kSymbol)) return x;
    for (const auto& [name, value] : symbols) {
      if (name == x->name) return value;
    }
    return x;
  });
  return out.id() == e.id() ? e : Simplify(out);
}

Expr RenameContainers(const Expr& e, const std::vector<std::pair<Name, Name>>& names) {
  return Transform(e, [&](const Expr& x) -> Expr {
    if (!x.Is(ExprKind::kRead)) return x;
    for (const auto& [from, to] : names) {
      if (from != x->name || from == to) continue;
      ExprNode n = *x;
      n.name = to;
      return Expr(std::move(n));
    }
    return x;
  });
}

namespace {
constexpr size_t kSmallTree = 64;  // nodes

std::vector<Name> NamesOf(const Expr& e, ExprKind kind) {
  std::vector<Name> names;
  std::set<const void*> seen;  // trees share subtrees; small ones are quicker walked again
  size_t visited = 0;
  Visit(e, [&](const Expr& x) {
    if (!x->args.empty() && ++visited > kSmallTree && !seen.insert(x.id()).second) return false;
    if (x->kind == kind && (names.empty() || names.back() != x->name)) names.push_back(x->name);
    return true;
  });
  if (names.size() > 1) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  return names;
}
}  // namespace

std::vector<Name> FreeSymbols(const Expr& e) { return NamesOf(e, ExprKind::kSymbol); }
std::vector<Name> ReadContainers(const Expr& e) { return NamesOf(e, ExprKind::kRead); }

}  // namespace headrace
