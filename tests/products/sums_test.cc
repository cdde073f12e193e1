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

}  // namespace
}  // namespace headrace
