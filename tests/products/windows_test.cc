// Depthwise convolutions and pools whose channels lie innermost in memory: values, and bits with 1 and 2 threads and on devices with
// other vectors.
#include "tests/products/values.h"

namespace headrace {
namespace {

// The same values, of results that are in registers.
void ExpectTiles(const std::string& text, const Sizes& sizes = {}) {
  ExpectSameValues(text, sizes);
  EXPECT_NE(Scheduled(text).find("@unroll"), std::string::npos) << Scheduled(text);
}

struct Window {
  int64_t height = 9, width = 10, window = 3, stride = 1, padding = 1, dilation = 1;
  std::string n = "2", c = "20", type = "f32";
  int64_t side(int64_t of) const { return (of + 2 * padding - dilation * (window - 1) - 1) / stride + 1; }
};
std::string Str(int64_t n) { return std::to_string(n); }
std::string From(const char* point, const char* term, const Window& x) {
  return std::string(point) + "*" + Str(x.stride) + " + " + term + "*" + Str(x.dilation) + " - " + Str(x.padding);
}

// `value` of what X has at a place, @; `apart`: the initial value is a statement of its own.
std::string Of(const Window& x, const std::string& init, const std::string& op, std::string value, const std::string& more, bool apart) {
  const std::string h = Str(x.side(x.height)), w = Str(x.side(x.width)), k = Str(x.window);
  value.replace(value.find('@'), 1, "X[n, " + From("y", "k", x) + ", " + From("x", "l", x) + ", c]");
  const std::string points = "n in 0:" + x.n + ", y in 0:" + h + ", x in 0:" + w + ", c in 0:" + x.c,
                    terms = "k in 0:" + k + ", l in 0:" + k,
                    sum = "Y[n, y, x, c] " + op + " " + value + " }\n";
  return "sdfg f(X: " + x.type + "[" + x.n + ", " + Str(x.height) + ", " + Str(x.width) + ", " + x.c + "]" + more + ", Y: " + x.type + "[" +
         x.n + ", " + h + ", " + w + ", " + x.c + "]) {\n  map " + points + " {\n    Y[n, y, x, c] = " + init + "\n" +
         (apart ? "  }\n  map " + points + ", " + terms + " { " + sum : "    map " + terms + " { " + sum + "  }\n") + "}\n";
}
std::string Depthwise(const Window& x, bool apart = false) {
  return Of(x, "0", "+=", "(@ ?? 0) * W[k, l, c]", ", W: " + x.type + "[" + Str(x.window) + ", " + Str(x.window) + ", " + x.c + "]", apart);
}
std::string Maximum(const Window& x, bool apart = false) { return Of(x, "-inf", "max=", "@ ?? -inf", "", apart); }
std::string Sum(const Window& x, bool apart = false) { return Of(x, "1", "+=", "@ ?? 0", "", apart); }

void ExpectAll(const Window& x, const Sizes& sizes = {}) {
  for (bool apart : {false, true}) {
    ExpectTiles(Depthwise(x, apart), sizes);
    ExpectTiles(Maximum(x, apart), sizes);
    ExpectTiles(Sum(x, apart), sizes);
  }
}

TEST(Windows, StridesPaddingAndDilation) {
  for (const Window& x : {Window{}, {9, 10, 3, 1, 0}, {9, 11, 3, 2, 1}, {12, 12, 3, 1, 2, 2}, {15, 16, 5, 2, 2}, {9, 10, 2, 2, 0},
                          {3, 3, 3, 1, 1}, {2, 2, 3, 1, 1}})
    ExpectAll(x);
}

TEST(Windows, Sizes) {
  for (const char* c : {"2", "7", "8", "16", "24", "33", "64", "100"}) ExpectAll({7, 17, 3, 1, 1, 1, "1", c});
  ExpectAll({30, 31, 3, 2, 1, 1, "2", "64"});
  ExpectAll({7, 8, 3, 1, 1, 1, "N", "6"}, {{"N", 3}});
  ExpectAll({7, 8, 3, 1, 1, 1, "N", "6"}, {{"N", 0}});
}

// One of two reads is outside, or the other, or both.
TEST(Windows, SeveralReads) {
  for (bool apart : {false, true})
    for (const char* value : {"(@ ?? 2) * (Z[n, y*1 + k*1 - 2, x*1 + l*1, c] ?? 3)", "(@ ?? 2) + (Z[n, y*1 + k*1 - 1, x*1 + l*1, c] ?? 3)",
                              "(@ ?? 2) * (W[k + l - 1, l, c] ?? 3)"})
      ExpectTiles(Of({9, 10, 3, 1, 1, 1, "2", "24"}, "0", "+=", value, ", W: f32[3, 3, 24], Z: f32[2, 8, 10, 24]", apart));
}

TEST(Windows, Types) {
  for (const char* type : {"f64", "f16", "bf16"}) ExpectAll({6, 7, 3, 1, 1, 1, "2", "24", type});
}

// Factors of a small type, sums in f32: what these start at and what becomes of them is of one type or the other.
TEST(Windows, SmallFactors) {
  for (const char* type : {"f16", "bf16"})
    for (const char* c : {"2", "16", "40"}) {
      const std::string points = "n in 0:2, y in 0:6, x in 0:7, c in 0:" + std::string(c);
      const std::string arrays = "X: " + std::string(type) + "[2, 6, 7, " + c + "], W: " + type + "[3, 3, " + c + "], a: " + type + "[" + c + "], b: f32[" + c + "], Y: f32[2, 6, 7, " + c + "]";
      const std::string sum = "map k in 0:3, l in 0:3 { T += (X[n, y + k - 1, x + l - 1, c] ?? 0) * W[k, l, c] }";
      for (const char* held : {type, "f32"})
        ExpectTiles("sdfg f(" + arrays + ") {\n  transient T: " + held + " @register\n  map " + points + " {\n    T = a[c]\n    " + sum +
                    "\n    Y[n, y, x, c] = f32(T) * b[c] + 1\n  }\n}\n");
    }
}

// The gradient of a depthwise convolution's weights; `apart` as above.
std::string Weights(const Window& x, bool apart = false, const std::string& result = "") {
  const std::string h = Str(x.side(x.height)), w = Str(x.side(x.width)), k = Str(x.window);
  const std::string taps = "c in 0:" + x.c + ", k in 0:" + k + ", l in 0:" + k,
                    terms = "n in 0:" + x.n + ", y in 0:" + h + ", x in 0:" + w,
                    sum = "W[c, k, l] += G[n, y, x, c] * (X[n, " + From("y", "k", x) + ", " + From("x", "l", x) + ", c] ?? 0) }\n";
  return "sdfg f(X: " + x.type + "[" + x.n + ", " + Str(x.height) + ", " + Str(x.width) + ", " + x.c + "], G: " + x.type + "[" + x.n + ", " +
         h + ", " + w + ", " + x.c + "], W: " + (result.empty() ? x.type : result) + "[" + x.c + ", " + k + ", " + k + "]) {\n  map " + taps +
         " {\n    W[c, k, l] = 0\n" +
         (apart ? "  }\n  map " + taps + ", " + terms + " { " + sum : "    map " + terms + " { " + sum + "  }\n") + "}\n";
}

TEST(Windows, GradientsOfWeights) {
  for (bool apart : {false, true}) {
    for (const Window& x : {Window{}, {9, 10, 3, 1, 0}, {9, 11, 3, 2, 1}, {12, 12, 3, 1, 2, 2}, {15, 16, 5, 2, 2}, {9, 10, 2, 2, 0},
                            {5, 5, 3, 1, 1}, {60, 12, 3, 1, 1, 1, "3", "64"}, {30, 31, 7, 1, 3, 1, "2", "48"}})
      ExpectTiles(Weights(x, apart));
    for (const char* c : {"2", "7", "16", "33", "100"}) ExpectTiles(Weights({7, 17, 3, 1, 1, 1, "1", c}, apart));
    ExpectTiles(Weights({7, 8, 3, 1, 1, 1, "N", "6"}, apart), {{"N", 3}});
    ExpectTiles(Weights({7, 8, 3, 1, 1, 1, "N", "6"}, apart), {{"N", 0}});
    ExpectTiles(Weights({7, 8, 3, 1, 1, 1, "0", "6"}, apart));
    for (const char* type : {"f64", "f16", "bf16"}) ExpectTiles(Weights({6, 7, 3, 1, 1, 1, "2", "24", type}, apart));
    for (const char* type : {"f16", "bf16"}) ExpectTiles(Weights({6, 7, 3, 1, 1, 1, "2", "24", type}, apart, "f32"));
  }
}

TEST(Windows, TheSameBitsOnEveryDevice) {
  ExpectSameBitsOnDevices(Weights({60, 30, 3, 1, 1, 1, "2", "72"}));
  ExpectSameBitsOnDevices(Weights({30, 30, 7, 2, 3, 1, "2", "48", "f64"}, true));
  ExpectSameBitsOnDevices(Depthwise({9, 30, 3, 1, 1, 1, "2", "72"}));
  ExpectSameBitsOnDevices(Depthwise({9, 30, 3, 2, 1, 1, "2", "72", "f64"}, true));
  ExpectSameBitsOnDevices(Sum({9, 30, 3, 1, 1, 1, "2", "72"}));
}

}  // namespace
}  // namespace headrace
