// Matrix products and convolutions with their schedules: values and bits.
#include <functional>
#include <tuple>

#include "tests/products/values.h"

namespace headrace {
namespace {

struct Matrices {
  std::string m, n, k, type = "f32", batch = "";
  bool turn_a = false, turn_b = false, one_b = false;  // one_b: of all the batch
  std::string sums = type;
};
std::string ProductOf(const Matrices& x) {
  const std::string of = x.batch.empty() ? "" : x.batch + ", ", b = x.batch.empty() ? "" : "b, ",
                    of_b = x.one_b ? "" : of, b_b = x.one_b ? "" : b,
                    range = x.batch.empty() ? "" : "b in 0:" + x.batch + ", ";
  return "sdfg f(A: " + x.type + "[" + of + (x.turn_a ? x.k + ", " + x.m : x.m + ", " + x.k) + "], B: " + x.type + "[" + of_b +
         (x.turn_b ? x.n + ", " + x.k : x.k + ", " + x.n) + "], C: " + x.sums + "[" + of + x.m + ", " + x.n + "]) {\n" +
         "  map " + range + "i in 0:" + x.m + ", j in 0:" + x.n + " { C[" + b + "i, j] = 1 }\n  map " + range + "i in 0:" + x.m +
         ", j in 0:" + x.n + ", k in 0:" + x.k + " { C[" + b + "i, j] += A[" + b + (x.turn_a ? "k, i" : "i, k") + "] * B[" + b_b +
         (x.turn_b ? "j, k" : "k, j") + "] }\n}\n";
}
const std::pair<bool, bool> kTurned[] = {{false, false}, {true, false}, {false, true}, {true, true}};

TEST(Products, OfOddSizes) {
  const char* sizes[][3] = {{"3", "17", "63"}, {"63", "65", "130"}, {"130", "33", "300"}, {"12", "32", "8"}, {"193", "385", "20"}};
  for (const auto& [m, n, k] : sizes)
    for (const auto& [a, b] : kTurned) ExpectSameValues(ProductOf({m, n, k, "f32", "", a, b}));
}

TEST(Products, OfSizesByName) {
  for (const auto& [a, b] : kTurned)
    for (const Sizes& z : {Sizes{{"M", 77}, {"N", 70}, {"K", 300}}, {{"M", 1}, {"N", 1}, {"K", 1}}, {{"M", 0}, {"N", 5}, {"K", 9}},
                           {{"M", 5}, {"N", 0}, {"K", 9}}, {{"M", 5}, {"N", 9}, {"K", 0}}, {{"M", 12}, {"N", 32}, {"K", 256}},
                           {{"M", 2}, {"N", 300}, {"K", 400}}, {{"M", 3}, {"N", 40}, {"K", 8}}, {{"M", 130}, {"N", 300}, {"K", 7}}})
      ExpectSameValues(ProductOf({"M", "N", "K", "f32", "", a, b}), z);
  ExpectSameValues(ProductOf({"M", "130", "17"}), {{"M", 193}});
  ExpectSameValues(ProductOf({"65", "N", "17"}), {{"N", 400}});
  ExpectSameValues(ProductOf({"65", "64", "K"}), {{"K", 257}});
}

// 12 * M rows, in tiles of 8 and one of 4.
TEST(Products, OfRowsThatAreMultiples) {
  for (const int64_t m : {1, 2, 3, 5})
    ExpectSameValues(R"(sdfg f(A: f32[M, 12, 40], B: f32[40, 70], C: f32[M, 12, 70]) {
  map n in 0:M, i in 0:12, j in 0:70 { C[n, i, j] = 1 }
  map n in 0:M, i in 0:12, j in 0:70, k in 0:40 { C[n, i, j] += A[n, i, k] * B[k, j] }
})",
                     {{"M", m}});
}

// Two products at once where the device has that: values and, with `denormals`, the processor's own instruction.
const char* const kPairs[] = {"outline; choose-schedule{device=cpu_bf16}", "outline; choose-schedule{device=cpu_bf16}; denormals"};

