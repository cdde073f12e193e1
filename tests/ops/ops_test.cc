// Every op with samples: the pure form on the interpreter against the same form in f64, every implementation against the
// pure form, cpu against the interpreter. Nothing here names an op: registering one is enough.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "driver/compile.h"
#include "driver/plugin_path.h"
#include "driver/samples/implementations.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

const Registry& Ops() {
  static const Registry* const r = [] {
    auto* registry = new Registry;
    Status s = LoadPlugins(*registry, PluginPath());
    if (!s.ok()) ADD_FAILURE() << s.ToString();
    return registry;
  }();
  return *r;
}

std::string Folder() {
  const char* tmp = std::getenv("TEST_TMPDIR");
  std::string f = (tmp ? std::string(tmp) : "/tmp") + "/ops";
  mkdir(f.c_str(), 0777);
  return f;
}

class Samples : public ::testing::TestWithParam<int> {};

const std::vector<OpSample>& All() {
  static const auto* const all = new std::vector<OpSample>(headrace::Samples(Ops()));
  return *all;
}

TEST_P(Samples, EveryWayOfComputingItAgrees) {
  const OpSample& s = All()[static_cast<size_t>(GetParam())];
  SCOPED_TRACE(s.Label() + ": " + s.text);
  const char* every = std::getenv("HEADRACE_EVERY_IMPLEMENTATION_ON_CPU");
  WaysOptions options;
  options.folder = Folder();
  options.every_implementation_on_every_backend = every && *every;
  const std::vector<WayOfComputing> ways = CheckWays(Ops(), s, options);
  for (const WayOfComputing& w : ways)
    EXPECT_NE(w.verdict, WayOfComputing::kWrong) << w.implementation << " on " << w.backend << ": " << w.detail;
  EXPECT_EQ(ways.front().verdict, WayOfComputing::kReference);
  EXPECT_EQ(ways.at(1).backend, "cpu");
}

INSTANTIATE_TEST_SUITE_P(Ops, Samples, ::testing::Range(0, static_cast<int>(All().size())), [](const auto& info) {
  const OpSample& s = All()[static_cast<size_t>(info.param)];
  std::string domain = s.definition->domain == "onnx" ? "" : s.definition->domain + "_";
  std::replace(domain.begin(), domain.end(), '.', '_');
  return domain + s.definition->name + "_" + std::to_string(s.signature->since_version) + "_" +
         std::to_string(s.number);
});

TEST(OpBlocks, SamplesAreWellFormed) {
  std::vector<Status> errors;
  headrace::Samples(Ops(), "", &errors);
  for (const Status& e : errors) ADD_FAILURE() << e.ToString();
}

TEST(OpBlocks, EachHasASample) {
  for (const OpDefinition* d : Ops().Definitions())
    EXPECT_FALSE(d->samples.empty()) << d->domain << "." << d->name << " since " << d->since_version;
}

bool MayBeFloat(const OpSignature& op, const std::string& type) {
  const auto variable = op.types.find(type);
  const std::vector<std::string> types = variable == op.types.end() ? std::vector<std::string>{type} : variable->second;
  return std::any_of(types.begin(), types.end(), [](const std::string& t) { return IsFloat(ParseDType(t).value_or(DType::kNone)); });
}

// Attributes change a gradient's shape: an op that has both is tried with three settings.
TEST(OpBlocks, DifferentiableOnesWithAttributesHaveThree) {
  std::map<const OpDefinition*, int> samples;
  for (const OpSample& s : All()) {
    bool floats = false, differentiable = !s.signature->attributes.empty() && !IsRandom(*s.signature);
    for (const SampleInput& in : s.inputs) floats |= !in.given && IsFloat(in.dtype);
    for (const PortSignature& p : s.signature->outputs)
      if (!p.optional) differentiable &= MayBeFloat(*s.signature, p.type);
    if (floats && differentiable) ++samples[s.definition];
  }
  for (const auto& [d, n] : samples) EXPECT_GE(n, 3) << d->domain << "." << d->name << " since " << d->since_version;
}

}  // namespace
}  // namespace headrace
