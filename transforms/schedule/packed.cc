#include "transforms/schedule/packed.h"

#include <algorithm>

#include "ir/analysis/layout.h"

namespace headrace::schedule {
namespace {

bool IsPlainRead(const Sdfg& s, const Expr& e, DType type) {
  if (!e.Is(ExprKind::kRead) || e->flat || e->has_default) return false;
  const Container& c = s.Get(e->name);
  return c.kind == ContainerKind::kParameter && c.dtype == type;
}

}  // namespace

std::optional<Packing> PackingOf(const Sdfg& s, const Expr& weights, DType type, Name columns, const std::vector<Name>& terms, int64_t width,
                                 int64_t group) {
  const bool wide = type == DType::kF32 && IsPlainRead(s, weights, DType::kBF16);  // bf16 is packed as what it is computed in
  if (!wide && !IsPlainRead(s, weights, type)) return std::nullopt;
  const Container& c = s.Get(weights->name);
  const auto dimension = [&](Name index) {
    return static_cast<size_t>(std::find(weights->args.begin(), weights->args.end(), SymbolExpr(index)) - weights->args.begin());
  };
  Packing out{weights->name, dimension(columns), {}, width, group};
  for (Name t : terms) out.terms.push_back(dimension(t));
  std::vector<bool> taken(c.shape.size());
  const auto take = [&](size_t d) {
    const bool free = d < taken.size() && !taken[d] && AsInt(c.shape[d]);
    if (free) taken[d] = true;
    return free;
  };
  bool fine = take(out.columns);
  for (size_t d : out.terms) fine = fine && take(d);
  for (size_t d = 0; d < taken.size(); ++d) fine = fine && (taken[d] || AsInt(c.shape[d]) == 1);
  return fine ? std::optional<Packing>(out) : std::nullopt;
}

Expr ReadPacked(const Sdfg& s, const Expr& weights, DType type, Name columns, int64_t width, const Expr& first, const Expr& u) {
  if (!IsPlainRead(s, weights, type) || weights->args.size() < 3) return {};
  const Container& c = s.Get(weights->name);
  const Expr column = SymbolExpr(columns);
  std::vector<Expr> index = {weights->args.begin(), weights->args.end()};
  if (!c.row_major() || AsInt(c.shape.back()) != width) return {};
  if (index.front() != FloorDiv(column, Expr(width)) || index.back() != Mod(column, Expr(width))) return {};
  if (std::any_of(index.begin() + 1, index.end() - 1, [&](const Expr& e) { return Mentions(e, columns); })) return {};
  index.front() = FloorDiv(first, Expr(width)), index.back() = u;
  return ReadExpr(weights->name, index);
}

Expr ReadPacked(const Sdfg& s, const Expr& weights, DType type, Name columns, int64_t width, const Expr& first, const Expr& u,
                const PackedGroup& g, int64_t k) {
  if (!IsPlainRead(s, weights, type) || weights->args.size() < 4) return {};
  const Container& c = s.Get(weights->name);
  const Expr column = SymbolExpr(columns), term = SymbolExpr(g.term);
  std::vector<Expr> index = {weights->args.begin(), weights->args.end()};
  const size_t n = index.size();
  if (!c.row_major() || AsInt(c.shape[n - 2]) != width || AsInt(c.shape[n - 1]) != g.size) return {};
  if (index[0] != FloorDiv(column, Expr(width)) || index[n - 2] != Mod(column, Expr(width))) return {};
  if (index[n - 3] != FloorDiv(term, Expr(g.size)) || index[n - 1] != Mod(term, Expr(g.size))) return {};
  for (size_t d = 1; d + 3 < n; ++d)
    if (Mentions(index[d], columns) || Mentions(index[d], g.term)) return {};
  index[0] = FloorDiv(first, Expr(width)), index[n - 3] = g.place, index[n - 2] = u, index[n - 1] = Expr(k);
  return ReadExpr(weights->name, index);
}

}  // namespace headrace::schedule
