// Sums over triangles by blocks of rows.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// What a row has begins with its index, once y + x takes the place of y.
TEST(BlockTriangles, RowsThatBeginLater) {
  ExpectPass(R"(
sdfg f(A: f64[600, 150], inout P: f64[150, 150]) {
  map i in 0:150, j in 0:150 - i, k in 0:600 { P[i, j] += A[k, i] * A[k, i + j] }
})",
             "block-triangles", R"(
sdfg f(A: f64[600, 150], inout P: f64[150, 150]) {
  for block in 0:2 {
    state {
      map i in 64 * block:64 * block + 64, j in 64 * block + 64:150, k in 0:600 {
        P[i, j - i] += A[k, i] * A[k, j]
      }
    }
    state {
      map i in 64 * block:64 * block + 32, j in 64 * block + 32:64 * block + 64, k in 0:600 {
        P[i, j - i] += A[k, i] * A[k, j]
      }
    }
    for block_1 in 0:2 {
      state {
        map i in 64 * block + 32 * block_1:64 * block + 32 * block_1 + 16, j in 64 * block + 32 * block_1 + 16:64 * block + 32 * block_1 + 32, k in 0:600 {
          P[i, j - i] += A[k, i] * A[k, j]
        }
      }
    }
    for block_2 in 0:4 {
      state {
        map i in 64 * block + 16 * block_2:64 * block + 16 * block_2 + 8, j in 64 * block + 16 * block_2 + 8:64 * block + 16 * block_2 + 16, k in 0:600 {
          P[i, j - i] += A[k, i] * A[k, j]
        }
      }
    }
  }
  for block_3 in 0:2 {
    state {
      map i in 8 * block_3 + 128:8 * block_3 + 136, j in 8 * block_3 + 136:150, k in 0:600 {
        P[i, j - i] += A[k, i] * A[k, j]
      }
    }
  }
  state {
    map block_4 in 0:18, i in 8 * block_4:8 * block_4 + 8, j in 0:8 * block_4 - i + 8, k in 0:600 {
      P[i, j] += A[k, i] * A[k, i + j]
    }
    map i in 144:150, j in 0:150 - i, k in 0:600 { P[i, j] += A[k, i] * A[k, i + j] }
  }
})");
}

// What a row has ends with its index.
TEST(BlockTriangles, RowsThatEndEarlier) {
  ExpectPass(R"(
sdfg f(A: f32[150, 100], B: f32[150, 100], inout C: f32[150, 150]) {
  map i in 0:150, j in 0:i + 1, k in 0:100 { C[i, j] += A[i, k] * B[j, k] }
})",
             "block-triangles", R"(
sdfg f(A: f32[150, 100], B: f32[150, 100], inout C: f32[150, 150]) {
  for block in 0:2 {
    state {
      map i in 64 * block:64 * block + 64, j in 0:64 * block, k in 0:100 { C[i, j] += A[i, k] * B[j, k] }
    }
    state {
      map i in 64 * block + 32:64 * block + 64, j in 64 * block:64 * block + 32, k in 0:100 {
        C[i, j] += A[i, k] * B[j, k]
      }
    }
    for block_1 in 0:2 {
      state {
        map i in 64 * block + 32 * block_1 + 16:64 * block + 32 * block_1 + 32, j in 64 * block + 32 * block_1:64 * block + 32 * block_1 + 16, k in 0:100 {
          C[i, j] += A[i, k] * B[j, k]
        }
      }
    }
    for block_2 in 0:4 {
      state {
        map i in 64 * block + 16 * block_2 + 8:64 * block + 16 * block_2 + 16, j in 64 * block + 16 * block_2:64 * block + 16 * block_2 + 8, k in 0:100 {
          C[i, j] += A[i, k] * B[j, k]
        }
      }
    }
  }
  for block_3 in 0:2 {
    state {
      map i in 8 * block_3 + 128:8 * block_3 + 136, j in 0:8 * block_3 + 128, k in 0:100 {
        C[i, j] += A[i, k] * B[j, k]
      }
    }
  }
  state {
    map block_4 in 0:18, i in 8 * block_4:8 * block_4 + 8, j in 8 * block_4:i + 1, k in 0:100 {
      C[i, j] += A[i, k] * B[j, k]
    }
    map i in 144:150, j in 0:144, k in 0:100 { C[i, j] += A[i, k] * B[j, k] }
    map i in 144:150, j in 144:i + 1, k in 0:100 { C[i, j] += A[i, k] * B[j, k] }
  }
})");
}

