// Convolutions whose channels lie innermost in memory, by position or by strides: values, and bits with 1 and 2 threads and on
// devices with other vectors.
#include <tuple>

#include "tests/products/values.h"

namespace headrace {
namespace {

// The same values, of results that are in registers.
void ExpectTiles(const std::string& text, const Sizes& sizes = {}) {
  ExpectSameValues(text, sizes);
  EXPECT_NE(Scheduled(text).find("@unroll"), std::string::npos) << Scheduled(text);
}

struct Convolution {
  int64_t height = 9, width = 10, window = 3, stride = 1, padding = 1, dilation = 1;
  std::string n = "2", c = "5", m = "20", type = "f32";
  bool turned = false;  // weights [m, k, l, c]
  int64_t side(int64_t of) const { return (of + 2 * padding - dilation * (window - 1) - 1) / stride + 1; }
};
std::string Str(int64_t n) { return std::to_string(n); }

std::string From(const char* point, const char* term, const Convolution& x) {
  return std::string(point) + "*" + Str(x.stride) + " + " + term + "*" + Str(x.dilation) + " - " + Str(x.padding);
}

std::string Forward(const Convolution& x, const std::string& init = "0", const std::string& more = "") {
  const std::string h = Str(x.side(x.height)), w = Str(x.side(x.width)), k = Str(x.window),
                    data = x.type + "[" + x.n + ", " + Str(x.height) + ", " + Str(x.width) + ", " + x.c + "]",
                    window = k + ", " + k + ", ",
                    weights = x.type + "[" + (x.turned ? x.m + ", " + window + x.c : window + x.c + ", " + x.m) + "]";
  const std::string points = "n in 0:" + x.n + ", y in 0:" + h + ", x in 0:" + w + ", o in 0:" + x.m,
                    terms = "k in 0:" + k + ", l in 0:" + k + ", c in 0:" + x.c;
  return "sdfg f(X: " + data + ", W: " + weights + more + ", Y: " + x.type + "[" + x.n + ", " + h + ", " + w + ", " + x.m + "]) {\n  map " +
         points + " {\n    Y[n, y, x, o] = " + init + "\n    map " + terms + " { Y[n, y, x, o] += (X[n, " + From("y", "k", x) + ", " +
         From("x", "l", x) + ", c] ?? 0) * W[" + (x.turned ? "o, k, l, c" : "k, l, c, o") + "] }\n  }\n}\n";
}
// The initial value in a statement of its own.
std::string Apart(std::string text) {
  const std::string points = text.substr(text.find("  map "), text.find(" {\n    Y") - text.find("  map "));
  const size_t inner = text.find("    map ");
  std::string ranges = text.substr(inner + 8);
  text.replace(inner, std::string::npos, "  }\n" + points + ", " + ranges.substr(0, ranges.find("  }\n}")) + "}\n");
  return text;
}

TEST(Channels, StridesPaddingAndDilation) {
  for (const bool turned : {false, true}) {
    for (Convolution x : {Convolution{}, {9, 10, 3, 1, 0}, {9, 11, 3, 2, 1}, {12, 12, 3, 1, 2, 2}, {15, 16, 7, 2, 3}, {9, 10, 1, 2, 0},
                          {5, 5, 5, 1, 2}}) {
      x.turned = turned;
      ExpectTiles(Forward(x));
      ExpectTiles(Apart(Forward(x)));
    }
  }
}

// The gradient of a convolution's data, as the rule has it: elements that lie `f` after a window's start meet every stride-th weight.
std::string Phases(const Convolution& x, bool apart) {
  const int64_t first = x.padding / x.stride;
  const std::string h = Str(x.side(x.height)), w = Str(x.side(x.width)), k = Str(x.window), s = Str(x.stride), lo = Str(x.padding), b = Str(first),
                    size = Str(x.height) + ", " + Str(x.width),
                    places = Str((x.height + x.padding - 1) / x.stride - first + 1) + ", " + Str((x.width + x.padding - 1) / x.stride - first + 1),
                    rows = places.substr(0, places.find(',')), columns = places.substr(places.find(' ') + 1), j = Str((x.window + x.stride - 1) / x.stride);
  const std::string one = apart ? "" : ", m in 0:" + x.m;
  return "sdfg f(G: " + x.type + "[" + x.n + ", " + h + ", " + w + ", " + (apart ? x.c : x.m) + "], W: " + x.type + "[" + k + ", " + k + ", " + x.c +
         (apart ? "" : ", " + x.m) + "], D: " + x.type + "[" + x.n + ", " + size + ", " + x.c + "]) {\n  transient P: " + x.type + "[" + x.n + ", " + x.c +
         ", " + s + ", " + s + ", " + places + "] layout [d0, d2, d3, d4, d5, d1]\n  transient d: " + x.type + "[" + x.n + ", " + x.c + ", " + size +
         "] layout [d0, d2, d3, d1]\n  map n in 0:" + x.n + ", c in 0:" + x.c + ", f in 0:" + s + ", g in 0:" + s + ", y in 0:" + rows + ", x in 0:" +
         columns + " {\n    P[n, c, f, g, y, x] = 0\n    map j in 0:" + j + ", l in 0:" + j + one + " { P[n, c, f, g, y, x] += (G[n, y + " + b +
         " - j, x + " + b + " - l, " + (apart ? "c" : "m") + "] ?? 0) * (W[f + " + s + "*j, g + " + s + "*l, c" + (apart ? "" : ", m") +
         "] ?? 0) }\n  }\n  map n in 0:" + x.n + ", c in 0:" + x.c + ", y in 0:" + Str(x.height) + ", x in 0:" + Str(x.width) +
         " { d[n, c, y, x] = P[n, c, (y + " + lo + ") % " + s + ", (x + " + lo + ") % " + s + ", (y + " + lo + ") // " + s + " - " + b + ", (x + " + lo +
         ") // " + s + " - " + b + "] }\n  map n in 0:" + x.n + ", y in 0:" + Str(x.height) + ", x in 0:" + Str(x.width) + ", c in 0:" + x.c +
         " { D[n, y, x, c] = d[n, c, y, x] * 2 }\n}\n";
}

TEST(Channels, PhasesOfStrides) {
  for (const bool apart : {false, true})
    for (const Convolution& x : {Convolution{9, 10, 3, 2, 1}, {12, 7, 5, 2, 2}, {8, 8, 2, 2, 0}, {11, 12, 4, 2, 1}, {9, 13, 5, 2, 0}, {16, 16, 7, 2, 3},
                                 Convolution{9, 10, 3, 2, 1, 1, "N", "20", "5"}}) {
      const std::string text = Phases(x, apart);
      const Sizes sizes = x.n == "N" ? Sizes{{"N", 3}} : Sizes{};
      ExpectSameValues(text, sizes, "split-phases; outline; choose-schedule");
      Result<Program> p = ParseProgram(text);
      ASSERT_TRUE(p.ok() && RunPipeline(Plugins(), "split-phases", *p).ok());
      EXPECT_NE(Print(*p).find("d_phase_3"), std::string::npos);
    }
}

// Weights that memory runs across: all terms of a window, or of each channel its places, which go down, follow each other.
TEST(Channels, WeightsBySquares) {
  for (const char* m : {"32", "40", "64"})
    for (const auto& [type, window, c] : {std::tuple<const char*, int64_t, const char*>{"f32", 1, "37"}, {"f32", 1, "300"}, {"f32", 3, "16"},
                                          {"f32", 7, "5"}, {"bf16", 1, "37"}, {"bf16", 3, "5"}}) {
      Convolution x{5, 8, window, 1, window / 2, 1, "N", c, m, type};
      x.turned = true;
      ExpectTiles(Forward(x), {{"N", 2}});
    }
  const std::string gradient =
      "sdfg f(G: f32[N, 9, 9, 40], W: f32[40, 48, 7, 7], D: f32[N, 9, 9, 48]) {\n  map n in 0:N, y in 0:9, x in 0:9, c in 0:48 {\n"
      "    D[n, y, x, c] = 0\n    map o in 0:40, k in 0:7, l in 0:7 { "
      "D[n, y, x, c] += (G[n, y + k - 3, x + l - 3, o] ?? 0) * W[o, c, 6 - k, 6 - l] }\n  }\n}\n";
  ExpectTiles(gradient, {{"N", 2}});
  EXPECT_NE(Scheduled(gradient).find("line in 0:16 @unroll"), std::string::npos) << Scheduled(gradient);
}

TEST(Channels, Sizes) {
  for (const char* m : {"8", "13", "16", "31", "33", "64", "100"})
    for (const char* c : {"1", "3", "16"}) ExpectTiles(Forward({7, 17, 3, 1, 1, 1, "1", c, m}));
  ExpectTiles(Forward({3, 300, 3, 1, 1, 1, "1", "64", "16"}));                       // lines that are cut
  ExpectTiles(Forward({4, 6, 3, 1, 1, 1, "1", "300", "40"}));                        // terms that are cut
  ExpectTiles(Apart(Forward({4, 6, 3, 1, 1, 1, "1", "300", "40"})));
  ExpectTiles(Forward({30, 30, 3, 1, 1, 1, "3", "64", "32"}));                       // images that are cut
  ExpectTiles(Forward({7, 8, 3, 1, 1, 1, "N", "6", "24"}), {{"N", 3}});
  ExpectTiles(Forward({7, 8, 3, 1, 1, 1, "N", "6", "24"}), {{"N", 0}});
}

TEST(Channels, Types) {
  for (const char* type : {"f64", "f16", "bf16"})
    for (const char* c : {"5", "300"}) {
      ExpectTiles(Forward({6, 7, 3, 1, 1, 1, "2", c, "24", type}));
      ExpectTiles(Apart(Forward({6, 7, 3, 1, 1, 1, "2", c, "24", type})));
    }
}

const char* const kPairs[] = {"outline; choose-schedule{device=cpu_bf16}", "outline; choose-schedule{device=cpu_bf16}; denormals"};

// Pairs of channels at once; an odd number of them has none.
TEST(Channels, OfBf16InPairs) {
  for (const char* pipeline : kPairs)
    for (const char* c : {"2", "5", "6", "64", "300"})
      for (const bool turned : {false, true}) {
        Convolution x{6, 7, 3, 1, 1, 1, "2", c, "24", "bf16"};
        x.turned = turned;
        std::string text = Apart(Forward(x));
        text.replace(text.find("Y: bf16"), 7, "Y: f32");
        ExpectSameValues(text, {}, pipeline);
        Program p = *ParseProgram(text);
        ASSERT_TRUE(RunPipeline(Plugins(), pipeline, p).ok());
        EXPECT_EQ(Print(p).find("dot2(") == std::string::npos, std::string(c) == "5") << Print(p);
        x.window = 1, x.padding = 0, x.stride = 2;
        text = Forward(x);
        text.replace(text.find("Y: bf16"), 7, "Y: f32");
        ExpectSameValues(text, {}, pipeline);
      }
}

TEST(Channels, InitialValues) {
  ExpectTiles(Forward({9, 10, 3, 1, 1, 1, "2", "5", "20"}, "B[o]", ", B: f32[20]"));
  ExpectTiles(Forward({9, 10, 3, 1, 1, 1, "2", "300", "20"}, "B[o] + R[n, y, x, o]", ", B: f32[20], R: f32[2, 9, 10, 20]"));
}

TEST(Channels, TheSameBitsOnEveryDevice) {
  ExpectSameBitsOnDevices(Forward({9, 30, 3, 1, 1, 1, "2", "64", "40"}));
  ExpectSameBitsOnDevices(Forward({9, 10, 3, 1, 1, 1, "1", "300", "40"}));
  ExpectSameBitsOnDevices(Apart(Forward({9, 10, 3, 1, 1, 1, "1", "300", "40"})));
  ExpectSameBitsOnDevices(Forward({15, 16, 7, 2, 3, 1, "1", "3", "64", "f64"}));
}

// Subsets are n, c, y, x; strides say that channels lie innermost.
TEST(Channels, ByStrides) {
  for (const char* sum : {"Z[n, o, y, x] += (T[n, c, y + k - 1, x + l - 1] ?? 0) * W[o, c, k, l]",
                          "Z[n, o, y, x] += (X[n, c, y + k - 1, x + l - 1] ?? 0) * W[o, c, k, l]"})
    ExpectTiles(std::string("sdfg f(X: f32[2, 6, 9, 8], W: f32[24, 6, 3, 3], Y: f32[2, 24, 9, 8]) {\n"
                     "  transient S: f32[2, 9, 8, 6]\n  transient R: f32[2, 9, 8, 24]\n"
                     "  view T: f32[2, 6, 9, 8] of S strides [432, 1, 48, 6]\n  view Z: f32[2, 24, 9, 8] of R strides [1728, 1, 192, 24]\n"
                     "  map n in 0:2, c in 0:6, y in 0:9, x in 0:8 { T[n, c, y, x] = X[n, c, y, x] }\n"
                     "  map n in 0:2, o in 0:24, y in 0:9, x in 0:8 { Z[n, o, y, x] = 0 }\n"
                     "  map n in 0:2, o in 0:24, y in 0:9, x in 0:8, c in 0:6, k in 0:3, l in 0:3 { ") + sum +
                     " }\n  map n in 0:2, o in 0:24, y in 0:9, x in 0:8 { Y[n, o, y, x] = Z[n, o, y, x] }\n}\n");
}

TEST(Channels, GroupsAndOneDimension) {
  ExpectTiles("sdfg f(X: f32[2, 9, 8, 12], W: f32[3, 3, 4, 48], Y: f32[2, 9, 8, 48]) {\n"
                   "  map n in 0:2, y in 0:9, x in 0:8, o in 0:48 { Y[n, y, x, o] = 0 }\n"
                   "  map n in 0:2, y in 0:9, x in 0:8, o in 0:48, k in 0:3, l in 0:3, c in 0:4 {\n"
                   "    Y[n, y, x, o] += (X[n, y + k - 1, x + l - 1, c + 4 * (o // 16)] ?? 0) * W[k, l, c, o]\n  }\n}\n");
  ExpectTiles("sdfg f(X: f32[2, 500, 9], W: f32[5, 9, 20], Y: f32[2, 500, 20]) {\n"
                   "  map n in 0:2, x in 0:500, o in 0:20 { Y[n, x, o] = 0 }\n"
                   "  map n in 0:2, x in 0:500, o in 0:20, l in 0:5, c in 0:9 {\n"
                   "    Y[n, x, o] += (X[n, x + l - 2, c] ?? 0) * W[l, c, o]\n  }\n}\n");
}

// The gradient of the data: a convolution with the window turned round; by steps of two, phases of it.
TEST(Channels, GradientsOfData) {
  ExpectTiles("sdfg f(G: f32[2, 9, 8, 40], W: f32[3, 3, 24, 40], D: f32[2, 9, 8, 24]) {\n"
                   "  map n in 0:2, y in 0:9, x in 0:8, c in 0:24 { D[n, y, x, c] = 0 }\n"
                   "  map n in 0:2, y in 0:9, x in 0:8, c in 0:24, o in 0:40, k in 0:3, l in 0:3 {\n"
                   "    D[n, y, x, c] += (G[n, y + k - 1, x + l - 1, o] ?? 0) * W[2 - k, 2 - l, c, o]\n  }\n}\n");
  ExpectTiles("sdfg f(G: f32[2, 5, 4, 40], W: f32[3, 3, 24, 40], P: f32[2, 2, 2, 5, 5, 24]) {\n"
                   "  map n in 0:2, f in 0:2, g in 0:2, y in 0:5, x in 0:5, c in 0:24 { P[n, f, g, y, x, c] = 0 }\n"
                   "  map n in 0:2, f in 0:2, g in 0:2, y in 0:5, x in 0:5, c in 0:24, o in 0:40, k in 0:2, l in 0:2 {\n"
                   "    P[n, f, g, y, x, c] += (G[n, y - k, x - l, o] ?? 0) * (W[f + 2*k, g + 2*l, c, o] ?? 0)\n  }\n}\n");
}

// The gradient of the weights: few results, sums over images. Weights lie as [o, c, k, l] or [k, l, c, o].
std::string Weights(const Convolution& x, bool last) {
  const std::string h = Str(x.side(x.height)), w = Str(x.side(x.width)), k = Str(x.window), window = k + ", " + k,
                    at = last ? "k, l, c, o" : "o, c, k, l";
  const std::string results = last ? "k in 0:" + k + ", l in 0:" + k + ", c in 0:" + x.c + ", o in 0:" + x.m
                                   : "o in 0:" + x.m + ", c in 0:" + x.c + ", k in 0:" + k + ", l in 0:" + k;
  const std::string data = x.n + ", " + Str(x.height) + ", " + Str(x.width) + ", " + x.c;
  return "sdfg f(X: " + x.type + "[" + data + "], G: " + x.type + "[" + x.n +
         ", " + h + ", " + w + ", " + x.m + "], W: " +
         x.type + "[" + (last ? window + ", " + x.c + ", " + x.m : x.m + ", " + x.c + ", " + window) +
         "]) {\n  map " + results + " { W[" + at + "] = 0 }\n  map " + results + ", n in 0:" + x.n + ", y in 0:" + h + ", x in 0:" + w +
         " {\n    W[" + at + "] += G[n, y, x, o] * (X[n, " + From("y", "k", x) + ", " + From("x", "l", x) + ", c] ?? 0)\n  }\n}\n";
}

TEST(Channels, GradientsOfWeights) {
  for (const bool last : {false, true}) {
    for (const Convolution& x : {Convolution{}, {9, 10, 3, 1, 0, 1, "2", "16", "32"}, {9, 11, 3, 2, 1, 1, "3", "17", "24"},
                                 {15, 16, 7, 2, 3, 1, "2", "3", "40"}, {40, 41, 3, 1, 1, 1, "2", "33", "48"},
                                 {9, 9, 3, 1, 2, 2, "1", "5", "16"}})
      ExpectTiles(Weights(x, last));
    for (const char* type : {"f64", "f16"}) ExpectTiles(Weights({9, 10, 3, 1, 1, 1, "2", "20", "24", type}, last));
    ExpectTiles(Weights({7, 8, 3, 1, 1, 1, "N", "6", "24"}, last), {{"N", 3}});
    ExpectTiles(Weights({7, 8, 3, 1, 1, 1, "N", "6", "24"}, last), {{"N", 0}});
    ExpectSameBitsOnDevices(Weights({40, 41, 3, 1, 1, 1, "2", "33", "48"}, last));
  }
}

// Many channels of both sides: parts of points, of columns, and blocks of results, each with an index of its own.
TEST(Channels, GradientsOfManyWeights) { ExpectTiles(Weights({5, 4, 3, 1, 1, 1, "1", "520", "288"}, false)); }

// Pairs of places, which are laid beside each other: also those that are two apart, and with a border of zeros. An odd number has none.
TEST(Channels, GradientsOfWeightsInPairs) {
  for (const char* pipeline : kPairs)
    for (const bool last : {false, true})
      for (Convolution x : {Convolution{9, 10, 3, 1, 1, 1, "2", "16", "32"}, {9, 10, 3, 1, 0, 1, "2", "5", "24"}, {9, 12, 3, 2, 1, 1, "3", "17", "24"},
                            {15, 16, 7, 2, 3, 1, "2", "3", "40"}, {40, 42, 3, 1, 1, 1, "2", "33", "48"}, {9, 8, 3, 1, 2, 2, "1", "5", "16"},
                            {9, 11, 3, 1, 1, 1, "2", "16", "32"}}) {
        x.type = "bf16";
        std::string text = Weights(x, last);
        text.replace(text.find("W: bf16"), 7, "W: f32");
        ExpectSameValues(text, {}, pipeline);
        Program p = *ParseProgram(text);
        ASSERT_TRUE(RunPipeline(Plugins(), pipeline, p).ok());
        EXPECT_EQ(Print(p).find("dot2(") == std::string::npos, x.width == 11) << Print(p);
      }
}

}  // namespace
}  // namespace headrace
