// Ranges that are groups and what lies in them.
#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/steps.h"

namespace headrace::schedule {
namespace {

// index // 4, or index % 4
bool IsCut(const Expr& e, Op op, Name index) {
  return e.Is(ExprKind::kBinary) && e->op == op && e->args[0] == SymbolExpr(index) && AsInt(e->args[1]).value_or(0) > 1;
}
bool IsGroupOf(const Expr& e, Name index) { return IsCut(e, Op::kFloorDiv, index); }
bool IsPlaceOf(const Expr& e, Name index) { return IsCut(e, Op::kMod, index); }

class Splitter {
 public:
  Splitter(Sdfg* s, const Nest& n, const Range& r) : s_(*s), n_(n), range_(r), trips_(AsInt(r.end).value_or(0)) {}

  // Elements of a group; 0: there are none, or something takes the index in another way.
  int64_t Length() {
    for (NodeId id : n_.body) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[id].body);
      if (!t) return 0;
      if (!t->flat) Index(t->target, t->index);
      else Other(t->index);
      Value(t->value);
    }
    return fine_ && has_groups_ && length_ < trips_ && trips_ % length_ == 0 ? length_ : 0;
  }

  void Split(Name group) {
    group_ = group;
    for (NodeId id : n_.body) {
      Tasklet t = std::get<Tasklet>(s_.nodes[id].body);
      t.value = Replaced(t.value);
      if (!t.flat) t.target = Viewed(t.target, &t.index);
      for (Expr& e : t.index) e = Replaced(e);
      s_.nodes.Mutable(id).body = std::move(t);
    }
  }

 private:
  void Other(const std::vector<Expr>& list) {
    for (const Expr& e : list) Value(e);
  }
  void Value(const Expr& value) {
    Visit(value, [&](const Expr& e) {
      if (IsGroupOf(e, range_.index) || IsPlaceOf(e, range_.index)) {
        const int64_t length = *AsInt(e->args[1]);
        fine_ = fine_ && (length_ == 0 || length_ == length);
        length_ = length;
        return false;
      }
      if (e.Is(ExprKind::kRead) && !e->flat) {
        Index(e->name, {e->args.begin(), e->args.end() - e->has_default});
        if (e->has_default) Value(e->args.back());
        return false;
      }
      fine_ = fine_ && !(e.Is(ExprKind::kSymbol) && e->name == range_.index);
      return fine_;
    });
  }
  // Alone where the dimension is as long as the range. Who takes the group and the place in it has panels, no groups.
  void Index(Name container, const std::vector<Expr>& index) {
    const Container& c = s_.Get(container);
    has_groups_ = has_groups_ || (Takes(index, IsGroupOf) && !Takes(index, IsPlaceOf));
    for (size_t d = 0; d < index.size(); ++d)
      if (index[d] != SymbolExpr(range_.index)) Value(index[d]);
      else fine_ = fine_ && AsInt(c.shape[d]) == trips_ && c.storage != Storage::kRegister;
  }

  bool Takes(const std::vector<Expr>& index, bool (*what)(const Expr&, Name)) const {
    bool found = false;
    for (const Expr& e : index) Visit(e, [&](const Expr& part) { return found = found || what(part, range_.index), !found; });
    return found;
  }

  Expr Replaced(const Expr& value) {
    return Transform(InGroups(value), [&](const Expr& e) { return IsPlaceOf(e, range_.index) ? e->args[0] : e; });
  }
  Expr InGroups(const Expr& value) {
    return Transform(value, [&](const Expr& e) -> Expr {
      if (IsGroupOf(e, range_.index)) return SymbolExpr(group_);
      if (!e.Is(ExprKind::kRead) || e->flat) return e;
      std::vector<Expr> index{e->args.begin(), e->args.end() - e->has_default};
      const Name view = Viewed(e->name, &index);
      if (view == e->name) return e;
      if (e->has_default) index.push_back(e->args.back());
      ExprNode read = *e;
      read.name = view;
      read.args = std::move(index);
      return Expr(std::move(read));
    });
  }
  // With two dimensions for each that the index stands in.
  Name Viewed(Name container, std::vector<Expr>* index) {
    const Container c = s_.Get(container);
    Container view;
    view.kind = ContainerKind::kView;
    view.base = container;
    view.dtype = c.dtype;
    std::vector<Expr> split;
    const std::vector<Expr> strides = c.row_major() ? std::vector<Expr>() : StridesOf(c);
    for (size_t d = 0; d < index->size(); ++d) {
      const bool whole = (*index)[d] != SymbolExpr(range_.index);
      if (!whole) {
        view.shape.push_back(Expr(trips_ / length_));
        if (!strides.empty()) view.strides.push_back(strides[d] * Expr(length_));
        split.push_back(SymbolExpr(group_));
      }
      view.shape.push_back(whole ? c.shape[d] : Expr(length_));
      if (!strides.empty()) view.strides.push_back(strides[d]);
      split.push_back((*index)[d]);
    }
    if (split.size() == index->size()) return container;
    *index = std::move(split);
    for (Name known : s_.order) {
      const Container& o = s_.Get(known);
      if (o.kind == ContainerKind::kView && o.base == view.base && o.shape == view.shape && o.strides == view.strides && !o.offset)
        return known;
    }
    view.name = FreshIn(s_, "v");
    s_.Add(view);
    return view.name;
  }

  Sdfg& s_;
  const Nest& n_;
  Range range_;
  int64_t trips_, length_ = 0;
  bool fine_ = true, has_groups_ = false;
  Name group_;
};

}  // namespace

bool SplitGroups(Sdfg* s, Nest* n) {
  for (size_t i = 0; i < n->ranges.size(); ++i) {
    const Range r = n->ranges[i];
    if (AsInt(r.begin) != 0 || (r.step && AsInt(r.step) != 1)) continue;
    Splitter splitter(s, *n, r);
    const int64_t length = splitter.Length();
    if (length == 0) continue;
    const Name group = FreshIn(*s, r.index.str() + "_g");
    splitter.Split(group);
    n->ranges[i].end = Expr(length);
    n->ranges.insert(n->ranges.begin() + static_cast<long>(i), {group, Expr(0), Expr(*AsInt(r.end) / length), Expr(1)});
    return true;
  }
  return false;
}

}  // namespace headrace::schedule
