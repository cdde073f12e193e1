#include "transforms/separate_tiles.h"

#include <algorithm>

#include "ir/graph/homes.h"

namespace headrace {
namespace {

constexpr size_t kTileDims = 2;  // of fewer, compilers see what is an element of which vector

bool HasGrid(const Sdfg& s) {
  bool found = false;
  ForEachNode(s, [&](NodeId n) {
    const auto* m = std::get_if<Map>(&s.nodes[n].body);
    found |= m && m->schedule == Schedule::kGrid;
  });
  return found;
}

// A list of statements that a loop or an `if` owns.
struct Side {
  NodeId owner;
  bool otherwise = false;
  friend bool operator==(const Side& a, const Side& b) { return a.owner == b.owner && a.otherwise == b.otherwise; }
};

class TileSides {
 public:
  TileSides(const Sdfg& s, const std::vector<NodeId>& statements) : s_(s), homes_(HomesOf(s, statements)) {}

  std::vector<Side> Run() const {
    std::vector<Side> out;
    for (const Home& h : homes_) {
      const Side side{h.owner, h.otherwise};
      if (!IsTile(h) || !CanBeApart(side) || std::find(out.begin(), out.end(), side) != out.end()) continue;
      out.push_back(side);
    }
    return out;
  }

 private:
  bool IsTile(const Home& h) const {
    const Container& c = s_.Get(h.container);
    return c.storage == Storage::kRegister && c.shape.size() >= kTileDims;
  }
  bool CanBeApart(const Side& side) const {
    if (!side.owner.valid()) return false;
    const Body& owner = s_.nodes[side.owner].body;
    if (const auto* i = std::get_if<If>(&owner)) return !MayLeave(side, side.otherwise ? i->otherwise : i->body);
    const auto* m = std::get_if<Map>(&owner);
    return m && m->schedule == Schedule::kSequential && !MayLeave(side, m->body);
  }
  bool AsksForMemory(const Side& side) const {
    return std::any_of(homes_.begin(), homes_.end(), [&](const Home& h) {
      return h.owner == side.owner && h.otherwise == side.otherwise && s_.Get(h.container).storage == Storage::kWorker;
    });
  }
  bool MayLeave(const Side& side, const std::vector<NodeId>& body) const {
    if (AsksForMemory(side)) return true;
    return std::any_of(body.begin(), body.end(), [&](NodeId n) {
      const Body& statement = s_.nodes[n].body;
      if (const auto* k = std::get_if<Touch>(&statement)) return k->kind == TouchKind::kCheck;
      if (const auto* m = std::get_if<Map>(&statement)) return MayLeave({n}, m->body);
      const auto* i = std::get_if<If>(&statement);
      return i && (MayLeave({n}, i->body) || MayLeave({n, true}, i->otherwise));
    });
  }

  const Sdfg& s_;
  const std::vector<Home> homes_;
};

std::vector<NodeId>& BodyOf(const Side& side, Body* owner) {
  if (auto* m = std::get_if<Map>(owner)) return m->body;
  If& i = std::get<If>(*owner);
  return side.otherwise ? i.otherwise : i.body;
}

void Separate(const Side& side, Sdfg* s) {
  std::vector<NodeId> body = BodyOf(side, &s->nodes.Mutable(side.owner).body);
  const Origin origin = s->nodes[body.front()].origin;
  const NodeId apart = s->AddNode(Map{{}, std::move(body), Schedule::kApart}, origin);
  BodyOf(side, &s->nodes.Mutable(side.owner).body) = {apart};
}

}  // namespace

Result<bool> SeparateTiles(Program& p, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    const std::shared_ptr<Sdfg> s = p.sdfgs[i];
    if (!s->kernel || s->device.empty() || HasGrid(*s)) continue;
    std::vector<Side> sides;
    for (BlockId b : s->body)
      if (const auto* state = std::get_if<State>(&s->blocks[b].control))
        for (const Side& side : TileSides(*s, state->statements).Run()) {
          Body owner = s->nodes[side.owner].body;
          Match m;
          m.sdfg = s->name;
          m.statements = BodyOf(side, &owner);
          if (ask(m)) sides.push_back(side);
        }
    if (sides.empty()) continue;
    Sdfg& own = p.Mutable(s->name);
    for (const Side& side : sides) Separate(side, &own);
    Renumber(&own);
    changed = true;
  }
  return changed;
}

}  // namespace headrace
