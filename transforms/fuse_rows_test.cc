// Statements that walk one large matrix walk it once.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

constexpr char kPass[] = "fuse-rows";
constexpr char kBothProducts[] = R"(
sdfg f(A: f64[1024, 1024], x: f64[1024], y: f64[1024], z: f64[1024]) {
  state {
    map i in 0:1024 { y[i] = 0 }
    map i in 0:1024, j in 0:1024 { y[i] += A[i, j] * x[j] }
    map j in 0:1024 { z[j] = 0 }
    map j in 0:1024, i in 0:1024 { z[j] += A[i, j] * y[i] }
  }
})";

// A sum along rows and one over them; what an iteration needs of the first is the row's own.
TEST(FuseRows, SumsOverRowsAreInParts) {
  ExpectPass(kBothProducts, kPass, R"(
sdfg f(A: f64[1024, 1024], x: f64[1024], y: f64[1024], z: f64[1024]) {
  transient partial: f64[16, 1024]
  state {
    map i in 0:1024 { y[i] = 0 }
    map j in 0:1024 { z[j] = 0 }
    map part in 0:16 {
      map d0 in 0:1024 { partial[part, d0] = 0.0 }
      map row in 0:64 {
        map j in 0:1024 { y[64 * part + row] += A[64 * part + row, j] * x[j] }
        map j in 0:1024 { partial[part, j] += A[64 * part + row, j] * y[64 * part + row] }
      }
    }
    map d0_1 in 0:1024 {
      map part in 0:16 { z[d0_1] += partial[part, d0_1] }
    }
  }
})");
}

// No sum over rows: rows are shared out one by one. What needs a result comes after, what is in the way before.
TEST(FuseRows, RowsOfTheirOwn) {
  ExpectPass(R"(
sdfg f(A: f32[2048, 2048], x: f32[2048], inout y: f32[2048], B: f32[2048, 2048], n: f32[2048], m: f32[2048]) {
  state {
    map i in 0:2048, j in 0:2048 { y[i] max= A[i, j] * x[j] }
    map i in 0:2048 { n[i] = 2 * y[i] }
    map i in 0:2048 { m[i] = 0 }
    map a in 0:2048, b in 0:2048 { B[a, b] = A[a, b] - y[a] + m[a] }
  }
})",
             kPass, R"(
sdfg f(A: f32[2048, 2048], x: f32[2048], inout y: f32[2048], B: f32[2048, 2048], n: f32[2048], m: f32[2048]) {
  state {
    map i in 0:2048 { m[i] = 0 }
    map row in 0:2048 {
      map j in 0:2048 { y[row] max= A[row, j] * x[j] }
      map b in 0:2048 { B[row, b] = A[row, b] - y[row] + m[row] }
    }
    map i in 0:2048 { n[i] = 2 * y[i] }
  }
})");
}

// Sums of one statement both along the rows and over them.
TEST(FuseRows, BothWays) {
  ExpectPass(R"(
sdfg f(A: f64[1024, 512], inout y: f64[1024], inout z: f64[512], inout n: f64[512]) {
  state {
    map j in 0:512, i in 0:1024 {
      y[i] += A[i, j]
      z[j] += A[i, j]
    }
    map j in 0:512, i in 0:1024 { n[j] += A[i, j] * z[j] }
  }
})",
             kPass, R"(
sdfg f(A: f64[1024, 512], inout y: f64[1024], inout z: f64[512], inout n: f64[512]) {
  transient partial: f64[16, 512]
  state {
    map part in 0:16 {
      map d0 in 0:512 { partial[part, d0] = 0.0 }
      map row in 0:64 {
        map j in 0:512 {
          y[64 * part + row] += A[64 * part + row, j]
          partial[part, j] += A[64 * part + row, j]
        }
      }
    }
    map d0_1 in 0:512 {
      map part in 0:16 { z[d0_1] += partial[part, d0_1] }
    }
    map j in 0:512, i in 0:1024 { n[j] += A[i, j] * z[j] }
  }
})");
}

std::string Two(const std::string& first, const std::string& second, const std::string& rows = "2048") {
  return "sdfg f(A: f32[" + rows + ", 2048], inout y: f32[" + rows + "], inout z: f32[2048], inout B: f32[" + rows + ", 2048], C: f32[2048, 8], "
         "inout D: f32[" + rows + ", 8], inout w: f16[2048]) {\n  state {\n    map i in 0:" + rows + ", j in 0:2048 { " + first + " }\n    map i in 0:" +
         rows + ", j in 0:2048" + second + " }\n    map i in 0:1 { y[i] *= 2; z[i] *= 2; B[i, 0] *= 2; D[i, 0] *= 2; w[i] *= 2 }\n  }\n}";
}

TEST(FuseRows, OthersStay) {
  const std::string sum = "y[i] += A[i, j]";
  ExpectUnchanged(Two("z[j] += A[i, j]", " { B[i, j] = A[i, j] - z[j]"), kPass);        // it needs all of the sum
  ExpectUnchanged(Two("B[i, j] = A[i, j]", " { y[i] += A[i, j] * B[2047 - i, j]"), kPass);  // another row
  ExpectUnchanged(Two(sum, ", k in 0:8 { D[i, k] += A[i, j] * C[j, k]"), kPass);          // a product of matrices
  ExpectUnchanged(Two(sum, " { w[j] += f16(A[i, j])"), kPass);                          // halves
  ExpectUnchanged(Two(sum, " { z[j] max= A[i, j]"), kPass);                             // no sum
  ExpectUnchanged(Two(sum, " { z[j] += A[i, j]", "2039"), kPass);                       // a prime: no parts of one size
  ExpectUnchanged(Two(sum, " { B[i, j] = A[i, j]", "256"), kPass);                      // 2 MiB stay near
}

// A number has a partial sum for each part, too; smaller matrices on request.
TEST(FuseRows, Numbers) {
  const char* text = R"(
sdfg f(A: f64[128, 16], inout y: f64[128], z: f64) {
  state {
    map i in 0:128, j in 0:16 { y[i] max= A[i, j] }
    z = 1
    map i in 0:128, j in 0:16 { z += A[i, j] }
  }
})";
  ExpectUnchanged(text, kPass);
  ExpectPass(text, "fuse-rows{bytes=1024,parts=4}", R"(
sdfg f(A: f64[128, 16], inout y: f64[128], z: f64) {
  transient partial: f64[4]
  state {
    z = 1
    map part in 0:4 {
      partial[part] = 0.0
      map row in 0:32 {
        map j in 0:16 { y[32 * part + row] max= A[32 * part + row, j] }
        map j in 0:16 { partial[part] += A[32 * part + row, j] }
      }
    }
    map part in 0:4 { z += partial[part] }
  }
})");
}

// Parts of rows are shared out among threads, rows of one are taken in their order, and elements lie in lanes.
TEST(FuseRows, PartsRunInParallel) {
  const std::string kernels = Transformed(kBothProducts, "fuse-rows; outline; choose-schedule");
  EXPECT_NE(kernels.find("map i0 in 0:16 @parallel {\n    map i1 in 0:1024 @vector { p0[i0, i1] = 0.0 }\n    for i1 in 0:64 {"), std::string::npos)
      << kernels;
}

}  // namespace
}  // namespace headrace::transforms
