// Patterns replaced, parameters taken away, constants computed.
#include <gtest/gtest.h>

#include <fstream>

#include "transforms/passes.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

const char kRelu[] =
    R"(replacement="sdfg relu(X: f32[A], Y: f32[A]) { map i in 0:A { Y[i] = max(X[i], 0) } }")";

std::string ReplaceBy(const std::string& pattern) { return "replace{pattern=\"" + pattern + "\", " + kRelu + "}"; }

TEST(Replace, AChainOfTwo) {
  ExpectPass(R"(
    sdfg f(X: f32[N], Z: f32[N]) {
      transient S: f32[N]
      transient T: f32[N]
      my.A(x = X) -> (y = S)
      my.B(x = S) -> (y = T)
      my.A(x = T) -> (y = Z)
    })",
             ReplaceBy("sdfg p(X: f32[A], Y: f32[A]) { transient H: f32[A]; my.A(x = X) -> (y = H); my.B(x = H) -> (y = Y) }"), R"(
    entry sdfg f(X: f32[N], Z: f32[N]) {
      transient T: f32[N]
      state {
        call relu(X = X, Y = T)
        my.A(x = T) -> (y = Z)
      }
    }
    sdfg relu(X: f32[A], Y: f32[A]) { map i in 0:A { Y[i] = max(X[i], 0) } })");
}

TEST(Replace, WhatIsReadElsewhereStays) {
  ExpectUnchanged(R"(
    sdfg f(X: f32[N], Z: f32[N], W: f32[N]) {
      transient S: f32[N]
      my.A(x = X) -> (y = S)
      my.B(x = S) -> (y = Z)
      map i in 0:N { W[i] = S[i] }
    })",
                  ReplaceBy("sdfg p(X: f32[A], Y: f32[A]) { transient H: f32[A]; my.A(x = X) -> (y = H); my.B(x = H) -> (y = Y) }"));
}

TEST(Replace, AttributesAndSizesOfThePatternDecide) {
  const char kProgram[] = R"(
    sdfg f(X: f32[4], Z: f32[4]) { my.A{axis = 1}(x = X) -> (y = Z) })";
  ExpectUnchanged(kProgram, ReplaceBy("sdfg p(X: f32[A], Y: f32[A]) { my.A{axis = 0}(x = X) -> (y = Y) }"));
  ExpectUnchanged(kProgram, "replace{pattern=\"sdfg p(X: f32[5], Y: f32[5]) { my.A(x = X) -> (y = Y) }\", replacement=\"sdfg r(X: f32[5], Y: f32[5]) { map i in 0:5 { Y[i] = X[i] } }\"}");
}

TEST(Replace, FromFiles) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "/pattern.sdfg") << "sdfg p(X: f32[A], Y: f32[A]) { my.A(x = X) -> (y = Y) }\n";
  std::ofstream(folder + "/relu.sdfg") << "sdfg relu(X: f32[A], Y: f32[A]) { map i in 0:A { Y[i] = max(X[i], 0) } }\n";
  ExpectPass("sdfg f(X: f32[N], Z: f32[N]) { my.A(x = X) -> (y = Z) }",
             "replace{pattern=" + folder + "/pattern.sdfg, replacement=" + folder + "/relu.sdfg}; inline-nested", R"(
    sdfg f(X: f32[N], Z: f32[N]) { map i in 0:N { Z[i] = max(X[i], 0) } })");
}

TEST(Replace, Errors) {
  const char kProgram[] = "sdfg f(X: f32[N], Z: f32[N]) { my.A(x = X) -> (y = Z) }";
  ExpectPassError(kProgram, ReplaceBy("sdfg p(X: f32[A], Y: f32[A]) { map i in 0:A { Y[i] = X[i] } }"), "no pattern of library nodes: it has the statement");  // E0361
  ExpectPassError(kProgram, ReplaceBy("sdfg p(B: f32[A], Y: f32[A]) { my.A(x = B) -> (y = Y) }"), "the pattern has no parameter 'X'");
  ExpectPassError(kProgram, "replace{pattern=/no/such.sdfg}", "neither IR text nor a file that can be read");  // E0357
  ExpectPassError(kProgram, std::string("replace{") + kRelu + "}", "replace needs pattern=FILE");
}

TEST(ParameterToTransient, Outputs) {
  ExpectPass(R"(
    sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
      map i in 0:N { Y[i] = X[i] * 2 }
      map i in 0:N { Z[i] = Y[i] + 1 }
    })",
             R"(parameter-to-transient{names="Y"})", R"(
    sdfg f(X: f32[N], Z: f32[N]) {
      transient Y: f32[N]
      map i in 0:N { Y[i] = X[i] * 2 }
      map i in 0:N { Z[i] = Y[i] + 1 }
    })");
  const char kProgram[] = "sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] } }";
  ExpectPassError(kProgram, R"(parameter-to-transient{names="X"})", "parameter 'X' is an input");  // E0360
  ExpectPassError(kProgram, R"(parameter-to-transient{names="Yy"})", "the program has no parameter 'Yy'");
  ExpectPassError(kProgram, "parameter-to-transient", "needs names=");
}

