#include "training/batch.h"

#include <algorithm>
#include <cstring>

namespace headrace::training {

Result<State> State::Make(const std::vector<Variable>& initial, uint64_t seed) {
  State s;
  for (const Variable& v : initial) {
    Variable own = v;  // constants may be mapped files
    HR_ASSIGN_OR_RETURN(own.initial, Tensor::Create(v.initial.dtype, v.initial.shape));
    std::memcpy(own.initial.data->data(), v.initial.data->data(), static_cast<size_t>(v.initial.bytes()));
    s.variables.push_back(std::move(own));
  }
  HR_ASSIGN_OR_RETURN(s.rate, Tensor::Create(DType::kF64, {}));
  HR_ASSIGN_OR_RETURN(s.step, Tensor::Create(DType::kI64, {}));
  HR_ASSIGN_OR_RETURN(s.seed, Tensor::Create(DType::kI64, {}));
  *s.rate.as<double>() = 0;
  *s.step.as<int64_t>() = 0;
  *s.seed.as<int64_t>() = static_cast<int64_t>(seed);
  return s;
}

const Variable* State::Find(const std::string& original) const {
  for (const Variable& v : variables)
    if (v.original == original) return &v;
  return nullptr;
}

Result<Batch> Batch::Compile(const Registry& r, Program program, const CompileRequest& request, const Ports& ports,
                             const State& state, const std::vector<Column>& columns, int64_t size) {
  Batch b;
  b.size = size;
  const std::vector<Name> outputs = Outputs(program, program.Entry());
  auto at = [&](Name n) { return static_cast<size_t>(std::find(outputs.begin(), outputs.end(), n) - outputs.begin()); };
  b.loss_at_ = at(ports.loss);
  HR_CHECK(b.loss_at_ < outputs.size(), "the loss is an output of the program");
  if (!ports.hits.empty()) b.hits_at_ = at(ports.hits);

  const std::vector<Name> inputs = Inputs(program, program.Entry());
  for (const Column& c : columns) {
    HR_ASSIGN_OR_RETURN(Tensor batch, Tensor::Create(c.data.dtype, BatchShape(c, size)));
    b.slots_.push_back({&c, batch});
    b.arguments_.emplace_back(c.parameter, Value(batch));
  }
  for (const Variable& v : ports.variables) {
    if (std::find(inputs.begin(), inputs.end(), v.name) == inputs.end()) continue;  // an evaluation may not need it
    const Variable* shared = state.Find(v.original);  // none: a statistic that training does not change
    HR_CHECK(!shared || shared->initial.shape == v.initial.shape, "variable " + v.original);
    b.arguments_.emplace_back(v.name, Value(shared ? shared->initial : v.initial));
  }
  if (!ports.rate.empty()) b.arguments_.emplace_back(ports.rate, Value(state.rate));
  if (!ports.step.empty()) b.arguments_.emplace_back(ports.step, Value(state.step));
  if (!ports.seed.empty()) b.arguments_.emplace_back(ports.seed, Value(state.seed));
  for (const auto& [name, v] : b.arguments_)
    HR_CHECK(std::find(inputs.begin(), inputs.end(), name) != inputs.end(), name.str() + " is an input of the program");
  HR_ASSIGN_OR_RETURN(b.executable_, CompileProgram(r, std::move(program), request));
  return b;
}

Status Batch::Run(const std::vector<int64_t>& order, int64_t begin, bool train) {
  for (const Slot& s : slots_) Gather(*s.column, order, begin, s.batch);
  Result<std::vector<Value>> results =
      train ? executable_->RunInPlace(arguments_, {}) : executable_->Run(arguments_, {});
  if (!results.ok()) return results.status();
  loss = (*results)[loss_at_].tensor.GetDouble(0);
  if (hits_at_ < results->size()) hits = (*results)[hits_at_].tensor.GetInt(0);
  return {};
}

}  // namespace headrace::training