TEST(Products, OfBf16InPairs) {
  const char* sizes[][3] = {{"3", "17", "63"}, {"63", "65", "130"}, {"130", "33", "1025"}, {"12", "32", "8"}, {"193", "385", "21"}};
  for (const char* pipeline : kPairs)
    for (const auto& [m, n, k] : sizes)
      for (const auto& [a, b] : kTurned) ExpectSameValues(ProductOf({m, n, k, "bf16", "", a, b, false, "f32"}), {}, pipeline);
}

TEST(Products, OfBf16InPairsOfSizesByName) {
  for (const auto& [a, b] : kTurned)
    for (const Sizes& z : {Sizes{{"M", 77}, {"N", 70}, {"K", 301}}, {{"M", 1}, {"N", 1}, {"K", 1}}, {{"M", 5}, {"N", 9}, {"K", 0}}, {{"M", 12}, {"N", 32}, {"K", 256}}})
      ExpectSameValues(ProductOf({"M", "N", "K", "bf16", "", a, b, false, "f32"}), z, kPairs[1]);
  ExpectSameValues(ProductOf({"M", "130", "18", "bf16", "3", false, false, false, "f32"}), {{"M", 193}}, kPairs[1]);
  ExpectSameValues(ProductOf({"65", "N", "17", "bf16", "", true, false, false, "f32"}), {{"N", 400}}, kPairs[1]);
  ExpectSameValues(ProductOf({"65", "64", "K", "bf16", "2", false, true, true, "f32"}), {{"K", 2049}}, kPairs[1]);
}

// Weights of bf16 that are constants lie in pairs, or are f32; an odd number of terms, and columns that fill no tile.
TEST(Products, OfConstantsOfBf16) {
  for (const auto& [n, k] : {std::tuple{"64", "32"}, {"40", "15"}, {"33", "1027"}})
    for (const bool b : {false, true}) {
      std::string text = ProductOf({"20", n, k, "bf16", "", false, b, false, "f32"}), weights = std::string("B: bf16[") + (b ? n : k) + ", " + (b ? k : n) + "]";
      ASSERT_NE(text.find(", " + weights), std::string::npos) << text;
      text.replace(text.find(", " + weights), weights.size() + 2, "");
      text.insert(text.find("{\n") + 2, "  constant " + weights + " = fill(3)\n");
      ExpectSameValues(text, {}, std::string("pack-constants{device=cpu_bf16}; ") + kPairs[1]);
      ExpectSameValues(text, {}, "pack-constants{device=cpu}; outline; choose-schedule{device=cpu}; denormals");
    }
}

// Four products at once: of unsigned by signed bytes.
TEST(Products, OfBytesInFours) {
  const char* const pipeline = "outline; choose-schedule{device=cpu_vnni}";
  for (const auto& [m, n, k] : {std::tuple{"3", "17", "61"}, {"63", "65", "130"}, {"24", "40", "64"}, {"30", "33", "1027"}})
    for (const auto& [a, b] : kTurned) {
      const std::string left = a ? std::string(k) + ", " + m : std::string(m) + ", " + k, right = b ? std::string(n) + ", " + k : std::string(k) + ", " + n;
      const std::string text = "sdfg f(A: u8[" + left + "], B: i8[" + right + "], C: i32[" + m + ", " + n + "]) {\n  map i in 0:" + m + ", j in 0:" + n +
                               " { C[i, j] = 0 }\n  map i in 0:" + m + ", j in 0:" + n + ", k in 0:" + k + " { C[i, j] += i32(A[" +
                               (a ? "k, i" : "i, k") + "]) * i32(B[" + (b ? "j, k" : "k, j") + "]) }\n}\n";
      ExpectSameValues(text, {}, pipeline);
      Program p = *ParseProgram(text);
      ASSERT_TRUE(RunPipeline(Plugins(), pipeline, p).ok());
      EXPECT_NE(Print(p).find("dot4("), std::string::npos) << Print(p);
    }
}

