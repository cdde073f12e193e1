// Reads under different conditions, side by side in one loop or in short loops within one: gcc 12 at -O3 takes them for reads
// under one condition, and reads where it must not, unless the code is written so that it can't (ExprCode::Choice).
#include <cmath>

#include "backends/cpu/testing.h"

namespace headrace::cpu {
namespace {

std::vector<double> Values(int64_t n, int64_t seed) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<double>((i * 7919 + seed) % 101) - 50);
  return v;
}

struct Windows {
  int64_t rows, columns;
  std::vector<double> x, g;

  // What a window sees at (p, q) whose begin is (a - 1, b - 1).
  double At(int64_t a, int64_t b, int64_t p, int64_t q) const {
    const int64_t i = a + p - 1, j = b + q - 1;
    return i >= 0 && i < rows && j >= 0 && j < columns ? x[i * columns + j] : 0;
  }
};

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t i = 0; (i = text.find(from, i)) != std::string::npos; i += to.size()) text.replace(i, from.size(), to);
  return text;
}

std::string Inside(const std::string& q) {
  return "(a + p - 1 >= 0 && a + p - 1 < @R && b + " + q + " - 1 >= 0 && b + " + q + " - 1 < @C ? X[a + p - 1, b + " + q + " - 1] : 0)";
}

// `body` stands in a loop over windows, whose places the compiler doesn't know; S, Y and Z are what it writes.
void ExpectWindows(const std::string& body, const std::string& type, int64_t rows, int64_t columns) {
  std::string text = R"(sdfg f(X: @T[@R, @C], G: @T[@R, @C], S: @T[3, 3], Y: @T[3, 3, @R, @C], Z: @T[3, 3, @C], N: symbol) {
      state { call k(X = X, G = G, S = S, Y = Y, Z = Z, N := N) }
    }
    kernel k(X: @T[@R, @C], G: @T[@R, @C], S: @T[3, 3], Y: @T[3, 3, @R, @C], Z: @T[3, 3, @C], N: symbol) for cpu {
      let g = max(1, N)
      map a0 in 0:3:g, b0 in 0:3:g @parallel {
        for a in a0:+g, b in b0:+g {
          local s: @T
          s = 0
          for q in 0:@C { Z[a, b, q] = 0 }
          @B
          S[a, b] = s
        }
      }
    })";
  text = Replaced(Replaced(text, "@B", body), "@T", type);
  text = Replaced(Replaced(text, "@R", std::to_string(rows)), "@C", std::to_string(columns));
  const DType t = type == "f64" ? DType::kF64 : type == "f32" ? DType::kF32 : DType::kI32;
  const Windows w{rows, columns, Values(rows * columns, 1), Values(rows * columns, 2)};
  const auto out = RunText(text, {{"X", Make(t, {rows, columns}, w.x)}, {"G", Make(t, {rows, columns}, w.g)}}, {{"N", 2}});
  ASSERT_TRUE(out.ok()) << out.status().ToString() << text;
  std::vector<double> sums(9), seen, columns_of(9 * columns);
  for (int64_t a = 0; a < 3; ++a)
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t p = 0; p < rows; ++p)
        for (int64_t q = 0; q < columns; ++q) {
          const double v = w.At(a, b, p, q);
          sums[a * 3 + b] += w.g[p * columns + q] * v;
          columns_of[(a * 3 + b) * columns + q] += v;
          seen.push_back(v);
        }
  EXPECT_EQ(Doubles((*out)[0]), sums) << text;
  EXPECT_EQ(Doubles((*out)[1]), seen) << text;
  EXPECT_EQ(Doubles((*out)[2]), columns_of) << text;
}

const std::vector<std::pair<int64_t, int64_t>> kShapes = {{9, 9}, {7, 7}, {16, 3}, {5, 8}, {12, 4}, {40, 2}, {14, 14}};

TEST(ConditionalReads, InShortLoops) {
  for (const std::string type : {"f64", "f32", "i32"})
    for (const auto& [rows, columns] : kShapes)
      ExpectWindows("for p in 0:@R, q in 0:@C { s += G[p, q] * " + Inside("q") + " }\n" +
                        "for p in 0:@R, q in 0:@C { Y[a, b, p, q] = " + Inside("q") + " }\n" +
                        "for p in 0:@R, q in 0:@C { Z[a, b, q] += " + Inside("q") + " }",
                    type, rows, columns);
}

// A body of one statement per column, as by hand or by @unroll.
std::string Unrolled(int64_t columns, const std::string& statement) {
  std::string body;
  for (int64_t q = 0; q < columns; ++q) body += Replaced(Replaced(statement, "@V", Inside("@q")), "@q", std::to_string(q)) + "\n";
  return body;
}

TEST(ConditionalReads, SideBySideInLoops) {
  for (const std::string type : {"f64", "f32", "i32"})
    for (const auto& [rows, columns] : kShapes)
      ExpectWindows("for p in 0:@R { " + Unrolled(columns, "s += G[p, @q] * @V") + " }\n" +
                        "for p in 0:@R { " + Unrolled(columns, "Y[a, b, p, @q] = @V") + " }\n" +
                        "for p in 0:@R { map q in 0:@C @unroll { Z[a, b, q] += " + Inside("q") + " } }",
                    type, rows, columns);
}

TEST(ConditionalReads, SideBySideInLanes) {
  for (const std::string type : {"f64", "f32", "i32"})
    for (const auto& [rows, columns] : kShapes)
      ExpectWindows("for p in 0:@R, q in 0:@C { s += G[p, q] * " + Inside("q") + " }\n" +
                        "map p in 0:@R @vector { " + Unrolled(columns, "Y[a, b, p, @q] = @V") + " }\n" +
                        "for p in 0:@R { map q in 0:@C @vector { Z[a, b, q] += " + Inside("q") + " } }",
                    type, rows, columns);
}

}  // namespace
}  // namespace headrace::cpu
