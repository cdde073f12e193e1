#include "training/columns.h"

#include <cmath>

#include "gtest/gtest.h"
#include "ir/text/parser.h"

namespace headrace::training {
namespace {

ImportedModel Model(const std::string& parameters) {
  ImportedModel m;
  m.program = *ParseProgram("sdfg f(" + parameters + ", Y: f32) {\n Y = 0\n}\n", "test");
  return m;
}
Tensor Zeros(DType t, std::vector<int64_t> shape) {
  Tensor out = *Tensor::Create(t, std::move(shape));
  for (int64_t i = 0; i < out.elements(); ++i) out.SetInt(i, 0);
  return out;
}
Tensor Floats(std::vector<int64_t> shape) { return Zeros(DType::kF32, std::move(shape)); }

// "batch dims; batch symbols or the fixed size; other sizes", or the error.
std::string Fit(const std::string& parameters, const NamedTensors& data) {
  Result<Layout> l = FitData(Model(parameters), data, "d.npz");
  if (!l.ok()) return l.status().ToString();
  std::string s;
  for (int d : l->batch_dims) s += std::to_string(d) + " ";
  s += ";";
  for (Name n : l->batch) s += " " + n.str();
  if (l->fixed) s += " " + std::to_string(*l->fixed);
  s += ";";
  for (const auto& [n, v] : l->sizes) s += " " + n.str() + "=" + std::to_string(v);
  return s;
}

TEST(FitData, WhereTheBatchStands) {
  EXPECT_EQ(Fit("x: f32[N, 3]", {{"x", Floats({9, 3})}}), "0 ; N;");
  EXPECT_EQ(Fit("x: f32[N, T]", {{"x", Floats({9, 3})}}), "0 ; N; T=3");
  // Sequences first, as recurrent networks like them.
  EXPECT_EQ(Fit("x: f32[T, N, 5]", {{"x", Floats({9, 3, 5})}}), "1 ; N; T=3");
  EXPECT_EQ(Fit("x: f32[7, K, 5]", {{"x", Floats({9, 7, 5})}}), "1 ; K;");
  EXPECT_EQ(Fit("x: f32[time, batch_size]", {{"x", Floats({9, 3})}}), "1 ; batch_size; time=3");
  // What all inputs have in common.
  EXPECT_EQ(Fit("x: f32[T, S, 5], h: f32[1, S, 2]", {{"x", Floats({9, 3, 5})}, {"h", Floats({9, 1, 2})}}),
            "1 1 ; S; T=3");
  EXPECT_EQ(Fit("x: f32[A, 2], z: f32[B, 3]", {{"x", Floats({9, 2})}, {"z", Floats({9, 3})}}), "0 0 ; A B;");
  EXPECT_EQ(Fit("x: f32[4, 2]", {{"x", Floats({9, 2})}}), "0 ; 4;");
  EXPECT_EQ(Fit("x: f32[3, 4, 2]", {{"x", Floats({9, 3, 2})}}), "1 ; 4;");
}

TEST(FitData, SaysWhatIsWrong) {
  EXPECT_EQ(Fit("image: f32[N, 3]", {{"images", Floats({9, 3})}}),
            "error[E0921]: there is no array 'image' for the model's input of this name\n  --> d.npz\n"
            "  hint: did you mean 'images'? Arrays go by the model's names");
  EXPECT_EQ(Fit("x: f32[N, 3]", {{"x", Floats({9, 4})}}),
            "error[E0922]: array 'x' has the shape [9, 4], the model takes [samples, 3]\n  --> d.npz");
  EXPECT_EQ(Fit("x: f32[N, 3]", {{"x", Floats({9, 3, 1})}}),
            "error[E0922]: array 'x' has the shape [9, 3, 1], the model takes [samples, 3]\n  --> d.npz");
  EXPECT_EQ(Fit("x: f32[N, 3], z: f32[N]", {{"x", Floats({9, 3})}, {"z", Floats({8})}}),
            "error[E0922]: array 'z' has 8 samples, 'x' has 9\n  --> d.npz");
  EXPECT_EQ(Fit("x: f32[N, T], z: f32[N, T]", {{"x", Floats({9, 3})}, {"z", Floats({9, 4})}}),
            "error[E0922]: array 'z' says that the model's size T is 4, another that it is 3\n  --> d.npz");
  EXPECT_EQ(Fit("x: f32[N]", {{"x", Floats({0})}}), "error[E0922]: there are no samples\n  --> d.npz");
  EXPECT_EQ(Fit("x: f32[N]", {{"x", Floats({})}}),
            "error[E0922]: array 'x' has no samples: it is a single number\n  --> d.npz");
  EXPECT_EQ(FitData(Model("x: f32[N], s: f32"), {{"x", Floats({9})}, {"s", Floats({9})}}, "").status().kind(),
            ErrorKind::kUnsupported);
  EXPECT_EQ(FitData(Model("x: f32[2], z: f32[3]"), {{"x", Floats({9})}, {"z", Floats({9})}}, "").status().message(),
            "the model's inputs have different batch sizes, 2 and 3 ('z')");
}

// The column of array x for a parameter of type `t`, or the error; notes follow.
std::string Converted(const Tensor& x, DType t) {
  Container c;
  c.name = "x", c.dtype = t, c.shape = {Expr(2)};
  std::vector<std::string> notes;
  Result<Column> made = MakeColumn({{"x", x}}, "d.npz", "x", c, 0, 2, 0, &notes);
  std::string text = made.ok() ? "" : made.status().message();
  if (made.ok())
    for (int64_t i = 0; i < made->data.elements(); ++i) text += std::to_string(made->data.GetDouble(i)) + " ";
  for (const std::string& n : notes) text += "; " + n;
  return text;
}
Tensor Pair(DType t, double a, double b) {
  Tensor out = Zeros(t, {2});
  out.SetDouble(0, a), out.SetDouble(1, b);
  return out;
}

TEST(MakeColumn, Types) {
  EXPECT_EQ(Converted(Pair(DType::kF32, 1, 2), DType::kF32), "1.000000 2.000000 ");
  EXPECT_EQ(Converted(Pair(DType::kF64, 1, 2), DType::kF32),
            "1.000000 2.000000 ; array 'x' is f64, the model takes f32: converted");
  EXPECT_EQ(Converted(Pair(DType::kU8, 1, 255), DType::kF32),
            "1.000000 255.000000 ; array 'x' is u8, the model takes f32: converted");
  EXPECT_EQ(Converted(Pair(DType::kI16, -1, 2), DType::kF64),
            "-1.000000 2.000000 ; array 'x' is i16, the model takes f64: converted");
  EXPECT_EQ(Converted(Pair(DType::kI64, -5, 2), DType::kI32), "-5.000000 2.000000 ");
  EXPECT_EQ(Converted(Pair(DType::kU8, 1, 2), DType::kI64), "1.000000 2.000000 ");
  EXPECT_EQ(Converted(Pair(DType::kI64, 1, 300), DType::kU8),
            "array 'x' is i64, the model takes u8, which can't hold element 1, 300");
  EXPECT_EQ(Converted(Pair(DType::kI64, 0, 2), DType::kBool),
            "array 'x' is i64, the model takes bool, which can't hold element 1, 2");
  EXPECT_EQ(Converted(Pair(DType::kF32, 1, 2), DType::kI64), "array 'x' is f32, the model takes i64");
  Tensor large = Zeros(DType::kU64, {2});
  large.as<uint64_t>()[1] = ~uint64_t{0};
  EXPECT_EQ(Converted(large, DType::kI64).find("array 'x' is u64, the model takes i64, which can't hold element 1"),
            0u);
  EXPECT_EQ(Converted(Pair(DType::kF32, 1, std::nan("")), DType::kF32),
            "1.000000 nan ; array 'x' holds nan (sample 1)");
}

TEST(MakeColumn, ATargetsBatchIsFound) {
  auto place = [](std::vector<Expr> shape, std::vector<int64_t> array, int first) {
    Container c;
    c.name = "target", c.dtype = DType::kF32, c.shape = std::move(shape);
    Result<Column> made =
        MakeColumn({{"target", Floats(array)}}, "d.npz", "target", c, std::nullopt, 4, first, nullptr);
    return made.ok() ? std::to_string(made->batch_dim) : made.status().message();
  };
  EXPECT_EQ(place({4, 3}, {9, 3}, 0), "0");
  EXPECT_EQ(place({3, 4}, {9, 3}, 1), "1");
  EXPECT_EQ(place({4}, {9}, 1), "0");  // the last step of a sequence
  EXPECT_EQ(place({4, 3}, {9, 5}, 0), "array 'target' has the shape [9, 5], the model takes [samples, 3]");
  EXPECT_EQ(place({}, {9}, 0), "array 'target' has the shape [9], the model takes [samples]");
}

TEST(CheckLabels, NamesTheFirstThatIsNoClass) {
  Column c;
  c.name = "target", c.data = Zeros(DType::kI64, {3, 2});
  EXPECT_TRUE(CheckLabels(c, 1, "d.npz").ok());
  c.data.as<int64_t>()[3] = 10;
  EXPECT_TRUE(CheckLabels(c, 11, "d.npz").ok());
  EXPECT_EQ(CheckLabels(c, 10, "d.npz").ToString(),
            "error[E0924]: label 10 of sample 1 is no class: the model has classes 0 to 9\n  --> d.npz");
  c.data.as<int64_t>()[5] = -1;
  EXPECT_EQ(CheckLabels(c, 11, "d.npz").message(), "label -1 of sample 2 is no class: the model has classes 0 to 10");
}

TEST(FirstNonFinite, IsFound) {
  for (DType t : {DType::kF16, DType::kF32, DType::kF64}) {
    Tensor x = Zeros(t, {3000});
    EXPECT_EQ(FirstNonFinite(x), std::nullopt);
    x.SetDouble(2999, std::nan(""));
    EXPECT_EQ(FirstNonFinite(x), 2999);
    x.SetDouble(1500, -INFINITY);
    EXPECT_EQ(FirstNonFinite(x), 1500);
  }
}

}  // namespace
}  // namespace headrace::training
