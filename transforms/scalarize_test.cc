#include "transforms/scalarize.h"

#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

TEST(Scalarize, ShortRowsBecomePrivate) {
  ExpectPass(R"(sdfg f(X: f32[N, 8], Y: f32[N, 8]) {
                  transient A: f32[N, 8]
                  state {
                    map i in 0:N {
                      map k in 0:8 { A[i, k] = exp(X[i, k]) }
                      map k in 0:8 { Y[i, k] = A[i, k] + (A[i, k - 1] ?? 0) }
                    }
                  }
                })",
             "scalarize", R"(sdfg f(X: f32[N, 8], Y: f32[N, 8]) {
                  transient A: f32[8] @register
                  state {
                    map i in 0:N {
                      map k in 0:8 { A[k] = exp(X[i, k]) }
                      map k in 0:8 { Y[i, k] = A[k] + (A[k - 1] ?? 0) }
                    }
                  }
                })");
  // Half of the row keeps what an earlier round of the loop wrote; long and symbolic rows stay arrays.
  const char* half = R"(sdfg f(X: f32[N, 8], Y: f32[N, 8]) {
                       transient A: f32[N, 8]
                       for t in 0:2 {
                         state {
                           map i in 0:N {
                             map k in 0:4 { A[i, k + 4 * t] = X[i, k] }
                             map k in 0:8 { Y[i, k] = A[i, k] }
                           }
                         }
                       }
                     })";
  ExpectUnchanged(half, "scalarize");
  ExpectUnchanged(R"(sdfg f(X: f32[N, M], Y: f32[N, M]) {
                       transient A: f32[N, M]
                       state {
                         map i in 0:N {
                           map k in 0:M { A[i, k] = exp(X[i, k]) }
                           map k in 0:M { Y[i, k] = A[i, k] + (A[i, k - 1] ?? 0) }
                         }
                       }
                     })",
                  "scalarize");
}

TEST(Scalarize, RowsOfOneElementAreScalars) {
  ExpectPass(R"(sdfg f(X: f32[N, 8], Y: f32[N, 1]) {
                  transient A: f32[N, 1]
                  state {
                    map i in 0:N {
                      map r in 0:1 { A[i, r] = 0 }
                      map k in 0:8 { A[i, 0] += X[i, k] }
                      map r in 0:1 { Y[i, r] = A[i, r] / 8 }
                    }
                  }
                })",
             "scalarize", R"(sdfg f(X: f32[N, 8], Y: f32[N, 1]) {
                  transient A: f32 @register
                  state {
                    map i in 0:N {
                      map r in 0:1 { A = 0 }
                      map k in 0:8 { A += X[i, k] }
                      map r in 0:1 { Y[i, r] = A / 8 }
                    }
                  }
                })");
  // What is asked for may lie outside.
  ExpectPass(R"(sdfg f(X: f32[N], Y: f32[N, 8]) {
                  transient A: f32[N, 1]
                  state {
                    map i in 0:N {
                      map r in 0:1 { A[i, r] = X[i] }
                      map k in 0:8 { Y[i, k] = A[i, k] ?? 5 }
                    }
                  }
                })",
             "scalarize", R"(sdfg f(X: f32[N], Y: f32[N, 8]) {
                  transient A: f32[1] @register
                  state {
                    map i in 0:N {
                      map r in 0:1 { A[r] = X[i] }
                      map k in 0:8 { Y[i, k] = A[k] ?? 5 }
                    }
                  }
                })");
}

TEST(Scalarize, OnlyWhatLivesInOneIteration) {
  ExpectUnchanged(R"(sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
                       transient A: f32[N]
                       state {
                         map i in 0:N { A[i] = X[i]; Y[i] = A[i] }
                         map i in 0:N { Z[i] = A[i] }
                       }
                     })",
                  "scalarize");
}

// Rows that are too long for registers, or of unknown length, are the workers' own; few iterations leave them where all threads reach them.
TEST(LocalizeRows, OfAnyLength) {
  const auto shared = [](const std::string& rows) {
    return "sdfg f(X: f16[" + rows + ", M], Y: f16[" + rows + ", M]) {\n  transient E: f32[" + rows + R"(, M]
                  transient S: f32 @register
                  map i in 0:)" + rows + R"( {
                    S = 0
                    map k in 0:M { E[i, k] = exp(f32(X[i, k])) ; S += E[i, k] }
                    map k in 0:M { Y[i, k] = f16(E[i, k] / S) }
                  }
                })";
  };
  const auto own = [](const std::string& rows) {
    return "sdfg f(X: f16[" + rows + ", M], Y: f16[" + rows + R"(, M]) {
                  transient E: f32[M] @worker
                  transient S: f32 @register
                  map i in 0:)" + rows + R"( {
                    S = 0
                    map k in 0:M { E[k] = exp(f32(X[i, k])) ; S += E[k] }
                    map k in 0:M { Y[i, k] = f16(E[k] / S) }
                  }
                })";
  };
  for (const char* rows : {"N", "64"}) ExpectPass(shared(rows), "localize-rows", own(rows));
  ExpectUnchanged(shared("63"), "localize-rows");
  ExpectUnchanged(shared("N"), "scalarize");
}

}  // namespace
}  // namespace headrace::transforms
