#include "transforms/loop_groups.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/graph/homes.h"

namespace headrace::transforms {
namespace {

constexpr size_t kMostLooked = 64;  // parts beside a loop

}  // namespace

std::vector<Touched> LoopGroups::TouchedBy(const Part& p) const {
  return p.loop.valid() ? headrace::TouchedBy(s_, p.loop, callees_) : headrace::TouchedBy(s_, p.statement, callees_);
}

bool LoopGroups::MayBeIn(const Part& p) const {
  return p.loop.valid() || (std::holds_alternative<Map>(s_.nodes[p.statement].body) && asked_.statement(p.statement));
}

// Whether one writes what the other reads or writes.
bool LoopGroups::Conflict(const Part& a, const std::vector<Part>& list) const {
  std::unordered_map<Name, bool> of_a;
  for (const Touched& t : TouchedBy(a)) of_a[t.root] |= t.write;
  return std::any_of(list.begin(), list.end(), [&](const Part& b) {
    const std::vector<Touched> all = TouchedBy(b);
    return std::any_of(all.begin(), all.end(), [&](const Touched& t) {
      const auto it = of_a.find(t.root);
      return it != of_a.end() && (it->second || t.write);
    });
  });
}

// Something that one of them writes is in both, and `with` it, the group can go block by block.
bool LoopGroups::GoesWith(const Part& p, const std::vector<Part>& group, const std::vector<Part>& with) const {
  return MayBeIn(p) && Conflict(p, group) && loops_.GoInBlocks(with, asked_.statement);
}

// Whether a map goes over more than an iteration of the loop does.
bool LoopGroups::Sweeps(const Part& p, const Part& loop) const {
  if (p.loop.valid()) return false;
  size_t most = 0;
  ForEachBlock(s_, {loop.loop}, [&](BlockId b) {
    const auto* state = std::get_if<State>(&s_.blocks[b].control);
    for (NodeId n : state ? state->statements : std::vector<NodeId>())
      if (const auto* m = std::get_if<Map>(&s_.nodes[n].body)) most = std::max(most, m->ranges.size());
  });
  return std::get<Map>(s_.nodes[p.statement].body).ranges.size() > most;
}

// Whether all that maps go over so is between them and the loops alone: else it would be out of the caches before it is used.
bool LoopGroups::StaysNear(const std::vector<Part>& group, const Part& loop) const {
  const std::vector<Name> own = loops_.OfBlocks(group);
  return std::all_of(group.begin(), group.end(), [&](const Part& p) {
    if (!Sweeps(p, loop)) return true;
    const std::vector<Touched> all = TouchedBy(p);
    return std::any_of(all.begin(), all.end(), [&](const Touched& t) { return std::find(own.begin(), own.end(), t.root) != own.end(); });
  });
}

// From the loop up: maps that what stands between may come before. `narrow`: none that goes over more than this loop.
void LoopGroups::Backwards(const std::vector<Part>& parts, const Part* narrow, Found* out) const {
  for (size_t k = parts.size(); k-- > 0;) {
    const Part& p = parts[k];
    std::vector<Part> with = out->group;
    with.insert(with.begin(), p);
    const bool wide = narrow && MayBeIn(p) && Sweeps(p, *narrow);
    if (!p.loop.valid() && !wide && !Conflict(p, out->before) && GoesWith(p, out->group, with)) out->group = std::move(with);
    else out->before.insert(out->before.begin(), p);
  }
}

// From the loop down: what does not go with it comes before where it can, else after.
void LoopGroups::Forwards(const std::vector<Part>& parts, const Part* narrow, Found* out) const {
  for (const Part& p : parts) {
    std::vector<Part> with = out->group;
    with.push_back(p);
    const bool moves = !Conflict(p, out->after), wide = narrow && MayBeIn(p) && Sweeps(p, *narrow);
    if (moves && !wide && GoesWith(p, out->group, with)) out->group = std::move(with);
    else if (moves && !Conflict(p, out->group)) out->before.push_back(p);
    else out->after.push_back(p);
  }
}

LoopGroups::Found LoopGroups::Around(const std::vector<Part>& above, const Part& loop, const std::vector<Part>& below, bool sweeps) const {
  const Part* narrow = sweeps ? nullptr : &loop;
  Found out;
  out.group = {loop};
  Backwards(above, narrow, &out);
  Forwards(below, narrow, &out);
  Backwards(std::exchange(out.before, {}), narrow, &out);  // what only a loop behind needs
  return out;
}

bool LoopGroups::JoinFirst(std::vector<Part>* parts) {
  for (size_t k = 0; k < parts->size(); ++k) {
    if (!(*parts)[k].loop.valid()) continue;
    const auto at = parts->begin() + static_cast<long>(k);
    const auto first = at - static_cast<long>(std::min(k, kMostLooked));
    const auto last = at + static_cast<long>(std::min(parts->size() - k, kMostLooked + 1));
    Found found = Around({first, at}, *at, {at + 1, last}, /*sweeps=*/true);
    if (!StaysNear(found.group, *at)) found = Around({first, at}, *at, {at + 1, last}, /*sweeps=*/false);
    const NodeId joined = found.group.size() > 1 ? asked_.join(found.group) : NodeId{};
    if (!joined.valid()) continue;
    std::vector<Part> out(parts->begin(), first), after = std::move(found.after);
    after.insert(after.end(), last, parts->end());
    JoinFirst(&after);
    out.insert(out.end(), found.before.begin(), found.before.end());
    out.push_back({joined, {}});
    out.insert(out.end(), after.begin(), after.end());
    *parts = std::move(out);
    return true;
  }
  return false;
}

// Whether it uses a register that lives outside of it.
bool LoopGroups::SharesRegister(NodeId n) const {
  const std::vector<Home> homes = HomesOf(s_, {n});
  return std::any_of(homes.begin(), homes.end(), [](const Home& h) { return !h.owner.valid(); });
}

// Whether what it touches says where it may stand.
bool LoopGroups::Moves(BlockId b) const {
  if (const auto* state = std::get_if<State>(&s_.blocks[b].control))
    return std::all_of(state->statements.begin(), state->statements.end(),
                       [&](NodeId n) { return asked_.statement(n) && !SharesRegister(n); });
  return std::holds_alternative<Loop>(s_.blocks[b].control) && asked_.loop(b) && loops_.GoInBlocks({{{}, b}}, asked_.statement);
}

std::vector<BlockId> LoopGroups::BlocksOf(const std::vector<Part>& parts) {
  std::vector<BlockId> out;
  bool open = false;
  for (const Part& p : parts) {
    if (p.loop.valid()) out.push_back(p.loop);
    else if (open) std::get<State>(s_.blocks.Mutable(out.back()).control).statements.push_back(p.statement);
    else out.push_back(s_.AddBlock(State{{}, {p.statement}}));
    open = !p.loop.valid();
  }
  return out;
}

std::vector<BlockId> LoopGroups::Joined(const std::vector<BlockId>& body) {
  std::vector<BlockId> out, run;
  std::vector<Part> parts;
  const auto end_run = [&] {
    if (JoinFirst(&parts)) run = BlocksOf(parts);
    out.insert(out.end(), run.begin(), run.end());
    run.clear(), parts.clear();
  };
  for (BlockId b : body) {
    if (!Moves(b)) {
      end_run();
      out.push_back(b);
      continue;
    }
    run.push_back(b);
    if (const auto* state = std::get_if<State>(&s_.blocks[b].control))
      for (NodeId n : state->statements) parts.push_back({n, {}});
    else parts.push_back({{}, b});
  }
  end_run();
  return out;
}

}  // namespace headrace::transforms
