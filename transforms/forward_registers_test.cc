#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

TEST(ForwardRegisters, AnElementHeldForOneStatement) {
  ExpectPass(R"(sdfg f(G: f64[N], X: f64[N, M], inout D: f64[M]) {
                  transient g: f64 @register
                  state { map i in 0:N, j in 0:M { g = G[i]; D[j] += g * X[i, j] * g } }
                })",
             "forward-registers; eliminate-dead-code", R"(sdfg f(G: f64[N], X: f64[N, M], inout D: f64[M]) {
                  state { map i in 0:N, j in 0:M { D[j] += G[i] * X[i, j] * G[i] } }
                })");
}

TEST(ForwardRegisters, OneRegisterFromAnother) {
  ExpectPass(R"(sdfg f(X: f32[N, N], Y: f32[2, N]) {
                  transient a: f32 @register
                  transient b: f32 @register
                  transient c: f32 @register
                  state { map k in 0:2 { map i in 0:N { a = X[k, i]; b = a; c = X[i, k]; Y[k, i] = b - c } } }
                })",
             "forward-registers; eliminate-dead-code", R"(sdfg f(X: f32[N, N], Y: f32[2, N]) {
                  state { map k in 0:2 { map i in 0:N { Y[k, i] = X[k, i] - X[i, k] } } }
                })");
}

TEST(ForwardRegisters, WhatIsComputedOrConvertedStays) {
  for (const char* value : {"exp(X[i])", "X[i] * 2", "f64(Z[i])", "X[i - 1] ?? 0", "0"})
    ExpectUnchanged(std::string("sdfg f(X: f64[N], Z: f32[N], Y: f64[N]) { transient t: f64 @register; state { "
                                "map i in 0:N { t = ") +
                        value + "; Y[i] = t / X[i] } } }",
                    "forward-registers");
  ExpectUnchanged(
      "sdfg f(X: f64[N], Y: f64[N]) { transient t: f32 @register; state { map i in 0:N { t = X[i]; Y[i] = t } } }",
      "forward-registers");
}

TEST(ForwardRegisters, OnlyWhereOneStatementIsLeft) {
  ExpectUnchanged(R"(sdfg f(X: f64[N], Y: f64[N], Z: f64[N]) {
                       transient t: f64 @register
                       state { map i in 0:N { t = X[i]; Y[i] = t; Z[i] = t } }
                     })",
                  "forward-registers");
  // What is held is overwritten before it is used.
  ExpectUnchanged(R"(sdfg f(inout X: f64[N], Y: f64[N]) {
                       transient t: f64 @register
                       state { map i in 0:N { t = X[i]; X[i] = 0; Y[i] = t } }
                     })",
                  "forward-registers");
}

TEST(ForwardRegisters, WhatACallElsewhereReadsStays) {
  ExpectUnchanged(R"(sdfg g(x: f64, Z: f64) { state { Z = x } }
                     sdfg f(X: f64[N], Y: f64[N], Z: f64[N]) {
                       transient t: f64 @register
                       state { map i in 0:N { map j in 0:1 { t = X[i]; Y[i] = t }
                                              map k in 0:1 { call g(x = t, Z = Z[i]) } } }
                     })",
                  "forward-registers");
}

TEST(ForwardRegisters, ASumDoesNotReadWhatItAddsTo) {
  ExpectUnchanged(R"(sdfg f(inout X: f64[2, N]) {
                       transient t: f64 @register
                       state { map i in 0:N { t = X[0, i]; X[1, i] += t } }
                     })",
                  "forward-registers");
}

}  // namespace
}  // namespace headrace::transforms
