#include "tests/autodiff/testing.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "driver/plugin_path.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace::autodiff::testing {
namespace {

std::vector<std::string> g_arguments;

std::string Cache() {
  const char* tmp = std::getenv("TEST_TMPDIR");
  return (tmp ? std::string(tmp) : "/tmp/headrace-autodiff") + "/cache";
}

Result<Program> Parsed(const std::string& text) {
  HR_ASSIGN_OR_RETURN(Program p, ParseProgram(text));
  HR_RETURN_IF_ERROR(Verify(p));
  return p;
}

// What comes out is a program like any other.
Status CheckProgram(const Program& p, const std::string& what) {
  const std::string text = Print(p);
  if (Status s = Verify(p); !s.ok())
    return InternalError("the " + what + " program does not verify: " + s.ToString() + "\n" + text);
  Result<Program> again = ParseProgram(text);
  if (!again.ok())
    return InternalError("the " + what + " program does not parse: " + again.status().ToString() + "\n" + text);
  if (Print(*again) != text) return InternalError("the " + what + " program does not round-trip:\n" + text);
  PipelineOptions o;  // nor do passes find anything in it that they can't take
  o.verify = true;
  return RunPipeline(Plugins(), "compile-cpu", *again, o);
}

const Value* FindValue(const NamedValues& values, Name n) {
  for (const auto& [name, v] : values)
    if (name == n) return &v;
  return nullptr;
}

// Runs `p` on those of `values` that it takes; all outputs by name. Twice: the second call must not see the first.
Result<NamedValues> RunTwice(const Program& p, const NamedValues& values, const NamedSizes& symbols,
                             const std::string& backend) {
  CompileRequest request;
  request.backend = backend;
  request.options.cache_dir = Cache();
  request.options.threads = 2;
  request.options.debug = true;
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> e, CompileProgram(Plugins(), p, request));
  NamedValues inputs;
  for (Name n : Inputs(p, p.Entry())) {
    const Value* v = FindValue(values, n);
    if (!v) return InvalidError("the test gives no value for input '" + n.str() + "' of\n" + Print(p));
    Value copy = *v;  // `inout` may be written
    if (v->kind == Value::kTensor) {
      HR_ASSIGN_OR_RETURN(copy.tensor, Tensor::Create(v->tensor.dtype, v->tensor.shape));
      std::copy_n(v->tensor.data->data(), v->tensor.bytes(), copy.tensor.data->data());
    }
    inputs.emplace_back(n, copy);
  }
  // A backward program may take no array that tells a size.
  const std::vector<Name> free = FreeSymbols(p.Entry());
  NamedSizes given;
  for (const auto& [n, v] : symbols)
    if (std::find(free.begin(), free.end(), n) != free.end()) given.emplace_back(n, v);
  HR_ASSIGN_OR_RETURN(std::vector<Value> first, e->Run(inputs, given));
  HR_ASSIGN_OR_RETURN(std::vector<Value> second, e->Run(inputs, given));
  std::vector<Name> names = Outputs(p, p.Entry());
  NamedValues out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (Difference d = Compare(second[i], first[i], 0, 0); !d.ok)
      return InternalError("the second call gives another '" + names[i].str() + "': off by " +
                           std::to_string(d.max_abs) + " at " + d.where);
    out.emplace_back(names[i], first[i]);
  }
  return out;
}

// Runs forward and backward, or the combined program.
Result<NamedValues> RunPrograms(const BackwardPrograms& b, const Case& c, const std::string& backend) {
  NamedValues values = c.values;
  HR_ASSIGN_OR_RETURN(Program original, Parsed(c.text));
  HR_ASSIGN_OR_RETURN(NamedSizes sizes, BindSizes(original, values, c.symbols));
  if (c.options.separate) {
    HR_ASSIGN_OR_RETURN(NamedValues kept, RunTwice(b.forward, values, sizes, backend));
    for (auto& [n, v] : kept) {
      auto known = std::find_if(values.begin(), values.end(), [&](const auto& x) { return x.first == n; });
      if (known == values.end()) values.emplace_back(n, v);
      else known->second = v;
    }
    for (const auto& [output, gradient] : b.output_gradients)  // implicit ones are ones
      if (!FindValue(values, gradient)) {
        Value ones = *FindValue(kept, output);
        HR_ASSIGN_OR_RETURN(ones.tensor, Tensor::Create(ones.tensor.dtype, ones.tensor.shape));
        for (int64_t i = 0; i < ones.tensor.elements(); ++i) ones.tensor.SetDouble(i, 1);
        values.emplace_back(gradient, ones);
      }
  }
  return RunTwice(b.program, values, sizes, backend);
}

