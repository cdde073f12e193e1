#include "transforms/passes.h"

#include <cstdlib>
#include <tuple>

#include "transforms/dead_code.h"
#include "transforms/eliminate_copies.h"
#include "transforms/expand_library_nodes.h"
#include "transforms/fold_control.h"
#include "transforms/forward_registers.h"
#include "transforms/fuse_maps.h"
#include "transforms/fuse_states.h"
#include "transforms/inline_nested.h"
#include "transforms/scalarize.h"

namespace headrace::transforms {
namespace {

std::string Option(const PassOptions& o, const std::string& name) {
  for (const auto& [key, value] : o)
    if (key == name) return value;
  return "";
}

Pass Make(std::string name, std::string doc, std::vector<std::string> options,
          std::function<Result<bool>(Program&, const PassOptions&, const Registry&)> run) {
  Pass p;
  p.name = std::move(name);
  p.doc = std::move(doc);
  p.options = std::move(options);
  p.run = std::move(run);
  return p;
}

}  // namespace

Status RegisterAll(Registry& r) {
  HR_RETURN_IF_ERROR(
      r.Add(Make("expand-library-nodes", "replaces library nodes by their implementation's expansion, inlined",
                 {"only", "where"}, [](Program& p, const PassOptions& o, const Registry& reg) -> Result<bool> {
                   const std::string where = Option(o, "where");
                   ExpandOptions expand{Option(o, "only")};
                   if (where == "maps") expand.where = ExpandOptions::kMaps;
                   else if (where == "elementwise") expand.where = ExpandOptions::kElementwise;
                   else if (!where.empty())
                     return UsageError("E0357",
                                       "expand-library-nodes: where is maps or elementwise, not '" + where + "'");
                   return ExpandLibraryNodes(p, reg, expand);
                 })));
  using Plain = Result<bool> (*)(Program&);
  const std::tuple<const char*, const char*, Plain> plain[] = {
      {"fuse-states", "merges states that follow each other", FuseStates},
      {"fold-control", "removes branches, loops and maps that sizes decide", FoldControl},
      {"eliminate-dead-code", "removes statements whose results nobody reads, and unused containers",
       EliminateDeadCode},
      {"eliminate-copies", "forwards whole copies; copies that only change the shape become views", EliminateCopies},
      {"scalarize", "turns arrays that live within one iteration into registers", Scalarize},
      {"forward-registers", "makes maps of one statement of those that hold elements in registers for it", ForwardRegisters},
  };
  for (const auto& [name, doc, run] : plain)
    HR_RETURN_IF_ERROR(
        r.Add(Make(name, doc, {}, [run = run](Program& p, const PassOptions&, const Registry&) { return run(p); })));
  HR_RETURN_IF_ERROR(
      r.Add(Make("inline-nested", "inlines calls at state level; everywhere=true: in maps, and of parts of arrays",
                 {"everywhere"}, [](Program& p, const PassOptions& o, const Registry&) {
                   InlineOptions inlining;
                   inlining.everywhere = Option(o, "everywhere") == "true";
                   return InlineNested(p, inlining);
                 })));
  HR_RETURN_IF_ERROR(r.Add(Make("fuse-maps", "fuses maps that pass values element by element or row by row", {"max"},
                                [](Program& p, const PassOptions& o, const Registry&) -> Result<bool> {
                                  transforms::FusionLimits limits;
                                  if (std::string max = Option(o, "max"); !max.empty()) {
                                    limits.max_statements = atoi(max.c_str());
                                    if (limits.max_statements < 1)
                                      return UsageError("E0357",
                                                        "fuse-maps: max must be at least 1, not '" + max + "'");
                                  }
                                  return FuseMaps(p, limits);
                                })));
  for (int i = 0; i < kPipelineCount; ++i) {
    Pipeline p;
    p.name = kPipelines[i].name;
    p.text = kPipelines[i].text;
    HR_RETURN_IF_ERROR(r.Add(std::move(p)));
  }
  return {};
}

}  // namespace headrace::transforms
