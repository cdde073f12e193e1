// Sums over intervals, one for each iteration, as a search and a scatter.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// The mean of what lies in each of six rings.
TEST(BinSums, Histogram) {
  ExpectPass(R"(
sdfg rings(X: f64[N], V: f64[N], r: f64, Y: f64[6]) {
  transient ring: bool @register
  transient chosen: f64 @register
  transient count: i64 @register
  transient total: f64 @register
  map i in 0:6 {
    count = i64(0)
    total = 0.0
    map j in 0:N {
      ring = r * f64(i) / 6.0 <= X[j] && X[j] < r * f64(i + 1) / 6.0
      chosen = ring ? V[j] : 0.0
      count += ring ? i64(1) : i64(0)
      total += ring ? ring ? chosen : 0.0 : 0.0
    }
    Y[i] = total / f64(count)
  }
})",
             "bin-sums", R"(
sdfg rings(X: f64[N], V: f64[N], r: f64, Y: f64[6]) {
  transient ring: bool @register
  transient chosen: f64 @register
  transient count: i64 @register
  transient total: f64 @register
  transient bin_at: i64[N]
  transient value_at: f64 @register
  transient half_at: i64 @register
  transient half_at_1: i64 @register
  transient half_at_2: i64 @register
  transient sums_at: i64[6]
  transient sums_at_1: f64[6]
  state {
    map j in 0:N {
      value_at = X[j]
      half_at = i64(0) + (i64(0) + i64(4) < i64(6) && r * f64(i64(0) + i64(4)) / 6.0 <= value_at ? i64(4) : i64(0))
      half_at_1 = half_at + (half_at + i64(2) < i64(6) && r * f64(half_at + i64(2)) / 6.0 <= value_at ? i64(2) : i64(0))
      half_at_2 = half_at_1 + (half_at_1 + i64(1) < i64(6) && r * f64(half_at_1 + i64(1)) / 6.0 <= value_at ? i64(1) : i64(0))
      bin_at[j] = r * f64(half_at_2) / 6.0 <= value_at && value_at < r * f64(half_at_2 + i64(1)) / 6.0 ? half_at_2 : i64(-1)
    }
    map i in 0:6 { sums_at[i] = i64(0) }
    map j in 0:N { sums_at[bin_at[j]] ?? += i64(1) }
    map i in 0:6 { sums_at_1[i] = f64(0) }
    map j in 0:N { sums_at_1[bin_at[j]] ?? += V[j] }
    map i in 0:6 {
      count = i64(0)
      total = 0.0
      count += sums_at[i]
      total += sums_at_1[i]
      Y[i] = total / f64(count)
    }
  }
})");
}

// Written the other way round, open below, from another begin, over two ranges, beside statements that stay.
TEST(BinSums, AnyWayItIsWritten) {
  ExpectPass(R"(
sdfg f(X: f32[N, 3], a: f32, w: f32, Y: f32[9], Z: f32[9]) {
  transient t: f32 @register
  map i in 1:9 {
    t = 1.0
    map j in 0:N, k in 0:3 { t += a + f32(2 * i + 2) * w >= X[j, k] && X[j, k] > a + f32(2 * i) * w ? X[j, k] * X[j, k] : 0.0 }
    Y[i] = t
    Z[i] = f32(i)
  }
})",
             "bin-sums", R"(
sdfg f(X: f32[N, 3], a: f32, w: f32, Y: f32[9], Z: f32[9]) {
  transient t: f32 @register
  transient bin_at: i64[N, 3]
  transient value_at: f32 @register
  transient half_at: i64 @register
  transient half_at_1: i64 @register
  transient half_at_2: i64 @register
  transient sums_at: f32[8]
  state {
    map j in 0:N, k in 0:3 {
      value_at = X[j, k]
      half_at = i64(0) + (i64(0) + i64(4) < i64(8) && a + f32(i64(2) * (i64(0) + i64(4)) + i64(2)) * w < value_at ? i64(4) : i64(0))
      half_at_1 = half_at + (half_at + i64(2) < i64(8) && a + f32(i64(2) * (half_at + i64(2)) + i64(2)) * w < value_at ? i64(2) : i64(0))
      half_at_2 = half_at_1 + (half_at_1 + i64(1) < i64(8) && a + f32(i64(2) * (half_at_1 + i64(1)) + i64(2)) * w < value_at ? i64(1) : i64(0))
      bin_at[j, k] = a + f32(i64(2) * half_at_2 + i64(2)) * w < value_at && value_at <= a + f32(i64(2) * (half_at_2 + i64(1)) + i64(2)) * w ? half_at_2 : i64(-1)
    }
    map i in 0:8 { sums_at[i] = f32(0) }
    map j in 0:N, k in 0:3 { sums_at[bin_at[j, k]] ?? += X[j, k] * X[j, k] }
    map i in 1:9 {
      t = 1.0
      t += sums_at[i - 1]
      Y[i] = t
      Z[i] = f32(i)
    }
  }
})");
}

// Bounds that are no neighbours or that may go up and down, values elsewhere, few intervals, what the map itself changes, a sum
// that reads elements only where they are there.
TEST(BinSums, OthersStay) {
  for (const char* sum : {"r * f64(i) <= X[j] && X[j] < r * f64(i + 2) ? X[j] : 0.0", "r * f64(i) <= X[j] && X[j] <= r * f64(i + 1) ? X[j] : 0.0",
                          "f64(i) * f64(i) <= X[j] && X[j] < f64(i + 1) * f64(i + 1) ? X[j] : 0.0",
                          "r / f64(i) <= X[j] && X[j] < r / f64(i + 1) ? X[j] : 0.0", "r * f64(i) <= X[j] && X[j] < r * f64(i + 1) ? X[j] : 1.0",
                          "r * f64(i) <= X[j] && X[j] < r * f64(i + 1) ? f64(i) : 0.0", "r * f64(i) <= X[j] && X[j] < r * f64(i + 1) ? Y[i] : 0.0",
                          "r * f64(i) <= X[j] && X[j] < r * f64(i + 1) ? X[j + 1] : 0.0", "r * f64(i) <= X[j] ? X[j] : 0.0"})
    ExpectUnchanged("sdfg f(X: f64[N], r: f64, inout Y: f64[6]) {\n  transient t: f64 @register\n  map i in 0:6 {\n    t = 0.0\n    map j in 0:N { t += " +
                        std::string(sum) + " }\n    Y[i] = t\n  }\n}",
                    "bin-sums");
}

}  // namespace
}  // namespace headrace::transforms
