// Expressions: one immutable tree for sizes, subsets, conditions, tasklet bodies and pure forms.
//
// The parser produces every kind below. Expressions inside a verified SDFG are *lowered*: only the kinds up to
// kBinding occur, every index is explicit, and InferTypes (type_inference.h) gives each node a dtype. The notation's
// sugar (groups, placement, lists, …) exists in pure forms only; the elaborator removes it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/base/dtype.h"
#include "ir/base/name.h"

namespace headrace {

enum class ExprKind : uint8_t {
  kInt,     // ivalue; dtype kIndex until typed
  kFloat,   // fvalue; dtype kReal until typed (inf and nan print as `inf`, `nan`)
  kBool,    // ivalue 0/1
  kSymbol,  // name: size symbol, map index, loop variable
  kRead,  // name[args…]; `flat` = linear offset. With has_default, the last arg is the value of `?? e` (outside bounds)
  kUnary,   // op: neg, not, bitnot
  kBinary,  // op
  kSelect,  // args = condition, then, else: only the taken branch is evaluated
  kCall,    // name(args…): a function of functions.h, e.g. exp, max, floor, wrap
  kCast,    // cast to dtype; `saturate` for sat(x)
  // ---- notation only ----
  kString,    // text
  kGroup,     // name..            an index group, splices when bare
  kEllipsis,  // ..
  kColon,     // :                 (optionally begin:end with two args, in list slices)
  kPlaced,    // args[0]@args[1]
  kSplice,    // (expr)..          a list spliced into indices
  kList,      // [a, b, c]
  kIndex,     // args[0][args…]: indexing the value of an expression (lists); `X[…]` of a name is kRead
  kGuard,     // args[0] ?? args[1] on anything that is not a kRead
  kAbsent,    // args[0] ?: args[1]: the second where the port or attribute that the first names is not there
};

enum class Op : uint8_t {
  kNone,
  kNeg,
  kNot,
  kBitNot,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,  // kDiv on indices is exact (a real); // floors; % is floor-mod
  kShl,
  kShr,
  kBitAnd,
  kBitOr,
  kBitXor,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
};
std::string_view OpToken(Op op);  // "+", "//", "&&" …

class Expr;
struct ExprNode {
  ExprKind kind;
  Op op = Op::kNone;
  DType dtype = DType::kNone;
  bool flat = false, has_default = false, saturate = false;
  bool canonical = false;  // Simplify returns it as it is; not part of equality
  Name name;
  // What a walk looks at stands first: it is one cache line.
  std::vector<Expr> args;
  int64_t ivalue = 0;
  uint64_t hash = 0;  // structural, of all but place and dtype (a cast's dtype counts)
  double fvalue = 0;
  int line = 0, column = 0;  // where it was parsed; not part of equality
  std::string text;          // kString
};

// A shared handle; null by default. Equality is structural.
class Expr {
 public:
  Expr() = default;
  Expr(int64_t v);                   // NOLINT: literals read naturally in builders
  Expr(int v) : Expr(int64_t{v}) {}  // NOLINT
  Expr(Name symbol);                 // NOLINT
  explicit Expr(ExprNode node);      // computes the hash
  const ExprNode* operator->() const { return n_.get(); }
  const ExprNode& operator*() const { return *n_; }
  explicit operator bool() const { return n_ != nullptr; }
  bool Is(ExprKind k) const { return n_ && n_->kind == k; }
  const void* id() const { return n_.get(); }  // for memo tables within one pass
  friend bool operator==(const Expr& a, const Expr& b);
  friend bool operator!=(const Expr& a, const Expr& b) { return !(a == b); }

 private:
  std::shared_ptr<const ExprNode> n_;
};

// ---- constructors (no simplification) ----
Expr IntExpr(int64_t v);
Expr FloatExpr(double v);
Expr BoolExpr(bool v);
Expr SymbolExpr(Name n);
Expr ReadExpr(Name container, std::vector<Expr> indices, Expr default_value = {}, bool flat = false);
Expr UnaryExpr(Op op, Expr a);
Expr BinaryExpr(Op op, Expr a, Expr b);
Expr SelectExpr(Expr c, Expr a, Expr b);
Expr CallExpr(Name fn, std::vector<Expr> args);
Expr CastExpr(DType t, Expr a, bool saturate = false);
Expr WithType(const Expr& e, DType t);                 // same node, other dtype
Expr WithArgs(const Expr& e, std::vector<Expr> args);  // same node, other arguments

// ---- symbolic integers (symbolic.cc): results are in canonical form ----
// Canonical form: a sum of products with integer coefficients over atoms (symbols, //, %, min, max, other calls), in a
// fixed order, so that equal polynomials are equal trees. Inputs must be index-typed (no reads).
// Divisors are taken to be non-zero (x * n // n is x); where int64 would overflow a node stays as it is.
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr FloorDiv(const Expr& a, const Expr& b);
Expr Mod(const Expr& a, const Expr& b);  // sign of the divisor
Expr Min(const Expr& a, const Expr& b);
Expr Max(const Expr& a, const Expr& b);
// Canonicalises index arithmetic and folds constants anywhere in a lowered expression; idempotent.
// Never changes a floating-point result (x*0, x+0 and reassociation of floats stay).
Expr Simplify(const Expr& e);
std::optional<int64_t> AsInt(const Expr& e);  // the value if it is an integer literal
bool IsIndexExpr(const Expr& e);  // symbols, integer literals and integer arithmetic only: no reads, no floats

// What is known about symbols: name → inclusive bounds. Symbols not listed are ≥ 0: they are sizes, so whoever asks about
// loop variables or map indices lists them. (Simplify has no assumptions and supposes nothing about signs.)
struct Interval {
  std::optional<int64_t> lo, hi;
};
struct Assumptions {
  std::vector<std::pair<Name, Interval>> bounds;
  std::optional<Interval> Find(Name n) const;
};
Interval BoundsOf(const Expr& e, const Assumptions& a = {});
enum class Truth { kNo, kYes, kUnknown };
Truth ProveLe(const Expr& a, const Expr& b, const Assumptions& as = {});  // a <= b for all values of the symbols
Truth ProveEq(const Expr& a, const Expr& b, const Assumptions& as = {});

// ---- traversal ----
using NameMap = std::vector<std::pair<Name, Expr>>;
Expr Substitute(const Expr& e, const NameMap& symbols);  // symbols by expressions, then Simplify of index parts
Expr RenameContainers(const Expr& e, const std::vector<std::pair<Name, Name>>& names);
// Bottom-up rewrite: `fn` gets a node whose arguments are already rewritten; shared subtrees are visited once.
template <typename Fn>
Expr Transform(const Expr& e, Fn&& fn);
// Pre-order visit; `fn` returns false to skip the subtree.
template <typename Fn>
void Visit(const Expr& e, Fn&& fn) {
  if (!e || !fn(e)) return;
  for (const Expr& a : e->args) Visit(a, fn);
}
std::vector<Name> FreeSymbols(const Expr& e);  // sorted, unique
std::vector<Name> ReadContainers(const Expr& e);

std::string ToString(const Expr& e);  // notation, minimal parentheses; parses back to an equal tree

}  // namespace headrace

#include "ir/expr/expr_inl.h"
