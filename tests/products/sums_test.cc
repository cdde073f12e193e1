// Sums over images with short lines: gradients of batch normalisation and of depthwise weights, phases of gradients by data.
#include "tests/products/values.h"

namespace headrace {
namespace {

std::string Str(int64_t n) { return std::to_string(n); }

// `outputs`: in the order in which they are compared, the first one alone.
std::string Normalisation(const std::string& n, int64_t side, const std::string& outputs, const std::string& type = "f32") {
  const std::string images = type + "[" + n + ", 6, " + Str(side) + ", " + Str(side) + "]", all = Str(side);
  std::string results;
  for (char c : outputs) results += std::string(", ") + c + ": " + (c == 'D' ? images : type + "[6]");
  return "sdfg f(X: " + images + ", G: " + images + ", M: " + type + "[6]" + results + ") {\n  map c in 0:6 { B[c] = 0 }\n  map c in 0:6 { S[c] = 0 }\n" +
         "  map c in 0:6, n in 0:" + n + ", y in 0:" + all + ", x in 0:" + all + " {\n    B[c] += G[n, c, y, x]\n" +
         "    S[c] += G[n, c, y, x] * (X[n, c, y, x] - M[c])\n    D[n, c, y, x] = G[n, c, y, x] * M[c]\n  }\n}\n";
}

TEST(Sums, WithWhatIsDoneAlongside) {
  for (const int64_t side : {1, 3, 5, 7, 14, 28, 33})
    for (const char* outputs : {"BSD", "SBD", "DBS"}) ExpectSameValues(Normalisation("4", side, outputs));
  for (const char* type : {"f64", "f16", "i32"}) ExpectSameValues(Normalisation("4", 14, "SBD", type));
  for (const int64_t n : {0, 1, 3}) ExpectSameValues(Normalisation("N", 14, "SBD"), {{"N", n}});
}

std::string DepthwiseWeights(const std::string& n, int64_t side, int64_t window, const std::string& type = "f32") {
  const std::string images = type + "[" + n + ", 6, " + Str(side) + ", " + Str(side) + "]", k = Str(window), p = Str(window / 2);
  return "sdfg f(X: " + images + ", G: " + images + ", W: " + type + "[6, 1, " + k + ", " + k + "]) {\n  map c in 0:6, k in 0:" + k +
         ", l in 0:" + k + " { W[c, 0, k, l] = 0 }\n  map c in 0:6, k in 0:" + k + ", l in 0:" + k + ", n in 0:" + n + ", y in 0:" + Str(side) +
         ", x in 0:" + Str(side) + " {\n    W[c, 0, k, l] += G[n, c, y, x] * (X[n, c, y + k - " + p + ", x + l - " + p + "] ?? 0)\n  }\n}\n";
}

TEST(Sums, OfManyShortLines) {
  for (const int64_t side : {4, 5, 7, 8, 14, 15, 16, 28})
    for (const int64_t window : {3, 5}) ExpectSameValues(DepthwiseWeights("8", side, window));
  ExpectSameValues(DepthwiseWeights("8", 14, 3, "f64"));
  for (const int64_t n : {0, 1, 3}) ExpectSameValues(DepthwiseWeights("N", 14, 3), {{"N", n}});
}

std::string Phases(int64_t channels, int64_t places) {
  const std::string c = Str(channels), y = Str(places), z = Str(places + 1);
  const std::string all = "n in 0:2, c in 0:" + c + ", f in 0:2, g in 0:2, y in 0:" + z + ", x in 0:" + z;
  return "sdfg f(G: f32[2, 24, " + y + ", " + y + "], W: f32[24, " + c + ", 3, 3], P: f32[2, " + c + ", 2, 2, " + z + ", " + z + "]) {\n  map " + all +
         " { P[n, c, f, g, y, x] = 0 }\n  map " + all + ", o in 0:24, k in 0:2, l in 0:2 {\n" +
         "    P[n, c, f, g, y, x] += (G[n, o, y - k, x - l] ?? 0) * (W[o, c, f + 2*k, g + 2*l] ?? 0)\n  }\n}\n";
}

TEST(Sums, Phases) {
  for (const int64_t channels : {1, 2, 8, 33})
    for (const int64_t places : {4, 7, 28}) ExpectSameValues(Phases(channels, places));
  ExpectSameBitsOnDevices(Phases(33, 28));
}

// Of as many terms as the run has, alone, with other sums, with elements of their own, with sums and maxima of rows: in parts.
TEST(Sums, OfOneNumber) {
  const std::pair<const char*, const char*> programs[] = {
      {"Y: f32", "map i in 0:N { Y += X[i, 0] * (X[i, 0] - m[0]) }"},
      {"Y: f32", "map i in 0:N, j in 0:C { Y += X[i, j] }"},
      {"Y: f32, Z: f32", "map i in 0:N { d = abs(X[i, 1]) ; Y += d ; Z max= d * d }"},
      {"Z: f32, Y: f32", "map i in 0:N { d = abs(X[i, 1]) ; Y += d ; Z max= d * d }"},
      {"Y: f32, Z: f32, V: f32[N]", "map i in 0:N { d = abs(X[i, 2]) ; V[i] = d ; Y += d * 2 }"},
      {"V: f32[N, C], Y: f32, Z: f32", "map i in 0:N, j in 0:C { d = X[i, j] + 1 ; V[i, j] = d ; Y += d }"},
      {"Y: f32, Z: f32, V: f32[N]", "map i in 0:N { d = -9 ; map j in 0:C { d max= X[i, j] } ; V[i] = d ; Y += d - X[i, i64(d) * 0] }"},
      {"Y: f32", "map i in 0:N { d = 0 ; map j in 0:C { d += X[i, j] } ; Y += d }"}};
  for (const auto& [results, body] : programs) {
    const std::string columns = std::string(body).find("0:C") == std::string::npos ? "6" : "C";
    const bool two = std::string(results).find("Z") != std::string::npos;
    const std::string text = "sdfg f(X: f32[N, " + columns + "], m: f32[1], " + std::string(results) + ") {\n  transient d: f32 @register\n  Y = 0\n" +
                             (two ? "  Z = -inf\n  " : "  ") + body + "\n}\n";
    const std::string scheduled = Scheduled(text);
    const bool one_range = std::string(body).find("V[i]") != std::string::npos && std::string(body).find("j in") == std::string::npos;
    EXPECT_EQ(scheduled.find("@parallel") == std::string::npos, one_range) << scheduled;  // elements side by side, in lanes of one thread
    EXPECT_EQ(scheduled.find("plain loops"), std::string::npos) << scheduled;
    for (const int64_t n : {0, 1, 31, 600, 5003, 40001}) ExpectSameValues(text, columns == "C" ? Sizes{{"N", n}, {"C", 6}} : Sizes{{"N", n}});
  }
}

// The same of a few lines.
TEST(Sums, OfFewLines) {
  for (const char* type : {"f32", "f64", "f16", "i32", "i8"})
    for (const char* op : {"+=", "max="})
      for (const int64_t lines : {2, 5, 7}) {
        const std::string text = "sdfg f(X: " + std::string(type) + "[" + Str(lines) + ", N], Y: " + type + "[" + Str(lines) + "]) {\n  map i in 0:" +
                                 Str(lines) + " { Y[i] = 0 }\n  map i in 0:" + Str(lines) + ", j in 0:N { Y[i] " + op + " X[i, j] }\n}\n";
        EXPECT_EQ(Scheduled(text).find("plain loops"), std::string::npos) << Scheduled(text);
        for (const int64_t n : {0, 1, 31, 40001}) ExpectSameValues(text, {{"N", n}});
      }
}

}  // namespace
}  // namespace headrace
