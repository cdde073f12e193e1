#include "transforms/autocast.h"

#include <gtest/gtest.h>

#include "transforms/passes.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

const char kAutocast[] = "autocast{to=bf16}";

OpSignature Signature(const std::string& domain, const std::string& name, const std::vector<std::string>& inputs, const std::string& output) {
  OpSignature s;
  s.domain = domain, s.name = name;
  for (const std::string& n : inputs) s.inputs.push_back({}), s.inputs.back().name = n, s.inputs.back().type = "float";
  s.outputs.push_back({}), s.outputs.back().name = output, s.outputs.back().type = "float";
  return s;
}

// MatMul is narrow, Softmax wide, DequantizeLinear exact; my.Opaque has no form.
const Registry& Ops() {
  static const Registry* ops = [] {
    auto* r = new Registry;
    Status s = RegisterAll(*r);
    const auto add = [&](const std::string& domain, const std::string& name, const std::vector<std::string>& inputs,
                         const std::string& output, const std::string& pure) {
      if (s.ok()) s = r->Add(Signature(domain, name, inputs, output));
      OpDefinition d;
      d.domain = domain, d.name = name, d.pure = pure;
      if (s.ok()) s = r->Add(d);
    };
    add("onnx", "MatMul", {"A", "B"}, "Y", "Y[i, j] += A[i, k] * B[k, j]");
    add("onnx", "Softmax", {"input"}, "output", "output = exp(input)");
    add("onnx", "DequantizeLinear", {"x"}, "y", "y = x");
    add("onnx", "Relu", {"X"}, "Y", "Y = max(X, 0)");
    add("onnx", "Add", {"A", "B"}, "C", "C = A + B");
    add("my", "Opaque", {"X"}, "Y", "");
    HR_CHECK(s.ok(), s.ToString());
    return r;
  }();
  return *ops;
}

void ExpectAutocast(std::string_view before, std::string_view after) { ExpectPass(before, kAutocast, after, Ops()); }

// Products get narrow operands, and what follows them is narrow until an op is wide. Constants are cast here.
TEST(Autocast, ProductsAreNarrow) {
  ExpectAutocast(R"(
sdfg f(X: f32[4, 2], Y: f32[4, 2]) {
  constant W: f32[2, 2] = [[1, 1.001], [3, 4]]
  transient P: f32[4, 2]
  transient Q: f32[4, 2]
  state {
    onnx.MatMul(A = X, B = W) -> (Y = P)
    onnx.Relu(X = P) -> (Y = Q)
    onnx.Softmax(input = Q) -> (output = Y)
  }
})", R"(
sdfg f(X: f32[4, 2], Y: f32[4, 2]) {
  constant W: f32[2, 2] = [[1.0, 1.001], [3.0, 4.0]]
  transient P: bf16[4, 2]
  transient Q: bf16[4, 2]
  transient X_bf16: bf16[4, 2]
  constant W_bf16: bf16[2, 2] = [[1.0, 1.0], [3.0, 4.0]]
  transient Q_f32: f32[4, 2]
  state {
    map i0 in 0:4, i1 in 0:2 { X_bf16[i0, i1] = bf16(X[i0, i1]) }
    onnx.MatMul(A = X_bf16, B = W_bf16) -> (Y = P)
    onnx.Relu(X = P) -> (Y = Q)
    map i0 in 0:4, i1 in 0:2 { Q_f32[i0, i1] = f32(Q[i0, i1]) }
    onnx.Softmax(input = Q_f32) -> (output = Y)
  }
})");
}