std::string KeepName(Keep k) {
  return k == Keep::kSolve ? "solver's plan" : k == Keep::kStoreAll ? "store all" : "recompute all";
}

void ExpectNear(const NamedValues& got, const NamedValues& expected, double tolerance, const std::string& what) {
  for (const auto& [name, want] : expected) {
    const Value* v = FindValue(got, name);
    ASSERT_TRUE(v) << what << ": no gradient of " << name.view();
    double largest = 1;
    if (IsFloat(want.tensor.dtype) && !IsComplex(want.tensor.dtype))
      for (int64_t i = 0; i < want.tensor.elements(); ++i)
        if (double x = std::abs(want.tensor.GetDouble(i)); std::isfinite(x)) largest = std::max(largest, x);
    Difference d = Compare(*v, want, 0, tolerance * largest);
    EXPECT_TRUE(d.ok) << what << ": gradient of " << name.view() << " is off by " << d.max_abs << " (largest value "
                      << largest << "), first at " << d.where;
  }
}

}  // namespace

namespace {

Result<BackwardResult> OrdinaryGradient(const NodeView& v, const std::vector<std::string>& given,
                                        const std::vector<std::string>& required) {
  const Attribute* body = FindAttribute(v.attributes, Name("body"));
  HR_ASSIGN_OR_RETURN(Program p, ParseProgram(std::get<std::string>(body->value)));
  Options o;
  o.keep_outputs = false;
  std::vector<Name> outputs, inputs;
  for (const std::string& port : given) outputs.push_back(Name(port)), o.given_gradients.push_back(Name(port));
  for (const std::string& port : required) inputs.push_back(Name(port));
  HR_ASSIGN_OR_RETURN(BackwardPrograms b, Backward(p, outputs, inputs, o, *v.registry));
  BackwardResult result;
  for (const auto& [input, gradient] : b.input_gradients) result.required_grad_names[input.str()] = gradient.str();
  for (const auto& [output, gradient] : b.output_gradients) result.given_grad_names[output.str()] = gradient.str();
  result.sdfg = std::move(b.program);
  return result;
}

}  // namespace

const Registry& Plugins() {
  static const Registry* const r = [] {
    auto* registry = new Registry;
    Status s = LoadPlugins(*registry, PluginPath());
    if (!s.ok()) ADD_FAILURE() << s.ToString();
    if (Flag("rules", "") == "statements")
      for (const char* kind : {"map", "tasklet", "call"}) {
        BackwardImplementation b;
        b.domain = "node", b.op = kind, b.name = "ordinary", b.backward = OrdinaryGradient;
        s = registry->Add(std::move(b));
        if (!s.ok()) ADD_FAILURE() << s.ToString();
      }
    return registry;
  }();
  return *r;
}

std::string Flag(const std::string& name, const std::string& otherwise) {
  const std::string start = "--" + name + "=";
  for (const std::string& a : g_arguments)
    if (a.rfind(start, 0) == 0) return a.substr(start.size());
  return otherwise;
}

std::vector<std::string> BackendsOfThisTest() {
  std::vector<std::string> out;
  std::stringstream list(Flag("backend", "interpreter"));
  for (std::string b; std::getline(list, b, ',');) out.push_back(b);
  return out;
}

Value Numbers(std::vector<int64_t> shape, const std::vector<double>& values) {
  Tensor t = *Tensor::Create(DType::kF64, std::move(shape));
  HR_CHECK(t.elements() == static_cast<int64_t>(values.size()), "shape and number of values");
  for (size_t i = 0; i < values.size(); ++i) t.SetDouble(static_cast<int64_t>(i), values[i]);
  return t;
}

Value Integers(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  Tensor t = *Tensor::Create(DType::kI64, std::move(shape));
  HR_CHECK(t.elements() == static_cast<int64_t>(values.size()), "shape and number of values");
  for (size_t i = 0; i < values.size(); ++i) t.SetInt(static_cast<int64_t>(i), values[i]);
  return t;
}

Value Uniform(std::vector<int64_t> shape, double lo, double hi, uint64_t seed) {
  Tensor t = *Tensor::Create(DType::kF64, std::move(shape));
  uint64_t s = seed * 0x9e3779b97f4a7c15ull + 7;
  for (int64_t i = 0; i < t.elements(); ++i) {
    uint64_t x = s += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    t.SetDouble(i, lo + (hi - lo) * (static_cast<double>((x ^ x >> 31) >> 11) * 0x1p-53));
  }
  return t;
}

Value Scalar(double v) { return Numbers({}, {v}); }
Value Count(int64_t v) { return Integers({}, {v}); }

