#include "ir/expr/symbolic_poly.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/base/status.h"

namespace headrace::symbolic {
namespace {

int CompareAtoms(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;  // high degree first, the constant last
  for (size_t i = 0; i < a.size(); ++i) {
    if (int c = Compare(a[i], b[i])) return c;
  }
  return 0;
}

bool AddTerm(const std::vector<Expr>& atoms, int64_t coefficient, Poly* p) {
  if (coefficient == 0) return true;
  auto it = std::lower_bound(p->terms.begin(), p->terms.end(), atoms,
                             [](const Term& t, const std::vector<Expr>& a) { return CompareAtoms(t.atoms, a) < 0; });
  if (it == p->terms.end() || CompareAtoms(it->atoms, atoms) != 0) {
    p->terms.insert(it, {atoms, coefficient});
    return true;
  }
  if (__builtin_add_overflow(it->coefficient, coefficient, &it->coefficient)) return false;
  if (it->coefficient == 0) p->terms.erase(it);
  return true;
}

// a without the atoms of b, if b's are all in a.
bool Without(const std::vector<Expr>& a, const std::vector<Expr>& b, std::vector<Expr>* rest) {
  rest->clear();
  size_t j = 0;
  for (const Expr& x : a) {
    if (j < b.size() && x == b[j]) ++j;
    else rest->push_back(x);
  }
  return j == b.size();
}

std::vector<Expr> Merged(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  std::vector<Expr> out;
  out.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out),
             [](const Expr& x, const Expr& y) { return Compare(x, y) < 0; });
  return out;
}

Expr Canonical(ExprNode n) {
  n.canonical = true;
  return Expr(std::move(n));
}

Expr Node(ExprKind kind, Op op, std::vector<Expr> args) {
  ExprNode n{};
  n.kind = kind;
  n.op = op;
  n.args = std::move(args);
  return Canonical(std::move(n));
}

// |coefficient| * atoms, or with its sign when `sign`.
Expr Product(const Term& t, bool sign) {
  const int64_t c = sign ? t.coefficient : std::abs(t.coefficient);
  if (t.atoms.empty()) return IntExpr(c);
  Expr out;
  size_t i = 0;
  if (c == 1) out = t.atoms[i++];
  else if (c == -1) out = Node(ExprKind::kUnary, Op::kNeg, {t.atoms[i++]});
  else out = IntExpr(c);
  for (; i < t.atoms.size(); ++i) out = Node(ExprKind::kBinary, Op::kMul, {out, t.atoms[i]});
  return out;
}

// c * x % k * … + c * k * (x // k) * …  →  c * x * …
void JoinDivMod(Poly* p) {
  for (size_t i = 0; i < p->terms.size(); ++i) {
    const Term mod_term = p->terms[i];
    for (size_t m = 0; m < mod_term.atoms.size(); ++m) {
      const Expr& mod = mod_term.atoms[m];
      if (!mod.Is(ExprKind::kBinary) || mod->op != Op::kMod) continue;
      std::vector<Expr> others = mod_term.atoms;
      others.erase(others.begin() + m);
      const auto divisor = ToPoly(mod->args[1]);
      const auto dividend = ToPoly(mod->args[0]);
      if (!divisor || divisor->terms.size() != 1 || !dividend) continue;
      const Term& k = divisor->terms[0];
      const Expr quotient = BinaryExpr(Op::kFloorDiv, mod->args[0], mod->args[1]);
      const std::vector<Expr> wanted = Merged(Merged(others, k.atoms), {quotient});
      int64_t c;
      if (__builtin_mul_overflow(mod_term.coefficient, k.coefficient, &c)) continue;
      for (size_t j = 0; j < p->terms.size(); ++j) {
        if (p->terms[j].coefficient != c || CompareAtoms(p->terms[j].atoms, wanted) != 0) continue;
        Poly joined = *p;
        joined.terms.erase(joined.terms.begin() + std::max(i, j));
        joined.terms.erase(joined.terms.begin() + std::min(i, j));
        Poly rest;
        rest.terms.push_back({others, mod_term.coefficient});
        const auto product = Multiply(rest, *dividend);
        if (!product || !AddScaled(*product, 1, &joined)) break;
        *p = std::move(joined);
        return JoinDivMod(p);
      }
    }
  }
}

}  // namespace

int Compare(const Expr& a, const Expr& b) {
  if (a.id() == b.id() || (a->hash == b->hash && a == b)) return 0;
  if (a->kind != b->kind) {
    // Symbols before everything else: `N + N // 2`.
    if (a.Is(ExprKind::kSymbol) != b.Is(ExprKind::kSymbol)) return a.Is(ExprKind::kSymbol) ? -1 : 1;
    return a->kind < b->kind ? -1 : 1;
  }
  if (a->op != b->op) return a->op < b->op ? -1 : 1;
  if (a->name != b->name) return a->name < b->name ? -1 : 1;
  if (a->ivalue != b->ivalue) return a->ivalue < b->ivalue ? -1 : 1;
  if (a->args.size() != b->args.size()) return a->args.size() < b->args.size() ? -1 : 1;
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (int c = Compare(a->args[i], b->args[i])) return c;
  }
  return 0;
}

