// Equal layers are reversed once (autodiff/layers.h): what the program looks like, and that its gradients have the bits of those
// that are made statement by statement.
#include <algorithm>

#include "ir/text/printer.h"
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

constexpr int64_t kTokens = 3, kWidth = 4, kInner = 6;

struct Stack {
  int layers = 3;
  bool shared_weights = false;  // one set for all
  bool indices = false;         // each layer also gives integers
  bool all_used = false;        // what each layer hands on is summed, too
  std::string type = "f64";
};

// Attention and a feed-forward part, with residual connections and norms; X and the weights are inputs, Y (and I) outputs.
std::string TextOf(const Stack& t) {
  std::string parameters, declarations, statements, from = "X", sum;
  const auto array = [&](const std::string& sizes) { return t.type + "[" + sizes + "]"; };
  for (int l = 0; l < t.layers; ++l) {
    const std::string n = std::to_string(l), w = t.shared_weights ? "" : n;
    const std::string to = l + 1 == t.layers && !t.all_used ? "Y" : "X" + n;
    const auto node = [&](const std::string& op, const std::string& inputs, const std::string& port,
                          const std::string& out, const std::string& type) {
      if (out != "Y") declarations += "  transient " + out + ": " + type + "\n";
      statements += "    onnx." + op + "(" + inputs + ") -> (" + port + " = " + out + ") from \"" + out + "\"\n";
    };
    const auto product = [&](const std::string& a, const std::string& b, const std::string& out,
                             const std::string& sizes) {
      node("MatMul", "A = " + a + ", B = " + b, "Y", out, array(sizes));
    };
    const auto norm = [&](const std::string& in, const std::string& name, const std::string& out) {
      node("LayerNormalization:17{axis = -1}", "X = " + in + ", Scale = S" + name + w + ", B = B" + name + w, "Y", out,
           array("N, 4"));
    };
    if (l == 0 || !t.shared_weights) {
      for (const char* name : {"WQ", "WK", "WV", "WO"}) parameters += ", " + (name + w) + ": " + array("4, 4");
      parameters += ", WU" + w + ": " + array("4, 6") + ", WD" + w + ": " + array("6, 4");
      for (const char* name : {"SA", "BA", "SF", "BF"}) parameters += ", " + (name + w) + ": " + array("4");
    }
    product(from, "WQ" + w, "Q" + n, "N, 4"), product(from, "WK" + w, "K" + n, "N, 4"),
        product(from, "WV" + w, "V" + n, "N, 4");
    node("Transpose{perm = [1, 0]}", "data = K" + n, "transposed", "KT" + n, array("4, N"));
    product("Q" + n, "KT" + n, "P" + n, "N, N");
    node("Div", "A = P" + n + ", B = two", "C", "PS" + n, array("N, N"));
    node("Softmax:13{axis = -1}", "input = PS" + n, "output", "A" + n, array("N, N"));
    if (t.indices) {
      parameters += ", I" + n + ": i64[N]";
      statements +=
          "    onnx.ArgMax{axis = 1, keepdims = 0}(data = A" + n + ") -> (reduced = I" + n + ") from \"I" + n + "\"\n";
    }
    product("A" + n, "V" + n, "H" + n, "N, 4"), product("H" + n, "WO" + w, "O" + n, "N, 4");
    node("Add", "A = " + from + ", B = O" + n, "C", "R" + n, array("N, 4"));
    norm("R" + n, "A", "L" + n);
    product("L" + n, "WU" + w, "U" + n, "N, 6");
    node("Tanh", "input = U" + n, "output", "G" + n, array("N, 6"));
    product("G" + n, "WD" + w, "D" + n, "N, 4");
    node("Add", "A = L" + n + ", B = D" + n, "C", "F" + n, array("N, 4"));
    norm("F" + n, "F", to);
    from = to;
    sum += (l == 0 ? "" : " + ") + to + "[i, j] * " + std::to_string(l + 1);
  }
  if (t.all_used) statements += "    map i in 0:N, j in 0:4 { Y[i, j] = " + sum + " }\n";
  return "sdfg stack(X: " + array("N, 4") + parameters + ", Y: " + array("N, 4") + ") {\n  constant two: " + t.type +
         " = 2\n" + declarations + "  state {\n" + statements + "  }\n}\n";
}

Case StackOf(const Stack& t) {
  Case c;
  c.text = TextOf(t);
  c.outputs = {"Y"};
  c.values = {{"X", Uniform({kTokens, kWidth}, -1, 1)}};
  for (int l = 0; l < (t.shared_weights ? 1 : t.layers); ++l) {
    const std::string w = t.shared_weights ? "" : std::to_string(l);
    const auto add = [&](const char* name, std::vector<int64_t> shape) {
      c.values.emplace_back(Name(name + w), Uniform(std::move(shape), -1, 1, c.values.size() + 1));
    };
    for (const char* name : {"WQ", "WK", "WV", "WO"}) add(name, {kWidth, kWidth});
    add("WU", {kWidth, kInner}), add("WD", {kInner, kWidth});
    for (const char* name : {"SA", "BA", "SF", "BF"}) add(name, {kWidth});
  }
  return c;
}

