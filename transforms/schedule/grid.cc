#include "transforms/schedule/grid.h"

#include <unordered_set>

#include "ir/analysis/threads.h"
#include "ir/graph/homes.h"
#include "transforms/schedule/steps.h"

namespace headrace::schedule {
namespace {

class Grid {
 public:
  Grid(Sdfg* s, const Device& d) : s_(*s), d_(d) {}

  std::string Run() {
    for (BlockId b : s_.body) {
      const auto* state = std::get_if<State>(&s_.blocks[b].control);
      if (!state) continue;
      const std::vector<NodeId> regions = Regions(std::vector<NodeId>(state->statements));
      std::get<State>(s_.blocks.Mutable(b).control).statements = regions;
      if (std::string why = PlaceLocals(regions); !why.empty()) return why;
    }
    return "";
  }

 private:
  bool HoldsRegion(NodeId n) const {
    const Body& body = s_.nodes[n].body;
    if (const auto* m = std::get_if<Map>(&body)) return m->schedule == Schedule::kParallel;
    bool found = false;
    ForEachBody(body, [&](const std::vector<NodeId>& inside) {
      for (NodeId c : inside) found |= HoldsRegion(c);
    });
    return found;
  }

  // Statements between regions make one of their own, of one block.
  std::vector<NodeId> Regions(const std::vector<NodeId>& list) {
    std::vector<NodeId> out, between;
    const auto close = [&] {
      if (between.empty()) return;
      const Name index = FreshIn(s_, "g");
      out.push_back(s_.AddNode(Map{{{index, Expr(0), Expr(1), Expr(1)}}, between, Schedule::kGrid}));
      between.clear();
    };
    for (NodeId n : list) {
      if (!HoldsRegion(n)) {
        Blocks(n);
        between.push_back(n);
        continue;
      }
      close();
      out.push_back(n);
      Region(n);
    }
    close();
    return out;
  }

  void Region(NodeId n) {
    if (std::holds_alternative<Map>(s_.nodes[n].body)) {
      std::get<Map>(s_.nodes.Mutable(n).body).schedule = Schedule::kGrid;
      for (NodeId c : std::vector<NodeId>(std::get<Map>(s_.nodes[n].body).body)) Blocks(c);
      return;
    }
    If choice = std::get<If>(s_.nodes[n].body);
    choice.body = Regions(choice.body);
    choice.otherwise = Regions(choice.otherwise);
    s_.nodes.Mutable(n).body = std::move(choice);
  }

  void Blocks(NodeId n) {
    std::vector<NodeId> inside;
    ForEachBody(s_.nodes[n].body, [&](const std::vector<NodeId>& list) { inside.insert(inside.end(), list.begin(), list.end()); });
    const auto* m = std::get_if<Map>(&s_.nodes[n].body);
    if (m && m->schedule == Schedule::kVector) std::get<Map>(s_.nodes.Mutable(n).body).schedule = Schedule::kBlock;
    for (NodeId c : inside) Blocks(c);
  }

  std::string PlaceLocals(const std::vector<NodeId>& regions) {
    std::unordered_set<Name> shared;
    for (Name n : SharedByThreads(s_, regions)) shared.insert(n);
    int64_t bytes = 0;
    for (const Home& h : HomesOf(s_, regions)) {
      if (!h.owner.valid()) continue;  // memory that several regions use
      Container& c = s_.Mutable(h.container);
      if (c.storage == Storage::kRegister && shared.count(h.container) == 0) continue;
      c.storage = Storage::kShared;
      const auto elements = AsInt(NumElements(c));
      if (!elements) return "a buffer in shared memory whose size is not known";
      bytes += *elements * ByteSize(c.dtype);
    }
    if (bytes > d_.shared_bytes) return "it needs " + std::to_string(bytes) + " bytes of shared memory";
    return "";
  }

  Sdfg& s_;
  const Device& d_;
};

}  // namespace

std::string OntoGrid(Sdfg* kernel, const Device& d) { return Grid(kernel, d).Run(); }

}  // namespace headrace::schedule
