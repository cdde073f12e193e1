#include "autodiff/plan_model.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dataflow.h"

namespace headrace::autodiff {
namespace {

// What a cheap value may cost that is computed again: operations for each of its bytes. A byte that is kept is written and
// read once, which takes as long as some of these.
constexpr double kChainPerByte = 64;
constexpr double kThroughMemoryPerByte = 4;  // of a value on the way to it, besides its own work

class Builder {
 public:
  Builder(const Combined& c, const Options& o, const Registry& r)
      : c_(c), p_(c.program), s_(c.program.Entry()), sizes_(s_, o.sizes), costs_(r, &sizes_, c.costs) {}

  PlanModel Build() {
    for (size_t b = 0; b < s_.body.size(); ++b) {
      if (b == c_.forward_blocks) m_.forward = static_cast<int>(m_.units.size());
      const BlockId id = s_.body[b];
      if (const auto* st = std::get_if<State>(&s_.blocks[id].control)) {
        for (NodeId n : st->statements) AddUnit(id, n);
      } else {
        AddUnit(id, {});
      }
    }
    if (c_.forward_blocks >= s_.body.size()) m_.forward = static_cast<int>(m_.units.size());
    for (Name tape : c_.tapes)
      if (auto it = index_.find(tape); it != index_.end()) m_.arrays[it->second].tape = true;
    Writers();
    Values();
    Cheap();
    for (int u = 0; u < m_.forward; ++u) m_.forward_work += m_.units[u].work;
    m_.guessed.assign(guessed_.begin(), guessed_.end());
    return std::move(m_);
  }

 private:
  int Array(Name root) {
    auto [it, fresh] = index_.emplace(root, static_cast<int>(m_.arrays.size()));
    if (fresh) {
      const Container& c = s_.Get(root);
      PlannedArray a;
      a.name = root;
      a.arena = c.kind == ContainerKind::kTransient;
      if (c.kind != ContainerKind::kSequence && c.dtype != DType::kString) {
        sizes_.guessed().clear();
        a.bytes = sizes_.BytesOf(c);
        if (a.arena) guessed_.insert(sizes_.guessed().begin(), sizes_.guessed().end());
      }
      m_.arrays.push_back(a);
    }
    return it->second;
  }

  void AddUnit(BlockId block, NodeId node) {
    Unit u;
    u.block = block;
    u.node = node;
    for (const Touched& t : node.valid() ? TouchedBy(s_, node, callees_) : TouchedBy(s_, block, callees_)) {
      const int a = Array(t.root);
      if (t.read) u.reads.push_back(a);
      if (t.write) u.writes.push_back(a);
    }
    const Cost cost = node.valid() ? costs_.Of(p_, s_, node) : costs_.Of(p_, s_, block);
    u.work = cost.work;
    u.workspace = cost.workspace;
    u.elementwise = cost.elementwise;
    u.stays = !node.valid() || HasEffects(node);
    m_.units.push_back(std::move(u));
  }
  // Defines a size, or calls something whose doings are unknown.
  bool HasEffects(NodeId n) const {
    const Body& b = s_.nodes[n].body;
    if (const auto* l = std::get_if<Library>(&b)) return !l->defines.empty() || l->domain == Name("call");
    if (const auto* m = std::get_if<Map>(&b))
      for (NodeId inner : m->body)
        if (HasEffects(inner)) return true;
    return false;
  }

  void Writers() {
    first_write_.assign(m_.arrays.size(), -1);
    last_write_.assign(m_.arrays.size(), -1);
    for (size_t u = 0; u < m_.units.size(); ++u)
      for (int a : m_.units[u].writes) {
        if (first_write_[a] < 0) first_write_[a] = static_cast<int>(u);
        last_write_[a] = static_cast<int>(u);
      }
  }

