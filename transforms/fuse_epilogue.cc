#include "transforms/fuse_epilogue.h"

#include <memory>
#include <unordered_map>

#include "transforms/fuse_maps.h"
#include "transforms/outline.h"
#include "transforms/schedule/choose_schedule.h"

namespace headrace {
namespace {

NodeId CopyStatement(const Sdfg& from, NodeId n, Sdfg* to) {
  Node node = from.nodes[n];
  ForEachBody(&node.body, [&](std::vector<NodeId>& body) {
    for (NodeId& c : body) c = CopyStatement(from, c, to);
  });
  return to->AddNode(std::move(node.body), node.origin);
}

// Two statements by themselves, to try on: all others, and lists of all containers, would cost each trial what the program has.
Sdfg Excerpt(const Sdfg& s, transforms::Kernel* a, transforms::Kernel* b) {
  Sdfg out;
  out.name = s.name;
  out.containers = s.containers;
  out.assumptions = s.assumptions;
  for (transforms::Kernel* k : {a, b})
    for (NodeId& n : k->body) n = CopyStatement(s, n, &out);
  return out;
}

}  // namespace

transforms::FusionLimits ProductFusion(const Program& p, const schedule::Device& device) {
  using namespace transforms;
  FusionLimits limits;
  const auto known = std::make_shared<std::unordered_map<std::string, bool>>();  // by what the statement computes
  limits.product = [&p, device, known](const Sdfg& s, NameTable* names, const std::vector<Name>& around, const Fusion& f, const Kernel& a,
                                       const Kernel& b) {
    if (!around.empty()) return false;
    Kernel both = a, second = b;
    Sdfg copy = Excerpt(s, &both, &second);
    Fuse(&copy, names, around, f, &both, second);
    const NodeId statement = Emit(&copy, both);
    const StatementKey key = KeyOf(copy, statement, {}, {});
    const auto [it, fresh] = known->try_emplace(key.text, false);
    if (fresh) it->second = schedule::TilesOf(p, KernelOf(copy, statement, key), device).has_value();
    return it->second;
  };
  return limits;
}

Result<bool> FuseEpilogue(Program& p, const schedule::Device& device) { return FuseMaps(p, ProductFusion(p, device)); }

}  // namespace headrace