// A weight that two products take is cast once; what one gives and the program keeps is cast back.
TEST(Autocast, CastsOnce) {
  ExpectAutocast(R"(
sdfg f(X: f32[4, 2], W: f32[2, 2], P: f32[4, 2], Y: f32[4, 2]) {
  state {
    onnx.MatMul(A = X, B = W) -> (Y = P)
    onnx.MatMul(A = P, B = W) -> (Y = Y)
  }
})", R"(
sdfg f(X: f32[4, 2], W: f32[2, 2], P: f32[4, 2], Y: f32[4, 2]) {
  transient X_bf16: bf16[4, 2]
  transient W_bf16: bf16[2, 2]
  transient P_bf16: bf16[4, 2]
  transient Y_bf16: bf16[4, 2]
  state {
    map i0 in 0:4, i1 in 0:2 { X_bf16[i0, i1] = bf16(X[i0, i1]) }
    map i0 in 0:2, i1 in 0:2 { W_bf16[i0, i1] = bf16(W[i0, i1]) }
    onnx.MatMul(A = X_bf16, B = W_bf16) -> (Y = P_bf16)
    map i0 in 0:4, i1 in 0:2 { P[i0, i1] = f32(P_bf16[i0, i1]) }
    onnx.MatMul(A = P_bf16, B = W_bf16) -> (Y = Y_bf16)
    map i0 in 0:4, i1 in 0:2 { Y[i0, i1] = f32(Y_bf16[i0, i1]) }
  }
})");
}

// A vector that is broadcast takes the other operand's type; a sum with what is f32 is f32.
TEST(Autocast, OperandsOfTwoTypes) {
  ExpectAutocast(R"(
sdfg f(X: f32[4, 2], W: f32[2, 2], b: f32[2], Y: f32[4, 2], Z: f32[4, 2]) {
  transient P: f32[4, 2]
  transient Q: f32[4, 2]
  transient c: f32[2]
  transient R: f32[4, 2]
  state {
    onnx.MatMul(A = X, B = W) -> (Y = P)
    onnx.Relu(X = b) -> (Y = c)
    onnx.Add(A = P, B = c) -> (C = Q)
    onnx.Relu(X = Q) -> (Y = R)
    onnx.Add(A = Q, B = X) -> (C = Y)
    onnx.Add(A = X, B = R) -> (C = Z)
  }
})", R"(
sdfg f(X: f32[4, 2], W: f32[2, 2], b: f32[2], Y: f32[4, 2], Z: f32[4, 2]) {
  transient P: bf16[4, 2]
  transient Q: bf16[4, 2]
  transient c: f32[2]
  transient R: bf16[4, 2]
  transient X_bf16: bf16[4, 2]
  transient W_bf16: bf16[2, 2]
  transient c_bf16: bf16[2]
  transient Q_f32: f32[4, 2]
  transient R_f32: f32[4, 2]
  state {
    map i0 in 0:4, i1 in 0:2 { X_bf16[i0, i1] = bf16(X[i0, i1]) }
    map i0 in 0:2, i1 in 0:2 { W_bf16[i0, i1] = bf16(W[i0, i1]) }
    onnx.MatMul(A = X_bf16, B = W_bf16) -> (Y = P)
    onnx.Relu(X = b) -> (Y = c)
    map i0 in 0:2 { c_bf16[i0] = bf16(c[i0]) }
    onnx.Add(A = P, B = c_bf16) -> (C = Q)
    onnx.Relu(X = Q) -> (Y = R)
    map i0 in 0:4, i1 in 0:2 { Q_f32[i0, i1] = f32(Q[i0, i1]) }
    onnx.Add(A = Q_f32, B = X) -> (C = Y)
    map i0 in 0:4, i1 in 0:2 { R_f32[i0, i1] = f32(R[i0, i1]) }
    onnx.Add(A = X, B = R_f32) -> (C = Z)
  }
})");
}

// What comes into a loop is cast before it, what changes in it each time.
TEST(Autocast, Loops) {
  ExpectAutocast(R"(
sdfg f(W: f32[2, 2], inout X: f32[2, 2], N: symbol) {
  transient P: f32[2, 2]
  for t in 0:N {
    onnx.MatMul(A = X, B = W) -> (Y = P)
    onnx.MatMul(A = P, B = P) -> (Y = X)
  }
})", R"(
sdfg f(W: f32[2, 2], inout X: f32[2, 2], N: symbol) {
  transient P: bf16[2, 2]
  transient X_bf16: bf16[2, 2]
  transient W_bf16: bf16[2, 2]
  transient X_bf16_1: bf16[2, 2]
  state {
    map i0 in 0:2, i1 in 0:2 { W_bf16[i0, i1] = bf16(W[i0, i1]) }
  }
  for t in 0:N {
    state {
      map i0 in 0:2, i1 in 0:2 { X_bf16[i0, i1] = bf16(X[i0, i1]) }
      onnx.MatMul(A = X_bf16, B = W_bf16) -> (Y = P)
      onnx.MatMul(A = P, B = P) -> (Y = X_bf16_1)
      map i0 in 0:2, i1 in 0:2 { X[i0, i1] = f32(X_bf16_1[i0, i1]) }
    }
  }
})");
}

