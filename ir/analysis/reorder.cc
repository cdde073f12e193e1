#include "ir/analysis/reorder.h"

#include <algorithm>
#include <optional>

namespace headrace {
namespace {

using Exprs = std::vector<Expr>;

class Reordering {
 public:
  Reordering(const Sdfg& s, Name root, const MemoryOrder& order) : s_(s) {
    Container c = s.Get(root);
    const Exprs before = StridesOf(c);
    fine_ = c.strides.empty() && order.Fits(c.shape.size());
    if (!fine_) return;
    c.order = order;
    const Exprs after = StridesOf(c);
    const Exprs shape = c.shape;
    changed_.push_back(std::move(c));
    Views(root, shape, before, after);
  }
  bool fine() const { return fine_; }
  const std::vector<Container>& changed() const { return changed_; }

 private:
  void Views(Name base, const Exprs& shape, const Exprs& before, const Exprs& after) {
    for (Name n : s_.order) {
      const Container& v = s_.Get(n);
      if (!fine_ || v.kind != ContainerKind::kView || v.base != base) continue;
      Container moved = v;
      fine_ = Moved(shape, before, after, &moved);
      if (!fine_) return;
      const Exprs strides = StridesOf(moved);
      changed_.push_back(std::move(moved));
      Views(n, v.shape, StridesOf(v), strides);
    }
  }

  bool Equal(const Expr& a, const Expr& b) const { return a == b || ProveEq(a, b, s_.assumptions) == Truth::kYes; }
  bool AtMost(const Expr& a, const Expr& b) const { return a == b || ProveLe(a, b, s_.assumptions) == Truth::kYes; }

  bool Moved(const Exprs& shape, const Exprs& before, const Exprs& after, Container* v) {
    Exprs first(shape.size(), Expr(0));  // the view's first element
    if (v->offset && v->offset != Expr(0) && !Position(v->offset, shape, before, &first)) return false;
    const Exprs old = StridesOf(*v);
    Exprs strides;
    for (size_t j = 0; j < old.size(); ++j) {
      const Expr stride = AsInt(v->shape[j]) == 1 ? old[j] : Step(v->shape[j], old[j], shape, before, after, first);
      if (!stride) return false;
      strides.push_back(stride);
    }
    Expr offset(0);
    for (size_t d = 0; d < shape.size(); ++d) offset = offset + first[d] * after[d];
    v->offset = offset == Expr(0) ? Expr() : offset;
    const bool dense = changed_.front().order.row_major() && strides == RowMajorStrides(v->shape);
    v->strides = dense ? Exprs() : strides;
    return true;
  }

  // The indices of the element that lies there.
  bool Position(const Expr& offset, const Exprs& shape, const Exprs& strides, Exprs* index) const {
    for (size_t d = 0; d < shape.size(); ++d)  // the first of something: a slice along one dimension
      if (AsInt(shape[d]) != 1 && AsInt(strides[d]) != 0 && Equal(offset, strides[d])) {
        (*index)[d] = Expr(1);
        return AtMost(Expr(2), shape[d]);
      }
    std::vector<size_t> order(shape.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    if (!AsInt(offset)) return false;
    int64_t rest = *AsInt(offset);
    for (size_t d : order)
      if (!AsInt(strides[d])) return false;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return *AsInt(strides[a]) > *AsInt(strides[b]); });
    for (size_t d : order) {
      const int64_t stride = *AsInt(strides[d]);
      if (rest < 0 || stride < 1 || AsInt(shape[d]) == 1) continue;
      (*index)[d] = Expr(rest / stride);
      if (rest >= stride && !AtMost((*index)[d] + Expr(1), shape[d])) return false;
      rest %= stride;
    }
    return rest == 0;
  }

  // The stride that `extent` steps have afterwards: along one dimension, or through several that still follow each other.
  Expr Step(const Expr& extent, const Expr& stride, const Exprs& shape, const Exprs& before, const Exprs& after, const Exprs& first) const {
    for (size_t d = shape.size(); d-- > 0;) {
      if (AsInt(shape[d]) == 1) continue;
      Expr by;
      if (Equal(stride, before[d])) by = Expr(1);
      else if (AsInt(stride) && AsInt(before[d]) && *AsInt(before[d]) > 0 && *AsInt(stride) > 0 && *AsInt(stride) % *AsInt(before[d]) == 0)
        by = Expr(*AsInt(stride) / *AsInt(before[d]));
      else continue;
      if (AtMost(first[d] + by * (extent - Expr(1)) + Expr(1), shape[d])) return by * after[d];
      if (by == Expr(1) && RunsThrough(extent, d, shape, before, after, first)) return after[d];
    }
    return {};
  }
  bool RunsThrough(const Expr& extent, size_t inner, const Exprs& shape, const Exprs& before, const Exprs& after,
                   const Exprs& first) const {
    Expr whole = shape[inner];
    for (size_t last = inner, d = inner; first[last] == Expr(0) && d-- > 0;) {
      if (AsInt(shape[d]) == 1) continue;
      if (!Equal(before[d], before[last] * shape[last]) || !Equal(after[d], after[last] * shape[last]) || first[d] != Expr(0))
        return false;
      whole = whole * shape[d];
      if (AtMost(extent, whole)) return true;
      last = d;
    }
    return false;
  }

  const Sdfg& s_;
  bool fine_ = false;
  std::vector<Container> changed_;
};

}  // namespace

std::vector<Container> WithViews(const Sdfg& s, Name container) {
  std::vector<Container> out = {s.Get(container)};
  for (size_t i = 0; i < out.size(); ++i)
    for (Name n : s.order)
      if (const Container& v = s.Get(n); v.kind == ContainerKind::kView && v.base == out[i].name) out.push_back(v);
  return out;
}

bool CanReorder(const Sdfg& s, Name container, const MemoryOrder& order) { return Reordering(s, container, order).fine(); }

bool Reorder(Sdfg* s, Name container, const MemoryOrder& order) {
  const Reordering r(*s, container, order);
  if (!r.fine()) return false;
  for (const Container& c : r.changed()) s->Mutable(c.name) = c;
  return true;
}

}  // namespace headrace
