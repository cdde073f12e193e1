// Networks in mixed precision against themselves in f64: values and gradients as near as the narrow type allows, and no nearer, so that
// products really are narrow.
#include <algorithm>
#include <cmath>
#include <regex>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

// T: the type. Weights are inputs, as in training. Activations are smooth: near a kink the rounding decides on the derivative.
const char kMlp[] = R"(
sdfg mlp(X: T[N, 24], W1: T[24, 40], b1: T[40], W2: T[40, 24], g: T[24], c: T[24], W3: T[24, 7], Y: T[N, 7]) {
  transient P: T[N, 40]
  transient Q: T[N, 40]
  transient R: T[N, 40]
  transient S: T[N, 24]
  transient U: T[N, 24]
  transient V: T[N, 24]
  transient Z: T[N, 7]
  state {
    onnx.MatMul(A = X, B = W1) -> (Y = P)
    onnx.Add(A = P, B = b1) -> (C = Q)
    onnx.Gelu(X = Q) -> (Y = R)
    onnx.MatMul(A = R, B = W2) -> (Y = S)
    onnx.Add(A = X, B = S) -> (C = U)
    onnx.LayerNormalization{axis = -1}(X = U, Scale = g, B = c) -> (Y = V)
    onnx.Gemm(A = V, B = W3) -> (Y = Z)
    onnx.Softmax{axis = -1}(input = Z) -> (output = Y)
  }
})";
const char kConvolutions[] = R"(
sdfg net(X: T[N, 3, 10, 10], W1: T[20, 3, 3, 3], b1: T[20], s: T[20], o: T[20], m: T[20], v: T[20], W2: T[6, 20, 3, 3], Y: T[N, 6, 1, 1]) {
  transient P: T[N, 20, 10, 10]
  transient Q: T[N, 20, 10, 10]
  transient R: T[N, 20, 10, 10]
  transient S: T[N, 20, 5, 5]
  transient U: T[N, 6, 3, 3]
  state {
    onnx.Conv{pads = [1, 1, 1, 1]}(X = X, W = W1, B = b1) -> (Y = P)
    onnx.BatchNormalization(X = P, scale = s, B = o, input_mean = m, input_var = v) -> (Y = Q)
    onnx.Mish(X = Q) -> (Y = R)
    onnx.AveragePool{kernel_shape = [2, 2], strides = [2, 2]}(X = R) -> (Y = S)
    onnx.Conv(X = S, W = W2) -> (Y = U)
    onnx.GlobalAveragePool(X = U) -> (Y = Y)
  }
})";
const char kAttention[] = R"(
sdfg attention(X: T[2, 9, 16], W: T[16, 48], mask: T[9, 9], Y: T[2, 9, 16]) {
  transient H: T[2, 9, 48]
  transient Q: T[2, 9, 16]
  transient K: T[2, 9, 16]
  transient V: T[2, 9, 16]
  state {
    onnx.MatMul(A = X, B = W) -> (Y = H)
    onnx.Split{axis = 2, num_outputs = 3}(input = H) -> (outputs = Q, outputs = K, outputs = V)
    onnx.Attention{q_num_heads = 2, kv_num_heads = 2}(Q = Q, K = K, V = V, attn_mask = mask) -> (Y = Y)
  }
})";
const char kRecurrent[] = R"(
sdfg recurrent(X: T[6, 3, 8], W: T[1, 20, 8], R: T[1, 20, 5], E: T[5, 4], Y: T[6, 1, 3, 4]) {
  transient H: T[6, 1, 3, 5]
  state {
    onnx.LSTM{hidden_size = 5}(X = X, W = W, R = R) -> (Y = H)
    onnx.Einsum{equation = "tdbi,ij->tdbj"}(Inputs = H, Inputs = E) -> (Output = Y)
  }
})";

Program Network(const char* text, const std::string& type) {
  Result<Program> p = ParseProgram(std::regex_replace(text, std::regex(R"(\bT\b)"), type));
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  return *p;
}

// The same numbers in each type: uniform in [-1, 1), variances positive.
NamedValues Given(const Program& p) {
  NamedValues values;
  uint64_t seed = 1;
  for (Name n : Inputs(p, p.Entry())) {
    const Container& c = p.Entry().Get(n);
    std::vector<int64_t> shape;
    for (const Expr& e : c.shape) shape.push_back(AsInt(e).value_or(5));
    const Value wide = Uniform(shape, n == Name("v") ? 0.5 : -1, 1, ++seed);
    Tensor t = *Tensor::Create(c.dtype, shape);
    for (int64_t i = 0; i < t.elements(); ++i) t.SetDouble(i, static_cast<float>(wide.tensor.GetDouble(i)));
    values.emplace_back(n, t);
  }
  return values;
}

