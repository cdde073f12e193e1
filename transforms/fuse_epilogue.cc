#include "transforms/fuse_epilogue.h"

#include <algorithm>
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

// A container, and what it is a view of.
void CopyContainer(const Sdfg& from, Name n, Sdfg* to) {
  const Container* c = to->Find(n) ? nullptr : from.Find(n);
  if (!c) return;
  to->Add(*c);
  if (c->kind == ContainerKind::kView) CopyContainer(from, c->base, to);
}

// Two statements by themselves, to try on: all others, and all containers, even as a copy on write, would cost each trial what the
// program has.
Sdfg Excerpt(const Sdfg& s, transforms::Kernel* a, transforms::Kernel* b) {
  Sdfg out;
  out.name = s.name;
  out.assumptions = s.assumptions;
  for (transforms::Kernel* k : {a, b}) {
    for (const transforms::KernelAccess& x : k->accesses) CopyContainer(s, x.container, &out);
    for (NodeId& n : k->body) n = CopyStatement(s, n, &out);
  }
  return out;
}

// Products are sums: where nothing is added up there is nothing to look for.
bool HasSums(const Sdfg& s) {
  for (uint32_t i = 0; i < s.nodes.size(); ++i)
    if (const auto* t = std::get_if<Tasklet>(&s.nodes[NodeId{i}].body); t && t->op != WriteOp::kAssign) return true;
  return false;
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
    const std::unordered_set<Name> written(copy.order.begin(), copy.order.end());  // what a sum starts at
    const StatementKey key = KeyOf(copy, statement, {}, written);
    const auto [it, fresh] = known->try_emplace(key.text, false);
    if (fresh) it->second = schedule::TilesOf(p, KernelOf(copy, statement, key, written), device).has_value();
    return it->second;
  };
  return limits;
}

Result<bool> FuseEpilogue(Program& p, const schedule::Device& device) {
  const bool sums = std::any_of(p.sdfgs.begin(), p.sdfgs.end(), [](const auto& s) { return HasSums(*s); });
  if (!sums) return false;
  return FuseMaps(p, ProductFusion(p, device));
}

}  // namespace headrace