// What is rounded to bf16 for the product is rounded while it is packed; sums in f32 stay.
TEST(Products, OfRoundedFactorsInPairs) {
  for (const char* factors : {"bf16(A[i, k]) * bf16(B[k, j])", "f32(bf16(A[i, k])) * f32(bf16(B[k, j]))"})
    ExpectSameValues(std::string("sdfg f(A: f32[20, 31], B: f32[31, 40], C: f32[20, 40]) {\n  map i in 0:20, j in 0:40 { C[i, j] = 0 }\n"
                                 "  map i in 0:20, j in 0:40, k in 0:31 { C[i, j] += ") + factors + " }\n}\n", {}, kPairs[1]);
}

TEST(Products, TheSameBitsOnEveryDevice) {
  for (const auto& [a, b] : kTurned) {
    ExpectSameBitsOnDevices(ProductOf({"65", "130", "300", "f32", "", a, b}));
    ExpectSameBitsOnDevices(ProductOf({"40", "33", "270", "f64", "3", a, b}));
  }
}

// Each result is the start of a sum, the sum, and what is made of it: a bias, a residual, an element that something else reads.
std::string WithTail(const std::string& type, const std::string& m, const std::string& n, const std::string& k, bool kept) {
  const std::string map = "  map i in 0:" + m + ", j in 0:" + n, results = type + "[" + m + ", " + n + "]";
  return "sdfg f(A: " + type + "[" + m + ", " + k + "], B: " + type + "[" + k + ", " + n + "], b: " + type + "[" + n + "], R: " + results +
         ", C: " + results + (kept ? ", T: " + results + ") {\n" : ") {\n  transient T: " + results + "\n") + map + " { T[i, j] = b[j] }\n" + map + ", k in 0:" + k + " { T[i, j] += A[i, k] * B[k, j] }\n" + map +
         " { C[i, j] = max(T[i, j] + 2 * R[i, j], -3) }\n}\n";
}

TEST(Products, WithWhatBecomesOfThem) {
  const char* const pipeline = "fuse-epilogue; scalarize; alias; outline; choose-schedule";
  const char* const kSizes[][3] = {{"65", "130", "30"}, {"13", "20", "1300"}, {"24", "64", "64"}, {"40", "300", "9"}, {"7", "8", "2100"}};
  for (const char* type : {"f32", "f64", "i32"})
    for (const auto& [m, n, k] : kSizes)
      for (const bool kept : {false, true}) ExpectSameValues(WithTail(type, m, n, k, kept), {}, pipeline);
  ExpectSameValues(WithTail("f16", "65", "40", "30", false), {}, pipeline);
  for (const Sizes& z : {Sizes{{"M", 77}, {"N", 70}, {"K", 300}}, {{"M", 5}, {"N", 9}, {"K", 0}}, {{"M", 0}, {"N", 9}, {"K", 4}}})
    ExpectSameValues(WithTail("f32", "M", "N", "K", false), z, pipeline);
}