Expr Atom(const Expr& e) {
  if (e->canonical) return e;
  ExprNode n = *e;
  n.canonical = true;
  return Expr(std::move(n));
}

Poly ConstantPoly(int64_t c) {
  Poly p;
  if (c != 0) p.terms.push_back({{}, c});
  return p;
}

Poly AtomPoly(const Expr& atom) {
  Poly p;
  p.terms.push_back({{atom}, 1});
  return p;
}

bool AddScaled(const Poly& p, int64_t factor, Poly* sum) {
  for (const Term& t : p.terms) {
    int64_t c;
    if (__builtin_mul_overflow(t.coefficient, factor, &c) || !AddTerm(t.atoms, c, sum)) return false;
  }
  return true;
}

std::optional<Poly> Multiply(const Poly& a, const Poly& b) {
  // A canonical form that grows without bound is of no use: leave big products as they are.
  if (a.terms.size() * b.terms.size() > 256) return std::nullopt;
  Poly out;
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      int64_t c;
      if (__builtin_mul_overflow(x.coefficient, y.coefficient, &c)) return std::nullopt;
      if (!AddTerm(Merged(x.atoms, y.atoms), c, &out)) return std::nullopt;
    }
  }
  return out;
}

std::optional<Poly> ToPoly(const Expr& e) {
  if (e.Is(ExprKind::kInt)) return ConstantPoly(e->ivalue);
  if (e.Is(ExprKind::kUnary) && e->op == Op::kNeg) {
    auto a = ToPoly(e->args[0]);
    Poly out;
    if (a && AddScaled(*a, -1, &out)) return out;
    return AtomPoly(e);
  }
  if (e.Is(ExprKind::kBinary) && (e->op == Op::kAdd || e->op == Op::kSub || e->op == Op::kMul)) {
    auto a = ToPoly(e->args[0]);
    auto b = ToPoly(e->args[1]);
    if (!a || !b) return std::nullopt;
    if (e->op == Op::kMul) {
      if (auto out = Multiply(*a, *b)) return out;
    } else if (AddScaled(*b, e->op == Op::kAdd ? 1 : -1, &*a)) {
      return a;
    }
  }
  return AtomPoly(e);
}

bool DivideByTerm(const Poly& a, const Term& b, Poly* quotient, Poly* rest) {
  std::vector<Expr> atoms;
  for (const Term& t : a.terms) {
    const bool exact = Without(t.atoms, b.atoms, &atoms) && b.coefficient != -1 && t.coefficient % b.coefficient == 0;
    if (exact ? !AddTerm(atoms, t.coefficient / b.coefficient, quotient) : !AddTerm(t.atoms, t.coefficient, rest)) {
      return false;
    }
  }
  return true;
}

std::optional<Poly> ExactQuotient(const Poly& a, const Poly& b) {
  if (b.terms.empty()) return std::nullopt;
  Poly rest = a, quotient;
  std::vector<Expr> atoms;
  // Long division by the leading term; the step limit ends what the order of terms doesn't.
  for (int step = 0; step < 32 && !rest.terms.empty(); ++step) {
    const Term lead = rest.terms[0];
    const Term& d = b.terms[0];
    if (!Without(lead.atoms, d.atoms, &atoms) || d.coefficient == -1 || lead.coefficient % d.coefficient != 0)
      return std::nullopt;
    Poly q;
    q.terms.push_back({atoms, lead.coefficient / d.coefficient});
    const auto product = Multiply(q, b);
    if (!product || !AddScaled(*product, -1, &rest) || !AddScaled(q, 1, &quotient)) return std::nullopt;
  }
  if (!rest.terms.empty()) return std::nullopt;
  return quotient;
}

int64_t Gcd(int64_t a, int64_t b) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  return a == kMin || b == kMin ? 1 : std::gcd(a, b);
}

Expr FromPoly(Poly p) {
  JoinDivMod(&p);
  if (p.terms.empty()) return IntExpr(0);
  // Start with a positive term when there is one: `3 - N`, not `-N + 3`.
  size_t first = 0;
  while (first < p.terms.size() && p.terms[first].coefficient < 0) ++first;
  if (first == p.terms.size()) first = 0;
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  Expr out = Product(p.terms[first], /*sign=*/true);
  for (size_t i = 0; i < p.terms.size(); ++i) {
    if (i == first) continue;
    const Term& t = p.terms[i];
    const bool minus = t.coefficient < 0 && t.coefficient != kMin;
    out = Node(ExprKind::kBinary, minus ? Op::kSub : Op::kAdd, {out, Product(t, /*sign=*/!minus)});
  }
  return out;
}

int64_t FloorDivInt(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t ModInt(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace headrace::symbolic
