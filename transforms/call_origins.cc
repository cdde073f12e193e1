#include "transforms/call_origins.h"

#include <vector>

namespace headrace::transforms {

CallOrigins::CallOrigins(const Program& p) {
  for (const auto& s : p.sdfgs)
    ForEachNode(*s, [&](NodeId id) {
      if (const auto* call = std::get_if<Nested>(&s->nodes[id].body)) first_.emplace(call->callee, s->nodes[id].origin);
    });
}

std::unordered_map<Name, Name> CallOrigins::SourcesOf(const Nested& call, const Origin& origin) const {
  const auto first = first_.find(call.callee);
  if (first == first_.end() || first->second == origin) return {};
  const std::vector<Origin::Source> of = first->second.Sources(), is = origin.Sources();
  if (of.size() != is.size()) return {};
  std::unordered_map<Name, Name> out;
  for (size_t k = 0; k < of.size(); ++k)
    if (of[k].name != is[k].name) out.emplace(of[k].name, is[k].name);
  return out;
}

namespace {

// Histories are as long as a layer has statements that were merged.
Origin Renamed(const Origin& o, const std::unordered_map<Name, Name>& names, KnownOrigins* known) {
  if (const Name source = o.source(); !source.empty()) {
    const auto it = names.find(source);
    return it == names.end() ? o : Origin(it->second).WithOp(o.op());
  }
  std::vector<Origin> inputs;
  bool same = true;
  for (const Origin& in : o.inputs()) {
    inputs.push_back(WithSources(in, names, known));
    same &= inputs.back() == in;
  }
  if (same || inputs.empty()) return o;
  if (o.is_gradient()) return inputs[0].Gradient(o.pass()).WithOp(o.op());
  return (inputs.size() == 1 ? inputs[0].By(o.pass()) : Origin::Merged(inputs, o.pass())).WithOp(o.op());
}

}  // namespace

Origin WithSources(const Origin& o, const std::unordered_map<Name, Name>& names, KnownOrigins* known) {
  if (names.empty() || !o.named()) return o;
  if (const auto it = known->find(o.identity()); it != known->end()) return it->second;
  return known->emplace(o.identity(), Renamed(o, names, known)).first->second;
}

}  // namespace headrace::transforms