// Each row has fewer columns, or more, than the one before: blocks of rows, of products and of small triangles.
TEST(Products, OverTriangles) {
  const std::string blocks = "block-triangles; outline; choose-schedule{device=cpu}";
  for (const char* map : {"i in 0:150, j in 0:i + 1, k in 0:100 { C[i, j] += A[i, k] * B[j, k] }", "i in 0:150, j in 0:i, k in 0:100 { C[i, j] += A[i, k] * B[j, k] }",
                          "i in 0:149, j in i + 1:150, k in 0:100 { C[i, j] += A[i, k] * B[j, k] }",
                          "i in 0:150, j in 0:150 - i, k in 0:100 { C[i, j] += A[i, k] * B[i + j, k] }",
                          "i in 0:149, j in 0:149 - i, k in 0:100 { C[j + i + 1, i] += A[i, k] * B[i + j + 1, k] }",
                          "i in 0:128, j in i:150, k in 0:100 { C[i, j] += A[i, k] * B[j, k] }"})
    ExpectSameValues("sdfg f(A: f64[150, 100], B: f64[150, 100], C: f64[150, 150]) {\n  map i in 0:150, j in 0:150 { C[i, j] = 1 }\n  map " +
                         std::string(map) + "\n}\n",
                     {}, blocks);
  for (const char* map : {"D[k, i + j] += T[i, j] * A[k, i]", "D[k, i] += T[i, j] * A[k, i + j]"})
    ExpectSameValues(R"(
sdfg f(A: f64[70, 150], G: f64[150, 150], D: f64[70, 150]) {
  transient T: f64[150, 150]
  map i in 0:150, j in 0:150 { T[i, j] = 0.0 }
  map i in 0:150, j in 0:150 - i { T[i, j] = G[i + j, i] + G[i, i + j] }
  map i in 0:70, j in 0:150 { D[i, j] = 0.0 }
  map i in 0:150, j in 0:150 - i, k in 0:70 { )" + std::string(map) + " }\n}\n",
                     {}, blocks);
  ExpectSameValues(R"(
sdfg f(G: f32[203, 203], A: f32[203, 70], D: f32[203, 70]) {
  map i in 0:203, j in 0:70 { D[i, j] = 1.0 }
  map i in 0:203, j in 0:i, k in 0:70 { D[j, k] += G[i, j] * A[i, k] }
})",
                   {}, blocks);
}

// An infinity reaches the sums that have a term with it, whatever lies beside the triangle.
TEST(Products, OverTrianglesOfWhatIsInfinite) {
  for (const char* map : {"D[k, i + j] += T[i, i + j] * A[k, i]", "D[k, i] += T[i, i + j] * A[k, i + j]"})
    ExpectSameValues(R"(
sdfg f(G: f64[150, 150], D: f64[70, 150]) {
  transient T: f64[150, 150]
  transient A: f64[70, 150]
  map i in 0:70, j in 0:150 { A[i, j] = j == 149 && i < 3 || j == 0 && i == 4 ? 1.0 / 0.0 : 1.0 + f64(j) }
  map i in 0:150, j in 0:150 { T[i, j] = j >= i ? 1.0 + G[i, j] * G[i, j] : 0.0 }
  map i in 0:70, j in 0:150 { D[i, j] = 0.0 }
  map i in 0:150, j in 0:150 - i, k in 0:70 { )" + std::string(map) + " }\n}\n",
                     {}, "block-triangles; outline; choose-schedule{device=cpu}");
}

TEST(Products, OfBatches) {
  for (const auto& [a, b] : kTurned) {
    ExpectSameValues(ProductOf({"33", "40", "50", "f32", "7", a, b}));
    ExpectSameValues(ProductOf({"33", "40", "50", "f32", "7", a, b, true}));
    ExpectSameValues(ProductOf({"M", "40", "50", "f32", "Q", a, b}), {{"M", 30}, {"Q", 5}});
  }
}

TEST(Products, OfOtherTypes) {
  for (const char* type : {"f64", "f16", "bf16", "i32"})
    for (const auto& [a, b] : {std::pair{false, false}, {true, true}}) {
      ExpectSameValues(ProductOf({"65", "40", "30", type, "", a, b}));
      ExpectSameValues(ProductOf({"M", "N", "K", type, "", a, b}), {{"M", 14}, {"N", 34}, {"K", type[0] == 'b' ? 9 : 260}});
    }
}

