#include "transforms/alias.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/analysis/arena.h"
#include "ir/analysis/dataflow.h"
#include "ir/registry/call_contract.h"
#include "transforms/each_sdfg.h"
#include "transforms/in_place.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

using transforms::InPlaceNest;
using transforms::IsWhole;
using transforms::UseIndex;

class InPlace {
 public:
  InPlace(const Program& p, const Registry& r, Sdfg* s, const Ask& ask) : r_(r), s_(*s), ask_(ask), index_(p, *s) {}

  bool Run() {
    const std::vector<bool> handed_on = HandedOn();
    for (uint32_t at = 0; at < index_.positions().size(); ++at) {
      const UseIndex::Position& place = index_.positions()[at];
      if (!handed_on[at] || !place.statement.valid() || InLoop(place.region)) continue;
      const Body& b = s_.nodes[place.statement].body;
      if (std::holds_alternative<Map>(b)) Statement(place.statement, at);
      else if (const auto* l = std::get_if<Library>(&b)) Call(place.statement, *l, at);
    }
    if (placed_.empty()) return false;
    for (const InPlaceNest::Write& w : moved_) Move(w);
    OneName();
    return true;
  }

 private:
  // Where one array is used first and another one last: nowhere else is there anything to look at.
  std::vector<bool> HandedOn() const {
    struct Ends {
      uint32_t first = 0, last = 0, both = 0;
    };
    std::vector<Ends> ends(index_.positions().size());
    for (Name n : s_.order) {
      const transforms::Usage& u = index_.Of(n);
      const uint32_t first = u.First(), last = u.Last();
      if (first > last) continue;
      const bool gives = MayLieInArena(s_.Get(n));
      ++ends[first].first, ends[last].last += gives, ends[first].both += gives && first == last;
    }
    std::vector<bool> out;
    for (const Ends& e : ends) out.push_back(e.first > 0 && e.last > 0 && !(e.first == 1 && e.last == 1 && e.both == 1));
    return out;
  }
  bool InLoop(int region) const {
    for (; region >= 0; region = index_.regions()[region].parent)
      if (index_.regions()[region].loop) return true;
    return false;
  }
  void Statement(NodeId id, uint32_t at) {
    const InPlaceNest nest(s_, id);
    if (!nest.plain()) return;
    std::unordered_set<Name> taken;  // each array once
    for (const InPlaceNest::Write& w : nest.writes()) {
      const Name to = RootOf(s_, w.target);
      const bool own = MayLieInArena(s_.Get(to)), result = !own && IsResult(to) && nest.Covers(w);
      if ((!own && !result) || index_.Of(to).First() != at || placed_.count(to) || homes_.count(to)) continue;
      if (!nest.OnlyBeside(w.target, w)) continue;
      for (Name n : nest.ReadAt(w)) {
        const Name from = RootOf(s_, n);
        const bool free = from != to && !taken.count(from) && index_.Of(from).Last() == at && MayLieInArena(s_.Get(from));
        if (!free || !Alike(n, w.target) || !nest.OnlyBeside(n, w) || (result && !WithoutBranches(Home(from), at))) continue;
        if (!ask_(Match{s_.name, {id}, {}, {to}, "", true})) break;
        taken.insert(from);
        if (w.moved_before.valid()) moved_.push_back(w);
        if (own) Place(to, from);
        else Place(Home(from), to), homes_.insert(to);
        break;
      }
    }
  }
  void Place(Name array, Name at) { placed_[array] = at, order_.push_back(array); }
  // What the program only writes, and gives in any case.
  bool IsResult(Name n) const {
    const Container& c = s_.Get(n);
    return c.kind == ContainerKind::kParameter && !c.inout && !c.optional && c.dtype != DType::kString && index_.Of(n).First() <= index_.Of(n).Last();
  }
  // Every run that computes the array comes to statement `at`, where a result takes its place.
  bool WithoutBranches(Name array, uint32_t at) const {
    for (uint32_t k = index_.Of(array).First(); k <= at; ++k)
      if (index_.positions()[k].region >= 0) return false;
    return true;
  }
  Name Home(Name n) {
    Name home = n;
    for (auto it = placed_.find(home); it != placed_.end(); it = placed_.find(home)) home = it->second;
    while (n != home) n = std::exchange(placed_.at(n), home);  // chains are as long as programs
    return home;
  }
  void Move(const InPlaceNest::Write& w) {
    std::vector<NodeId>& body = std::get<Map>(s_.nodes.Mutable(w.body).body).body;
    body.erase(std::find(body.begin(), body.end(), w.tasklet));
    body.insert(std::find(body.begin(), body.end(), w.moved_before), w.tasklet);
  }
  // What was placed is a view of where it lies now; and all of one shape that are the whole array are one name.
  void OneName() {
    std::unordered_map<Name, std::vector<Name>> names;  // of each array, one for every shape
    for (Name n : order_) {
      const Name home = Home(n);
      names.emplace(home, std::vector<Name>{home});
      Container& c = s_.Mutable(n);
      c.kind = ContainerKind::kView;
      c.base = home;
    }
    std::unordered_map<Name, Name> renamed;
    for (Name n : std::vector<Name>(s_.order.begin(), s_.order.end())) {
      if (s_.Get(n).kind != ContainerKind::kView) continue;
      const auto it = names.find(RootOf(s_, n));
      if (it == names.end() || (!placed_.count(n) && !IsWhole(s_, n))) continue;
      const auto same = std::find_if(it->second.begin(), it->second.end(), [&](Name other) { return SameForm(s_.Get(n), s_.Get(other)); });
      if (same == it->second.end()) it->second.push_back(n);
      else renamed[n] = *same;
    }
    transforms::RenameUses(&s_, renamed);
    std::unordered_set<Name> gone;
    for (const auto& r : renamed) gone.insert(r.first);
    transforms::RemoveContainers(&s_, gone);
    DropCopiesOntoThemselves();
  }
  void DropCopiesOntoThemselves() {
    bool dropped = false;
    for (uint32_t i = 0; i < s_.nodes.size(); ++i) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[NodeId{i}].body);
      if (!t || t->op != WriteOp::kAssign || t->flat || t->guarded || !t->value.Is(ExprKind::kRead)) continue;
      const Expr& e = t->value;
      if (e->name != t->target || e->flat || e->has_default || e->args != t->index) continue;
      s_.nodes.Mutable(NodeId{i}).body = std::monostate{};
      dropped = true;
    }
    if (dropped) transforms::RemoveEmptied(&s_);
  }
  // The pairs of ports that the function called can do without a second array for.
  void Call(NodeId id, const Library& l, uint32_t at) {
    const ExternalFunction* f = FunctionOf(r_, l);
    std::unordered_set<Name> taken;
    for (size_t k = 0; f && k < f->in_place.size(); ++k) {
      const Name to = ContainerAt(l.outputs, f->in_place[k].first), from = ContainerAt(l.inputs, f->in_place[k].second);
      if (to.empty() || from.empty() || to == from || taken.count(from) || placed_.count(to)) continue;
      const auto uses = [&](Name n) {
        size_t count = 0;
        for (const auto* ports : {&l.inputs, &l.outputs})
          for (const Port& p : *ports) count += !p.container.empty() && RootOf(s_, p.container) == n;
        return count;
      };
      const bool fresh = MayLieInArena(s_.Get(to)) && index_.Of(to).First() == at && !index_.Of(to).viewed && uses(to) == 1;
      const bool free = MayLieInArena(s_.Get(from)) && index_.Of(from).Last() == at && !index_.Of(from).viewed && uses(from) == 1;
      if (!fresh || !free || !Alike(from, to) || !ask_(Match{s_.name, {id}, {}, {to}, "", true})) continue;
      Place(to, from), taken.insert(from);
    }
  }
  static Name ContainerAt(const std::vector<Port>& ports, const std::string& name) {
    for (const Port& p : ports)
      if (p.name == Name(name)) return p.container;
    return Name();
  }
  static bool SameForm(const Container& a, const Container& b) {
    return a.shape == b.shape && a.strides == b.strides && a.order == b.order;
  }
  // Names of whole arrays that lie in memory alike.
  bool Alike(Name a, Name b) const {
    const Container &x = s_.Get(a), &y = s_.Get(b), &of_x = s_.Get(RootOf(s_, a)), &of_y = s_.Get(RootOf(s_, b));
    return IsWhole(s_, a) && IsWhole(s_, b) && x.dtype == y.dtype && SameForm(x, y) && of_x.storage == of_y.storage;
  }

  const Registry& r_;
  Sdfg& s_;
  const Ask& ask_;
  UseIndex index_;
  std::unordered_map<Name, Name> placed_;  // arrays, and in whose place they lie
  std::vector<Name> order_;                // of those
  std::unordered_set<Name> homes_;         // results that others lie in
  std::vector<InPlaceNest::Write> moved_;
};

}  // namespace

Result<bool> Alias(Program& p, const Registry& r, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) {
    // What takes a place, or gives its own, is an array of the arena.
    const auto in_arena = [&](Name n) { return MayLieInArena(s->Get(n)); };
    return std::any_of(s->order.begin(), s->order.end(), in_arena) && InPlace(p, r, s, ask).Run();
  });
}

}  // namespace headrace
