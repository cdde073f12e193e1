#include "transforms/in_place.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/graph/homes.h"

namespace headrace::transforms {
namespace {

size_t CommonLevels(const InPlaceNest::Path& a, const InPlaceNest::Path& b) {
  size_t k = 0;
  while (k < a.size() && k < b.size() && a[k] == b[k]) ++k;
  return k;
}

// Beside each other in one body.
bool InOneBody(const InPlaceNest::Path& a, const InPlaceNest::Path& b) {
  return a.size() == b.size() && CommonLevels(a, b) + 1 >= a.size();
}

// The only dimension that takes the index, as it is; -1: none, or several do.
int DimensionOf(const std::vector<Expr>& index, Name n) {
  int found = -1;
  for (size_t d = 0; d < index.size(); ++d) {
    const std::vector<Name> symbols = FreeSymbols(index[d]);
    if (std::find(symbols.begin(), symbols.end(), n) == symbols.end()) continue;
    if (found >= 0 || !index[d].Is(ExprKind::kSymbol)) return -1;
    found = static_cast<int>(d);
  }
  return found;
}

}  // namespace

InPlaceNest::InPlaceNest(const Sdfg& s, NodeId top) : s_(s), top_(top) {
  plain_ = Walk(top);
  for (size_t i = 0, n = writes_.size(); plain_ && i < n; ++i) AddLater(Write(writes_[i]));
}

bool InPlaceNest::Walk(NodeId n) {
  const auto* m = std::get_if<Map>(&s_.nodes[n].body);
  if (!m || m->schedule != Schedule::kDefault) return false;
  for (const Range& r : m->ranges)
    for (const Expr& e : {r.begin, r.end, r.step})
      if (e && !ReadContainers(e).empty()) return false;
  around_.push_back({n, 0});
  for (size_t at = 0; at < m->body.size(); ++at) {
    around_.back().at = at;
    const Body& b = s_.nodes[m->body[at]].body;
    if (std::holds_alternative<Tasklet>(b)) Note(m->body[at]);
    else if (std::holds_alternative<Map>(b) && !Walk(m->body[at])) return false;
    else if (!std::holds_alternative<Map>(b) && !std::holds_alternative<std::monostate>(b)) return false;
  }
  around_.pop_back();
  return true;
}

// What it lies in; none where that is a map's own and takes nobody's place.
Name InPlaceNest::ArrayOf(Name container) {
  auto& [name, array] = arrays_[container.id() % arrays_.size()];
  if (name == container) return array;
  name = container;
  const Name root = RootOf(s_, container);
  return array = IsScoped(s_.Get(root).storage) ? Name() : root;
}

void InPlaceNest::Note(NodeId id) {
  const Tasklet& t = std::get<Tasklet>(s_.nodes[id].body);
  const auto path = static_cast<uint32_t>(paths_.size());
  paths_.emplace_back();
  for (const Level& l : around_) paths_.back().push_back(2 * l.at + 1);
  const auto reads = [&](const Expr& e) {
    Visit(e, [&](const Expr& x) {
      const auto root = x.Is(ExprKind::kRead) ? ArrayOf(x->name) : Name();
      if (!root.empty()) accesses_.push_back({x->name, root, id, path, &x->args, !x->flat && !x->has_default, false});
      return true;
    });
  };
  reads(t.value);
  for (const Expr& e : t.index) reads(e);
  const Name written = ArrayOf(t.target);
  if (written.empty()) return;
  const bool exact = !t.flat && !t.guarded && t.op == WriteOp::kAssign;
  // What is added to is its own element, too, once it has been written.
  accesses_.push_back({t.target, written, id, path, &t.index, !t.flat && !t.guarded, true});
  if (exact && EachItsOwn(t.index)) writes_.push_back({t.target, id, around_.back().map, t.index, paths_[path], {}});
}

// Every index of the maps around stands alone in one dimension.
bool InPlaceNest::EachItsOwn(const std::vector<Expr>& index) const {
  std::vector<Name> seen, indices;  // as few as an array has dimensions
  for (const Expr& e : index)
    if (e.Is(ExprKind::kSymbol)) seen.push_back(e->name);
    else if (!AsInt(e)) return false;
  const auto contains = [](const std::vector<Name>& list, Name n) { return std::find(list.begin(), list.end(), n) != list.end(); };
  for (const Level& l : around_)
    for (const Range& r : std::get<Map>(s_.nodes[l.map].body).ranges) {
      if (!contains(seen, r.index) || contains(indices, r.index)) return false;
      indices.push_back(r.index);
    }
  return true;
}

// A constant may also be written right before the array is used next: 0 before the sum, after what is read until then.
void InPlaceNest::AddLater(const Write& w) {
  if (!ReadContainers(std::get<Tasklet>(s_.nodes[w.tasklet].body).value).empty()) return;
  const Name root = RootOf(s_, w.target);
  const size_t last = w.path.size() - 1;
  size_t next = ~size_t{0};
  for (const Access& a : accesses_)
    if (const Path& path = paths_[a.path];
        a.root == root && path.size() > last && CommonLevels(path, w.path) == last && path[last] > w.path[last])
      next = std::min(next, path[last]);
  if (next == ~size_t{0} || next == w.path[last] + 2) return;
  Write later = w;
  later.path[last] = next - 1;
  later.moved_before = std::get<Map>(s_.nodes[w.body].body).body[next / 2];
  writes_.push_back(std::move(later));
}

std::vector<Name> InPlaceNest::ReadAt(const Write& w) const {
  std::vector<Name> out;
  for (const Access& a : accesses_)
    if (!a.write && InOneBody(paths_[a.path], w.path) && std::find(out.begin(), out.end(), a.container) == out.end())
      out.push_back(a.container);
  return out;
}

std::vector<Name> InPlaceNest::CommonIndices(const Path& a, const Path& b) const {
  std::vector<Name> out;
  const size_t common = CommonLevels(a, b);
  NodeId map = top_;
  for (size_t k = 0;; ++k) {
    const Map& m = std::get<Map>(s_.nodes[map].body);
    for (const Range& r : m.ranges) out.push_back(r.index);
    if (k == common) return out;
    map = m.body[a[k] / 2];
  }
}

bool InPlaceNest::InItsRow(const Access& a, const Write& w) const {
  for (Name n : CommonIndices(paths_[a.path], w.path)) {
    const int d = DimensionOf(w.index, n);
    if (d < 0 || DimensionOf(*a.index, n) != d) return false;
  }
  return true;
}

bool InPlaceNest::OnlyBeside(Name c, const Write& w) const {
  const Name root = RootOf(s_, c);
  const bool target = c == w.target;
  return std::all_of(accesses_.begin(), accesses_.end(), [&](const Access& a) {
    if (a.root != root) return true;
    if (a.container != c || !a.exact) return false;
    const bool same = a.tasklet == w.tasklet;
    const Path& path = paths_[a.path];
    if (same && a.write) return target;
    if (InOneBody(path, w.path) ? *a.index != w.index : !InItsRow(a, w)) return false;
    if (same) return target || path == w.path;
    return target ? path > w.path : path < w.path;
  });
}

bool InPlaceNest::Covers(const Write& w) const {
  const std::vector<Expr>& shape = s_.Get(w.target).shape;
  size_t covered = 0;
  NodeId map = top_;
  for (size_t k = 0; k < w.path.size(); ++k) {
    const Map& m = std::get<Map>(s_.nodes[map].body);
    for (const Range& r : m.ranges) {
      const int d = DimensionOf(w.index, r.index);
      if (d < 0 || AsInt(r.begin) != 0 || (r.step && AsInt(r.step) != 1) || r.end != shape[static_cast<size_t>(d)]) return false;
      ++covered;
    }
    map = m.body[w.path[k] / 2];
  }
  return covered == shape.size();
}

bool IsWhole(const Sdfg& s, Name container) {
  if (s.Get(container).kind != ContainerKind::kView) return true;
  const Expr count = NumElements(s.Get(container));
  for (Name n = container;; n = s.Get(n).base) {
    const Container& c = s.Get(n);
    if (c.kind != ContainerKind::kView) return n == container || (c.row_major() && NumElements(c) == count);
    if (c.offset || !c.row_major()) return false;
  }
}

}  // namespace headrace::transforms
