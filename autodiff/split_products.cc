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

// A sum of products of two elements, both of which move along what is summed, one of them used again along something else.
bool IsContraction(const Tasklet& t, const std::vector<Range>& ranges) {
  if (t.op != WriteOp::kAdd || t.flat || t.guarded || !t.value.Is(ExprKind::kBinary) || t.value->op != Op::kMul) return false;
  bool reused = false;
  for (const Expr& factor : {t.value->args[0], t.value->args[1]}) {
    if (!factor.Is(ExprKind::kRead) || factor->flat || factor->has_default) return false;
    bool moves = false;
    for (const Range& r : ranges) {
      const bool here = Mentions(IndexOf(factor), r.index);
      moves |= here && !Mentions(t.index, r.index);
      reused |= !here;
    }
    if (!moves) return false;
  }
  return reused;
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
  std::unordered_map<Name, Expr> held;  // registers that hold an element
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
      const bool element = t.value.Is(ExprKind::kRead) && s->Get(t.value->name).dtype == s->Get(t.target).dtype;
      if (!element || t.op != WriteOp::kAssign || !t.index.empty() || !held.emplace(t.target, t.value).second) return {map};
      continue;
    }
    if (!IsContraction(t, ranges)) return {map};
    written.insert(RootOf(*s, t.target));
    for (Name r : ReadContainers(t.value)) read.insert(RootOf(*s, r));
    writes.push_back({n, std::move(t)});
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
