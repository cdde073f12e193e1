#include <unordered_map>

#include "ir/analysis/dataflow.h"

namespace headrace {

std::vector<AccessNode> AccessNodesOf(const Program& p, const Sdfg& s, const State& state) {
  std::vector<AccessNode> out;
  std::unordered_map<Name, size_t> current;
  auto node = [&](Name n) -> AccessNode& {
    auto [it, fresh] = current.emplace(n, out.size());
    if (fresh) out.push_back({n, 0, {}, {}});
    return out[it->second];
  };
  Callees callees(p);
  for (uint32_t i = 0; i < state.statements.size(); ++i) {
    std::vector<Touched> touched = TouchedBy(s, state.statements[i], callees);
    for (const Touched& t : touched)
      if (t.read) node(t.root).readers.push_back(i);
    for (const Touched& t : touched) {
      if (!t.write) continue;
      auto it = current.find(t.root);
      int version = it == current.end() ? 1 : out[it->second].version + 1;
      current[t.root] = out.size();
      out.push_back({t.root, version, {i}, {}});
    }
  }
  return out;
}

}  // namespace headrace