// Maps read and write what is f32 as before.
TEST(Autocast, BesideMaps) {
  ExpectAutocast(R"(
sdfg f(X: f32[2, 2], Y: f32[4]) {
  transient T: f32[2, 2]
  transient P: f32[2, 2]
  view V: f32[4] of P
  state {
    map i in 0:2, j in 0:2 { T[i, j] = X[j, i] }
    onnx.MatMul(A = T, B = X) -> (Y = P)
    map i in 0:4 { Y[i] = V[i] }
  }
})", R"(
sdfg f(X: f32[2, 2], Y: f32[4]) {
  transient T: f32[2, 2]
  transient P: f32[2, 2]
  view V: f32[4] of P
  transient T_bf16: bf16[2, 2]
  transient X_bf16: bf16[2, 2]
  transient P_bf16: bf16[2, 2]
  state {
    map i in 0:2, j in 0:2 { T[i, j] = X[j, i] }
    map i0 in 0:2, i1 in 0:2 { T_bf16[i0, i1] = bf16(T[i0, i1]) }
    map i0 in 0:2, i1 in 0:2 { X_bf16[i0, i1] = bf16(X[i0, i1]) }
    onnx.MatMul(A = T_bf16, B = X_bf16) -> (Y = P_bf16)
    map i0 in 0:2, i1 in 0:2 { P[i0, i1] = f32(P_bf16[i0, i1]) }
    map i in 0:4 { Y[i] = V[i] }
  }
})");
}

// Dequantised numbers, ops without a form and nodes whose implementation was asked for stay f32.
TEST(Autocast, StaysWide) {
  const char kQuantised[] = R"(
sdfg f(X: f32[2, 2], Y: f32[2, 2]) {
  transient D: f32[2, 2]
  transient E: f32[2, 2]
  state {
    onnx.DequantizeLinear(x = X) -> (y = D)
    onnx.Relu(X = D) -> (Y = E)
    onnx.MatMul(A = E, B = E) -> (Y = Y)
  }
})";
  ExpectUnchanged(kQuantised, kAutocast, Ops());
  ExpectUnchanged(R"(
sdfg f(X: f32[2, 2], Y: f32[2, 2]) {
  state { onnx.MatMul(A = X, B = X) -> (Y = Y) impl "pure" }
})", kAutocast, Ops());
  ExpectAutocast(R"(
sdfg f(X: f32[2, 2], Y: f32[2, 2]) {
  transient P: f32[2, 2]
  state {
    onnx.MatMul(A = X, B = X) -> (Y = P)
    my.Opaque(X = P) -> (Y = Y)
  }
})", R"(
sdfg f(X: f32[2, 2], Y: f32[2, 2]) {
  transient P: bf16[2, 2]
  transient X_bf16: bf16[2, 2]
  transient P_f32: f32[2, 2]
  state {
    map i0 in 0:2, i1 in 0:2 { X_bf16[i0, i1] = bf16(X[i0, i1]) }
    onnx.MatMul(A = X_bf16, B = X_bf16) -> (Y = P)
    map i0 in 0:2, i1 in 0:2 { P_f32[i0, i1] = f32(P[i0, i1]) }
    my.Opaque(X = P_f32) -> (Y = Y)
  }
})");
}

TEST(Autocast, OtherTypesAreLeftAlone) {
  for (const char* type : {"f64", "bf16", "i32"}) {
    const std::string t = type;
    ExpectUnchanged("sdfg f(X: " + t + "[2, 2], Y: " + t + "[2, 2]) {\n  state { onnx.MatMul(A = X, B = X) -> (Y = Y) }\n}", kAutocast, Ops());
  }
}

TEST(Autocast, WrongOptions) {
  ExpectPassError("sdfg f(X: f32[2], Y: f32[2]) { state { onnx.Relu(X = X) -> (Y = Y) } }", "autocast{to=f8}", "to is bf16 or f16, not 'f8'", Ops());
}

}  // namespace
}  // namespace headrace::transforms