void internal::FillInterface(Case& c) {
  Result<Program> p = Parsed(c.text);
  if (!p.ok()) {
    ADD_FAILURE() << p.status().ToString();
    return;
  }
  const Sdfg& s = p->Entry();
  if (c.outputs.empty())
    for (Name n : Outputs(*p, s))
      if (IsFloat(s.Get(n).dtype)) c.outputs.push_back(n);
  if (c.inputs.empty())
    for (Name n : Inputs(*p, s))
      if (IsFloat(s.Get(n).dtype)) c.inputs.push_back(n);
}

Case With(const std::string& text, NamedValues values, NamedSizes symbols) {
  Case c;
  c.text = text;
  c.values = std::move(values);
  c.symbols = std::move(symbols);
  return c;
}

Result<BackwardPrograms> Differentiated(Case& c) {
  HR_ASSIGN_OR_RETURN(Program p, Parsed(c.text));
  internal::FillInterface(c);
  HR_ASSIGN_OR_RETURN(BackwardPrograms b, Backward(p, c.outputs, c.inputs, c.options, Plugins()));
  HR_RETURN_IF_ERROR(CheckProgram(b.program, c.options.separate ? "backward" : "combined"));
  if (c.options.separate) HR_RETURN_IF_ERROR(CheckProgram(b.forward, "forward"));
  if (b.input_gradients.size() != c.inputs.size()) return InternalError("a gradient is missing from input_gradients");
  return b;
}

Result<NamedValues> Gradients(Case c, const std::string& backend) {
  HR_ASSIGN_OR_RETURN(BackwardPrograms b, Differentiated(c));
  HR_ASSIGN_OR_RETURN(NamedValues all, RunPrograms(b, c, backend));
  NamedValues out;
  for (const auto& [input, gradient] : b.input_gradients) {
    const Value* v = FindValue(all, gradient);
    if (!v) return InternalError("the program gives no '" + gradient.str() + "':\n" + Print(b.program));
    out.emplace_back(input, *v);
  }
  return out;
}

void ExpectGradients(const Case& c, const NamedValues& expected) {
  for (const std::string& backend : BackendsOfThisTest())
    for (Keep keep : {Keep::kSolve, Keep::kStoreAll, Keep::kRecomputeAll})
      for (bool separate : {false, true}) {
        if (backend != "interpreter" && (keep != Keep::kSolve || separate))
          continue;  // the same programs, seconds each to compile
        Case one = c;
        one.options.keep = keep;
        one.options.separate = separate;
        const std::string what = backend + ", " + KeepName(keep) + (separate ? ", separate programs" : "");
        Result<NamedValues> got = Gradients(one, backend);
        ASSERT_TRUE(got.ok()) << what << ": " << got.status().ToString();
        ExpectNear(*got, expected, c.tolerance, what);
        if (::testing::Test::HasFailure()) {
          if (Result<BackwardPrograms> b = Differentiated(one); b.ok()) GTEST_LOG_(INFO) << "\n" << Print(b->program);
          return;
        }
      }
}

namespace {

// The program as a function of one element.
class Loss {
 public:
  explicit Loss(Case c) : case_(std::move(c)) {
    internal::FillInterface(case_);
    Result<Program> p = Parsed(case_.text);
    CompileRequest request;
    request.backend = "interpreter";
    Result<std::unique_ptr<Executable>> e =
        p.ok() ? CompileProgram(Plugins(), *p, request) : Result<std::unique_ptr<Executable>>(p.status());
    if (!e.ok()) {
      ADD_FAILURE() << e.status().ToString();
      return;
    }
    takes_ = Inputs(*p, p->Entry()), gives_ = Outputs(*p, p->Entry());
    executable_ = std::move(*e);
  }
  const Case& Filled() const { return case_; }
  double operator()(Name input, int64_t at, double by) const {
    if (!executable_) return 0;
    NamedValues values;
    for (Name n : takes_) {
      const Value* v = FindValue(case_.values, n);
      HR_CHECK(v, "the test gives no value for input " + n.str());
      Tensor copy = *Tensor::Create(v->tensor.dtype, v->tensor.shape);
      std::copy_n(v->tensor.data->data(), v->tensor.bytes(), copy.data->data());
      if (n == input) copy.SetDouble(at, copy.GetDouble(at) + by);
      values.emplace_back(n, Value(copy));
    }
    Result<std::vector<Value>> r = executable_->Run(values, case_.symbols);
    if (!r.ok()) {
      ADD_FAILURE() << r.status().ToString();
      return 0;
    }
    double sum = 0;
    for (size_t k = 0; k < gives_.size(); ++k) {
      if (std::find(case_.outputs.begin(), case_.outputs.end(), gives_[k]) == case_.outputs.end()) continue;
      const Value* seed = FindValue(case_.values, Name("grad_" + gives_[k].str()));
      const Tensor& t = (*r)[k].tensor;
      for (int64_t i = 0; i < t.elements(); ++i) sum += t.GetDouble(i) * (seed ? seed->tensor.GetDouble(i) : 1);
    }
    return sum;
  }