// A convolution, and the gradients with respect to its weights and (by steps of one) its data.
struct Convolution {
  std::vector<int64_t> data, window, stride, padding, dilation;
  std::string n = "2", c = "5", m = "7", type = "f32";
};
std::string List(size_t rank, const std::function<std::string(size_t)>& of) {
  std::string out;
  for (size_t i = 0; i < rank; ++i) out += (i ? ", " : "") + of(i);
  return out;
}
std::vector<std::string> ProgramsOf(const Convolution& x) {
  const size_t rank = x.data.size();
  const auto at = [](const std::vector<int64_t>& v, size_t i, int64_t otherwise) { return v.empty() ? otherwise : v[i]; };
  const auto index = [&](const char* stem) { return List(rank, [&](size_t i) { return stem + std::to_string(i); }); };
  const auto sizes = [&](const std::vector<int64_t>& of) { return List(rank, [&](size_t i) { return std::to_string(of[i]); }); };
  const auto ranges = [&](const char* stem, const std::vector<int64_t>& of) {
    return List(rank, [&](size_t i) { return stem + std::to_string(i) + " in 0:" + std::to_string(of[i]); });
  };
  std::vector<int64_t> result;
  for (size_t i = 0; i < rank; ++i)
    result.push_back((x.data[i] + 2 * at(x.padding, i, 0) - at(x.dilation, i, 1) * (x.window[i] - 1) - 1) / at(x.stride, i, 1) + 1);
  const auto by = [&](const char* stem, size_t i, int64_t step) { return stem + std::to_string(i) + "*" + std::to_string(step); };
  const auto from = [&](size_t i) {
    return by("o", i, at(x.stride, i, 1)) + " + " + by("k", i, at(x.dilation, i, 1)) + " - " + std::to_string(at(x.padding, i, 0));
  };
  const auto back = [&](size_t i) {
    return "i" + std::to_string(i) + " - " + by("k", i, at(x.dilation, i, 1)) + " + " + std::to_string(at(x.padding, i, 0));
  };
  const std::string data = x.type + "[" + x.n + ", " + x.c + ", " + sizes(x.data) + "]",
                    weights = x.type + "[" + x.m + ", " + x.c + ", " + sizes(x.window) + "]",
                    results = x.type + "[" + x.n + ", " + x.m + ", " + sizes(result) + "]", n = "n in 0:" + x.n + ", ",
                    m = "m in 0:" + x.m, c = "c in 0:" + x.c, o = ranges("o", result), k = ranges("k", x.window), i = ranges("i", x.data),
                    of_data = "(X[n, c, " + List(rank, from) + "] ?? 0)";
  std::vector<std::string> out;
  out.push_back("sdfg f(X: " + data + ", W: " + weights + ", Y: " + results + ") {\n  map " + n + m + ", " + o + " { Y[n, m, " + index("o") +
                "] = 0 }\n  map " + n + m + ", " + o + ", " + c + ", " + k + " { Y[n, m, " + index("o") + "] += " + of_data +
                " * W[m, c, " + index("k") + "] }\n}\n");
  out.push_back("sdfg f(X: " + data + ", G: " + results + ", W: " + weights + ") {\n  map " + m + ", " + c + ", " + k + " { W[m, c, " +
                index("k") + "] = 0 }\n  map " + m + ", " + c + ", " + k + ", " + n + o + " { W[m, c, " + index("k") + "] += G[n, m, " +
                index("o") + "] * " + of_data + " }\n}\n");
  if (x.stride.empty())
    out.push_back("sdfg f(G: " + results + ", W: " + weights + ", X: " + data + ") {\n  map " + n + c + ", " + i + " { X[n, c, " + index("i") +
                  "] = 0 }\n  map " + n + c + ", " + i + ", " + m + ", " + k + " { X[n, c, " + index("i") + "] += (G[n, m, " + List(rank, back) +
                  "] ?? 0) * W[m, c, " + index("k") + "] }\n}\n");
  return out;
}
void ExpectConvolutions(const Convolution& x, const Sizes& sizes = {}) {
  for (const std::string& text : ProgramsOf(x)) ExpectSameValues(text, sizes);
}

TEST(Convolutions, WithStridesPaddingAndDilation) {
  ExpectConvolutions({{9, 10}, {3, 3}, {}, {}, {}});
  ExpectConvolutions({{9, 10}, {3, 3}, {}, {1, 1}, {}});
  ExpectConvolutions({{9, 11}, {3, 2}, {2, 3}, {1, 0}, {}});
  ExpectConvolutions({{9, 10}, {3, 3}, {}, {2, 2}, {2, 2}});
  ExpectConvolutions({{15, 15}, {7, 7}, {2, 2}, {3, 3}, {}, "1", "3", "16"});
  ExpectConvolutions({{9, 10}, {1, 1}, {}, {}, {}, "2", "20", "13"});
}