Case OneByOne(Case c) {
  c.options.memory_limit = int64_t{1} << 40;  // is kept by what is decided for single statements
  c.options.sizes = {{"N", kTokens}};
  return c;
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string GradientText(Case c) {
  Result<BackwardPrograms> b = Differentiated(c);
  EXPECT_TRUE(b.ok()) << b.status().ToString();
  return b.ok() ? Print(b->program) : "";
}

// As many reverses as there are layers, of one SDFG; every gradient has the bits of the program without.
void ExpectShared(const Case& c, int layers) {
  const std::string text = GradientText(c);
  EXPECT_EQ(CountOf(text, "call layer_forward("), layers) << text;
  EXPECT_EQ(CountOf(text, "call layer_backward("), layers) << text;
  EXPECT_EQ(CountOf(text, "sdfg layer_backward("), 1);
  EXPECT_EQ(CountOf(text, "sdfg layer"), 2);
  EXPECT_EQ(CountOf(GradientText(OneByOne(c)), "call "), 0);
  for (const std::string& backend : BackendsOfThisTest()) {
    Result<NamedValues> shared = Gradients(c, backend), single = Gradients(OneByOne(c), backend);
    ASSERT_TRUE(shared.ok()) << shared.status().ToString();
    ASSERT_TRUE(single.ok()) << single.status().ToString();
    ASSERT_EQ(shared->size(), single->size());
    for (const auto& [name, value] : *single) {
      const auto is = std::find_if(shared->begin(), shared->end(), [&](const auto& x) { return x.first == name; });
      ASSERT_NE(is, shared->end()) << name.view();
      const Difference d = Compare(is->second, value, 0, 0);
      EXPECT_TRUE(d.ok) << backend << ": the gradient of " << name.view() << " is off by " << d.max_abs << " at "
                        << d.where;
    }
  }
}

TEST(Layers, OneReverseForAll) {
  const Case c = StackOf({});
  ExpectShared(c, 3);
  ExpectGradientsNearDifferences(c);
}

TEST(Layers, SinglePrecision) {
  Case c = StackOf({4, false, false, false, "f32"});
  for (auto& [name, value] : c.values) {
    Tensor t = *Tensor::Create(DType::kF32, value.tensor.shape);
    for (int64_t i = 0; i < t.elements(); ++i) t.SetDouble(i, value.tensor.GetDouble(i));
    value.tensor = t;
  }
  ExpectShared(c, 4);
}

// What a later statement gives to an adjoint comes first in its sum: the reverse adds to it.
TEST(Layers, OutputsUsedTwice) {
  const Case c = StackOf({3, false, false, true});
  ExpectShared(c, 3);
  ExpectGradientsNearDifferences(c);
}

TEST(Layers, SharedWeights) {
  const Case c = StackOf({3, true});
  ExpectShared(c, 3);
  ExpectGradientsNearDifferences(c);
}

TEST(Layers, IntegersBeside) {
  const Case c = StackOf({3, false, true});
  ExpectShared(c, 3);
}

// The first layer's input is not asked for, and of the second only one weight is: what nobody asked for is not there in the end.
TEST(Layers, SomeGradientsOnly) {
  Case c = StackOf({});
  c.inputs = {"WV0", "WO1", "SF2"};
  ExpectShared(c, 3);
}

// Layers below what is asked for have no reverse.
TEST(Layers, FrozenLayers) {
  Case c = StackOf({});
  c.inputs = {"WQ1", "WU2"};
  const std::string text = GradientText(c);
  EXPECT_EQ(CountOf(text, "call layer_forward("), 3) << text;
  EXPECT_EQ(CountOf(text, "call layer_backward("), 2) << text;
  ExpectGradientsNearDifferences(c);
}

TEST(Layers, GivenGradients) {
  Case c = StackOf({});
  c.options.all_given = true;
  c.values.emplace_back(Name("grad_Y"), Uniform({kTokens, kWidth}, -1, 1, 99));
  ExpectShared(c, 3);
}

TEST(Layers, SecondOrder) {
  Case c = StackOf({2});
  c.inputs = {"X"};
  ExpectHessianNearDifferences(c);
}

// Sums in half precision are widened for each statement.
TEST(Layers, HalfPrecisionIsReversedOneByOne) {
  Case c;
  c.text = TextOf({3, false, false, false, "f16"});
  EXPECT_EQ(CountOf(GradientText(c), "call "), 0);
}

// The statements of each layer's reverse are called after its own.
TEST(Layers, Origins) {
  Case c = StackOf({});
  Result<BackwardPrograms> b = Differentiated(c);
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  Program p = b->program;
  ASSERT_TRUE(RunPipeline(Plugins(), "inline-nested", p).ok());
  const std::string text = Print(p);
  EXPECT_EQ(CountOf(text, "call "), 0);
  for (const char* name : {"U0", "U1", "U2"}) EXPECT_GT(CountOf(text, "grad \"" + std::string(name) + "\""), 0) << text;
}

}  // namespace
}  // namespace headrace::autodiff::testing
