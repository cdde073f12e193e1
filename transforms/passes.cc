#include "transforms/passes.h"

#include "transforms/expand_library_nodes.h"

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
  HR_RETURN_IF_ERROR(r.Add(Make("expand-library-nodes", "replaces library nodes by their implementation's expansion, inlined", {"only"},
                                [](Program& p, const PassOptions& o, const Registry& reg) {
                                  return ExpandLibraryNodes(p, reg, {Option(o, "only")});
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
