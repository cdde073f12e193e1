// When memory is given back.
#include <set>

#include "backends/interpreter/plan.h"

namespace headrace::interpreter {
namespace {

// The slots that a part of a plan touches, views as what they are of.
class Uses {
 public:
  explicit Uses(const SdfgPlan& plan) : plan_(plan) {}
  const std::set<int>& slots() const { return slots_; }

  void Add(const Scalar& s) {
    if (s.code == nullptr) return;
    for (const Access& a : s.code->accesses) Add(a.slot);
  }

  void Add(const Stmt& s) {
    for (int k : s.slots) Add(k);
    for (const auto* list : {&s.body, &s.otherwise})
      for (const Stmt& inner : *list) Add(inner);
    Add(s.condition);
    for (const Stmt::Binding& b : s.bindings) Add(b.slot);
    if (s.scratch >= 0) Add(s.scratch);
    for (const auto* ports : {&s.inputs, &s.outputs})
      for (int k : *ports)
        if (k >= 0) Add(k);
  }

  void Add(const BlockPlan& b) {
    for (const Stmt& s : b.statements) Add(s);
    for (const Scalar* s : {&b.value, &b.loop.init, &b.loop.condition, &b.loop.update}) Add(*s);
    for (const BlockPlan& inner : b.loop.body) Add(inner);
    for (const BranchPlan& branch : b.branches) {
      Add(branch.condition);
      for (const BlockPlan& inner : branch.body) Add(inner);
    }
  }

 private:
  void Add(int slot) {
    while (plan_.slots[slot].base >= 0) slot = plan_.slots[slot].base;
    slots_.insert(slot);
  }

  const SdfgPlan& plan_;
  std::set<int> slots_;
};

}  // namespace

// From the end: the first time a transient is met is its last use. Only what runs once can end a life.
void PlanReleases(SdfgPlan* plan) {
  std::set<int> live;
  auto meet = [&](const auto& part, std::vector<int>* release) {
    Uses uses(*plan);
    uses.Add(part);
    for (int k : uses.slots())
      if (live.insert(k).second && plan->slots[k].parameter < 0 &&
          plan->slots[k].container->kind == ContainerKind::kTransient)
        release->push_back(k);
  };
  for (size_t b = plan->body.size(); b-- > 0;) {
    BlockPlan& block = plan->body[b];
    if (block.kind != BlockPlan::kState) meet(block, &block.release);
    else
      for (size_t k = block.statements.size(); k-- > 0;) meet(block.statements[k], &block.statements[k].release);
  }
}

}  // namespace headrace::interpreter
