// The gradient of a number that all products of a sum have as a factor goes over the products again, which the gradient of an array
// has summed already.
//
//   map i, j, k { dA[i, k] += G[i, j] * B[j, k] * a }
//   map i, j, k { da += G[i, j] * B[j, k] * A[i, k] }
//   → map i, k { T[i, k] = 0 }
//     map i, j, k { T[i, k] += G[i, j] * B[j, k] }
//     map i, k { dA[i, k] += T[i, k] * a; da += T[i, k] * A[i, k] }
#include <algorithm>
#include <optional>

#include "autodiff/reverse_pieces.h"
#include "ir/analysis/layout.h"

namespace headrace::autodiff {
namespace {

// A map that adds products of factors to an array.
struct Sum {
  std::vector<Range> ranges;
  Tasklet t;
  std::vector<Expr> factors;
};

bool Factors(const Expr& e, std::vector<Expr>* out) {
  if (e.Is(ExprKind::kUnary) && e->op == Op::kNeg) return out->push_back(FloatExpr(-1)), Factors(e->args[0], out);
  if (e.Is(ExprKind::kBinary) && e->op == Op::kMul) return Factors(e->args[0], out) && Factors(e->args[1], out);
  if (!e.Is(ExprKind::kFloat) && !(e.Is(ExprKind::kRead) && !e->flat && !e->has_default)) return false;
  out->push_back(e);
  return true;
}

bool Speaks(const Expr& e, Name index) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    found |= x.Is(ExprKind::kSymbol) && x->name == index;
    return !found;
  });
  return found;
}

std::optional<Sum> SumOf(const Sdfg& s, NodeId n) {
  Sum sum;
  const Map* m = std::get_if<Map>(&s.nodes[n].body);
  while (m) {
    sum.ranges.insert(sum.ranges.end(), m->ranges.begin(), m->ranges.end());
    if (m->body.size() != 1) return std::nullopt;
    const auto* t = std::get_if<Tasklet>(&s.nodes[m->body[0]].body);
    if (t) sum.t = *t;
    m = t ? nullptr : std::get_if<Map>(&s.nodes[m->body[0]].body);
  }
  const bool plain = sum.ranges.size() >= 3 && !sum.t.target.empty() && sum.t.op == WriteOp::kAdd && !sum.t.flat && !sum.t.guarded;
  if (!plain || !Factors(sum.t.value, &sum.factors)) return std::nullopt;
  const DType type = s.Get(sum.t.target).dtype;
  if (type != DType::kF32 && type != DType::kF64) return std::nullopt;
  for (const Expr& f : sum.factors)
    if (f.Is(ExprKind::kRead) && s.Get(f->name).dtype != type) return std::nullopt;
  return sum;
}

bool SameRanges(const std::vector<Range>& a, const std::vector<Range>& b) {
  const auto by_one = [](const Range& r) { return !r.step || AsInt(r.step) == 1; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Range& x, const Range& y) {
    return x.index == y.index && x.begin == y.begin && x.end == y.end && by_one(x) && by_one(y);
  });
}

// Whether all elements of `array` get a term: 0 for one that gets none, times an infinity, would be no 0.
bool IsWhole(const Sum& array, const std::vector<Name>& kept, const std::vector<Expr>& shape) {
  for (const Range& r : array.ranges) {
    const auto at = std::find(kept.begin(), kept.end(), r.index);
    if (at != kept.end()) {
      if (AsInt(r.begin) != 0 || r.end != shape[static_cast<size_t>(at - kept.begin())]) return false;
      continue;
    }
    Expr least = r.end - r.begin;
    for (const Range& q : array.ranges) {
      if (!Speaks(least, q.index)) continue;
      const auto by = Coefficient(least, q.index);
      if (!by || AsInt(*by).value_or(-1) < 0) return false;
      least = Substitute(least, {{q.index, q.begin}});
    }
    if (AsInt(least).value_or(1) < 1) return false;
  }
  return true;
}

// What `array` adds up is, but for factors that its elements are multiplied by, what `number` adds up: the other factors of both.
struct Shared {
  std::vector<Expr> common, of_array, of_number;
};
std::optional<Shared> SharedBy(const Sdfg& s, const Sum& array, const Sum& number) {
  const Container& c = s.Get(array.t.target);
  if (!number.t.index.empty() || array.t.index.empty() || array.t.index.size() >= array.ranges.size() || c.kind == ContainerKind::kView ||
      array.t.target == number.t.target || s.Get(number.t.target).dtype != c.dtype || !SameRanges(array.ranges, number.ranges))
    return std::nullopt;
  std::vector<Name> kept;  // indices of the array's elements
  for (const Expr& e : array.t.index) {
    if (!e.Is(ExprKind::kSymbol) || std::find(kept.begin(), kept.end(), e->name) != kept.end()) return std::nullopt;
    kept.push_back(e->name);
  }
  if (!IsWhole(array, kept, c.shape)) return std::nullopt;
  Shared out;
  out.of_number = number.factors;
  for (const Expr& f : array.factors) {
    const bool moves = std::any_of(array.ranges.begin(), array.ranges.end(), [&](const Range& r) { return Speaks(f, r.index); });
    const auto there = std::find(out.of_number.begin(), out.of_number.end(), f);
    if (moves && there == out.of_number.end()) return std::nullopt;
    if (moves) out.of_number.erase(there);
    (moves ? out.common : out.of_array).push_back(f);
  }
  for (const Range& r : array.ranges) {
    if (std::find(kept.begin(), kept.end(), r.index) != kept.end()) continue;
    for (const Expr& f : out.of_number)
      if (Speaks(f, r.index)) return std::nullopt;
  }
  return out.common.empty() ? std::nullopt : std::optional<Shared>(std::move(out));
}

