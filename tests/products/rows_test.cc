// Rows with several things to do for each: short ones side by side, and what all rows add to, in parts.
#include "tests/products/values.h"

namespace headrace {
namespace {

// A maximum, what it leaves of each element, kept until its sum is known, and both together. `rows`: the ranges around.
std::string ShortRows(const std::string& shape, const std::string& rows, const std::string& place, const std::string& type = "f32") {
  const std::string array = type + "[" + shape + "]", row = type + "[7] @register";
  return "sdfg f(X: " + array + ", Y: " + array + ", S: " + type + "[7]) {\n  transient m: " + type + " @register\n  transient s: " + type +
         " @register\n  transient d: " + row + "\n  map " + rows + " {\n    m = X[" + place + ", 0]\n    map j in 0:7 { m max= X[" + place +
         ", j] }\n    s = 0\n    map j in 0:7 {\n      d[j] = m - X[" + place + ", j] + S[j]\n      s += d[j]\n    }\n    map j in 0:7 { Y[" + place +
         ", j] = s * d[j] }\n  }\n}\n";
}

TEST(Rows, ShortOnesSideBySide) {
  for (const int64_t n : {31, 32, 33, 160, 1000}) ExpectSameValues(ShortRows(std::to_string(n) + ", 7", "i in 0:" + std::to_string(n), "i"));
  for (const char* type : {"f64", "i32", "i8"}) ExpectSameValues(ShortRows("100, 7", "i in 0:100", "i", type));
  for (const int64_t n : {0, 1, 16, 17, 500}) ExpectSameValues(ShortRows("N, 7", "i in 0:N", "i"), {{"N", n}});
  for (const int64_t n : {1, 3, 40}) ExpectSameValues(ShortRows("N, M, 7", "i in 0:N, k in 0:M", "i, k"), {{"N", n}, {"M", 21}});
  ExpectSameBitsOnDevices(ShortRows("100, 7", "i in 0:100", "i"));
  EXPECT_NE(Scheduled(ShortRows("N, 7", "i in 0:N", "i")).find("f32[7, 16]"), std::string::npos);
}

// What is done for a row of the ranges around, and then added to what all of them share. `output`: the one that is compared.
std::string SharedSums(const std::string& shape, const std::string& rows, const std::string& place, const std::string& output) {
  const std::string arrays[] = {"g: f32[40]", "h: f32[4, 10]", "e: f32", "Y: f32[" + shape + ", 40]"};
  std::string first, others;
  for (const std::string& a : arrays) (a.substr(0, 1) == output ? first : others) += ", " + a;
  return "sdfg f(X: f32[" + shape + ", 40]" + first + others + ") {\n  transient m: f32 @register\n  map j in 0:40 { g[j] = 3 }\n" +
         "  map a in 0:4, b in 0:10 { h[a, b] = 1 }\n  e = 5\n  map " + rows + " {\n    m = 0\n    map j in 0:40 { m max= X[" + place +
         ", j] }\n    e += m\n    map j in 0:40 {\n      g[j] += m * X[" + place + ", j]\n      Y[" + place + ", j] = m - X[" + place +
         ", j]\n    }\n    map a in 0:4, b in 0:10 { h[a, b] += X[" + place + ", 10 * a + b] }\n  }\n}\n";
}

TEST(Rows, AddToShortArrays) {
  for (const char* output : {"g", "h", "e", "Y"}) {
    for (const int64_t n : {5, 300}) ExpectSameValues(SharedSums(std::to_string(n), "i in 0:" + std::to_string(n), "i", output));
    for (const int64_t n : {0, 1, 16, 17, 2000}) ExpectSameValues(SharedSums("N", "i in 0:N", "i", output), {{"N", n}});
    for (const int64_t n : {1, 3, 70}) ExpectSameValues(SharedSums("N, M", "i in 0:N, k in 0:M", "i, k", output), {{"N", n}, {"M", 21}});
  }
  EXPECT_NE(Scheduled(SharedSums("N", "i in 0:N", "i", "g")).find("f32[(n0 + 134) // 135, 4, 10] @worker"), std::string::npos);
}

}  // namespace
}  // namespace headrace
