// Print → parse → print is the identity: for programs, forms and expressions.
#include "ir/text/printer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ir/graph/builder.h"
#include "ir/text/parser.h"
#include "ir/text/parser_corpus_for_tests.h"

namespace headrace {
namespace {

std::string Reprint(const std::string& text) {
  Result<Program> p = ParseProgram(text);
  if (!p.ok()) return p.status().ToString();
  return Print(*p);
}

TEST(PrinterTest, ProgramsPrintTheSameAgain) {
  for (const char* text : testing::kPrograms) {
    Result<Program> p = ParseProgram(text);
    ASSERT_TRUE(p.ok()) << p.status().ToString();
    std::string printed = Print(*p);
    EXPECT_EQ(Reprint(printed), printed);
  }
}

TEST(PrinterTest, TheSampleIsItsOwnPrint) { EXPECT_EQ(Reprint(testing::kPrograms[0]), testing::kPrograms[0]); }

TEST(PrinterTest, FormsPrintTheSameAgain) {
  for (const char* text : testing::kForms) {
    Result<Form> f = ParseForm(text);
    ASSERT_TRUE(f.ok()) << f.status().ToString();
    std::string printed = Print(*f);
    Result<Form> again = ParseForm(printed);
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_EQ(Print(*again), printed);
  }
}

TEST(PrinterTest, StatementsOutsideOfStatesGetOne) {
  EXPECT_EQ(
      Reprint(
          "sdfg f(x: f32, y: f32) { y = x\n y += 1; let n = y > 0 ? 1 : 2 else \"y has \\\"no\\\" sign\"\n y = n }"),
      R"(sdfg f(x: f32, y: f32) {
  state {
    y = x
    y += 1
  }
  let n = y > 0 ? 1 : 2 else "y has \"no\" sign"
  state {
    y = n
  }
}
)");
}

TEST(PrinterTest, CountedLoopsAreRanges) {
  SdfgBuilder b("f");
  b.Parameter("Y", DType::kF32, {Expr(Name("N"))});
  b.OpenFor("t", Expr(1), Expr(Name("N")), Expr(2));
  b.Assign("Y", {Expr(Name("t"))}, Expr(0));
  b.Close();
  Loop doubling{"v",   Expr(1), BinaryExpr(Op::kLt, Expr(Name("v")), Expr(Name("N"))), Expr(Name("v")) * Expr(2),
                false, {}};
  b.OpenLoop(doubling);
  b.Assign("Y", {Expr(Name("v"))}, Expr(1));
  b.Close();
  EXPECT_EQ(Print(b.Finish()), R"(sdfg f(Y: f32[N]) {
  for t in 1:N:2 {
    state {
      Y[t] = 0
    }
  }
  for v = 1; v < N; v = 2 * v {
    state {
      Y[v] = 1
    }
  }
}
)");
}

TEST(PrinterTest, OddNamesAreQuoted) {
  SdfgBuilder b("conv 1/sdfg");
  Name in = b.Parameter("x:0", DType::kF32, {Expr(Name("dim-0"))});
  Name out = b.Parameter("nan", DType::kF32, {Expr(Name("dim-0"))});
  b.OpenMap({{"i`", Expr(0), Expr(Name("dim-0")), Expr(1)}});
  b.Assign(out, {Expr(Name("i`"))}, ReadExpr(in, {Expr(Name("i`"))}));
  b.CloseMap();
  Library l;
  l.domain = "com.my-org";
  l.op = "Do It";
  l.attributes = {{"a b", {std::string("\x01\xc3\xa9")}}};
  l.inputs = {{"in put", in}};
  l.outputs = {{"0", out}};
  b.AddLibrary(l);
  std::string text = Print(b.Finish());
  EXPECT_EQ(text, R"(sdfg `conv 1/sdfg`(`x:0`: f32[`dim-0`], `nan`: f32[`dim-0`]) {
  state {
    map `i\`` in 0:`dim-0` { `nan`[`i\``] = `x:0`[`i\``] }
    com.`my-org`.`Do It`{`a b` = "\x01é"}(`in put` = `x:0`) -> (`0` = `nan`)
  }
}
)");
  EXPECT_EQ(Reprint(text), text);
}