// Arrays of the program's own have what lies at i + j there, and rectangles of memory with it; what fills them stays as it is. Small
// triangles of factors are squares: the choice is of products.
TEST(BlockTriangles, ArraysInBetween) {
  ExpectPass(R"(
sdfg f(A: f64[200, 128], G: f64[128, 128], D: f64[200, 128]) {
  transient T: f64[128, 128]
  state {
    map i in 0:128, j in 0:128 { T[i, j] = 0.0 }
    map i in 0:128, j in 0:128 - i { T[i, j] = G[i + j, i] + G[i, i + j] }
    map i in 0:200, j in 0:128 { D[i, j] = 0.0 }
    map i in 0:128, j in 0:128 - i, k in 0:200 { D[k, i + j] += T[i, j] * A[k, i] }
  }
})",
             "block-triangles", R"(
sdfg f(A: f64[200, 128], G: f64[128, 128], D: f64[200, 128]) {
  transient T: f64[128, 128]
  state {
    map i in 0:128, j in 0:128 { T[i, j] = 0.0 }
    map i in 0:128, j in 0:128 - i { T[i, i + j] = G[i + j, i] + G[i, i + j] }
    map i in 0:200, j in 0:128 { D[i, j] = 0.0 }
  }
  for block in 0:2 {
    state {
      map i in 64 * block:64 * block + 64, j in 64 * block + 64:128, k in 0:200 {
        D[k, j] += T[i, j] * A[k, i]
      }
    }
    state {
      map i in 64 * block:64 * block + 32, j in 64 * block + 32:64 * block + 64, k in 0:200 {
        D[k, j] += T[i, j] * A[k, i]
      }
    }
    for block_1 in 0:2 {
      state {
        map i in 64 * block + 32 * block_1:64 * block + 32 * block_1 + 16, j in 64 * block + 32 * block_1 + 16:64 * block + 32 * block_1 + 32, k in 0:200 {
          D[k, j] += T[i, j] * A[k, i]
        }
      }
    }
    for block_2 in 0:4 {
      state {
        map i in 64 * block + 16 * block_2:64 * block + 16 * block_2 + 8, j in 64 * block + 16 * block_2 + 8:64 * block + 16 * block_2 + 16, k in 0:200 {
          D[k, j] += T[i, j] * A[k, i]
        }
      }
    }
  }
  state {
    map block_3 in 0:16, i in 8 * block_3:8 * block_3 + 8, j in 8 * block_3:8 * block_3 + 8, k in 0:200 {
      D[k, j] += j >= i ? T[i, j] * A[k, i] : 0.0
    }
  }
})");
}

// A factor that no array has in all of the square keeps the triangle.
TEST(BlockTriangles, NothingOutsideOfArrays) {
  const std::string after = Transformed(R"(
sdfg f(G: f32[150, 151], A: f32[150, 100], inout D: f32[150, 100]) {
  map i in 0:150, j in 0:i + 1, k in 0:100 { D[j, k] += G[i, i - j] * A[i, k] }
})",
                                        "block-triangles");
  EXPECT_NE(after.find("j in 8 * block_4:i + 1"), std::string::npos) << after;
  EXPECT_EQ(after.find('?'), std::string::npos) << after;
}

// Too little, unknown sizes, several triangles, no sums of products.
TEST(BlockTriangles, OthersStay) {
  for (const char* map : {"map i in 0:100, j in 0:i + 1, k in 0:100 { C[i, j] += A[i, k] * B[j, k] }",
                          "map i in 0:N, j in 0:i + 1, k in 0:100 { C[i, j] += A[i, k] * B[j, k] }",
                          "map i in 0:150, j in 0:i + 1, k in 0:j + 1 { C[i, j] += A[i, k] * B[j, k] }",
                          "map i in 0:150, j in 0:i + 1, k in 0:100 { C[i, j] max= A[i, k] * B[j, k] }",
                          "map i in 0:150, j in 0:i + 1 { C[i, j] += A[i, j] * B[j, i] }"})
    ExpectUnchanged("sdfg f(A: f32[150, 150], B: f32[150, 150], inout C: f32[150, 150], N: symbol) {\n  assume N <= 150\n  " +
                        std::string(map) + "\n}",
                    "block-triangles");
}

}  // namespace
}  // namespace headrace::transforms