  void Values() {
    const int n = static_cast<int>(m_.arrays.size());
    std::vector<int> parent(n);
    std::iota(parent.begin(), parent.end(), 0);
    auto find = [&](int a) {
      while (parent[a] != a) a = parent[a] = parent[parent[a]];
      return a;
    };
    for (int u = 0; u < m_.forward; ++u) {
      const Unit& unit = m_.units[u];
      if (!unit.node.valid()) continue;
      for (size_t i = 1; i < unit.writes.size(); ++i) parent[find(unit.writes[i])] = find(unit.writes[0]);
    }
    struct Group {
      std::vector<int> members;
      int last = -1;
    };
    std::unordered_map<int, Group> groups;
    std::vector<int> roots;
    for (int a = 0; a < n; ++a) {
      if (first_write_[a] < 0 || first_write_[a] >= m_.forward) continue;
      auto [it, fresh] = groups.emplace(find(a), Group());
      if (fresh) roots.push_back(find(a));
      it->second.members.push_back(a);
      it->second.last = std::max(it->second.last, last_write_[a]);
    }
    std::stable_sort(roots.begin(), roots.end(), [&](int a, int b) { return groups[a].last < groups[b].last; });
    std::vector<std::vector<int>> writers(n);
    for (size_t u = 0; u < m_.units.size(); ++u)
      for (int a : m_.units[u].writes) writers[a].push_back(static_cast<int>(u));
    for (int root : roots) {
      PlannedValue v;
      v.members = groups[root].members;
      const int index = static_cast<int>(m_.values.size());
      v.recomputable = true;
      for (int a : v.members) {
        const PlannedArray& array = m_.arrays[a];
        if (array.arena) v.bytes += array.bytes;
        m_.arrays[a].value = index;
        const Container& c = s_.Get(array.name);
        const bool plain = c.kind == ContainerKind::kTransient || (c.kind == ContainerKind::kParameter && !c.inout);
        v.recomputable &= plain && !array.tape && c.dtype != DType::kString && last_write_[a] < m_.forward;
        for (int u : writers[a]) {
          v.recomputable &= m_.units[u].node.valid() && !m_.units[u].stays;
          v.producers.push_back(u);
        }
      }
      std::sort(v.producers.begin(), v.producers.end());
      v.producers.erase(std::unique(v.producers.begin(), v.producers.end()), v.producers.end());
      for (int u : v.producers) {
        v.work += m_.units[u].work;
        for (int a : m_.units[u].reads) {
          if (m_.arrays[a].value == index) continue;
          v.recomputable &= last_write_[a] < u;  // it still holds what was read
          if (m_.arrays[a].value >= 0) v.inputs.push_back(m_.arrays[a].value);
        }
      }
      std::sort(v.inputs.begin(), v.inputs.end());
      v.inputs.erase(std::unique(v.inputs.begin(), v.inputs.end()), v.inputs.end());
      v.recomputable &= InArena(v);
      m_.values.push_back(std::move(v));
    }
    for (int u = m_.forward; u < static_cast<int>(m_.units.size()); ++u)
      for (int a : m_.units[u].reads) {
        const int v = m_.arrays[a].value;
        if (v < 0 || !m_.arrays[a].arena) continue;
        if (m_.values[v].uses.empty() || m_.values[v].uses.back() != u) m_.values[v].uses.push_back(u);
      }
  }

  // Elementwise from what is there in the backward part anyway: arguments, constants, values that it reads and keeps, or
  // other cheap values, unless there are many: every step of a long chain begins at one that is kept, not all at the first.
  void Cheap() {
    for (PlannedValue& v : m_.values) {
      v.cheap = v.recomputable;
      for (int u : v.producers) v.cheap &= m_.units[u].elementwise;
      for (int i : v.inputs)
        v.cheap &= !InArena(m_.values[i]) || m_.values[i].cheap || !m_.values[i].uses.empty();
      if (v.cheap && !v.uses.empty()) v.cheap = ShortChain(v);
    }
  }
  bool ShortChain(const PlannedValue& v) {
    double left = kChainPerByte * static_cast<double>(v.bytes);
    std::vector<int> todo = v.inputs;
    std::unordered_set<int> seen(todo.begin(), todo.end());
    while (!todo.empty()) {
      const PlannedValue& before = m_.values[todo.back()];
      todo.pop_back();
      if (!InArena(before) || !before.cheap) continue;
      left -= before.work + kThroughMemoryPerByte * static_cast<double>(before.bytes);
      if (left < 0) return false;
      for (int i : before.inputs)
        if (seen.insert(i).second) todo.push_back(i);
    }
    return true;
  }
  bool InArena(const PlannedValue& v) const {
    return std::any_of(v.members.begin(), v.members.end(), [&](int a) { return m_.arrays[a].arena; });
  }

  const Combined& c_;
  const Program& p_;
  const Sdfg& s_;
  Callees callees_{p_};
  Sizes sizes_;
  CostModel costs_;
  PlanModel m_;
  std::unordered_map<Name, int> index_;
  std::vector<int> first_write_, last_write_;
  std::set<Name> guessed_;
};

}  // namespace

PlanModel BuildPlanModel(const Combined& c, const Options& o, const Registry& r) { return Builder(c, o, r).Build(); }

}  // namespace headrace::autodiff
