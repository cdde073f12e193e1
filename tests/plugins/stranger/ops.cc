// Ops of a third party, written from docs/plugins.md: a gate with a gradient, a stack of any number of tensors, the last n rows.
#include "headrace_plugin.hpp"

HEADRACE_PLUGIN("acme_ops", "0.1") {
  r.op("acme.Gate").Doc("X times its own sigmoid, and a bias where there is one.")
      .Input("X", "float").Input("B", "float", /*optional=*/true).Output("Y", "float")
      .Attribute("alpha", "float", "1").Shape("shape Y[dims(X)]")
      .Pure("let s(v) = 1 / (1 + exp(-alpha * v))\nY = X * s(X) + (B ?: 0)")
      .Backward("let s(v) = 1 / (1 + exp(-alpha * v))\n"
                "dX = dY * (s(X) + alpha * X * s(X) * (1 - s(X)))\n"
                "dB = dY")
      .Sample("X: f32[2, 3] in [-4, 4]; at 0")
      .Sample("X: f64[4]; B: f64[4]; attr alpha = 2.5");
  r.op("acme.Stack").Doc("Tensors of one size along a new first dimension.")
      .Input("T", "float", /*optional=*/false, /*variadic=*/true).Output("Y", "float")
      .Shape("let n = 0\neach t in T { let n = n + 1 }\nshape Y[n, dims(in0)]")
      .Pure("let at = 0\neach t in T {\n  Y[at, k..] = t[k..]\n  let at = at + 1\n}")
      .Sample("T: f32[2, 3]; T: f32[2, 3]; T: f32[2, 3]");
  r.op("acme.Take").Doc("The last n rows.")
      .Input("X", "any").Input("n", "integer").Output("Y", "any")
      .Shape("shape Y[n, dims(X)[1:rank(X)]]")
      .Pure("Y[i, k..] = X[i + dim(X, 0) - dim(Y, 0), k..]")
      .Sample("X: f32[4, 3]; n: i64[1] = [2]");
}
