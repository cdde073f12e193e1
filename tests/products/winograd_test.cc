// Convolutions by F(2 × 2, 3 × 3) of Winograd's algorithms: values, bits with 1 and 2 threads and on devices with other vectors, and how far
// results are from those in f64, beside the direct sums.
#include <cmath>

#include "tests/products/values.h"

namespace headrace {
namespace {

std::string Str(int64_t n) { return std::to_string(n); }

struct Convolution {
  int64_t height = 8, width = 12, channels = 32, results = 32, padding = 1;
  std::string images = "2";
  bool back = false;  // y + padding - k: the gradient of the data
  std::string weights = "k, l, c, o";
};

std::string Text(const Convolution& x, const std::string& initial = "0", const std::string& more = "", const std::string& end = "") {
  const int64_t sides[] = {x.height + 2 * x.padding - 2, x.width + 2 * x.padding - 2};
  std::string weights;
  for (char i : x.weights)
    if (i == ',') weights += ", ";
    else if (i != ' ') weights += i == 'c' ? Str(x.channels) : i == 'o' ? Str(x.results) : "3";
  const auto at = [&](const char* point, const char* term) {
    const std::string by = Str(x.back ? 2 - x.padding : x.padding);
    return x.back ? std::string(point) + " + 2 - " + term + " - " + Str(x.padding) : std::string(point) + " + " + term + " - " + by;
  };
  const std::string type = "f32[" + x.images + ", ";
  return "sdfg f(X: " + type + Str(x.height) + ", " + Str(x.width) + ", " + Str(x.channels) + "], W: f32[" + weights + "]" + more + ", Y: " +
         type + Str(sides[0]) + ", " + Str(sides[1]) + ", " + Str(x.results) + "]) {\n  map n in 0:" + x.images + ", y in 0:" + Str(sides[0]) +
         ", x in 0:" + Str(sides[1]) + ", o in 0:" + Str(x.results) + " {\n    Y[n, y, x, o] = " + initial +
         "\n    map k in 0:3, l in 0:3, c in 0:" + Str(x.channels) + " { Y[n, y, x, o] += (X[n, " + at("y", "k") + ", " + at("x", "l") +
         ", c] ?? 0) * W[" + x.weights + "] }\n" + end + "  }\n}\n";
}

void ExpectWinograd(const std::string& text, const Sizes& sizes = {}) {
  ExpectSameValues(text, sizes);
  EXPECT_NE(Scheduled(text).find("f32[16, "), std::string::npos) << Scheduled(text);
}

TEST(Winograd, Sizes) {
  for (const int64_t height : {8, 9, 12, 29})
    for (const int64_t width : {8, 11, 28}) ExpectWinograd(Text({height, width}));
  ExpectWinograd(Text({4, 200, 64, 32}));   // lines that are cut
  ExpectWinograd(Text({60, 60, 32, 32, 1, "1"}));
}

TEST(Winograd, Channels) {
  for (const int64_t channels : {32, 33, 64, 100})
    for (const int64_t results : {32, 40, 64, 96, 100}) ExpectWinograd(Text({8, 8, channels, results}));
}

TEST(Winograd, Padding) {
  for (const int64_t padding : {0, 1, 2}) {
    ExpectWinograd(Text({12, 14, 32, 32, padding}));
    ExpectWinograd(Text({12, 14, 32, 48, padding, "2", true}));
  }
}

TEST(Winograd, WeightsAsTheyLie) {
  for (const char* order : {"o, c, k, l", "o, k, l, c", "c, o, k, l", "l, k, c, o"}) ExpectWinograd(Text({8, 10, 32, 48, 1, "2", false, order}));
}

TEST(Winograd, SizesByName) {
  for (const int64_t n : {0, 1, 3}) ExpectWinograd(Text({8, 10, 32, 32, 1, "N"}), {{"N", n}});
}

TEST(Winograd, ManyWeights) {
  for (const char* images : {"1", "2"}) ExpectWinograd(Text({7, 6, 192, 168, 1, images}));
  for (const int64_t n : {0, 1, 2}) ExpectWinograd(Text({6, 7, 160, 200, 1, "N", true, "c, k, l, o"}), {{"N", n}});
}

TEST(Winograd, WhatASumStartsAtAndBecomes) {
  ExpectWinograd(Text({9, 10}, "B[o]", ", B: f32[32]"));
  ExpectWinograd(Text({9, 10}, "Z[n, y, x, o]", ", Z: f32[2, 9, 10, 32]", "    Y[n, y, x, o] = max(Y[n, y, x, o], 0)\n"));
}

// Weights that are constants are transformed when the program is compiled.
TEST(Winograd, Constants) {
  for (const int64_t results : {32, 40, 96}) {
    std::string text = Text({9, 10, 32, results, 1, "2", false, "o, c, k, l"}), weights = "W: f32[" + Str(results) + ", 32, 3, 3]";
    text.replace(text.find(", " + weights), weights.size() + 2, "");
    text.insert(text.find("{\n") + 2, "  constant " + weights + " = fill(3)\n");
    ExpectSameValues(text, {}, "pack-constants{device=cpu}; outline; choose-schedule{device=cpu}");
  }
}

// The gradient by the weights.
std::string Gradient(const Convolution& x, const std::string& initial = "0", bool apart = false) {
  const std::string h = Str(x.height + 2 * x.padding - 2), w = Str(x.width + 2 * x.padding - 2), c = Str(x.channels), o = Str(x.results);
  std::string weights;
  for (char i : x.weights)
    if (i == ',') weights += ", ";
    else if (i != ' ') weights += i == 'c' ? c : i == 'o' ? o : "3";
  const std::string target = "W[" + x.weights + "]", of_weights = "o in 0:" + o + ", c in 0:" + c + ", k in 0:3, l in 0:3";
  const std::string terms = "n in 0:" + x.images + ", y in 0:" + h + ", x in 0:" + w;
  const std::string sum = target + " += D[n, y, x, o] * (X[n, y + k - " + Str(x.padding) + ", x + l - " + Str(x.padding) + ", c] ?? 0)";
  return "sdfg f(X: f32[" + x.images + ", " + Str(x.height) + ", " + Str(x.width) + ", " + c + "], D: f32[" + x.images + ", " + h + ", " + w + ", " +
         o + "], W: f32[" + weights + "]) {\n  map " + of_weights + " { " + target + " = " + initial + (apart ? " }\n  map " + of_weights + ", " + terms
         : "\n    map " + terms) + " { " + sum + " }" + (apart ? "" : " }") + "\n}\n";
}

TEST(Winograd, GradientsOfWeights) {
  for (const int64_t height : {8, 9, 29})
    for (const int64_t width : {8, 11, 28}) ExpectWinograd(Gradient({height, width}));
  for (const char* order : {"o, c, k, l", "k, l, c, o", "c, o, k, l"})
    for (const int64_t channels : {32, 40, 100}) ExpectWinograd(Gradient({8, 10, channels, 64, 1, "2", false, order}));
  ExpectWinograd(Gradient({4, 200, 32, 33}));
  ExpectWinograd(Gradient({12, 14, 32, 32, 0}, "1"));
  ExpectWinograd(Gradient({12, 14, 32, 32, 2}, "1", true));
  for (const int64_t n : {0, 1, 3}) ExpectWinograd(Gradient({8, 10, 32, 32, 1, "N"}), {{"N", n}});
}

// Few channels: each thread has some of the lines, in bands that the last one may be shorter than.
TEST(Winograd, GradientsOfFewChannels) {
  for (const int64_t height : {17, 40, 57}) {
    const std::string text = Gradient({height, 50});
    ExpectWinograd(text);
    EXPECT_NE(Scheduled(text).find("map band in"), std::string::npos) << Scheduled(text);
  }
  for (const int64_t n : {0, 1, 3}) ExpectWinograd(Gradient({40, 50, 32, 32, 1, "N"}), {{"N", n}});
  ExpectSameBitsOnDevices(Gradient({57, 50}));
}

// Places beyond the last term are there in memory, and no terms.
TEST(Winograd, GradientsOfSomeLines) {
  std::string text = Gradient({9, 11});
  const std::string whole = "D: f32[2, 9, 11, 32]";
  text.replace(text.find(whole), whole.size(), "D: f32[2, 12, 14, 32]");
  ExpectSameValues(text);
}

TEST(Winograd, SameBitsOnDevices) {
  ExpectSameBitsOnDevices(Gradient({14, 14, 64, 96}));

  ExpectSameBitsOnDevices(Text({14, 14, 32, 64}));
  ExpectSameBitsOnDevices(Text({7, 9, 64, 96, 1, "1", true}));
}

// The largest distance from the results in f64, over their mean.
double ErrorOf(const std::string& text, const std::string& device) {
  const Registry& r = Plugins();
  const auto run = [&](const std::string& source, const std::string& pipeline) {
    Program p = *ParseProgram(source);
    std::vector<std::pair<Name, Value>> inputs;
    for (Name n : Inputs(p, p.Entry())) {
      Tensor t = Fractions(ParseProgram(text)->Entry().Get(n), static_cast<int64_t>(inputs.size()));
      if (p.Entry().Get(n).dtype == DType::kF64) {
        Tensor wide = *Tensor::Create(DType::kF64, t.shape);
        for (int64_t i = 0; i < t.elements(); ++i) wide.SetDouble(i, t.GetDouble(i));
        t = wide;
      }
      inputs.emplace_back(n, Value(t));
    }
    EXPECT_TRUE(RunPipeline(r, pipeline + "; plan-memory", p).ok());
    CompileOptions o;
    o.cache_dir = ::testing::TempDir() + "/products-cache";
    auto e = r.FindBackend("cpu")->compile(p, o, r);
    EXPECT_TRUE(e.ok()) << e.status().ToString();
    auto out = (*e)->Run(inputs, {});
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    return (*out)[0].tensor;
  };
  std::string exact = text;
  for (size_t at; (at = exact.find("f32")) != std::string::npos;) exact.replace(at, 3, "f64");
  const Tensor want = run(exact, "outline; choose-schedule"), got = run(text, "outline; choose-schedule{device=" + device + "}");
  double most = 0, sum = 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    most = std::max(most, std::abs(want.GetDouble(i) - got.GetDouble(i)));
    sum += std::abs(want.GetDouble(i));
  }
  return most / sum * static_cast<double>(want.elements());
}

TEST(Winograd, IsAsExactAsDirectSums) {
  const std::string direct = ::testing::TempDir() + "/direct.txt";
  std::ofstream(direct) << "like cpu\nwinograd-channels 100000\n";
  for (const Convolution& x : {Convolution{16, 16, 32, 64}, {16, 16, 64, 64}, {14, 14, 128, 64}, {8, 8, 512, 64}, {8, 8, 512, 64, 1, "1", true}}) {
    const double ours = ErrorOf(Text(x), "cpu"), theirs = ErrorOf(Text(x), direct);
    std::printf("channels %d: %.3g, direct %.3g\n", static_cast<int>(x.channels), ours, theirs);
    EXPECT_LE(ours, 2 * theirs) << Text(x);
  }
  for (const Convolution& x : {Convolution{16, 16, 64, 64, 1, "4"}, {56, 56, 32, 32, 1, "2"}}) {
    const double ours = ErrorOf(Gradient(x), "cpu"), theirs = ErrorOf(Gradient(x), direct);
    std::printf("points %d: %.3g, direct %.3g\n", static_cast<int>(x.height), ours, theirs);
    EXPECT_LE(ours, 2 * theirs) << Gradient(x);
  }
}

}  // namespace
}  // namespace headrace