TEST(ParameterInnermost, Images) {
  ExpectPass(R"(
    sdfg f(X: f32[N, 8, 4, 5], Y: f32[N, 8, 4, 5], S: f32[N]) {
      map n in 0:N, c in 0:8, y in 0:4, x in 0:5 { Y[n, c, y, x] = X[n, c, y, x] * 2 }
      map n in 0:N { S[n] = Y[n, 0, 0, 0] }
    })",
             R"(parameter-innermost{names="Y X"})", R"(
    sdfg f(X_innermost: f32[N, 4, 5, 8], Y_innermost: f32[N, 4, 5, 8], S: f32[N]) {
      view Y: f32[N, 8, 4, 5] of Y_innermost strides [160, 1, 40, 8]
      view X: f32[N, 8, 4, 5] of X_innermost strides [160, 1, 40, 8]
      map n in 0:N, c in 0:8, y in 0:4, x in 0:5 { Y[n, c, y, x] = X[n, c, y, x] * 2 }
      map n in 0:N { S[n] = Y[n, 0, 0, 0] }
    })");
  ExpectPassError("sdfg f(X: f32[N, 8], Y: f32[N]) { map i in 0:N { Y[i] = X[i, 0] } }", "parameter-innermost{names=X}",
                  "can't have its channels innermost");  // E0360
  ExpectPassError("sdfg f(X: f32[N, 8], Y: f32[N]) { map i in 0:N { Y[i] = X[i, 0] } }", "parameter-innermost{names=Z}", "no parameter 'Z'");
  ExpectPassError("sdfg f(Y: f32[2]) { map i in 0:2 { Y[i] = 0 } }", "parameter-innermost", "needs names=");
}

TEST(InputToConstant, Values) {
  ExpectPass("sdfg f(X: f32[2], a: f32, Y: f32[2]) { map i in 0:2 { Y[i] = X[i] * a } }",
             R"(input-to-constant{name=X, value="[1.5, -2]"}; input-to-constant{name=a, value=3})", R"(
    sdfg f(Y: f32[2]) {
      constant a: f32 = 3
      constant X: f32[2] = [1.5, -2]
      map i in 0:2 { Y[i] = X[i] * a }
    })");
  const char kProgram[] = "sdfg f(X: f32[2], S: f32[N], Y: f32[2]) { map i in 0:2 { Y[i] = X[i] * S[i] } }";
  ExpectPassError(kProgram, "input-to-constant{name=Y, value=1}", "parameter 'Y' is written");  // E0360
  ExpectPassError(kProgram, "input-to-constant{name=S, value=1}", "input 'S' has the size N, and a constant has numbers");  // E0362
  ExpectPassError(kProgram, R"(input-to-constant{name=X, value="[1, 2, 3]"})", "<value of X>");
  ExpectPassError(kProgram, "input-to-constant{name=X}", "needs name=W and value=");
}

// What the backend below says of any program: -1 and -2.
class Answers : public Executable {
 public:
  Result<std::vector<Value>> Run(const std::vector<std::pair<Name, Value>>&, const std::vector<std::pair<Name, int64_t>>&) override {
    Tensor t = Tensor::Create(DType::kF32, {2}).value();
    t.SetDouble(0, -1), t.SetDouble(1, -2);
    return std::vector<Value>{Value(t)};
  }
};

TEST(ConstantFolding, NodesOfConstants) {
  Registry r;
  ASSERT_TRUE(RegisterAll(r).ok());
  for (const char* name : {"Neg", "Random"}) {
    OpSignature op;
    op.domain = "my", op.name = name;
    op.inputs.push_back({}), op.inputs.back().name = "x";
    op.outputs.push_back({}), op.outputs.back().name = "y";
    if (op.name == "Random") op.attributes.push_back({}), op.attributes.back().name = "seed";
    ASSERT_TRUE(r.Add(op).ok());
    OpDefinition means;
    means.domain = "my", means.name = name, means.pure = "y = -x";
    ASSERT_TRUE(r.Add(means).ok());
  }
  const char kProgram[] = R"(
    sdfg f(X: f32[2], Y: f32[2], Z: f32[2]) {
      constant A: f32[2] = [1, 2]
      transient T: f32[2]
      transient R: f32[2]
      my.Neg(x = A) -> (y = T)
      my.Random(x = A) -> (y = R)
      my.Neg(x = X) -> (y = Z)
      map i in 0:2 { Y[i] = T[i] + R[i] }
    })";
  ExpectPassError(kProgram, "constant-folding", "which no loaded plugin has", r);  // E0363
  Backend answers;
  answers.name = "interpreter";
  answers.compile = [](const Program&, const CompileOptions&, const Registry&) -> Result<std::unique_ptr<Executable>> {
    return std::unique_ptr<Executable>(new Answers);
  };
  ASSERT_TRUE(r.Add(answers).ok());
  if (!r.FindPipeline("compile-interpreter")) {
    ASSERT_TRUE(r.Add(Pipeline{"compile-interpreter", "expand-library-nodes", ""}).ok());
  }
  ExpectPass(kProgram, "constant-folding", R"(
    sdfg f(X: f32[2], Y: f32[2], Z: f32[2]) {
      constant A: f32[2] = [1, 2]
      constant T: f32[2] = [-1, -2]
      transient R: f32[2]
      my.Random(x = A) -> (y = R)
      my.Neg(x = X) -> (y = Z)
      map i in 0:2 { Y[i] = T[i] + R[i] }
    })", r);
  ExpectUnchanged(kProgram, "constant-folding{max-bytes=7}", r);
  ExpectPassError(kProgram, "constant-folding{max-bytes=no}", "max-bytes must be at least 1", r);
}

}  // namespace
}  // namespace headrace::transforms
