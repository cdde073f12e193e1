// A third party's backend: the interpreter's programs, counted. Built outside the workspace (plugins_test.py).
#include <cstdio>

#include "ir/plugin.h"

namespace headrace {
namespace {

class Tally : public Executable {
 public:
  explicit Tally(std::unique_ptr<Executable> inner) : inner_(std::move(inner)) {}
  ~Tally() override { std::fprintf(stderr, "tally: %d run\n", runs_); }
  Result<std::vector<Value>> Run(const std::vector<std::pair<Name, Value>>& inputs,
                                 const std::vector<std::pair<Name, int64_t>>& symbols) override {
    ++runs_;
    return inner_->Run(inputs, symbols);
  }

 private:
  std::unique_ptr<Executable> inner_;
  int runs_ = 0;
};

Status Register(Registry& r) {
  Backend b;
  b.name = "tally";
  b.doc = "Counts runs.";
  b.compile = [](const Program& p, const CompileOptions& o, const Registry& registry) {
    auto inner = registry.FindBackend("interpreter")->compile(p, o, registry);
    return inner.ok() ? Result<std::unique_ptr<Executable>>(std::make_unique<Tally>(std::move(*inner)))
                      : inner.status();
  };
  HR_RETURN_IF_ERROR(r.Add(std::move(b)));
  Pipeline pipeline;
  pipeline.name = "compile-tally";
  pipeline.text = "expand-library-nodes";
  return r.Add(std::move(pipeline));
}

}  // namespace
}  // namespace headrace

HEADRACE_TIER2_PLUGIN("tally", headrace::Register)