TEST(Convolutions, InOneAndThreeDimensions) {
  ExpectConvolutions({{500}, {3}, {}, {1}, {}, "2", "8", "20"});
  ExpectConvolutions({{6, 7, 9}, {3, 3, 3}, {}, {1, 1, 1}, {}});
}

// Rows of images that no whole number of tiles fits into, and such that are cut.
TEST(Convolutions, OfLargerImages) {
  ExpectConvolutions({{28, 28}, {3, 3}, {}, {1, 1}, {}, "1", "30", "13"});
  ExpectConvolutions({{29, 29}, {3, 3}, {}, {1, 1}, {}, "1", "9", "8"});
  ExpectConvolutions({{5, 500}, {3, 3}, {}, {1, 1}, {}, "1", "4", "8"});
  for (int64_t n : {1, 2, 5}) ExpectConvolutions({{17, 17}, {5, 5}, {}, {2, 2}, {}, "N", "8", "12"}, {{"N", n}});
}

TEST(Convolutions, OfOtherTypesAndSizesByName) {
  for (const char* type : {"f64", "f16", "i32"}) ExpectConvolutions({{6, 7}, {3, 3}, {}, {1, 1}, {}, "2", "5", "7", type});
  ExpectConvolutions({{6, 7}, {3, 3}, {}, {1, 1}, {}, "N", "5", "7"}, {{"N", 3}});
  ExpectConvolutions({{6, 7}, {3, 3}, {}, {1, 1}, {}, "2", "5", "M"}, {{"M", 13}});
}

// Too little for a tile: sums side by side, or along their terms. Few columns of many rows are a tile's.
TEST(Products, OfFewRowsColumnsOrTerms) {
  const char* const kSizes[][3] = {{"2", "40", "50"}, {"1", "7", "300"}, {"300", "5", "70"}, {"65", "4", "8"}, {"130", "6", "257"},
                                   {"70", "3", "9"},  {"40", "50", "5"}, {"3", "3", "3"},    {"0", "4", "9"},  {"64", "4", "0"}};
  for (const auto& size : kSizes)
    for (const auto& [a, b] : kTurned) {
      ExpectSameValues(ProductOf({size[0], size[1], size[2], "f32", "", a, b}));
    }
  ExpectSameValues(ProductOf({"4", "4", "64", "f32", "9"}));
  ExpectSameValues(ProductOf({"2", "N", "40"}), {{"N", 100}});
  ExpectSameValues(ProductOf({"M", "5", "40"}), {{"M", 100}});
}

// Each of `groups` has `rows` results of `terms` channels: o // rows says which. `weight` is read once for each.
std::string Grouped(int64_t groups, int64_t rows, int64_t terms, int64_t side, const std::string& batch, const std::string& type,
                    const std::string& shape, const std::string& weight) {
  const std::string results = std::to_string(groups * rows), channels = std::to_string(groups * terms), d = std::to_string(side);
  return "sdfg f(X: " + type + "[" + batch + ", " + channels + ", " + d + ", " + d + "], W: " + type + "[" + shape + "], Y: " + type + "[" +
         batch + ", " + results + ", " + d + ", " + d + "]) {\n  map n in 0:" + batch + ", o in 0:" + results + ", y in 0:" + d +
         ", x in 0:" + d + " { Y[n, o, y, x] = 0 }\n  map n in 0:" + batch + ", o in 0:" + results + ", y in 0:" + d + ", x in 0:" + d +
         ", c in 0:" + std::to_string(terms) + ", a in 0:3, b in 0:3 {\n    Y[n, o, y, x] += (X[n, c + " + std::to_string(terms) + " * (o // " +
         std::to_string(rows) + "), y + a - 1, x + b - 1] ?? 0) * W[" + weight + "]\n  }\n}\n";
}
std::string Grouped(int64_t groups, int64_t rows, int64_t terms, int64_t side, const std::string& batch, const std::string& type) {
  return Grouped(groups, rows, terms, side, batch, type, std::to_string(groups * rows) + ", " + std::to_string(terms) + ", 3, 3", "o, c, a, b");
}
// Its gradient: what was a result is a term.
std::string GroupedGradient(int64_t groups, int64_t rows, int64_t terms, int64_t side, const std::string& batch, const std::string& type) {
  const std::string m = std::to_string(terms), d = std::to_string(rows);
  return Grouped(groups, rows, terms, side, batch, type, std::to_string(groups * terms) + ", " + d + ", 3, 3",
                 "c + " + m + " * (o // " + d + "), o % " + d + ", 2 - a, 2 - b");
}

