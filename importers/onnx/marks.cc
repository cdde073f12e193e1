#include "importers/onnx/marks.h"

#include <algorithm>

namespace headrace::onnx_import {
namespace {

constexpr char kKind[] = "pkg.torch.export.graph_signature.InputSpec.kind";
constexpr char kFolded[] = "pkg.onnxscript.optimizer.folded_from";

const std::string* Mark(const onnx::ValueInfoProto& v, const char* key) {
  for (const auto& p : v.metadata_props())
    if (p.key() == key) return &p.value();
  return nullptr;
}

// A path in the module, "layers.0.weight": values of the graph are called "val_3" or after an operator.
bool IsPath(std::string_view name) { return name.find('.') != std::string_view::npos; }

}  // namespace

std::unordered_map<std::string, std::string_view> MadeBy(const onnx::GraphProto& g) {
  std::unordered_map<std::string, std::string_view> out;
  std::unordered_map<std::string, const onnx::ValueInfoProto*> marked;
  bool marks = false;
  for (const auto& v : g.value_info()) {
    marked[v.name()] = &v;
    marks |= Mark(v, kKind) != nullptr;
  }
  if (!marks) return out;
  for (const auto& t : g.initializer()) {
    const auto it = marked.find(t.name());
    if (it == marked.end()) continue;
    if (const std::string* kind = Mark(*it->second, kKind)) {
      if (*kind != "PARAMETER") out.emplace(t.name(), "buffer");
      continue;
    }
    const std::string* folded = Mark(*it->second, kFolded);  // "['p.weight', 'val_3']"
    if (!IsPath(t.name()) && !(folded && IsPath(*folded))) out.emplace(t.name(), "exporter");
  }
  return out;
}

}  // namespace headrace::onnx_import
