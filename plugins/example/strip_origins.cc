// A tier-2 plugin: a pass in C++ on the graph itself. Links libheadrace.so and is refused by a host built otherwise.
#include "ir/plugin.h"

namespace headrace {
namespace {

// Forgets where everything came from, so that texts of two programs can be compared line by line.
Result<bool> StripOrigins(Program& p, const PassOptions&, const Registry&) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    Sdfg& s = p.Mutable(p.sdfgs[i]->name);
    for (uint32_t n = 0; n < s.nodes.size(); ++n) {
      const Origin& o = s.nodes[NodeId{n}].origin;
      if (!o.named() && o.pass().empty()) continue;
      s.nodes.Mutable(NodeId{n}).origin = {};
      changed = true;
    }
  }
  return changed;
}

Status Register(Registry& r) {
  Pass pass;
  pass.name = "strip-origins";
  pass.doc = "Forget where statements came from (`from \"…\"`), to compare programs as text.";
  pass.run = StripOrigins;
  return r.Add(pass);
}

}  // namespace
}  // namespace headrace

HEADRACE_TIER2_PLUGIN("example_strip_origins", headrace::Register)
