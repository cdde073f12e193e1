// The backend "interpreter": reference semantics, no compiler needed.
#include "backends/interpreter/interpreter.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "backends/common/signature.h"
#include "backends/interpreter/executor.h"

namespace headrace::interpreter {
namespace {

Result<Tensor> Copy(const Tensor& t) {
  HR_ASSIGN_OR_RETURN(Tensor r, Tensor::Create(t.dtype, t.shape));
  if (t.dtype == DType::kString) *r.strings = *t.strings;
  else if (t.bytes() > 0) std::memcpy(r.data->data(), t.data->data(), static_cast<size_t>(t.bytes()));
  return r;
}

class InterpreterExecutable : public Executable {
 public:
  InterpreterExecutable(std::shared_ptr<ProgramPlan> plan, std::function<bool()> cancelled)
      : plan_(std::move(plan)), cancelled_(std::move(cancelled)) {
    for (const auto& s : plan_->sdfgs)
      for (const SlotPlan& p : s->slots) stateful_ |= p.container->kind == ContainerKind::kState;
    for (Name n : Outputs(plan_->program, plan_->program.Entry())) outputs_.push_back(n);
  }

  Result<Program> Interface() const override { return plan_->program; }
  Result<std::vector<Value>> Run(const std::vector<std::pair<Name, Value>>& inputs,
                                 const std::vector<std::pair<Name, int64_t>>& symbols) override {
    const SdfgPlan& entry = plan_->entry();
    HR_ASSIGN_OR_RETURN(BoundArguments bound, BindArguments(plan_->program, *entry.sdfg, inputs, symbols));
    std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
    if (stateful_) lock.lock();
    Frame f(entry);
    for (const auto& [n, v] : bound.symbols) {
      auto it = entry.symbol_of.find(n);
      if (it == entry.symbol_of.end()) continue;
      f.symbols[it->second] = v;
      f.known[it->second] = 1;
    }
    for (size_t k = 0; k < entry.sdfg->parameters.size(); ++k) {
      const int slot = entry.slot_of.at(entry.sdfg->parameters[k]);
      const Container& c = *entry.slots[slot].container;
      const Value* v = bound.values[k];
      const bool output = std::find(outputs_.begin(), outputs_.end(), c.name) != outputs_.end();
      if (entry.slots[slot].sequence) {
        if (v == nullptr) continue;
        f.slots[slot].sequence = std::make_shared<Value>(*v);
        f.slots[slot].state = Slot::kReady;
      } else if (v != nullptr) {
        Tensor t = v->tensor;
        if (output) { HR_ASSIGN_OR_RETURN(t, Copy(t)); }
        f.slots[slot] = SlotOf(t);
      } else if (!output) {
        f.slots[slot].state = Slot::kAbsent;
        f.slots[slot].dtype = c.dtype;
      }
    }
    Executor executor(*plan_, &state_, cancelled_);
    HR_RETURN_IF_ERROR(executor.Run(f));
    std::vector<Value> results;
    for (Name n : outputs_) {
      const int slot = entry.slot_of.at(n);
      if (!executor.Ready(f, slot)) return executor.status();
      if (entry.slots[slot].sequence) results.push_back(*f.slots[slot].sequence);
      else results.emplace_back(f.slots[slot].owner);
    }
    return results;
  }

 private:
  std::shared_ptr<ProgramPlan> plan_;
  std::function<bool()> cancelled_;
  std::vector<Name> outputs_;
  bool stateful_ = false;
  std::mutex mutex_;
  PersistentState state_;
};

}  // namespace

Result<std::unique_ptr<Executable>> CompileProgram(const Program& p, const CompileOptions& o, const Registry& r) {
  HR_ASSIGN_OR_RETURN(std::shared_ptr<ProgramPlan> plan, Compile(p, r));
  return std::unique_ptr<Executable>(new InterpreterExecutable(std::move(plan), o.cancelled));
}

Status RegisterInterpreter(Registry& r) {
  Backend b;
  b.name = "interpreter";
  b.doc = "reference semantics: floats in f64, integers exact, every access checked; no compiler needed";
  b.compile = CompileProgram;
  return r.Add(std::move(b));
}

}  // namespace headrace::interpreter
