// Steps of small models for tests: IR text in, values out. Initializers are constants with an origin: `from "W"`.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/plugin_path.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"
#include "training/step.h"

namespace headrace::training {

inline const Registry& Plugins() {
  static const Registry* const r = [] {
    auto* registry = new Registry;
    const Status s = LoadPlugins(*registry, PluginPath());
    if (!s.ok()) ADD_FAILURE() << s.ToString();
    return registry;
  }();
  return *r;
}

inline ImportedModel Model(const std::string& text) {
  ImportedModel m;
  Result<Program> p = ParseProgram(text);
  if (!p.ok()) ADD_FAILURE() << p.status().ToString();
  else m.program = *p;
  return m;
}

inline Tensor Values(DType t, std::vector<int64_t> shape, const std::vector<double>& v) {
  Tensor out = *Tensor::Create(t, std::move(shape));
  for (int64_t i = 0; i < out.elements(); ++i) {
    if (IsFloat(t)) out.SetDouble(i, v[static_cast<size_t>(i) % v.size()]);
    else out.SetInt(i, static_cast<int64_t>(v[static_cast<size_t>(i) % v.size()]));
  }
  return out;
}

// A compiled step and its variables.
struct Running {
  StepProgram step;
  std::unique_ptr<Executable> executable;
  std::map<std::string, Tensor> variables;  // by original name

  static Running Make(const std::string& text, const StepSpec& spec, const std::string& backend = "interpreter") {
    Running out;
    Result<StepProgram> step = BuildStep(Model(text), spec, Plugins());
    EXPECT_TRUE(step.ok()) << step.status().ToString();
    if (!step.ok()) return out;
    out.step = std::move(*step);
    const Status verified = Verify(out.step.program);
    EXPECT_TRUE(verified.ok()) << verified.ToString() << Print(out.step.program);
    CompileRequest request;
    request.backend = backend;
    request.options.debug = true;
    Result<std::unique_ptr<Executable>> e = CompileProgram(Plugins(), out.step.program, request);
    EXPECT_TRUE(e.ok()) << e.status().ToString() << Print(out.step.program);
    if (!e.ok()) return out;
    out.executable = std::move(*e);
    for (const Variable& v : out.step.variables) {
      Tensor own = *Tensor::Create(v.initial.dtype, v.initial.shape);
      std::memcpy(own.data->data(), v.initial.data->data(), static_cast<size_t>(own.bytes()));
      out.variables[v.original] = own;
    }
    return out;
  }

  // One step; `data`: inputs, then the target.
  double operator()(int64_t number, const std::vector<Tensor>& data, double rate = 0.1, int64_t seed = 1) {
    if (!executable) return 0;
    NamedValues values;
    for (size_t i = 0; i < data.size(); ++i)
      values.emplace_back(i < step.inputs.size() ? step.inputs[i] : step.target, Value(data[i]));
    values.emplace_back(step.rate, Value(Values(DType::kF64, {}, {rate})));
    if (!step.step.empty()) values.emplace_back(step.step, Value(Values(DType::kI64, {}, {double(number)})));
    if (!step.seed.empty()) values.emplace_back(step.seed, Value(Values(DType::kI64, {}, {double(seed)})));
    for (const Variable& v : step.variables) values.emplace_back(v.name, Value(variables[v.original]));
    Result<std::vector<Value>> out = executable->RunInPlace(values);
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    if (!out.ok()) return 0;
    const std::vector<Name> names = Outputs(step.program, step.program.Entry());
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == step.loss) return (*out)[i].tensor.GetDouble(0);
    ADD_FAILURE() << "no output is the loss";
    return 0;
  }
  std::vector<double> Of(const std::string& original) const {
    std::vector<double> out;
    const auto it = variables.find(original);
    if (it == variables.end()) return out;
    for (int64_t i = 0; i < it->second.elements(); ++i) out.push_back(it->second.GetDouble(i));
    return out;
  }
};

}  // namespace headrace::training
