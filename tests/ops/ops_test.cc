// Every op with samples: the pure form on the interpreter against the same form in f64, every implementation against the
// pure form, cpu against the interpreter. Nothing here names an op: registering one is enough.
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "driver/compile.h"
#include "gtest/gtest.h"
#include "tests/ops/samples.h"

namespace headrace {
namespace {

const Registry& Ops() {
  static const Registry* const r = [] {
    auto* registry = new Registry;
    Status s = LoadPlugins(*registry);
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

Result<std::vector<Value>> RunSample(const Program& p, const NamedValues& values, const std::string& backend,
                                     const std::string& implementation) {
  CompileRequest request;
  request.backend = backend;
  request.options.threads = 2;
  request.options.cache_dir = Folder() + "/cache";
  if (!implementation.empty()) request.options.implementations = {{"*", implementation}};
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> e, CompileProgram(Ops(), p, request));
  return e->Run(values);
}

// The library node of a sample's program.
const Library* NodeOf(const Program& p, const OpSample& s, NodeId* id) {
  const Sdfg& sdfg = p.Entry();
  for (uint32_t i = 0; i < sdfg.nodes.size(); ++i)
    if (const auto* l = std::get_if<Library>(&sdfg.nodes[NodeId{i}].body))
      if (l->op.view() == s.definition->name) return *id = NodeId{i}, l;
  return nullptr;
}

bool IsRandom(const OpSignature& s) {
  return std::any_of(s.attributes.begin(), s.attributes.end(),
                     [](const AttributeSignature& a) { return a.name == "seed"; });
}

double Tolerance(DType t) {
  switch (t) {
    case DType::kF16: return 4e-3;
    case DType::kBF16: return 3e-2;
    case DType::kF64: return 1e-12;
    default: return t == DType::kF32 ? 2e-5 : 0;
  }
}

// "" or the first difference. The largest value of a result decides how near is near: a sum may cancel.
std::string Near(const std::vector<Value>& got, const std::vector<Value>& expected, double factor,
                 bool single = false) {
  if (got.size() != expected.size()) return "another number of outputs";
  for (size_t k = 0; k < got.size(); ++k) {
    const std::string what = "output " + std::to_string(k) + ": ";
    if (got[k].kind != expected[k].kind) return what + "another kind";
    if (got[k].kind != Value::kTensor) continue;
    const Tensor& e = expected[k].tensor;
    double largest = 0;
    if (IsFloat(e.dtype))
      for (int64_t i = 0; i < e.elements(); ++i)
        if (double v = std::abs(e.GetDouble(i)); std::isfinite(v)) largest = std::max(largest, v);
    double t = factor * std::max({Tolerance(got[k].tensor.dtype), Tolerance(e.dtype),
                                  single && IsFloat(e.dtype) ? Tolerance(DType::kF32) : 0});
    Value a = got[k];
    if (got[k].tensor.dtype != e.dtype && IsFloat(e.dtype)) {
      a.tensor = *Tensor::Create(e.dtype, got[k].tensor.shape);
      for (int64_t i = 0; i < a.tensor.elements(); ++i) a.tensor.SetDouble(i, got[k].tensor.GetDouble(i));
    }
    Difference d = Compare(a, expected[k], t, t * std::min(largest, 1.0));
    if (!d.ok) return what + d.where + "; max |difference| " + std::to_string(d.max_abs);
  }
  return "";
}

class Samples : public ::testing::TestWithParam<int> {};

const std::vector<OpSample>& All() {
  static const auto* const all = new std::vector<OpSample>(headrace::Samples(Ops()));
  return *all;
}

TEST_P(Samples, EveryWayOfComputingItAgrees) {
  const OpSample& s = All()[static_cast<size_t>(GetParam())];
  SCOPED_TRACE(s.Label() + ": " + s.text);
  Result<Program> program = SampleProgram(Ops(), s, Folder());
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  NamedValues values = SampleValues(s);
  NodeId id;
  const Library* node = NodeOf(*program, s, &id);  // none where the importer sees through the op: Identity
  // A form can't say how many elements it finds.
  const std::string first = node && !node->defines.empty() ? "" : "pure";

  Result<std::vector<Value>> pure = RunSample(*program, values, "interpreter", first);
  ASSERT_TRUE(pure.ok()) << pure.status().ToString();

  Result<std::vector<Value>> native = RunSample(*program, values, "cpu", first);
  ASSERT_TRUE(native.ok()) << native.status().ToString();
  EXPECT_EQ(Near(*native, *pure, 1), "") << "cpu against interpreter";
  if (!node) return;

  Result<NodeView> view = ViewOf(Ops(), *program, program->Entry(), id);
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  const int version = s.signature->since_version;
  std::set<std::string> seen = {"pure"};
  for (const ForwardImplementation* i : Ops().Implementations(s.definition->domain, s.definition->name)) {
    if (version < i->since_version || version > i->until_version || !seen.insert(i->name).second) continue;
    if (i->can_be_applied && !i->can_be_applied(*view).empty()) continue;
    if (IsRandom(*s.signature)) continue;     // each has a generator of its own
    const bool body = i->name == "function";  // ONNX's own, often in f32 throughout
    for (const char* backend : {"interpreter", "cpu"}) {
      const char* every = std::getenv("HEADRACE_EVERY_IMPLEMENTATION_ON_CPU");
      if (backend == std::string("cpu") && !(every && *every)) continue;
      Result<std::vector<Value>> other = RunSample(*program, values, backend, i->name);
      ASSERT_TRUE(other.ok()) << i->name << " on " << backend << ": " << other.status().ToString();
      if (body && !Near(*other, *pure, 2, true).empty()) {
        // They may overflow where the result would not: then they agree in f64.
        Result<Program> wide = InDouble(*program);
        Result<NamedValues> wide_values = InDouble(values);
        ASSERT_TRUE(wide.ok() && wide_values.ok());
        other = RunSample(*wide, *wide_values, backend, i->name);
        ASSERT_TRUE(other.ok()) << i->name << " in f64 on " << backend << ": " << other.status().ToString();
      }
      EXPECT_EQ(Near(*other, *pure, 2, body), "")
          << "implementation " << i->name << " on " << backend << " against pure";
    }
  }

  bool floats = !values.empty();
  for (const Value& v : *pure) floats &= v.kind == Value::kTensor && Tolerance(v.tensor.dtype) > 0;
  if (!floats) return;
  Result<Program> wide = InDouble(*program);
  Result<NamedValues> wide_values = InDouble(values);
  ASSERT_TRUE(wide.ok() && wide_values.ok());
  Result<std::vector<Value>> exact = RunSample(*wide, *wide_values, "interpreter", first);
  ASSERT_TRUE(exact.ok()) << exact.status().ToString();
  EXPECT_EQ(Near(*pure, *exact, 1), "") << "against f64";
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
