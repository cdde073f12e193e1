// Adjoints of matrix products and convolutions: each is two more of them, and each of these runs fast in a map of its own.
//
//   map i, j, k { g = dC[i, j]; dA[i, k] += g * B[k, j]; dB[k, j] += g * A[i, k] }
//   → map i, j, k { dA[i, k] += dC[i, j] * B[k, j] }
//     map i, j, k { dB[k, j] += dC[i, j] * A[i, k] }
#include <algorithm>
#include <unordered_set>

#include "autodiff/reverse_pieces.h"

namespace headrace::autodiff {
namespace {

bool Mentions(const std::vector<Expr>& all, Name index) {
  bool found = false;
  for (const Expr& e : all)
    Visit(e, [&](const Expr& x) {
      found |= x.Is(ExprKind::kSymbol) && x->name == index;
      return !found;
    });
  return found;
}

constexpr size_t kMostFactors = 4;

// The elements that are multiplied, which is all that is done, but that halves are widened: a product is as soon computed twice as kept.
bool Factors(const Sdfg& s, const Expr& e, std::vector<Expr>* out) {
  if (e.Is(ExprKind::kFloat) || e.Is(ExprKind::kInt)) return true;
  if (e.Is(ExprKind::kUnary) && e->op == Op::kNeg) return Factors(s, e->args[0], out);
  if (e.Is(ExprKind::kBinary) && e->op == Op::kMul) return Factors(s, e->args[0], out) && Factors(s, e->args[1], out);
  if (e.Is(ExprKind::kCast) && e->dtype == DType::kF32 && e->args[0].Is(ExprKind::kRead) && IsHalf(s.Get(e->args[0]->name).dtype))
    return Factors(s, e->args[0], out);
  if (!e.Is(ExprKind::kRead) || e->flat || e->has_default || out->size() == kMostFactors) return false;
  out->push_back(e);
  return true;
}

bool IsProductOf(const Sdfg& s, const Expr& e, DType type) {
  std::vector<Expr> factors;
  return Factors(s, e, &factors) && !factors.empty() &&
         std::all_of(factors.begin(), factors.end(), [&](const Expr& f) { return s.Get(f->name).dtype == type; });
}

// A sum of products of elements, two of which or more move along what is summed, one of them used again along something else. Others
// are the same all over the map.
bool IsContraction(const Sdfg& s, const Tasklet& t, const std::vector<Range>& ranges) {
  std::vector<Expr> factors;
  if (t.op != WriteOp::kAdd || t.flat || t.guarded || !Factors(s, t.value, &factors)) return false;
  bool reused = false;
  int moving = 0;
  for (const Expr& factor : factors) {
    bool moves = false, still = true, again = false;
    for (const Range& r : ranges) {
      const bool here = Mentions(IndexOf(factor), r.index);
      moves |= here && !Mentions(t.index, r.index);
      still &= !here;
      again |= !here;
    }
    if (!moves && !still) return false;
    moving += moves;
    reused |= moves && again;
  }
  return moving >= 2 && reused;
}

// What is added to a sum of halves is not rounded before.
Expr Unrounded(const Sdfg& s, const Tasklet& t) {
  const DType type = s.Get(t.target).dtype;
  const bool rounds = t.op == WriteOp::kAdd && IsHalf(type) && t.value.Is(ExprKind::kCast) && t.value->dtype == type;
  return rounds ? t.value->args[0] : t.value;
}

std::vector<Expr> TermsOf(const Expr& e) {
  if (!e.Is(ExprKind::kBinary) || e->op != Op::kAdd) return {e};
  std::vector<Expr> terms = TermsOf(e->args[0]);
  for (const Expr& more : TermsOf(e->args[1])) terms.push_back(more);
  return terms;
}

}  // namespace

std::vector<NodeId> SplitProducts(Sdfg* s, NodeId map) {
  std::vector<Range> ranges;
  std::vector<NodeId> body = {map};
  while (body.size() == 1 && std::holds_alternative<Map>(s->nodes[body[0]].body)) {
    const Map& m = std::get<Map>(s->nodes[body[0]].body);
    ranges.insert(ranges.end(), m.ranges.begin(), m.ranges.end());
    body = std::vector<NodeId>(m.body);
  }
  if (ranges.size() < 3) return {map};  // of products with vectors, one pass over the matrix serves both
  std::unordered_map<Name, Expr> held;  // registers that hold an element, or a product of some
  std::vector<std::pair<NodeId, Tasklet>> writes;
  std::unordered_set<Name> written, read;
  for (NodeId n : body) {
    const auto* leaf = std::get_if<Tasklet>(&s->nodes[n].body);
    if (!leaf) return {map};
    Tasklet t = *leaf;
    t.value = Transform(t.value, [&](const Expr& e) -> Expr {
      auto it = e.Is(ExprKind::kRead) ? held.find(e->name) : held.end();
      return it == held.end() ? e : it->second;
    });
    if (IsRegister(*s, t.target)) {
      if (!IsProductOf(*s, t.value, s->Get(t.target).dtype) || t.op != WriteOp::kAssign || !t.index.empty() || !held.emplace(t.target, t.value).second) return {map};
      continue;
    }
    for (const Expr& term : TermsOf(Unrounded(*s, t))) {
      t.value = term;
      if (!IsContraction(*s, t, ranges)) return {map};
      written.insert(RootOf(*s, t.target));
      for (Name r : ReadContainers(t.value)) read.insert(RootOf(*s, r));
      writes.push_back({n, t});
    }
  }
  if (std::any_of(written.begin(), written.end(), [&](Name n) { return read.count(n) > 0; })) return {map};
  std::vector<NodeId> out;
  for (const auto& [leaf, t] : writes) {
    const NodeId own = CloneStatement(s, map, {}, [&, leaf = leaf, &t = t](NodeId id, Tasklet) {
      return id == leaf ? std::vector<Tasklet>{t} : std::vector<Tasklet>();
    });
    out.push_back(own);
  }
  return out.empty() ? std::vector<NodeId>{map} : out;
}

}  // namespace headrace::autodiff
