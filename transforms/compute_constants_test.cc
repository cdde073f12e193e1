#include <gtest/gtest.h>

#include <algorithm>

#include "transforms/passes.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// A backend that says of each result of a program that its elements are 1, 2, …
class Counts : public Executable {
 public:
  explicit Counts(const Sdfg& s) {
    for (Name n : s.parameters) {
      std::vector<int64_t> shape;
      for (const Expr& e : s.Get(n).shape) shape.push_back(*AsInt(e));
      Tensor t = Tensor::Create(s.Get(n).dtype, shape).value();
      for (int64_t i = 0; i < t.elements(); ++i) t.SetDouble(i, static_cast<double>(i + 1));
      values_.emplace_back(t);
    }
  }
  Result<std::vector<Value>> Run(const std::vector<std::pair<Name, Value>>&, const std::vector<std::pair<Name, int64_t>>&) override {
    return values_;
  }

 private:
  std::vector<Value> values_;
};

const Registry& WithInterpreter() {
  static const Registry* const r = [] {
    auto* made = new Registry;
    EXPECT_TRUE(RegisterAll(*made).ok());
    Backend counts;
    counts.name = "interpreter";
    counts.compile = [](const Program& p, const CompileOptions&, const Registry&) -> Result<std::unique_ptr<Executable>> {
      return std::unique_ptr<Executable>(new Counts(p.Entry()));
    };
    EXPECT_TRUE(made->Add(counts).ok());
    if (!made->FindPipeline("compile-interpreter")) {
      EXPECT_TRUE(made->Add(Pipeline{"compile-interpreter", "expand-library-nodes", ""}).ok());
    }
    return made;
  }();
  return *r;
}

constexpr char kTwiddles[] = R"(
sdfg f(X: f64[3], Y: f64[3], Z: f64[2]) {
  constant w: f64[2] = [3, 4]
  transient a: f64 @register
  transient T: f64[3]
  transient U: f64[3]
  transient S: f64[2]
  view s: f64[1, 2] of S
  state {
    map i in 0:3 {
      a = f64(i) / 3
      T[i] = cos(a)
    }
    map i in 0:3 { U[i] = sin(f64(i)) }
    map i in 0:2 { S[i] = exp(w[i]) }
    map i in 0:3 { Y[i] = X[i] * T[i] + U[i] }
    map i in 0:2 { Z[i] = s[0, i] }
  }
})";

// Of registers and constants, too; equal ones are kept once, also what views see.
TEST(ComputeConstants, WhatDependsOnNoArgument) {
  ExpectPass(kTwiddles, "compute-constants; eliminate-dead-code", R"(
sdfg f(X: f64[3], Y: f64[3], Z: f64[2]) {
  constant T: f64[3] = [1, 2, 3]
  constant S: f64[2] = [1, 2]
  view s: f64[1, 2] of S
  state {
    map i in 0:3 { Y[i] = X[i] * T[i] + T[i] }
    map i in 0:2 { Z[i] = s[0, i] }
  }
})",
             WithInterpreter());
  ExpectUnchanged(kTwiddles, "compute-constants");  // without the backend
  ExpectUnchanged(kTwiddles, "compute-constants{bytes=8}", WithInterpreter());
  ExpectPassError(kTwiddles, "compute-constants{all=no}", "all must be a number", WithInterpreter());
}

// No more than a program may have.
TEST(ComputeConstants, UpToALimit) {
  ExpectPass(kTwiddles, "compute-constants{all=40}; eliminate-dead-code", R"(
sdfg f(X: f64[3], Y: f64[3], Z: f64[2]) {
  constant w: f64[2] = [3, 4]
  constant T: f64[3] = [1, 2, 3]
  transient U: f64[3]
  transient S: f64[2]
  view s: f64[1, 2] of S
  state {
    map i in 0:3 { U[i] = sin(f64(i)) }
    map i in 0:2 { S[i] = exp(w[i]) }
    map i in 0:3 { Y[i] = X[i] * T[i] + U[i] }
    map i in 0:2 { Z[i] = s[0, i] }
  }
})",
             WithInterpreter());
}

// What is cheap, of sizes or arguments, written in part or twice, results, and what runs often or perhaps not at all.
TEST(ComputeConstants, OthersStay) {
  ExpectUnchanged(R"(
sdfg f(X: f64[4], Y: f64[4], Z: f64[4], V: f64[4], W: f64[N], k: i64) {
  transient A: f64[4]
  transient B: f64[N]
  transient C: f64[4]
  transient D: f64[4]
  transient E: f64[4]
  transient G: f64[4]
  state {
    map i in 0:4 { A[i] = f64(i) * 2 }
    map i in 0:N { B[i] = exp(f64(i)) }
    map i in 0:N { W[i] = B[i] }
    map i in 0:4 { C[i] = exp(f64(N)) }
    map i in 0:4 { D[i] = exp(f64(i)) }
    map i in 0:4 { D[i] += X[i] }
    map i in 0:3 { E[i] = exp(f64(i)) }
    map i in 0:4 { Z[i] = exp(f64(i)) }
    map i in 0:4 { Y[i] = A[i] + C[i] + D[i] + exp(X[i]) }
  }
  if k > 0 {
    state {
      map i in 0:4 { G[i] = exp(f64(i)) }
      map i in 0:4 { V[i] = G[i] + E[i] }
    }
  }
})",
                  "compute-constants", WithInterpreter());
}

}  // namespace
}  // namespace headrace::transforms
