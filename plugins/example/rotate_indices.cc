// A tier-2 plugin: a transformation, which a person applies to one statement.
//
//   headrace --plugin ./rotate_indices.so opt f.sdfg --list --of rotate-indices
//   headrace --plugin ./rotate_indices.so opt f.sdfg --apply 'rotate-indices@#0'
//
//   map i in 0:N, j in 0:M { … }     →     map j in 0:M, i in 0:N { … }
#include "ir/registry/transformation.h"

#include <algorithm>

#include "ir/plugin.h"

namespace headrace {
namespace {

// A map's iterations have no order, so its indices may stand in any, unless the bounds of one are made of another.
bool Rotatable(const Map& m) {
  for (const Range& r : m.ranges)
    for (const Expr& e : {r.begin, r.end, r.step})
      for (Name used : FreeSymbols(e))
        for (const Range& other : m.ranges)
          if (used == other.index) return false;
  return m.ranges.size() > 1;
}

Result<bool> RotateIndices(Program& p, const PassOptions&, const Registry&, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    Sdfg& s = p.Mutable(p.sdfgs[i]->name);
    std::vector<NodeId> maps;
    ForEachNode(s, [&](NodeId n) {
      const auto* m = std::get_if<Map>(&s.nodes[n].body);
      if (m && Rotatable(*m)) maps.push_back(n);
    });
    for (NodeId n : maps) {
      Match match;
      match.sdfg = s.name, match.statements = {n};
      match.note = "which order is best depends on the arrays", match.advised = false;
      if (!ask(match)) continue;
      std::vector<Range>& ranges = std::get<Map>(s.nodes.Mutable(n).body).ranges;
      std::rotate(ranges.begin(), ranges.end() - 1, ranges.end());
      changed = true;
    }
  }
  return changed;
}

Status Register(Registry& r) {
  return r.Add(FromSteps("rotate-indices", "makes the innermost index of a map the outermost", {}, RotateIndices));
}

}  // namespace
}  // namespace headrace

HEADRACE_TIER2_PLUGIN("example_rotate_indices", headrace::Register)
