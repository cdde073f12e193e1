// Products of dequantised operands as sums of integers: values, where scales are powers of two and so every result is exact, on
// devices that multiply floats' lanes of integers and those that add up four 8-bit products at once.
#include "tests/products/values.h"

namespace headrace {
namespace {

constexpr char kTuned[] = "; eliminate-dead-code; fuse; assign-layouts{device=D}; fuse-epilogue{device=D}; scalarize; pack-constants{device=D}; fold-scales; outline; choose-schedule{device=D}";

std::string For(const std::string& device) {
  std::string pipeline = std::string("integer-products{device=D}") + kTuned;
  for (size_t at; (at = pipeline.find("=D}")) != std::string::npos;) pipeline.replace(at, 3, "=" + device + "}");
  return pipeline;
}

// `dots`: four products at once, where the device has them.
void ExpectIntegers(const std::string& text, const Sizes& sizes = {}, bool dots = true) {
  for (const char* device : {"cpu", "cpu_vnni"}) {
    ExpectSameValues(text, sizes, For(device));
    Result<Program> p = ParseProgram(text);
    ASSERT_TRUE(p.ok() && RunPipeline(Plugins(), "integer-products{device=" + std::string(device) + "}", *p).ok());
    EXPECT_NE(Print(*p).find("_sums"), std::string::npos) << Print(*p);
    p = ParseProgram(text);
    ASSERT_TRUE(RunPipeline(Plugins(), For(device), *p).ok());
    EXPECT_EQ(Print(*p).find("dot4(") != std::string::npos, dots && std::string(device) == "cpu_vnni") << Print(*p);
  }
}

struct Operands {
  std::string data = "u8", weights = "i8", data_zero = "7", weight_zero = "0";
};

// Y = max(dequantised A times dequantised B, 0), quantised.
std::string Matrices(const std::string& m, const std::string& n, const std::string& k, const Operands& o = {}, bool constant = false) {
  const std::string b = o.weights + "[" + k + ", " + n + "]";
  return "sdfg f(A: " + o.data + "[" + m + ", " + k + "]" + (constant ? "" : ", B: " + b) + ", Y: u8[" + m + ", " + n + "]) {\n" +
         (constant ? "  constant B: " + b + " = fill(3)\n" : "") + "  transient D: f32[" + m + ", " + k + "]\n  transient E: f32[" + k + ", " + n +
         "]\n  transient T: f32[" + m + ", " + n + "]\n  map i in 0:" + m + ", k in 0:" + k + " { D[i, k] = f32(i64(A[i, k]) - " + o.data_zero +
         ") * 0.5 }\n  map k in 0:" + k + ", j in 0:" + n + " { E[k, j] = f32(i64(B[k, j]) - " + o.weight_zero + ") * 0.25 }\n  map i in 0:" + m +
         ", j in 0:" + n + " { T[i, j] = 0 }\n  map i in 0:" + m + ", j in 0:" + n + ", k in 0:" + k +
         " { T[i, j] += D[i, k] * E[k, j] }\n  map i in 0:" + m + ", j in 0:" + n + " { Y[i, j] = sat(rint(max(T[i, j], 0) / 4) + 3, u8) }\n}\n";
}

TEST(Quantised, TypesAndZeroPoints) {
  for (const char* data : {"u8", "i8"})
    for (const char* weights : {"i8", "u8"})
      for (const char* zero : {"0", "7"})
        for (const char* weight_zero : {"0", "5"})
          for (const bool constant : {false, true}) ExpectIntegers(Matrices("13", "40", "24", {data, weights, zero, weight_zero}, constant));
}

TEST(Quantised, Sizes) {
  for (const char* k : {"8", "33", "64", "1030"})
    for (const char* n : {"16", "33", "64"}) {
      ExpectIntegers(Matrices("5", n, k));
      ExpectIntegers(Matrices("25", n, k, {}, true));
    }
  ExpectIntegers(Matrices("M", "48", "40", {}, true), {{"M", 17}});
  ExpectIntegers(Matrices("M", "48", "40", {"i8", "u8", "3", "2"}, true), {{"M", 1}});
}

struct Image {
  int64_t height = 9, width = 10, window = 3, stride = 1, padding = 1;
  std::string c = "8", m = "24", data = "u8", zero = "7";
  int64_t groups = 1;
  bool last = false;  // the channels
};

std::string Convolution(const Image& x) {
  const auto str = [](int64_t n) { return std::to_string(n); };
  const auto place = [&](const std::string& n, const std::string& c, const std::string& p, const std::string& q) {
    return "[" + n + ", " + (x.last ? p + ", " + q + ", " + c : c + ", " + p + ", " + q) + "]";
  };
  const std::string k = str(x.window), h = str((x.height + 2 * x.padding - x.window) / x.stride + 1),
                    w = str((x.width + 2 * x.padding - x.window) / x.stride + 1), in = place("2", x.c, str(x.height), str(x.width)),
                    out = place("2", x.m, h, w), c = x.groups == 1 ? x.c : str(std::stoll(x.c) / x.groups),
                    weights = x.last ? "[" + k + ", " + k + ", " + c + ", " + x.m + "]" : "[" + x.m + ", " + c + ", " + k + ", " + k + "]",
                    weight = x.last ? "[k, l, c, o]" : "[o, c, k, l]",
                    channel = x.groups == 1 ? "c" : c == "1" && x.m == x.c ? "o" : "o // " + str(std::stoll(x.m) / x.groups) + " * " + c + " + c",
                    ranges = "n in 0:2, " + (x.last ? "p in 0:" + h + ", q in 0:" + w + ", o in 0:" + x.m : "o in 0:" + x.m + ", p in 0:" + h + ", q in 0:" + w),
                    result = place("n", "o", "p", "q"), element = place("n", "c", "p", "q"),
                    source = place("n", channel, "p * " + str(x.stride) + " + k - " + str(x.padding), "q * " + str(x.stride) + " + l - " + str(x.padding));
  return "sdfg f(X: " + x.data + in + ", s: f32[" + x.m + "], Y: u8" + out + ") {\n  constant W: i8" + weights + " = fill(-2)\n  transient D: f32" + in +
         "\n  transient E: f32" + weights + "\n  transient T: f32" + out + "\n  map n in 0:2, c in 0:" + x.c + ", p in 0:" + str(x.height) + ", q in 0:" +
         str(x.width) + " { D" + element + " = f32(i64(X" + element + ") - " + x.zero + ") * 0.5 }\n  map o in 0:" + x.m + ", c in 0:" + c + ", k in 0:" + k +
         ", l in 0:" + k + " { E" + weight + " = f32(i64(W" + weight + ")) * s[o] }\n  map " + ranges + " { T" + result + " = s[o] }\n  map " + ranges +
         ", c in 0:" + c + ", k in 0:" + k + ", l in 0:" + k + " { T" + result + " += (D" + source + " ?? 0) * E" + weight + " }\n  map " + ranges + " { Y" +
         result + " = sat(rint(T" + result + " / 8) + 100, u8) }\n}\n";
}

TEST(Quantised, Convolutions) {
  for (const char* data : {"u8", "i8"})
    for (const bool last : {false, true}) {
      for (const char* c : {"3", "8", "30"}) ExpectIntegers(Convolution({9, 10, 3, 1, 1, c, "24", data, "7", 1, last}), {}, last);
      ExpectIntegers(Convolution({9, 10, 1, 1, 0, "32", "40", data, "7", 1, last}), {}, last);
      ExpectIntegers(Convolution({9, 10, 1, 2, 0, "32", "16", data, "0", 1, last}), {}, last);
      ExpectIntegers(Convolution({9, 11, 7, 2, 3, "3", "64", data, "7", 1, last}), {}, last);
      ExpectIntegers(Convolution({7, 7, 3, 1, 1, "256", "64", data, "7", 1, last}), {}, last);
    }
}

// Weights of their own at each place, so that none can stand for another.
std::string Varied(std::string text, int64_t channels, int64_t window) {
  std::string values;
  for (int64_t k = 0, i = 0; k < window * window; ++k) {
    values += std::string(k == 0 ? "[" : ", ") + (k % window == 0 ? "[[[" : "[[");
    for (int64_t c = 0; c < channels; ++c, ++i) values += (c ? ", " : "") + std::to_string(i * 37 % 255 - 127);
    values += k % window == window - 1 ? "]]]" : "]]";
  }
  return text.replace(text.find("fill(-2)"), 8, values + "]");
}

// Four places of a line at once, of whole vectors of channels.
TEST(Quantised, Depthwise) {
  const auto depthwise = [](Image x) {
    x.m = x.c, x.groups = std::stoll(x.c), x.last = true;
    return Varied(Convolution(x), x.groups, x.window);
  };
  for (const char* data : {"u8", "i8"})
    for (const int64_t stride : {1, 2})
      for (const auto& [height, width] : {std::pair<int64_t, int64_t>{9, 10}, {7, 7}, {3, 3}, {1, 1}})
        ExpectIntegers(depthwise({height, width, 3, stride, 1, "32", "", data, "7"}), {}, true);
  ExpectIntegers(depthwise({9, 20, 3, 1, 0, "48", "", "u8", "7"}), {}, true);
  ExpectIntegers(depthwise({9, 10, 2, 1, 1, "64", "", "u8", "7"}), {}, true);
  ExpectIntegers(depthwise({9, 10, 4, 2, 1, "32", "", "u8", "0"}), {}, true);
  ExpectIntegers(depthwise({60, 70, 3, 1, 1, "64", "", "u8", "7"}), {}, true);  // lines in parts
  ExpectIntegers(depthwise({9, 10, 5, 1, 2, "32", "", "u8", "7"}), {}, false);
  ExpectIntegers(depthwise({9, 10, 3, 1, 1, "40", "", "u8", "7"}), {}, false);
}

TEST(Quantised, Groups) {
  ExpectIntegers(Convolution({9, 10, 3, 1, 1, "32", "32", "u8", "7", 32}), {}, false);
  ExpectIntegers(Convolution({9, 10, 3, 2, 1, "40", "40", "u8", "7", 40}), {}, false);
  ExpectIntegers(Convolution({9, 10, 3, 1, 1, "16", "48", "u8", "7", 2}), {}, false);
}

}  // namespace
}  // namespace headrace