TEST(PrinterTest, NamesThatAreKeywordsElsewhere) {
  const std::string text = R"(sdfg map(state: f32, map: f32[N], min: f32, max: f32, in: f32) {
  transient let: f32
  state {
    map in in 0:N { map[in] = state + min }
    max max= min
    min min= in
    let = 3
    state = let
  }
  for state = 0; state < N; state = state + 2 * state {
    state {
      map[state] = 1
    }
  }
}
)";
  EXPECT_EQ(Reprint(text), text);
}

TEST(PrinterTest, AnIndexHidesAScalarOfTheSameName) {
  SdfgBuilder b("f");
  b.Parameter("i", DType::kF32, {});
  b.Parameter("Y", DType::kF32, {Expr(4)});
  b.OpenMap({{"i", Expr(0), Expr(4), Expr(1)}});
  b.Assign("Y", {Expr(Name("i"))}, ReadExpr("i", {}));
  b.CloseMap();
  b.Assign("Y", {Expr(0)}, ReadExpr("i", {}));
  std::string text = Print(b.Finish());
  EXPECT_NE(text.find("{ Y[i] = i[] }"), std::string::npos) << text;
  EXPECT_NE(text.find("Y[0] = i\n"), std::string::npos) << text;
  EXPECT_EQ(Reprint(text), text);
}

// ---- constants ----

TEST(PrinterTest, EveryFloatKeepsItsBits) {
  for (DType t : {DType::kF4E2M1, DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ,
                  DType::kF8E8M0, DType::kF16, DType::kBF16}) {
    const int64_t n = t == DType::kF4E2M1 ? 16 : ByteSize(t) == 1 ? 256 : 65536;
    Result<Tensor> data = Tensor::Create(t, {n});
    ASSERT_TRUE(data.ok());
    for (int64_t i = 0; i < n; ++i) {
      if (ByteSize(t) == 1) data->as<uint8_t>()[i] = static_cast<uint8_t>(i);
      else data->as<uint16_t>()[i] = static_cast<uint16_t>(i);
    }
    SdfgBuilder b("f");
    b.Constant("K", *data);
    Result<Program> p = ParseProgram(Print(b.Finish()));
    ASSERT_TRUE(p.ok()) << DTypeName(t) << "\n" << p.status().ToString().substr(0, 2000);
    const Tensor& back = p->Entry().Get("K").data;
    EXPECT_EQ(std::memcmp(back.data->data(), data->data->data(), data->bytes()), 0) << DTypeName(t);
  }
}

TEST(PrinterTest, RandomBitsOfWideFloatsAreKept) {
  std::mt19937_64 random(1);
  for (DType t : {DType::kF32, DType::kF64, DType::kC64, DType::kC128, DType::kU64, DType::kI64, DType::kI32}) {
    Result<Tensor> data = Tensor::Create(t, {10, 100});
    ASSERT_TRUE(data.ok());
    for (int64_t i = 0; i < data->bytes() / 4; ++i) data->as<uint32_t>()[i] = static_cast<uint32_t>(random());
    SdfgBuilder b("f");
    b.Constant("K", *data);
    Result<Program> p = ParseProgram(Print(b.Finish()));
    ASSERT_TRUE(p.ok()) << p.status().ToString().substr(0, 2000);
    EXPECT_EQ(std::memcmp(p->Entry().Get("K").data.data->data(), data->data->data(), data->bytes()), 0) << DTypeName(t);
  }
}

TEST(PrinterTest, LargeConstantsCanBeLeftOut) {
  Result<Program> p = ParseProgram("sdfg f() { constant K: f32[3] = [1, 2, 3] }");
  ASSERT_TRUE(p.ok());
  PrintOptions o;
  o.max_constant_bytes = 8;
  EXPECT_EQ(Print(*p, o), "sdfg f() {\n  constant K: f32[3] = …\n}\n");
  EXPECT_NE(Reprint(Print(*p, o)).find("left out"), std::string::npos);
}

// ---- expressions ----

