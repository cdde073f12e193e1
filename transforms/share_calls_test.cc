#include "transforms/share_calls.h"

#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// As Sigmoid is written, so that nothing overflows: the exponential of whichever sign.
TEST(ShareCalls, OneExponential) {
  ExpectPass("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] >= 0 ? 1 / (1 + exp(-X[i])) : exp(X[i]) / (1 + exp(X[i])) } }",
             "share-calls", R"(sdfg f(X: f32[N], Y: f32[N]) {
  map i in 0:N {
    Y[i] = (X[i] >= 0 ? 1 : exp(X[i] >= 0 ? -X[i] : X[i])) / (1 + exp(X[i] >= 0 ? -X[i] : X[i]))
  }
})");
}

TEST(ShareCalls, Squares) {
  ExpectPass("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = pow(X[i] + 1, 2) } }", "share-calls",
             "sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = (X[i] + 1) * (X[i] + 1) } }");
}

// Mish's factor, as PyTorch writes it and as ONNX's Softplus does: one exponential. Softplus alone stays.
TEST(ShareCalls, TanhOfSoftplus) {
  for (const char* softplus : {"log1p(exp(X[i]))", "max(X[i], 0) + log1p(exp(-abs(X[i])))"})
    ExpectPass("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] * tanh(" + std::string(softplus) + ") } }", "share-calls",
               R"(sdfg f(X: f32[N], Y: f32[N]) {
  map i in 0:N {
    Y[i] = X[i] * (exp(X[i] > 20.0 ? 20.0 : X[i]) * (exp(X[i] > 20.0 ? 20.0 : X[i]) + 2.0) / (exp(X[i] > 20.0 ? 20.0 : X[i]) * (exp(X[i] > 20.0 ? 20.0 : X[i]) + 2.0) + 2.0))
  }
})");
  for (const char* value : {"log1p(exp(X[i]))", "tanh(max(X[i], 1) + log1p(exp(-abs(X[i]))))", "tanh(max(Z[i], 0) + log1p(exp(-abs(X[i]))))", "tanh(log1p(X[i]))"})
    ExpectUnchanged("sdfg f(X: f32[N], Z: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = " + std::string(value) + " } }", "share-calls");
}

// As exporters of ONNX leave it: each step in a register.
TEST(ShareCalls, TanhOfSoftplusInRegisters) {
  const std::string head = "sdfg f(X: f32[N], Z: f32[N], Y: f32[N]) {\n  transient x: f32 @register\n  transient s: f32 @register\n  transient e: f32 @register\n";
  const std::string e = "exp(x > 20.0 ? 20.0 : x)";
  ExpectPass(head + "  map i in 0:N { x = X[i]; e = exp(x); s = log1p(e); Y[i] = x * tanh(s) }\n}", "share-calls",
             head + "  map i in 0:N {\n    x = X[i]\n    e = exp(x)\n    s = log1p(e)\n    Y[i] = x * (" + e + " * (" + e + " + 2.0) / (" + e + " * (" + e +
                 " + 2.0) + 2.0))\n  }\n}");
  // Another x by then, a sum, a rounded value, one of another iteration.
  for (const char* body : {"x = X[i]; s = log1p(exp(x)); x = 2 * x; Y[i] = x * tanh(s)", "x = X[i]; s = log1p(exp(x)); s += x; Y[i] = tanh(s)",
                           "x = X[i]; s = log1p(exp(f64(x))); Y[i] = tanh(s)", "Z[i] = X[i]; s = log1p(exp(Z[i])); Z[i] = 2; Y[i] = tanh(s)",
                           "s = X[i]; Y[i] = tanh(s); s = log1p(exp(X[i]))"})
    ExpectUnchanged(head + "  map i in 0:N { " + body + " }\n}", "share-calls");
}

// Another function, another type, a call that both sides have already, a power that isn't known.
TEST(ShareCalls, OthersStay) {
  for (const char* value : {"X[i] > 0 ? exp(X[i]) : log(-X[i])", "X[i] > 0 ? exp(X[i]) : f32(exp(Z[i]))", "X[i] > 0 ? exp(X[i]) : 1 - exp(X[i])",
                            "pow(X[i], X[i])", "X[i] > 0 ? sqrt(X[i]) : sqrt(-X[i])"})
    ExpectUnchanged("sdfg f(X: f32[N], Z: f64[N], Y: f32[N]) { map i in 0:N { Y[i] = " + std::string(value) + " } }", "share-calls");
}

// What only one side may read is read on that side alone.
TEST(ShareCalls, BordersStayInTheirBranch) {
  ExpectPass("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = i > 0 ? exp(X[i - 1]) : exp(X[i]) } }", "share-calls",
             "sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = exp(i > 0 ? X[i - 1] : X[i]) } }");
}

}  // namespace
}  // namespace headrace::transforms