std::vector<Value> RunOn(const std::string& backend, const Program& p, const NamedValues& values) {
  CompileRequest request;
  request.backend = backend;
  request.options.debug = true;
  Result<std::unique_ptr<Executable>> e = CompileProgram(Plugins(), p, request);
  EXPECT_TRUE(e.ok()) << e.status().ToString() << Print(p);
  if (!e.ok()) return {};
  Result<std::vector<Value>> r = (*e)->Run(values);
  EXPECT_TRUE(r.ok()) << r.status().ToString();
  return r.ok() ? *r : std::vector<Value>();
}

// The largest difference, of the largest number.
double Distance(const Value& a, const Value& b) {
  double most = 0, size = 0;
  EXPECT_EQ(a.tensor.shape, b.tensor.shape);
  for (int64_t i = 0; i < b.tensor.elements(); ++i) {
    most = std::max(most, std::abs(a.tensor.GetDouble(i) - b.tensor.GetDouble(i)));
    size = std::max(size, std::abs(b.tensor.GetDouble(i)));
  }
  return most / size;
}

Program Narrowed(const char* text, const std::string& to) {
  Program p = Network(text, "f32");
  CompileRequest request;
  request.autocast = to;
  const Status s = Autocast(Plugins(), request, p);
  EXPECT_TRUE(s.ok()) << s.ToString();
  return p;
}

struct Bounds {
  const char* type;
  double least, most;  // of f32's type the distance would be below 1e-6
};
const Bounds kBounds[] = {{"bf16", 1e-4, 0.03}, {"f16", 1e-5, 0.004}};

void ExpectNear(const char* text) {
  const Program exact = Network(text, "f64");
  const std::vector<Value> expected = RunOn("interpreter", exact, Given(exact));
  for (const Bounds& b : kBounds)
    for (const std::string& backend : BackendsOfThisTest()) {
      const Program p = Narrowed(text, b.type);
      const std::vector<Value> got = RunOn(backend, p, Given(p));
      ASSERT_EQ(got.size(), 1u);
      EXPECT_EQ(got[0].tensor.dtype, DType::kF32);
      const double distance = Distance(got[0], expected[0]);
      EXPECT_LT(distance, b.most) << b.type << " on " << backend;
      EXPECT_GT(distance, b.least) << b.type << " on " << backend;
    }
}

// By every input; gradients of the weights are f32, as they are.
void ExpectGradientsNear(const char* text, double times = 1) {
  const auto gradients = [&](const Program& p, const std::string& backend) {
    Options o;
    o.keep_outputs = false;
    std::vector<Name> by = Inputs(p, p.Entry());
    Result<BackwardPrograms> b = Backward(p, {"Y"}, by, o, Plugins());
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    NamedValues values, all = Given(p);
    for (Name n : Inputs(b->program, b->program.Entry()))
      for (const auto& v : all)
        if (v.first == n) values.push_back(v);
    return RunOn(backend, b->program, values);
  };
  const std::vector<Value> expected = gradients(Network(text, "f64"), "interpreter");
  for (const Bounds& b : kBounds)
    for (const std::string& backend : BackendsOfThisTest()) {
      const std::vector<Value> got = gradients(Narrowed(text, b.type), backend);
      ASSERT_EQ(got.size(), expected.size());
      for (size_t k = 0; k < got.size(); ++k) {
        EXPECT_EQ(got[k].tensor.dtype, DType::kF32);
        EXPECT_LT(Distance(got[k], expected[k]), times * b.most) << "gradient " << k << " in " << b.type << " on " << backend;
      }
    }
}

TEST(Precision, Mlp) { ExpectNear(kMlp); }
TEST(Precision, Convolutions) { ExpectNear(kConvolutions); }
TEST(Precision, Attention) { ExpectNear(kAttention); }
TEST(Precision, Recurrent) { ExpectNear(kRecurrent); }

TEST(Precision, GradientsOfConvolutions) { ExpectGradientsNear(kConvolutions); }
TEST(Precision, GradientsOfAttention) { ExpectGradientsNear(kAttention, 2); }
TEST(Precision, GradientsOfRecurrent) { ExpectGradientsNear(kRecurrent, 2); }

// As PyTorch's autocast has it: the product's result is narrow, and so is what follows it.
TEST(Precision, OfOnnxOperators) {
  const Program p = Narrowed(kMlp, "bf16");
  const auto type = [&](const char* name) { return p.Entry().Get(Name(name)).dtype; };
  for (const char* narrow : {"P", "Q", "R", "S", "Z", "W1_bf16", "W2_bf16", "W3_bf16", "b1_bf16", "X_bf16"}) EXPECT_EQ(type(narrow), DType::kBF16) << narrow;
  for (const char* wide : {"U", "V", "X", "W1", "Y"}) EXPECT_EQ(type(wide), DType::kF32) << wide;
}

TEST(Precision, WrongOnes) {
  Program p = Network(kMlp, "f32");
  CompileRequest request;
  request.autocast = "f8";
  EXPECT_NE(Autocast(Plugins(), request, p).ToString().find("to is bf16 or f16, not 'f8'"), std::string::npos);
}

}  // namespace
}  // namespace headrace::autodiff::testing
