#include "transforms/fuse_call_epilogue.h"

#include <gtest/gtest.h>

#include "transforms/calls_testing.h"
#include "transforms/testing.h"

namespace headrace {
namespace {

using transforms::ExpectPass;
using transforms::ExpectUnchanged;
using transforms::RegistryWithCalls;

TEST(FuseCallEpilogue, StepsInTheirOrderWithWhatTheyRead) {
  ExpectPass(R"(sdfg f(X: f32[N, 4], W: f32[4, 8], b: f32[8], R: f32[N, 8], Y: f32[N, 8]) {
      transient T: f32[N, 8]
      transient U: f32[N, 8]
      transient V: f32[N, 8]
      transient R2: f32[N, 8]
      call.product(A = X, B = W) -> (Y = T)
      map i in 0:N, j in 0:8 { U[i, j] = T[i, j] + b[j] }
      map i in 0:N, j in 0:8 { R2[i, j] = R[i, j] * R[i, j] }
      map j in 0:8, i in 0:N { V[i, j] = R2[i, j] + U[i, j] }
      map i in 0:N, j in 0:8 { Y[i, j] = min(max(V[i, j], 0) * 2 - 1, 6) }
    })",
             "fuse-call-epilogue", R"(sdfg f(X: f32[N, 4], W: f32[4, 8], b: f32[8], R: f32[N, 8], Y: f32[N, 8]) {
      transient R2: f32[N, 8]
      map i in 0:N, j in 0:8 { R2[i, j] = R[i, j] * R[i, j] }
      call.product{epilogue = ["bias e0 1", "add e1", "relu", "linear 2 0", "linear 1 -1", "clip -inf 6"]}(
        A = X, B = W, e0 = b, e1 = R2) -> (Y = Y)
    })",
             RegistryWithCalls());
}

TEST(FuseCallEpilogue, OneStep) {
  ExpectPass(R"(sdfg f(X: f32[4, 4], W: f32[4, 8], b: f32[1, 8], Y: f32[4, 8]) {
      transient T: f32[4, 8]
      call.product(A = X, B = W) -> (Y = T)
      map i in 0:4, j in 0:8 { Y[i, j] = max(T[i, j] + b[0, j], 0) }
    })",
             "fuse-call-epilogue@#0+#1", R"(sdfg f(X: f32[4, 4], W: f32[4, 8], b: f32[1, 8], Y: f32[4, 8]) {
      call.product{epilogue = ["bias e0 1", "relu"]}(A = X, B = W, e0 = b) -> (Y = Y)
    })",
             RegistryWithCalls());
}

TEST(FuseCallEpilogue, DimensionsOfOne) {
  ExpectPass(R"(sdfg f(X: f32[1, 4], W: f32[4, 8], b: f32[8], Y: f32[1, 8]) {
      transient T: f32[1, 8]
      call.product(A = X, B = W) -> (Y = T)
      map j in 0:8 { Y[0, j] = T[0, j] + b[j] }
    })",
             "fuse-call-epilogue", R"(sdfg f(X: f32[1, 4], W: f32[4, 8], b: f32[8], Y: f32[1, 8]) {
      call.product{epilogue = ["bias e0 1"]}(A = X, B = W, e0 = b) -> (Y = Y)
    })",
             RegistryWithCalls());
}

// As ONNX's activations are written: a NaN stays one.
TEST(FuseCallEpilogue, Activations) {
  const std::string head = "sdfg f(X: f32[4, 8], W: f32[8, 8], Y: f32[4, 8]) {\n";
  const std::pair<const char*, const char*> kCases[] = {{"v <= 0.0 ? 0.0 : v", "relu"},
                                                        {"(v < 0 ? 0 : v) > 6 ? 6 : (v < 0 ? 0 : v)", "clip 0 6"},
                                                        {"(v < -1 ? -1 : v) > 6 ? 6 : (v < -1 ? -1 : v)", "clip -1 6"},
                                                        {"v > 0 ? v : 0.5 * v", "leaky 0.5"},
                                                        {"v < 0 ? exp(v) / (1 + exp(v)) : 1 / (1 + exp(-v))", "sigmoid"}};
  for (const auto& [form, step] : kCases) {
    std::string value = form;
    for (size_t at = 0; (at = value.find('v', at)) != std::string::npos; at += 7) value.replace(at, 1, "T[i, j]");
    const std::string before = head + " transient T: f32[4, 8]\n call.product(A = X, B = W) -> (Y = T)\n" +
                               " map i in 0:4, j in 0:8 { Y[i, j] = " + value + " }\n }";
    const std::string after = head + "call.product{epilogue = [\"" + step + "\"]}(A = X, B = W) -> (Y = Y)\n }";
    if (step == std::string("sigmoid")) ExpectUnchanged(before, "fuse-call-epilogue", RegistryWithCalls());  // refused
    else ExpectPass(before, "fuse-call-epilogue", after, RegistryWithCalls());
  }
}

// What the function refuses, what reads the result besides, what is no step, what is written in between, what the call reads itself.
TEST(FuseCallEpilogue, StaysApart) {
  const std::string head = "sdfg f(X: f32[4, 8], W: f32[8, 8], b: f32[4], Y: f32[4, 8], Z: f32[4, 8], S: f32[8, 4]) {\n"
                           " transient T: f32[4, 8]\n transient V: f32[4, 8]\n map i in 0:4, j in 0:8 { V[i, j] = X[i, j] }\n"
                           " call.product(A = V, B = W) -> (Y = T)\n";
  for (const char* rest : {"map i in 0:4, j in 0:8 { Y[i, j] = tanh(T[i, j]) }", "map i in 0:4, j in 0:8 { Y[i, j] = T[i, j] * T[i, j] }",
                           "map i in 0:4, j in 0:8 { Y[i, j] = max(T[i, j], 0) } map i in 0:4, j in 0:8 { Z[i, j] = T[i, j] }",
                           "map i in 0:4, j in 0:8 { V[i, j] = 0 } map i in 0:4, j in 0:8 { Y[i, j] = max(T[i, j], 0) } Z[0, 0] = V[0, 0]",
                           "map i in 0:4, j in 0:8 { V[i, j] = max(T[i, j], 0) }"
                           " map i in 0:4, j in 0:8 { Y[i, j] = V[i, j] * V[j // 2, i] }",
                           "map i in 0:4, j in 0:8 { S[j, i] = max(T[i, j], 0) }", "map i in 0:3, j in 0:8 { Y[i, j] = max(T[i, j], 0) }",
                           "map i in 0:4, j in 0:8 { Y[i, j] = T[3 - i, j] + 1 }", "map i in 0:4, j in 0:8 { Y[i, j] = T[i, j] / 3 }",
                           "map i in 0:4, j in 0:8 { Y[i, j] = T[i, j] + b[3 - i] }",
                           "for t in 0:3 { map i in 0:4, j in 0:8 { Y[i, j] = T[i, j] + 1 } }"})
    ExpectUnchanged(head + rest + " }", "fuse-call-epilogue", RegistryWithCalls());
}

}  // namespace
}  // namespace headrace
