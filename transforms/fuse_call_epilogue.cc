#include "transforms/fuse_call_epilogue.h"

#include <algorithm>
#include <set>

#include "ir/analysis/dataflow.h"
#include "ir/base/log.h"
#include "ir/registry/call_contract.h"
#include "transforms/each_sdfg.h"
#include "transforms/epilogue_steps.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

using transforms::EpilogueStep;
using transforms::UseIndex;

// A map of one tasklet that gives each element of an array once: Y[i, j] = value; dimensions of 1 may have a 0.
const Tasklet* ElementwiseOver(const Sdfg& s, NodeId id, const std::vector<Expr>& shape) {
  const auto* m = std::get_if<Map>(&s.nodes[id].body);
  if (!m || m->schedule != Schedule::kDefault || m->body.size() != 1) return nullptr;
  const auto* t = std::get_if<Tasklet>(&s.nodes[m->body[0]].body);
  if (!t || t->op != WriteOp::kAssign || t->flat || t->guarded || t->index.size() != shape.size()) return nullptr;
  std::set<Name> seen;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (AsInt(t->index[d]) == 0 && AsInt(shape[d]) == 1) continue;
    if (!t->index[d].Is(ExprKind::kSymbol) || !seen.insert(t->index[d]->name).second) return nullptr;
    const auto range = std::find_if(m->ranges.begin(), m->ranges.end(), [&](const Range& r) { return r.index == t->index[d]->name; });
    if (range == m->ranges.end() || AsInt(range->begin) != 0 || AsInt(range->step) != 1 || range->end != shape[d]) return nullptr;
  }
  return seen.size() == m->ranges.size() ? t : nullptr;
}

class Epilogues {
 public:
  Epilogues(const Program& p, const Registry& r, Sdfg* s, const Ask& ask) : p_(p), r_(r), s_(*s), ask_(ask), index_(p, *s) {}

  // One statement into one call; the index is stale then.
  Result<bool> One() {
    for (uint32_t at = 0; at < index_.positions().size(); ++at) {
      HR_ASSIGN_OR_RETURN(const bool done, Call(at));
      if (done) return true;
    }
    return false;
  }

 private:
  Result<bool> Call(uint32_t at) {
    const NodeId id = index_.positions()[at].statement;
    const auto* l = id.valid() ? std::get_if<Library>(&s_.nodes[id].body) : nullptr;
    const ExternalFunction* f = l ? FunctionOf(r_, *l) : nullptr;
    if (!f || !f->epilogue || l->outputs.size() != 1 || !l->defines.empty()) return false;
    const Container* result = s_.Find(l->outputs[0].container);
    if (!result || result->kind != ContainerKind::kTransient || result->storage != Storage::kArena || !IsFloat(result->dtype)) return false;
    const transforms::Usage& u = index_.Of(result->name);
    if (u.viewed || u.writes != std::vector<uint32_t>{at} || u.reads.size() != 1) return false;
    const uint32_t until = u.reads[0];
    const UseIndex::Position& place = index_.positions()[until];
    if (until < at || !place.statement.valid() || place.region != index_.positions()[at].region) return false;
    const Tasklet* t = ElementwiseOver(s_, place.statement, result->shape);
    if (!t || !Movable(*l, *t, at, until)) return false;
    const Container& target = s_.Get(t->target);
    if (target.dtype != result->dtype || target.shape != result->shape || !target.row_major()) return false;
    const auto steps = transforms::StepsOf(s_, t->value, result->name, t->index);
    if (!steps || !Apart(*steps, target.name) || !ask_(Match{s_.name, {id, place.statement}, {}, {}, "", true})) return false;
    return Take(*f, id, place.statement, target.name, *steps);
  }
  // The statement's target is nothing that the call reads, and nothing in between writes what it reads.
  bool Movable(const Library& l, const Tasklet& t, uint32_t at, uint32_t until) const {
    const Name target = RootOf(s_, t.target);
    for (const Port& p : l.inputs) {
      if (p.container.empty()) continue;
      const Name root = RootOf(s_, p.container);
      if (root == target || index_.Of(root).WrittenBetween(at, until)) return false;
    }
    return true;
  }
  bool Apart(const std::vector<EpilogueStep>& steps, Name target) const {
    return std::all_of(steps.begin(), steps.end(), [&](const EpilogueStep& e) {
      return e.operand.empty() || RootOf(s_, e.operand) != RootOf(s_, target);
    });
  }
  // On a copy, a step at a time, as the function is asked.
  Result<bool> Take(const ExternalFunction& f, NodeId call, NodeId statement, Name target, const std::vector<EpilogueStep>& steps) {
    Sdfg tried = s_;
    Library l = std::get<Library>(s_.nodes[call].body);
    const Name result = l.outputs[0].container;
    l.outputs[0].container = target;
    std::vector<std::string> texts;
    if (const Attribute* a = FindAttribute(l.attributes, Name(kEpilogueAttribute)))
      if (const auto* list = std::get_if<std::vector<std::string>>(&a->value)) texts = *list;
    size_t operands = 0;
    for (const Port& p : l.inputs) operands += p.name == Name(EpiloguePort(operands));
    for (const EpilogueStep& step : steps) {
      const std::string port = EpiloguePort(operands);
      if (!step.operand.empty()) l.inputs.push_back({Name(port), step.operand}), ++operands;
      texts.push_back(step.Text(port));
      Set(&l.attributes, texts);
      tried.nodes.Mutable(statement).body = l;
      HR_ASSIGN_OR_RETURN(const NodeView v, ViewOf(r_, p_, tried, statement));
      const std::string why = EpilogueRefused(f, v);
      if (why.empty()) continue;
      Log(LogTopic::kChoice, f.name + (v.name.empty() ? "" : " '" + v.name + "'") + " refuses '" + texts.back() + "': " + why);
      return false;
    }
    tried.nodes.Mutable(statement).origin =
        Origin::Merged({tried.nodes[call].origin, tried.nodes[statement].origin}, "fuse-call-epilogue");
    tried.nodes.Mutable(call).body = std::monostate();
    transforms::RemoveEmptied(&tried);
    transforms::RemoveContainers(&tried, {result});
    s_ = std::move(tried);
    return true;
  }
  static void Set(Attributes* attributes, const std::vector<std::string>& steps) {
    const Name name(kEpilogueAttribute);
    for (auto& [key, value] : *attributes)
      if (key == name) return void(value.value = steps);
    attributes->emplace_back(name, Attribute{steps});
    std::sort(attributes->begin(), attributes->end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  const Program& p_;
  const Registry& r_;
  Sdfg& s_;
  const Ask& ask_;
  const UseIndex index_;
};

bool HasCalls(const Sdfg& s) {
  bool found = false;
  ForEachNode(s, [&](NodeId n) {
    const auto* l = std::get_if<Library>(&s.nodes[n].body);
    found |= l && l->domain == Name("call");
  });
  return found;
}

}  // namespace

Result<bool> FuseCallEpilogue(Program& p, const Registry& r, const Ask& ask) {
  return transforms::TryChangeEach(p, [&](Sdfg* s) -> Result<bool> {
    bool any = false;
    for (bool more = HasCalls(*s); more; any |= more) {
      HR_ASSIGN_OR_RETURN(more, Epilogues(p, r, s, ask).One());
    }
    return any;
  });
}

}  // namespace headrace