 private:
  Case case_;
  std::vector<Name> takes_, gives_;
  std::unique_ptr<Executable> executable_;
};

}  // namespace

double Total(Case c) { return Loss(std::move(c))(Name(), 0, 0); }

NamedValues Differences(Case c) {
  NamedValues out;
  const Loss loss(std::move(c));
  for (Name input : loss.Filled().inputs) {
    const Tensor& t = FindValue(loss.Filled().values, input)->tensor;
    std::vector<double> gradient;
    for (int64_t i = 0; i < t.elements(); ++i) {
      const double h = 2e-3 * std::max(1.0, std::abs(t.GetDouble(i)));
      double d[3];
      for (int k = 0; k < 3; ++k)
        d[k] = (loss(input, i, h / (1 << k)) - loss(input, i, -h / (1 << k))) / (2 * h / (1 << k));
      const double a = (4 * d[1] - d[0]) / 3, b = (4 * d[2] - d[1]) / 3;
      gradient.push_back((16 * b - a) / 15);
    }
    out.emplace_back(input, Numbers(t.shape, gradient));
  }
  return out;
}

void ExpectGradientsNearDifferences(Case c, double tolerance) {
  c.tolerance = tolerance;
  ExpectGradients(c, Differences(c));
}

void ExpectRefused(Case c, const std::vector<std::string>& parts) {
  Result<BackwardPrograms> b = Differentiated(c);
  ASSERT_FALSE(b.ok()) << "differentiated without complaint:\n" << Print(b->program);
  const std::string text = b.status().ToString();
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in:\n" << text;
}

Result<Value> HessianTimes(Case c, const Value& v, const std::string& backend) {
  HR_ASSIGN_OR_RETURN(BackwardPrograms first, Differentiated(c));
  Case second;
  second.text = Print(first.program);
  second.outputs = {first.input_gradients[0].second};
  second.inputs = c.inputs;
  second.options = c.options;
  second.options.all_given = true;
  second.values = c.values;
  second.symbols = c.symbols;
  HR_ASSIGN_OR_RETURN(BackwardPrograms b, Differentiated(second));
  if (b.output_gradients.size() != 1) return InternalError("one given gradient expected");
  second.values.emplace_back(b.output_gradients[0].second, v);
  HR_ASSIGN_OR_RETURN(NamedValues all, RunPrograms(b, second, backend));
  const Value* product = FindValue(all, b.input_gradients[0].second);
  if (!product) return InternalError("the program gives no '" + b.input_gradients[0].second.str() + "'");
  return *product;
}

void ExpectHessianNearDifferences(Case c, double tolerance) {
  internal::FillInterface(c);
  c.inputs.resize(1);
  const Tensor x = FindValue(c.values, c.inputs[0])->tensor;
  const Value v = Uniform(x.shape, -1, 1, 77);
  auto gradient_at = [&](double step) {
    Case moved = c;
    Tensor t = *Tensor::Create(x.dtype, x.shape);
    for (int64_t i = 0; i < t.elements(); ++i) t.SetDouble(i, x.GetDouble(i) + step * v.tensor.GetDouble(i));
    for (auto& [name, value] : moved.values)
      if (name == c.inputs[0]) value = Value(t);
    const Result<NamedValues> g = Gradients(moved, "interpreter");
    HR_CHECK(g.ok(), g.status().ToString());
    return (*g)[0].second.tensor;
  };
  const double h = 1e-3;
  const Tensor ahead = gradient_at(h), behind = gradient_at(-h), half_ahead = gradient_at(h / 2),
               half_behind = gradient_at(-h / 2);
  std::vector<double> expected;
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double wide = (ahead.GetDouble(i) - behind.GetDouble(i)) / (2 * h),
                 narrow = (half_ahead.GetDouble(i) - half_behind.GetDouble(i)) / h;
    expected.push_back((4 * narrow - wide) / 3);
  }
  for (const std::string& backend : BackendsOfThisTest()) {
    const Result<Value> got = HessianTimes(c, v, backend);
    ASSERT_TRUE(got.ok()) << backend << ": " << got.status().ToString();
    ExpectNear({{c.inputs[0], *got}}, {{c.inputs[0], Numbers(x.shape, expected)}}, tolerance,
               backend + ", second order");
  }
}

void SetArguments(std::vector<std::string> arguments) { g_arguments = std::move(arguments); }

}  // namespace headrace::autodiff::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  headrace::autodiff::testing::SetArguments({argv + 1, argv + argc});
  return RUN_ALL_TESTS();
}