class RandomExpr {
 public:
  explicit RandomExpr(uint64_t seed) : random_(seed) {}
  Expr Make(int depth) {
    switch (Below(depth <= 0 ? 7 : 17)) {
      case 0: return IntExpr(static_cast<int64_t>(random_()) >> Below(64));
      case 1: return FloatExpr(std::ldexp(static_cast<double>(static_cast<int64_t>(random_())), Below(200) - 150));
      case 2: return FloatExpr(Below(2) ? -INFINITY : Below(2) ? NAN : -0.0);
      case 3: return BoolExpr(Below(2));
      case 4:
      case 5:
      case 6: return SymbolExpr(Word());
      case 7: return UnaryExpr(static_cast<Op>(static_cast<int>(Op::kNeg) + Below(3)), Make(depth - 1));
      case 8: return SelectExpr(Make(depth - 1), Make(depth - 1), Make(depth - 1));
      case 9: return CallExpr(Below(2) ? "max" : "f", Several(depth, false));
      case 10: return CastExpr(Below(2) ? DType::kF32 : DType::kI8, Make(depth - 1), Below(2));
      case 11: return ReadExpr(Word(), Several(depth, true), Below(2) ? Expr() : Make(depth - 1), Below(4) == 0);
      case 12: return Node(ExprKind::kList, Several(depth, false));
      case 13: {
        // `X[i] ?? e` is a read with a default, not a guard
        Expr base = Make(depth - 1);
        if (base.Is(ExprKind::kRead) && !base->has_default) return base;
        return Node(Below(2) ? ExprKind::kGuard : ExprKind::kAbsent, {base, Make(depth - 1)});
      }
      case 14: {
        std::vector<Expr> args = Several(depth, true);
        args.insert(args.begin(), Make(depth - 1));
        return Node(ExprKind::kIndex, std::move(args));
      }
      case 15: {
        ExprNode n{};
        n.kind = ExprKind::kString;
        n.text = Below(2) ? "a\"\\\n\x7f" : "SAME";
        return Expr(std::move(n));
      }
      default:
        return BinaryExpr(static_cast<Op>(static_cast<int>(Op::kAdd) +
                                          Below(static_cast<int>(Op::kOr) - static_cast<int>(Op::kAdd) + 1)),
                          Make(depth - 1), Make(depth - 1));
    }
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % n); }
  Name Word() {
    static const char* const kWords[] = {"x", "in", "over", "min", "state", "a b", "inf", "f32", "k_1"};
    return kWords[Below(9)];
  }
  Expr Node(ExprKind kind, std::vector<Expr> args) {
    ExprNode n{};
    n.kind = kind;
    n.args = std::move(args);
    return Expr(std::move(n));
  }
  Expr Argument(int depth) {
    ExprNode group{};
    group.kind = ExprKind::kGroup;
    group.name = Word();
    switch (Below(8)) {
      case 0: return Node(ExprKind::kEllipsis, {});
      case 1: return Node(ExprKind::kColon, {});
      case 2: return Node(ExprKind::kColon, {Make(depth - 1), Make(depth - 1)});
      case 3: return Expr(group);
      case 4: return Node(ExprKind::kPlaced, {Below(2) ? Expr(group) : Make(depth - 1), Make(depth - 1)});
      case 5: return Node(ExprKind::kSplice, {Make(depth - 1)});
      default: return Make(depth - 1);
    }
  }
  std::vector<Expr> Several(int depth, bool indices) {
    std::vector<Expr> list;
    for (int n = Below(4); n > 0; --n) list.push_back(indices ? Argument(depth) : Make(depth - 1));
    return list;
  }
  std::mt19937_64 random_;
};

TEST(PrinterTest, RandomExpressionsParseBackToTheSameTree) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Expr e = RandomExpr(seed).Make(static_cast<int>(seed % 6));
    std::string text = ToString(e);
    Result<Expr> back = ParseExpr(text);
    ASSERT_TRUE(back.ok()) << text << "\n" << back.status().ToString();
    ASSERT_EQ(ToString(*back), text) << "seed " << seed;
    ASSERT_TRUE(*back == e) << text << "  seed " << seed;
  }
}

}  // namespace
}  // namespace headrace
