#include "transforms/loop_groups.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace headrace::transforms {
namespace {

constexpr size_t kMostLooked = 64;  // parts beside a loop

}  // namespace

std::vector<Touched> LoopGroups::TouchedBy(const Part& p) const {
  return p.loop.valid() ? headrace::TouchedBy(s_, p.loop, callees_) : headrace::TouchedBy(s_, p.statement, callees_);
}

bool LoopGroups::MayBeIn(const Part& p) const {
  return p.loop.valid() || (std::holds_alternative<Map>(s_.nodes[p.statement].body) && may_(p.statement));
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

// Whether something that one of them writes is in both.
bool LoopGroups::Meet(const Part& a, const std::vector<Part>& group) const { return Conflict(a, group); }

// From the loop up: maps that what stands between may come before.
void LoopGroups::Backwards(const std::vector<Part>& parts, size_t loop, Found* out) const {
  for (size_t k = loop; k-- > 0;) {
    const Part& p = parts[k];
    std::vector<Part> with = out->group;
    with.insert(with.begin(), p);
    const bool near = loop - k <= kMostLooked;
    if (near && MayBeIn(p) && !p.loop.valid() && Meet(p, out->group) && !Conflict(p, out->before) && loops_.GoInBlocks(with, may_))
      out->group = std::move(with);
    else out->before.insert(out->before.begin(), p);
  }
}

// From the loop down: what does not go with it comes before where it can, else after.
void LoopGroups::Forwards(const std::vector<Part>& parts, size_t loop, Found* out) const {
  for (size_t k = loop + 1; k < parts.size(); ++k) {
    const Part& p = parts[k];
    std::vector<Part> with = out->group;
    with.push_back(p);
    const bool moves = k - loop <= kMostLooked && !Conflict(p, out->after);
    if (moves && MayBeIn(p) && Meet(p, out->group) && loops_.GoInBlocks(with, may_)) out->group = std::move(with);
    else if (moves && !Conflict(p, out->group)) out->before.push_back(p);
    else out->after.push_back(p);
  }
}

LoopGroups::Found LoopGroups::Around(const std::vector<Part>& parts, size_t loop) const {
  Found out;
  out.group = {parts[loop]};
  Backwards(parts, loop, &out);
  Forwards(parts, loop, &out);
  const std::vector<Part> before = std::exchange(out.before, {});
  Backwards(before, before.size(), &out);  // what only a loop behind needs
  return out;
}

bool LoopGroups::Run(std::vector<Part>* parts) {
  for (size_t k = 0; k < parts->size(); ++k) {
    if (!(*parts)[k].loop.valid()) continue;
    Found found = Around(*parts, k);
    if (found.group.size() < 2) continue;
    const NodeId joined = join_(found.group);
    if (!joined.valid()) continue;
    Run(&found.before), Run(&found.after);
    *parts = std::move(found.before);
    parts->push_back({joined, {}});
    parts->insert(parts->end(), found.after.begin(), found.after.end());
    return true;
  }
  return false;
}

}  // namespace headrace::transforms
