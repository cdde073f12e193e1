// What the derivative of an expression looks like. That it is right: tests/autodiff/derivative_values_test.cc.
#include "autodiff/derivative.h"

#include <gtest/gtest.h>

#include "ir/analysis/type_inference.h"
#include "ir/text/parser.h"

namespace headrace::autodiff {
namespace {

std::string Text(const Expr& e) {  // scalars by their bare names
  std::string text = ToString(e);
  for (size_t at; (at = text.find("[]")) != std::string::npos;) text.erase(at, 2);
  return text;
}

// `out[i] = value` with the gradient `g` of out[i]: the shared values, then what each read receives; `??` when guarded.
std::string Show(const std::string& value, const std::string& out = "f64") {
  Result<Program> p = ParseProgram("sdfg f(X: f64[N], Y: f64[N], s: f64, g: " + out +
                                   ", H: f16[N], F: f32[N], Z: c128[N], W: c64[N], I: i64[N], out: " + out +
                                   "[N]) { map i in 0:N { out[i] = " + value + " } }");
  if (!p.ok()) return p.status().ToString();
  const Sdfg& s = p->Entry();
  const Tasklet* t = nullptr;
  ForEachNode(s, [&](NodeId n) {
    if (auto* x = std::get_if<Tasklet>(&s.nodes[n].body)) t = x;
  });
  Result<Expr> typed = TypedValue(s, *t);
  if (!typed.ok()) return typed.status().ToString();
  int n = 0;
  Result<Derivative> d = Differentiate(
      s, *typed, WithType(ReadExpr("g", {}), s.Get("out").dtype), [](Name c) { return c != Name("g"); },
      [&](std::string_view stem) { return Name(std::string(stem) + std::to_string(n++)); });
  if (!d.ok()) return d.status().message();
  std::string text;
  for (const Shared& x : d->shared) {
    EXPECT_EQ(x.dtype, x.value->dtype);
    text += x.name.str() + " = " + Text(x.value) + "\n";
  }
  for (const Contribution& c : d->contributions) {
    EXPECT_EQ(c.value->dtype, s.Get(c.read->name).dtype) << ToString(c.value);
    text += Text(c.read) + (c.guarded ? " ??+= " : " += ") + Text(c.value) + "\n";
  }
  return text;
}

TEST(Derivative, OfEachReadWithSharedSubexpressions) {
  EXPECT_EQ(Show("sin(X[i]) * Y[i]"), "Y[i] += g * sin(X[i])\nX[i] += g * Y[i] * cos(X[i])\n");
  EXPECT_EQ(Show("exp(X[i] * Y[i])"), "t0 = g * exp(X[i] * Y[i])\nY[i] += t0 * X[i]\nX[i] += t0 * Y[i]\n");
  EXPECT_EQ(Show("X[i] * X[i]"), "X[i] += 2.0 * (g * X[i])\n");
}

// Literals fold, factors of one vanish, signs move outwards; nothing else changes.
TEST(Derivative, StaysShort) {
  EXPECT_EQ(Show("X[i] - 2 * Y[i] + s"), "s += g\nY[i] += -(g * 2.0)\nX[i] += g\n");
  EXPECT_EQ(Show("-X[i] / 4"), "X[i] += -(g / 4.0)\n");
  EXPECT_EQ(Show("pow(X[i], 2) + pow(X[i], 1) + pow(X[i], 0)"), "X[i] += g + g * (2.0 * X[i])\n");
}

TEST(Derivative, OfChoicesStaysInItsBranch) {
  // Both arms read the same element: one choice.
  EXPECT_EQ(Show("X[i] <= 0 ? 0 : X[i]"), "X[i] += X[i] <= 0.0 ? 0.0 : g\n");
  EXPECT_EQ(Show("X[i] > 0 ? X[i] * Y[i] : Y[i]"),
            "Y[i] += X[i] > 0.0 ? g * X[i] : g\nX[i] += X[i] > 0.0 ? g * Y[i] : 0.0\n");
  // Read only where the index is inside: so is the accumulation, and nothing is hoisted out of the branch.
  EXPECT_EQ(Show("i > 0 ? exp(X[i - 1]) : 0"), "X[i - 1] ??+= i > 0 ? g * exp(X[i - 1]) : 0.0\n");
  EXPECT_EQ(Show("i > 0 ? exp(X[i - 1]) * Y[i] * Y[i] : 0"),
            "t0 = i > 0 ? exp(X[i - 1]) : 0.0\n"
            "t1 = i > 0 ? g * Y[i] : 0.0\n"
            "Y[i] ??+= i > 0 ? g * (t0 * Y[i]) + t1 * t0 : 0.0\n"
            "X[i - 1] ??+= i > 0 ? t1 * Y[i] * t0 : 0.0\n");
}

TEST(Derivative, OfReadsWithDefaults) {
  EXPECT_EQ(Show("(X[i - 1] ?? 0) * s"), "s += g * (X[i - 1] ?? 0.0)\nX[i - 1] ?? 0.0 ??+= g * s\n");
  EXPECT_EQ(Show("X[i - 1] ?? Y[i]"), "X[i - 1] ?? Y[i] ??+= g\nY[i] ??+= 0 <= i - 1 && i - 1 < N ? 0.0 : g\n");
}

TEST(Derivative, OfFloatsOfOtherWidths) {
  EXPECT_EQ(Show("exp(H[i])", "f16"), "H[i] += f16(f32(g) * exp(f32(H[i])))\n");
  EXPECT_EQ(Show("f32(H[i]) * F[i]", "f32"), "F[i] += g * f32(H[i])\nH[i] += f16(g * F[i])\n");
  EXPECT_EQ(Show("X[i] * 2", "f32"), "X[i] += f64(g) * 2.0\n");
}

TEST(Derivative, OfComplexNumbers) {
  EXPECT_EQ(Show("real(Z[i]) * X[i] + imag(Z[i])"),
            "X[i] += g * real(Z[i])\nZ[i] += complex(0.0, -g) + complex(g * X[i], 0.0)\n");
  EXPECT_EQ(Show("abs(Z[i])"), "t0 = abs(Z[i])\nZ[i] += c128(t0 == 0.0 ? 0.0 : g / t0) * conj(Z[i])\n");
  EXPECT_EQ(Show("complex(X[i], Y[i])", "c128"), "Y[i] += -imag(g)\nX[i] += real(g)\n");
  // Literals alone would be a c128 when they are read again.
  EXPECT_EQ(Show("W[i] * complex(f32(0.5), f32(2))", "c64"), "W[i] += g * c64(complex(0.5, 2.0))\n");
  EXPECT_EQ(Show("2 * real(W[i])", "f32"), "W[i] += complex(g * 2.0, 0.0)\n");
}

TEST(Derivative, ThatIsZeroByDefinition) {
  for (const char* v : {"floor(X[i])", "ceil(X[i])", "rint(X[i])", "trunc(X[i])", "sign(X[i])", "hold(X[i])",
                        "f64(I[i])", "f64(i32(X[i]))", "X[i] > 0 ? 1 : 2", "X[i] // 2", "f64(isnan(X[i]))"})
    EXPECT_EQ(Show(v), "") << v;
  EXPECT_EQ(Show("X[I[i]]"), "X[I[i]] += g\n");  // nothing for I
}

TEST(Derivative, ThatIsUnknownIsAnError) {
  EXPECT_EQ(Show("acos(Z[i])", "c128"), "the function 'acos' of complex numbers has no derivative, in acos(Z[i])");
}

// Each level is used twice by the next: 2^60 paths, linear text.
TEST(Derivative, OfASharedGraphIsLinear) {
  const auto text = [](int depth) {
    Result<Program> p = ParseProgram("sdfg f(X: f64, g: f64, out: f64) { out = X }");
    const Sdfg& s = p->Entry();
    Expr e = ReadExpr("X", {});
    for (int k = 0; k < depth; ++k)
      e = CallExpr("sin", {BinaryExpr(Op::kMul, e, BinaryExpr(Op::kAdd, e, CallExpr("exp", {e})))});
    Result<Expr> typed = InferTypes(s, e);
    int n = 0;
    Result<Derivative> d = Differentiate(
        s, *typed, WithType(ReadExpr("g", {}), DType::kF64), [](Name c) { return c == Name("X"); },
        [&](std::string_view) { return Name("t" + std::to_string(n++)); });
    size_t size = 0;
    for (const Shared& x : d->shared) size += ToString(x.value).size();
    EXPECT_EQ(d->contributions.size(), 1u);
    return size + ToString(d->contributions[0].value).size();
  };
  const size_t ten = text(10), sixty = text(60);
  EXPECT_LT(sixty, 7 * ten);
}

}  // namespace
}  // namespace headrace::autodiff
