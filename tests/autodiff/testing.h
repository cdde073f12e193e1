// Gradients of programs in IR text, checked: the result verifies and round-trips, runs twice with the same outcome
// (accumulators clear), on every backend of the test, under every choice of what is kept, and agrees with the reference.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "autodiff/backward.h"
#include "driver/compile.h"
#include "gtest/gtest.h"
#include "tests/autodiff/dual.h"

namespace headrace::autodiff::testing {

// With --rules=statements, the gradients of all maps, tasklets and calls are those that rules by kind of statement give, which
// are the ordinary ones.
const Registry& Plugins();
std::string Flag(const std::string& name, const std::string& otherwise);  // --name=value of the command line
std::vector<std::string> BackendsOfThisTest();                            // --backend=A,B; the interpreter unless said

Value Numbers(std::vector<int64_t> shape, const std::vector<double>& values);        // f64
Value Integers(std::vector<int64_t> shape, const std::vector<int64_t>& values);      // i64
Value Uniform(std::vector<int64_t> shape, double lo, double hi, uint64_t seed = 1);  // f64, the same on every machine
Value Scalar(double v);
Value Count(int64_t v);

struct Case {
  std::string text;
  std::vector<Name> outputs, inputs;  // empty: every float output, every float input
  NamedValues values;                 // also of given output gradients (`grad_Y`)
  NamedSizes symbols;
  double tolerance = 1e-10;  // relative to the largest element of that gradient, at least 1
  Options options;
};

Case With(const std::string& text, NamedValues values, NamedSizes symbols = {});

// The gradient program, verified and round-tripped; `c.outputs` and `c.inputs` filled in.
Result<BackwardPrograms> Differentiated(Case& c);
// Runs it (twice) and gives the gradients by the input's name.
Result<NamedValues> Gradients(Case c, const std::string& backend);
// Every backend, every Keep, combined and separate programs.
void ExpectGradients(const Case& c, const NamedValues& expected);
// The sum of the outputs, each times its given gradient if it has one.
double Total(Case c);
// Central differences, extrapolated (Richardson): good to about 1e-9 of the largest value met.
NamedValues Differences(Case c);
void ExpectGradientsNearDifferences(Case c, double tolerance = 1e-7);
// Backward fails and its message has every one of these.
void ExpectRefused(Case c, const std::vector<std::string>& parts);

// Second order: the gradient of ⟨gradient of `c`'s only input, v⟩. `program` and `inputs` as in ExpectGradients below.
Result<Value> HessianTimes(Case c, const Value& v, const std::string& backend);

// The same in some direction, of the first input, against extrapolated differences of the gradient.
void ExpectHessianNearDifferences(Case c, double tolerance = 1e-6);

// ---- references by dual numbers ----
namespace internal {
template <typename T>
Memory<T> Load(const NamedValues& values) {
  Memory<T> m;
  for (const auto& [name, v] : values) {
    auto& t = v.tensor;
    if (IsFloat(t.dtype)) {
      for (int64_t i = 0; i < t.elements(); ++i) m.floats[name.str()].push_back(T(t.GetDouble(i)));
    } else {
      for (int64_t i = 0; i < t.elements(); ++i) m.integers[name.str()].push_back(t.GetInt(i));
    }
  }
  return m;
}
void FillInterface(Case& c);
}  // namespace internal

// `program(Memory<T>&)` gives the sum of the outputs, each times its given gradient if it has one.
template <typename F>
NamedValues DualGradients(Case c, const F& program) {
  internal::FillInterface(c);
  NamedValues out;
  for (Name input : c.inputs) {
    const Tensor* t = nullptr;
    for (const auto& [n, v] : c.values)
      if (n == input) t = &v.tensor;
    HR_CHECK(t, "no value for input " + input.str());
    std::vector<double> gradient;
    for (int64_t i = 0; i < t->elements(); ++i) {
      auto m = internal::Load<Dual<double>>(c.values);
      m.floats[input.str()][static_cast<size_t>(i)].d = 1;
      gradient.push_back(program(m).d);
    }
    out.emplace_back(input, Numbers(t->shape, gradient));
  }
  return out;
}
template <typename F>
void ExpectGradients(const Case& c, const F& program) {
  auto m = internal::Load<double>(c.values);
  const double total = program(m);
  ASSERT_NEAR(Total(c), total, 1e-11 * std::max(1.0, std::abs(total)))
      << "the test's two ways of writing the program differ";
  ExpectGradients(c, DualGradients(c, program));
}

template <typename F>
void ExpectHessianTimes(Case c, const Value& v, double tolerance, const F& program) {
  internal::FillInterface(c);
  ASSERT_EQ(c.inputs.size(), 1u);
  const std::string input = c.inputs[0].str();
  std::vector<double> expected;
  for (int64_t i = 0; i < v.tensor.elements(); ++i) {
    auto m = internal::Load<Dual<Dual<double>>>(c.values);
    for (int64_t k = 0; k < v.tensor.elements(); ++k) m[input][static_cast<size_t>(k)].v.d = v.tensor.GetDouble(k);
    m[input][static_cast<size_t>(i)].d = Dual<double>(1.0);
    expected.push_back(program(m).d.d);
  }
  for (const std::string& backend : BackendsOfThisTest()) {
    Result<Value> got = HessianTimes(c, v, backend);
    ASSERT_TRUE(got.ok()) << backend << ": " << got.status().ToString();
    Difference d = Compare(*got, Numbers(v.tensor.shape, expected), tolerance, tolerance);
    EXPECT_TRUE(d.ok) << backend << ": Hessian · v differs by " << d.max_abs << ", first at " << d.where;
  }
}

}  // namespace headrace::autodiff::testing