TEST(Products, OfGroups) {
  for (const char* type : {"f32", "f64", "f16", "i32"}) {
    ExpectSameValues(Grouped(3, 13, 5, 9, "2", type));
    ExpectSameValues(GroupedGradient(3, 5, 13, 9, "2", type));
  }
  ExpectSameValues(Grouped(2, 64, 17, 16, "1", "f32"));
  ExpectSameValues(Grouped(4, 2, 3, 20, "1", "f32"));  // short rows with borders
  ExpectSameValues(Grouped(2, 5, 1, 6, "3", "f32"));
  for (const int64_t n : {0, 2}) {
    ExpectSameValues(Grouped(3, 7, 5, 9, "N", "f32"), {{"N", n}});
    ExpectSameValues(GroupedGradient(8, 4, 4, 16, "N", "f32"), {{"N", n}});
  }
  EXPECT_NE(Scheduled(GroupedGradient(8, 4, 4, 16, "2", "f32")).find("fma("), std::string::npos);
}

// The terms of few results in parts: of an image's lines, of images, and of what they walk as one.
std::string FewResults(const std::string& batch, int64_t lines, int64_t row, const std::string& type, const std::string& more = "") {
  const std::string h = std::to_string(lines), w = std::to_string(row);
  return "sdfg f(G: " + type + "[" + batch + ", " + h + ", " + w + ", 24], X: " + type + "[" + batch + ", 3, " + h + ", " + std::to_string(2 * row) +
         "], D: " + type + "[24, 3, 5]) {\n  map o in 0:24, c in 0:3, k in 0:5 {\n    D[o, c, k] = 1\n    map n in 0:" + batch + ", y in 0:" + h +
         ", x in 0:" + w + " { D[o, c, k] += G[n, y, x, o] * (X[n, c, y, 2*x + k - 2] ?? 0) }\n" + more + "  }\n}\n";
}

TEST(Products, OfFewResults) {
  for (const char* type : {"f32", "f64", "f16"}) ExpectSameValues(FewResults("2", 40, 41, type));
  ExpectSameValues(FewResults("3", 37, 41, "f32"));  // images
  ExpectSameValues(FewResults("2", 40, 41, "f32", "    D[o, c, k] = D[o, c, k] * 2\n"));
  for (const int64_t n : {0, 1, 3}) ExpectSameValues(FewResults("N", 40, 41, "f32"), {{"N", n}});
  for (const char* batch : {"2", "3"}) ExpectSameBitsOnDevices(FewResults(batch, 40, 41, "f32"));
  EXPECT_NE(Scheduled(FewResults("2", 40, 41, "f32")).find("local partial: f32[5, 24, 3, 5]"), std::string::npos);
}

// An activation that the gradient of weights alone reads, computed where it is laid out: forward_operands.h.
std::string OfActivation(const std::string& type, int64_t results) {
  const std::string o = std::to_string(results);
  return "sdfg f(X: " + type + "[N, 70, 96], G: " + type + "[N, 70, " + o + "], M: " + type + "[96], D: " + type + "[" + o + ", 96]) {\n  transient h: " +
         type + "[N, 70, 96]\n  map n in 0:N, p in 0:70, c in 0:96 { h[n, p, c] = X[n, p, c] - M[c] <= 0 ? 0 : X[n, p, c] - M[c] }\n  map o in 0:" + o +
         ", c in 0:96 { D[o, c] = 0 }\n  map o in 0:" + o + ", c in 0:96, n in 0:N, p in 0:70 { D[o, c] += G[n, p, o] * h[n, p, c] }\n}\n";
}

