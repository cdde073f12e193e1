#include "ir/analysis/type_inference.h"

#include "gtest/gtest.h"
#include "ir/text/parser.h"

namespace headrace {
namespace {

// Containers of most types, all of one dimension N; `s` is a scalar.
Sdfg Containers() {
  Sdfg s;
  s.name = "test";
  const auto add = [&](const char* name, DType t) {
    Container c;
    c.name = name;
    c.kind = ContainerKind::kParameter;
    c.dtype = t;
    if (std::string(name) != "s") c.shape = {Expr(Name("N"))};
    s.Add(c);
  };
  add("X", DType::kF32);
  add("D", DType::kF64);
  add("H", DType::kF16);
  add("I", DType::kI32);
  add("L", DType::kI64);
  add("B", DType::kU8);
  add("P", DType::kBool);
  add("C", DType::kC64);
  add("s", DType::kF32);
  return s;
}

// The typed tree as text, with the type of the whole: "f32: X[i] * 2.0".
std::string Typed(const std::string& text, DType expected = DType::kNone) {
  Result<Expr> e = ParseExpr(text);
  EXPECT_TRUE(e.ok()) << e.status().ToString();
  Result<Expr> t = InferTypes(Containers(), *e, expected);
  if (!t.ok()) {
    const Diagnostic& d = t.status().diagnostics()[0];
    return d.code + " " + std::to_string(d.line) + ":" + std::to_string(d.column) + " " + d.message;
  }
  // Typing what is typed changes nothing.
  Result<Expr> again = InferTypes(Containers(), *t, expected);
  EXPECT_TRUE(again.ok() && *again == *t)
      << text << " → " << ToString(*t) << " → " << (again.ok() ? ToString(*again) : again.status().ToString());
  return std::string(DTypeName((*t)->dtype)) + ": " + ToString(*t);
}

TEST(Types, NumbersTakeTheTypeOfWhatTheyMeet) {
  EXPECT_EQ(Typed("X[i] * 2"), "f32: X[i] * 2.0");
  EXPECT_EQ(Typed("max(X[i], 0)"), "f32: max(X[i], 0.0)");
  EXPECT_EQ(Typed("B[i] + 3"), "u8: B[i] + 3");
  EXPECT_EQ(Typed("X[i] > 0 ? X[i] : 0"), "f32: X[i] > 0.0 ? X[i] : 0.0");
  EXPECT_EQ(Typed("0.1 * X[i]"), "f32: 0.10000000149011612 * X[i]");  // the f32 nearest to 0.1
  EXPECT_EQ(Typed("0.1 * D[i]"), "f64: 0.1 * D[i]");
  EXPECT_EQ(Typed("I[i] * 1e3"), "i32: I[i] * 1000");
  EXPECT_EQ(Typed("X[i] ?? 0"), "f32: X[i] ?? 0.0");
  EXPECT_EQ(Typed("(X[i] ?? 0) + D[i]"), "E0617 1:1 values of two types meet in '+'");
  EXPECT_EQ(Typed("2"), "i64: 2");
  EXPECT_EQ(Typed("2", DType::kF32), "f32: 2.0");
  EXPECT_EQ(Typed("0.5"), "f64: 0.5");
}

TEST(Types, SizesAreExactUntilTheyMeetAType) {
  EXPECT_EQ(Typed("X[i] / N"), "f32: X[i] / f32(N)");
  EXPECT_EQ(Typed("X[i] * (1 / N)"), "f32: X[i] * f32(1.0 / f64(N))");
  EXPECT_EQ(Typed("X[i] * sqrt(2 / 3.5)"), "f32: X[i] * f32(sqrt(2.0 / 3.5))");
  EXPECT_EQ(Typed("L[i] + N"), "i64: L[i] + N");
  EXPECT_EQ(Typed("i * 2 + 1"), "i64: i * 2 + 1");
  EXPECT_EQ(Typed("i", DType::kF32), "f32: f32(i)");
  EXPECT_EQ(Typed("i / 2"), "f64: f64(i) / 2.0");
}

TEST(Types, IndicesCountIn64Bits) {
  EXPECT_EQ(Typed("X[I[i] * N + 1]"), "f32: X[i64(I[i]) * N + 1]");
  EXPECT_EQ(Typed("I[i] + 1", DType::kIndex), "i64: i64(I[i]) + 1");
  EXPECT_EQ(Typed("i + 1", DType::kIndex), "index: i + 1");
  EXPECT_EQ(Typed("X[wrap(I[i], N)]"), "f32: X[wrap(i64(I[i]), N)]");
  EXPECT_EQ(Typed("X[X[i] > 0.5 ? 1 : I[i]]"), "f32: X[X[i] > 0.5 ? 1 : i64(I[i])]");
  EXPECT_EQ(Typed("I[i] < N"), "bool: i64(I[i]) < N");  // N need not fit in i32
  EXPECT_EQ(Typed("X[X[i]]"), "E0609 1:3 an index must be an integer");
}

TEST(Types, ConditionsAreBools) {
  EXPECT_EQ(Typed("X[i] > 0 && !P[i]"), "bool: X[i] > 0.0 && !P[i]");
  EXPECT_EQ(Typed("i < N - 1"), "bool: i < N - 1");
  EXPECT_EQ(Typed("P[i] == (X[i] > 0)"), "bool: P[i] == (X[i] > 0.0)");
  EXPECT_EQ(Typed("isnan(I[i])"), "bool: false");
  EXPECT_EQ(Typed("I[i] ? 1 : 2"), "E0610 1:1 the condition of '? :' must be a bool");
  EXPECT_EQ(Typed("P[i] * X[i]"), "E0617 1:1 values of two types meet in '*'");
  EXPECT_EQ(Typed("P[i] + P[i]"), "E0611 1:1 '+' can't be applied to bool");
}

TEST(Types, OtherKinds) {
  EXPECT_EQ(Typed("C[i] * 2"), "c64: C[i] * c64(2.0)");
  EXPECT_EQ(Typed("abs(C[i]) + real(C[i])"), "f32: abs(C[i]) + real(C[i])");
  EXPECT_EQ(Typed("complex(X[i], 0)"), "c64: complex(X[i], 0.0)");
  EXPECT_EQ(Typed("floor(I[i])"), "i32: I[i]");
  EXPECT_EQ(Typed("s + 1"), "f32: s[] + 1.0");
  EXPECT_EQ(Typed("pow(X[i], 2)"), "f32: pow(X[i], 2.0)");
  EXPECT_EQ(Typed("u64(-1)"), "u64: u64(-1)");
  EXPECT_EQ(Typed("dot2(bf16(X[i]), 2, 0, 1, X[i])"), "f32: dot2(bf16(X[i]), 2.0, 0.0, 1.0, X[i])");
  EXPECT_EQ(Typed("f16(3)"), "f16: 3.0");
  EXPECT_EQ(Typed("sat(X[i] * 2, i8)"), "i8: sat(X[i] * 2.0, i8)");
}

TEST(Types, ErrorsHavePlaceAndHint) {
  EXPECT_EQ(Typed("X[i] + I[i]"), "E0617 1:1 values of two types meet in '+'");
  EXPECT_EQ(Typed("1 + exp(I[i])"), "E0616 1:5 'exp' takes floats");
  EXPECT_EQ(Typed("dot2(X[i], 0, 1, 2, X[i])"), "E0616 1:1 'dot2' takes factors in bf16 and a sum in f32");
  EXPECT_EQ(Typed("dot4(i8(1), 2, 3, 4, 5, 6, 7, 8, f32(2))"), "E0616 1:1 'dot4' takes factors in i8 or u8 and a sum in i32");
  EXPECT_EQ(Typed("I[i] * 0.5"), "E0603 1:8 the number 0.5 meets integers of type i32");
  EXPECT_EQ(Typed("B[i] + 300"), "E0618 1:8 the number 300 does not fit in u8");
  EXPECT_EQ(Typed("exo(X[i])"), "E0614 1:1 there is no function 'exo'");
  EXPECT_EQ(Typed("min(X[i])"), "E0615 1:1 'min' takes 2 arguments");
  EXPECT_EQ(Typed("Q[i]"), "E0606 1:1 there is no container 'Q'");
  EXPECT_EQ(Typed("X + 1"), "E0605 1:1 'X' is a tensor and needs an index for each of its 1 dimensions");
  EXPECT_EQ(Typed("I[i] * (1 / N)"), "E0603 1:9 a real number meets integers of type i32");
  Result<Expr> t = InferTypes(Containers(), *ParseExpr("exo(X[i]) "));
  EXPECT_EQ(t.status().diagnostics()[0].hint, "did you mean 'exp'?");
}

std::string Assigned(const std::string& target, WriteOp op, const std::string& value) {
  Tasklet t;
  t.target = target;
  t.index = {Expr(Name("i"))};
  t.op = op;
  t.value = *ParseExpr(value);
  Result<Expr> e = TypedValue(Containers(), t);
  if (!e.ok()) return e.status().message();
  return std::string(DTypeName((*e)->dtype)) + ": " + ToString(*e);
}

TEST(TypedValue, ConvertsAsAssignmentDoes) {
  EXPECT_EQ(Assigned("X", WriteOp::kAssign, "D[i]"), "f32: f32(D[i])");
  EXPECT_EQ(Assigned("H", WriteOp::kAssign, "X[i] * 2"), "f16: f16(X[i] * 2.0)");
  EXPECT_EQ(Assigned("H", WriteOp::kAdd, "X[i]"), "f32: X[i]");  // not rounded before it is added
  EXPECT_EQ(Assigned("H", WriteOp::kAdd, "H[i] * H[i]"), "f16: H[i] * H[i]");
  EXPECT_EQ(Assigned("H", WriteOp::kAdd, "D[i]"), "f32: f32(D[i])");
  EXPECT_EQ(Assigned("B", WriteOp::kAssign, "i"), "u8: u8(i)");
  EXPECT_EQ(Assigned("I", WriteOp::kAssign, "P[i] ? 1 : 0"), "i32: P[i] ? 1 : 0");
  EXPECT_EQ(Assigned("I", WriteOp::kAssign, "X[i]"), "the value assigned to 'I' has another type");
  EXPECT_EQ(Assigned("P", WriteOp::kAssign, "X[i] > 0"), "bool: X[i] > 0.0");
  EXPECT_EQ(Assigned("C", WriteOp::kAssign, "X[i]"), "c64: c64(X[i])");
}

}  // namespace
}  // namespace headrace
