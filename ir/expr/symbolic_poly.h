// Polynomials over index atoms: what the canonical form of expr.h is made of. Internal to
// symbolic*.cc.
#pragma once
#include <optional>
#include <vector>

#include "ir/expr/expr.h"

namespace headrace::symbolic {

// coefficient * atoms[0] * atoms[1] * …; an atom is anything that is not a sum or product: a
// symbol, `//`, `%`, a call.
struct Term {
  std::vector<Expr> atoms;  // sorted by Compare, repeated for powers
  int64_t coefficient = 0;
};
// Terms with distinct atoms and non-zero coefficients, of high degree first, the constant last.
struct Poly {
  std::vector<Term> terms;
  bool IsConstant() const { return terms.empty() || (terms.size() == 1 && terms[0].atoms.empty()); }
  int64_t Constant() const { return terms.empty() || !terms.back().atoms.empty() ? 0 : terms.back().coefficient; }
};

int Compare(const Expr& a,
            const Expr& b);  // a total order on trees by text, so that it is the same in every process

Expr Atom(const Expr& e);  // the same tree, marked canonical

// Every operation is false or nullopt when an int64 would overflow.
std::optional<Poly> ToPoly(const Expr& e);  // of an index expression whose atoms are canonical
bool AddScaled(const Poly& p, int64_t factor, Poly* sum);
std::optional<Poly> Multiply(const Poly& a, const Poly& b);
Poly ConstantPoly(int64_t c);
Poly AtomPoly(const Expr& atom);
// a = quotient * b + rest where every term of the quotient is exact; `b` has one term.
bool DivideByTerm(const Poly& a, const Term& b, Poly* quotient, Poly* rest);
// The quotient when b divides a without rest.
std::optional<Poly> ExactQuotient(const Poly& a, const Poly& b);
int64_t Gcd(int64_t a, int64_t b);  // ≥ 0; of INT64_MIN: 1 (good enough: it only enables rewrites)
Expr FromPoly(Poly p);              // the canonical tree; joins x // k * k + x % k into x

int64_t FloorDivInt(int64_t a, int64_t b);  // b ≠ 0, and not INT64_MIN / -1
int64_t ModInt(int64_t a, int64_t b);

// Does interval arithmetic without knowledge about symbols place e? Used by the rewrites.
Interval FreeBounds(const Expr& e);
Interval FreeBounds(const Poly& p);

// What is known of symbols, for interval arithmetic: null = nothing.
Interval BoundsWith(const Expr& e, const Assumptions* as);
Interval BoundsWith(const Poly& p, const Assumptions* as);

}  // namespace headrace::symbolic
