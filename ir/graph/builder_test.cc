#include "ir/graph/builder.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

const Expr N(Name("N")), i(Name("i"));

TEST(BuilderTest, BuildsWhatTheTextSays) {
  SdfgBuilder b("f");
  b.Parameter("X", DType::kF32, {N});
  Name t = b.Transient("T", DType::kF32, {N});
  b.Parameter("Y", DType::kF32, {N});  // parameters may come late
  b.SetOrigin({"relu", "test"});
  b.OpenMap({{"i", Expr(0), N, {}}}, Schedule::kParallel);
  b.Assign(t, {i}, CallExpr("max", {ReadExpr("X", {i}), Expr(0)}));
  b.CloseMap();
  b.SetOrigin({});
  b.NewState("second");
  b.OpenMap({{"i", Expr(0), N, Expr(1)}});
  b.Assign("Y", {i}, ReadExpr(t, {i}), WriteOp::kAdd);
  b.CloseMap();
  EXPECT_EQ(Print(b.Finish()), R"(sdfg f(X: f32[N], Y: f32[N]) {
  transient T: f32[N]
  state {
    map i in 0:N @parallel from "relu" by "test" { T[i] = max(X[i], 0) from "relu" by "test" }
  }
  state second {
    map i in 0:N { Y[i] += T[i] }
  }
}
)");
}

TEST(BuilderTest, NamesAreNewAndQuickToFind) {
  SdfgBuilder b("f");
  b.Parameter("X", DType::kF32, {N});
  b.OpenFor("t", Expr(0), N);
  b.Close();
  b.Define("n", Expr(3));
  EXPECT_EQ(b.Transient("T", DType::kF32, {N}), Name("T"));
  for (const char* taken : {"N", "X", "t", "n", "T"})
    EXPECT_EQ(b.Transient(taken, DType::kF32, {}), Name(std::string(taken) + "_1"));
  // Every name asked for in a graph of many states: quadratic time would be minutes.
  for (int k = 0; k < 100000; ++k) {
    b.NewState();
    b.Transient("v", DType::kF32, {N});
  }
  EXPECT_EQ(b.Transient("v", DType::kF32, {N}), Name("v_100000"));
}

TEST(BuilderTest, ControlFlowClosesLikeBrackets) {
  SdfgBuilder b("f");
  b.Parameter("a", DType::kF32, {});
  b.Define("n", ReadExpr("a", {}));
  b.OpenFor("t", Expr(0), Expr(Name("n")));
  b.Assign("a", {}, Expr(1));
  b.OpenIf(BinaryExpr(Op::kGt, ReadExpr("a", {}), Expr(2)));
  b.AddBreak();
  b.Else(BinaryExpr(Op::kGt, ReadExpr("a", {}), Expr(1)));
  b.AddContinue();
  b.Else();
  b.Assign("a", {}, Expr(2));
  b.Close();
  b.Assign("a", {}, Expr(3));
  b.Close();
  b.Assign("a", {}, Expr(4));
  const std::string text = Print(b.Finish());
  EXPECT_EQ(text, R"(sdfg f(a: f32) {
  let n = a
  for t in 0:n {
    state {
      a = 1
    }
    if a > 2 {
      break
    } else if a > 1 {
      continue
    } else {
      state {
        a = 2
      }
    }
    state {
      a = 3
    }
  }
  state {
    a = 4
  }
}
)");
  ASSERT_TRUE(ParseProgram(text).ok());
  EXPECT_EQ(Print(*ParseProgram(text)), text);
}

TEST(BuilderTest, NamesAreMadeUnique) {
  SdfgBuilder b("f");
  b.Parameter("T", DType::kF32, {N});
  EXPECT_EQ(b.Transient("T", DType::kF32, {}), Name("T_1"));
  EXPECT_EQ(b.Transient("N", DType::kF32, {}), Name("N_1")) << "N is a size";
  EXPECT_EQ(b.View("T", "T", {Expr(2)}, Expr(1)), Name("T_2"));
  Result<Tensor> k = Tensor::Create(DType::kI64, {2});
  ASSERT_TRUE(k.ok());
  k->as<int64_t>()[0] = k->as<int64_t>()[1] = 5;
  Name constant = b.Constant("K", *k);
  Sdfg s = b.Finish();
  EXPECT_EQ(s.Get(constant).shape, (std::vector<Expr>{Expr(2)}));
  EXPECT_EQ(s.Get("T_2").dtype, DType::kF32);
  EXPECT_EQ(s.parameters, std::vector<Name>{"T"});
}

TEST(BuilderDeathTest, ForgottenBracketsAreOurFault) {
  SdfgBuilder b("f");
  b.OpenMap({});
  EXPECT_DEATH(b.Finish(), "open map");
  EXPECT_DEATH(b.Close(), "without an open loop");
}

}  // namespace
}  // namespace headrace
