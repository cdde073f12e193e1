#include "transforms/one_sided_sigmoids.h"

#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

std::string Kernel(const std::string& type, const std::string& value, const std::string& head = "@flush ") {
  return "sdfg f(X: " + type + "[N], Z: " + type + "[N], Y: " + type + "[N]) " + head + "{\n  map i in 0:N { Y[i] = " + value + " }\n}";
}
const char kByOthers[] = "(X[i] >= 0 ? 1 : exp(X[i] >= 0 ? -X[i] : X[i])) / (1 + exp(X[i] >= 0 ? -X[i] : X[i]))";

// Both ways to ask for the sign, also within an expression.
TEST(OneSidedSigmoids, InF32) {
  const std::string one_sided = "1.0 / (1.0 + exp(-X[i]))";
  ExpectPass(Kernel("f32", kByOthers), "one-sided-sigmoids", Kernel("f32", one_sided));
  ExpectPass(Kernel("f32", "X[i] * ((X[i] < 0.0 ? exp(X[i] < 0.0 ? X[i] : -X[i]) : 1.0) / (1.0 + exp(X[i] < 0.0 ? X[i] : -X[i])))"),
             "one-sided-sigmoids", Kernel("f32", "X[i] * (" + one_sided + ")"));
}

// As `Sigmoid` comes to kernels.
TEST(OneSidedSigmoids, AfterSharedCalls) {
  ExpectPass("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] < 0 ? exp(X[i]) / (1 + exp(X[i])) : 1 / (1 + exp(-X[i])) } }",
             "share-calls; denormals; one-sided-sigmoids", "sdfg f(X: f32[N], Y: f32[N]) @flush { map i in 0:N { Y[i] = 1.0 / (1.0 + exp(-X[i])) } }");
}

// A bf16 is computed with in f32, and goes as far.
TEST(OneSidedSigmoids, InBf16) { ExpectPass(Kernel("bf16", kByOthers), "one-sided-sigmoids", Kernel("bf16", "1.0 / (1.0 + exp(-X[i]))")); }

// Where denormals count, or what is infinite earlier.
TEST(OneSidedSigmoids, NotElsewhere) {
  ExpectUnchanged(Kernel("f32", kByOthers, ""), "one-sided-sigmoids");
  ExpectUnchanged(Kernel("f16", kByOthers), "one-sided-sigmoids");
}

TEST(OneSidedSigmoids, NoSigmoids) {
  for (const char* value : {"(X[i] >= 1 ? 1 : exp(X[i] >= 1 ? -X[i] : X[i])) / (1 + exp(X[i] >= 1 ? -X[i] : X[i]))",
                            "(X[i] >= 0 ? exp(X[i] >= 0 ? -X[i] : X[i]) : 1) / (1 + exp(X[i] >= 0 ? -X[i] : X[i]))",
                            "(Z[i] >= 0 ? 1 : exp(X[i] >= 0 ? -X[i] : X[i])) / (1 + exp(X[i] >= 0 ? -X[i] : X[i]))",
                            "(X[i] >= 0 ? 1 : exp(X[i] >= 0 ? -X[i] : X[i])) / (2 + exp(X[i] >= 0 ? -X[i] : X[i]))",
                            "(X[i] >= 0 ? 1 : exp(X[i] >= 0 ? X[i] : -X[i])) / (1 + exp(X[i] >= 0 ? X[i] : -X[i]))"})
    ExpectUnchanged(Kernel("f32", value), "one-sided-sigmoids");
}

}  // namespace
}  // namespace headrace::transforms
