#include "transforms/fuse_epilogue.h"

#include <memory>
#include <unordered_map>

#include "transforms/fuse_maps.h"
#include "transforms/outline.h"
#include "transforms/schedule/choose_schedule.h"

namespace headrace {
namespace {

// What statements alone ask an SDFG for. Trying is done on a copy of that: lists of all containers grow with the program.
Sdfg StatementsOf(const Sdfg& s) {
  Sdfg out;
  out.name = s.name;
  out.containers = s.containers;
  out.nodes = s.nodes;
  out.assumptions = s.assumptions;
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
    Sdfg copy = StatementsOf(s);
    Kernel both = a;
    Fuse(&copy, names, around, f, &both, b);
    const NodeId statement = Emit(&copy, both);
    const StatementKey key = KeyOf(copy, statement, {}, {});
    const auto [it, fresh] = known->try_emplace(key.text, false);
    if (fresh) it->second = schedule::IsTiled(p, KernelOf(copy, statement, key), device);
    return it->second;
  };
  return limits;
}

Result<bool> FuseEpilogue(Program& p, const schedule::Device& device) { return FuseMaps(p, ProductFusion(p, device)); }

}  // namespace headrace