TEST(Products, OfOperandsThatAreComputed) {
  for (const char* type : {"f32", "f64"})
    for (const int64_t results : {9, 16, 100})
      for (const int64_t n : {0, 1, 3})
        ExpectSameValues(OfActivation(type, results), {{"N", n}}, "forward-operands; fuse-epilogue; outline; choose-schedule");
  Result<Program> p = ParseProgram(OfActivation("f32", 16));
  ASSERT_TRUE(p.ok() && RunPipeline(Plugins(), "forward-operands", *p).ok());
  EXPECT_EQ(Print(*p).find("h["), std::string::npos) << Print(*p);
}

// Both operands lie along the terms: gradients of weights whose channels do not lie innermost.
std::string Along(int64_t rows, int64_t columns, int64_t taps, int64_t terms, const std::string& batch, const std::string& type) {
  const std::string o = std::to_string(rows), c = std::to_string(columns), l = std::to_string(taps), x = std::to_string(terms);
  return "sdfg f(D: " + type + "[" + batch + ", " + o + ", " + x + "], X: " + type + "[" + batch + ", " + c + ", " + std::to_string(terms + 3 * taps) +
         "], G: " + type + "[" + o + ", " + c + ", " + l + "]) {\n  map o in 0:" + o + ", c in 0:" + c + ", l in 0:" + l +
         " {\n    G[o, c, l] = 1\n    map n in 0:" + batch + ", x in 0:" + x + " { G[o, c, l] += D[n, o, x] * X[n, c, x + 3*l] }\n  }\n}\n";
}

TEST(Products, AlongTheirTerms) {
  for (const char* type : {"f32", "f64"})
    for (const int64_t rows : {8, 19, 64})
      for (const int64_t columns : {8, 33}) ExpectSameValues(Along(rows, columns, 2, 270, "3", type));
  ExpectSameValues(Along(16, 100, 1, 256, "2", "f32"));
  for (const int64_t n : {0, 1, 5}) ExpectSameValues(Along(24, 12, 3, 300, "N", "f32"), {{"N", n}});
  EXPECT_NE(Scheduled(Along(64, 33, 2, 270, "3", "f32")).find("@halves"), std::string::npos);
  ExpectSameBitsOnDevices(Along(64, 33, 2, 270, "3", "f32"));
}

}  // namespace
// What is done with each result, where the last columns fill no tile.
TEST(Products, WithWhatIsDoneWithResults) {
  for (const auto& [m, n, k] : {std::tuple{"63", "65", "130"}, {"12", "100", "40"}, {"130", "33", "1300"}})
    ExpectSameValues("sdfg f(A: f32[" + std::string(m) + ", " + k + "], B: f32[" + k + ", " + n + "], C: f32[" + m + ", " + n + "]) {\n" +
                     "  transient S: f32 @register\n  map i in 0:" + m + ", j in 0:" + n + " {\n    S = 1\n    map k in 0:" + k +
                     " { S += A[i, k] * B[k, j] }\n    C[i, j] = S < 0 ? S * 2 : S + 1\n  }\n}\n");
  ExpectSameValues(R"(
sdfg f(X: f32[2, 20, 7, 9], W: f32[40, 20, 1, 1], Y: f32[2, 40, 7, 9]) {
  transient S: f32 @register
  map n in 0:2, o in 0:40, p in 0:7, q in 0:9 {
    S = 0
    map c in 0:20 { S += X[n, c, p, q] * W[o, c, 0, 0] }
    Y[n, o, p, q] = max(S, 0)
  }
}
)");
}

}  // namespace headrace