Expr ProductOf(const std::vector<Expr>& factors, Expr with = {}) {
  for (const Expr& f : factors) with = with ? BinaryExpr(Op::kMul, with, f) : f;
  return with;
}

// The three maps instead of the two.
std::vector<NodeId> Emit(Sdfg* s, FreshNames* names, const Sum& array, const Sum& number, const Shared& shared, NodeId like) {
  Container c = s->Get(array.t.target);
  Container sums;
  sums.name = (*names)("sums");
  sums.dtype = c.dtype, sums.shape = c.shape;
  const Name t = sums.name;
  s->Add(std::move(sums));
  std::vector<NodeId> out;
  std::vector<Expr> index;
  const std::vector<Range> all = IndexRanges(names, c.shape, &index);
  AddMap(s, all, {AddTasklet(s, t, index, FloatExpr(0))}, &out);
  Tasklet sum = array.t;
  sum.target = t, sum.value = ProductOf(shared.common);
  AddMap(s, array.ranges, {s->AddNode(std::move(sum))}, &out);
  NameMap to;
  for (size_t d = 0; d < index.size(); ++d) to.push_back({array.t.index[d]->name, index[d]});
  const Expr element = ReadExpr(t, index);
  Tasklet grown = array.t, added = number.t;
  grown.index = index, grown.value = Substitute(ProductOf(shared.of_array, element), to);
  added.value = Substitute(ProductOf(shared.of_number, element), to);
  AddMap(s, all, {s->AddNode(std::move(grown)), s->AddNode(std::move(added))}, &out);
  for (NodeId n : out) s->nodes.Mutable(n).origin = s->nodes[like].origin;
  return out;
}

// Whether nothing but sums touches an array in any of the statements, and none reads it.
bool IsOnlyAddedTo(const Sdfg& s, const std::vector<NodeId>& statements, Name array) {
  const Name root = RootOf(s, array);
  bool fine = true;
  for (NodeId n : statements)
    ForEachTasklet(s, n, [&](NodeId, const Tasklet& t) {
      fine &= RootOf(s, t.target) != root || t.op == WriteOp::kAdd;
      for (Name r : ReadContainers(t.value)) fine &= RootOf(s, r) != root;
    });
  return fine;
}
bool AreOverwritten(const Sdfg& s, const std::vector<NodeId>& statements, const std::vector<Expr>& read) {
  bool found = false;
  for (NodeId n : statements)
    ForEachTasklet(s, n, [&](NodeId, const Tasklet& t) {
      for (const Expr& e : read)
        for (Name r : ReadContainers(e)) found |= RootOf(s, r) == RootOf(s, t.target);
    });
  return found;
}

}  // namespace

void ShareSums(Sdfg* s, FreshNames* names, std::vector<NodeId>* statements) {
  for (size_t number = 0; number < statements->size(); ++number) {
    const std::optional<Sum> of_number = SumOf(*s, (*statements)[number]);
    if (!of_number || !of_number->t.index.empty() || AreOverwritten(*s, *statements, of_number->factors)) continue;
    for (size_t array = 0; array < statements->size(); ++array) {
      const std::optional<Sum> of_array = array == number ? std::nullopt : SumOf(*s, (*statements)[array]);
      const std::optional<Shared> shared = of_array ? SharedBy(*s, *of_array, *of_number) : std::nullopt;
      if (!shared || !IsOnlyAddedTo(*s, *statements, of_array->t.target) || !IsOnlyAddedTo(*s, *statements, of_number->t.target)) continue;
      const std::vector<NodeId> made = Emit(s, names, *of_array, *of_number, *shared, (*statements)[array]);
      std::vector<NodeId> out;
      for (size_t k = 0; k < statements->size(); ++k) {
        if (k == array) out.insert(out.end(), made.begin(), made.end());
        else if (k != number) out.push_back((*statements)[k]);
      }
      *statements = std::move(out);
      --number;
      break;
    }
  }
}

}  // namespace headrace::autodiff
