#include "transforms/fuse_maps.h"

#include <gtest/gtest.h>

#include <ctime>

#include "ir/graph/builder.h"
#include "ir/text/parser.h"
#include "ir/verify/verify.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

TEST(FuseMaps, ElementwiseChainsBecomeOneMap) {
  ExpectPass(R"(sdfg f(X: f32[N, M], Y: f32[N, M]) {
                  transient A: f32[N, M]
                  transient B: f32[N, M]
                  state {
                    map i in 0:N, j in 0:M { A[i, j] = X[i, j] + 1 }
                    map p in 0:N, q in 0:M { B[p, q] = max(A[p, q], 0) }
                    map i in 0:N, j in 0:M { Y[i, j] = B[i, j] * A[i, j] }
                  }
                })",
             "fuse", R"(sdfg f(X: f32[N, M], Y: f32[N, M]) {
                  transient A: f32 @register
                  transient B: f32 @register
                  state {
                    map i in 0:N, j in 0:M {
                      A = X[i, j] + 1
                      B = max(A, 0)
                      Y[i, j] = B * A
                    }
                  }
                })");
}

TEST(FuseMaps, PermutedIndicesMatchByWhatTheyAddress) {
  ExpectPass(R"(sdfg f(X: f32[N, M], Y: f32[M, N]) {
                  transient A: f32[N, M]
                  state {
                    map i in 0:N, j in 0:M { A[i, j] = X[i, j] + 1 }
                    map j in 0:M, i in 0:N { Y[j, i] = A[i, j] }
                  }
                })",
             "fuse", R"(sdfg f(X: f32[N, M], Y: f32[M, N]) {
                  transient A: f32 @register
                  state { map i in 0:N, j in 0:M { A = X[i, j] + 1; Y[j, i] = A } }
                })");
}

TEST(FuseMaps, OtherElementsKeepThemApart) {
  const char* shifted = R"(sdfg f(X: f32[N], Y: f32[N]) {
                       transient A: f32[N]
                       state {
                         map i in 0:N { A[i] = X[i] + 1 }
                         map i in 0:N { Y[i] = A[i] + (A[i - 1] ?? 0) }
                       }
                     })";
  ExpectUnchanged(shifted, "fuse-maps");
  ExpectUnchanged(R"(sdfg f(X: f32[N, N], Y: f32[N, N]) {
                       transient A: f32[N, N]
                       state {
                         map i in 0:N, j in 0:N { A[i, j] = X[i, j] + 1 }
                         map i in 0:N, j in 0:N { Y[i, j] = A[i, j] + A[j, i] }
                       }
                     })",
                  "fuse-maps");
}

// Rows are what lies side by side in memory, not the last dimensions: these are across it.
TEST(FuseMaps, RowsOfViewsAreThoseInMemory) {
  ExpectPass(R"(sdfg f(X: f32[56, 56, 64], M: f32[64], Y: f32[56, 56, 64], S: f32[64]) {
  view Xc: f32[64, 56, 56] of X strides [1, 3584, 64]
  view Yc: f32[64, 56, 56] of Y strides [1, 3584, 64]
  state {
    map c in 0:64, p in 0:56, q in 0:56 { Yc[c, p, q] = Xc[c, p, q] - M[c] }
    map c in 0:64 { S[c] = 0.0 }
    map c in 0:64, p in 0:56, q in 0:56 { S[c] += Yc[c, p, q] * Yc[c, p, q] }
    map c in 0:64, p in 0:56, q in 0:56 { Yc[c, p, q] = Yc[c, p, q] / S[c] }
  }
}
)",
             "fuse-maps", R"(sdfg f(X: f32[56, 56, 64], M: f32[64], Y: f32[56, 56, 64], S: f32[64]) {
  view Xc: f32[64, 56, 56] of X strides [1, 3584, 64]
  view Yc: f32[64, 56, 56] of Y strides [1, 3584, 64]
  state {
    map c in 0:64 { S[c] = 0.0 }
    map c in 0:64, p in 0:56, q in 0:56 {
      Yc[c, p, q] = Xc[c, p, q] - M[c]
      S[c] += Yc[c, p, q] * Yc[c, p, q]
    }
    map c in 0:64, p in 0:56, q in 0:56 { Yc[c, p, q] = Yc[c, p, q] / S[c] }
  }
}
)");
}

TEST(FuseMaps, AStatementInBetweenThatConflictsKeepsThemApart) {
  ExpectUnchanged(R"(sdfg f(inout X: f32[N], Y: f32[N]) {
                       transient A: f32[N]
                       state {
                         map i in 0:N { A[i] = X[i] + 1 }
                         call.shuffle(A = A) -> (B = X)
                         map i in 0:N { Y[i] = A[i] + X[i] }
                       }
                     })",
                  "fuse-maps");
  // One that doesn't conflict is stepped over.
  ExpectPass(R"(sdfg f(X: f32[N], Z: f32[N], W: f32[N], Y: f32[N]) {
                  transient A: f32[N]
                  state {
                    map i in 0:N { A[i] = X[i] + 1 }
                    call.shuffle(A = Z) -> (B = W)
                    map i in 0:N { Y[i] = A[i] * 2 }
                  }
                })",
             "fuse", R"(sdfg f(X: f32[N], Z: f32[N], W: f32[N], Y: f32[N]) {
                  transient A: f32 @register
                  state {
                    map i in 0:N { A = X[i] + 1; Y[i] = A * 2 }
                    call.shuffle(A = Z) -> (B = W)
                  }
                })");
}

// C would be in use from the first map on, beside A, while the other kernel runs: what was computed late on purpose stays so.
TEST(FuseMaps, AStatementStaysWhereItIsIfMovingItTakesMemory) {
  ExpectUnchanged(R"(sdfg f(X: f32[N], Z: f32[N], W: f32[N], Y: f32[N], V: f32[N]) {
                       transient A: f32[N]
                       transient C: f32[N]
                       state {
                         map i in 0:N { A[i] = X[i] + 1 }
                         call.shuffle(A = Z) -> (B = W)
                         map i in 0:N { C[i] = A[i] * 2 }
                         call.shuffle(A = C) -> (B = Y)
                         call.shuffle(A = A) -> (B = V)
                       }
                     })",
                  "fuse");
  // A is not needed any more: C takes its place.
  ExpectPass(R"(sdfg f(X: f32[N], Z: f32[N], W: f32[N], Y: f32[N]) {
                  transient A: f32[N]
                  transient C: f32[N]
                  state {
                    map i in 0:N { A[i] = X[i] + 1 }
                    call.shuffle(A = Z) -> (B = W)
                    map i in 0:N { C[i] = A[i] * 2 }
                    call.shuffle(A = C) -> (B = Y)
                  }
                })",
             "fuse", R"(sdfg f(X: f32[N], Z: f32[N], W: f32[N], Y: f32[N]) {
                  transient A: f32 @register
                  transient C: f32[N]
                  state {
                    map i in 0:N { A = X[i] + 1; C[i] = A * 2 }
                    call.shuffle(A = Z) -> (B = W)
                    call.shuffle(A = C) -> (B = Y)
                  }
                })");
}

// What moves before a map moves on with it where that joins another one.
TEST(FuseMaps, FactorsGoBeforeWhatReadsThem) {
  ExpectPass(R"(sdfg f(X: f32[512, 512], a: f32[512], b: f32[512], Y: f32[512, 512], Z: f32[512, 512]) {
                  transient B: f32[512, 512]
                  transient r: f32[512]
                  state {
                    map i in 0:512, j in 0:512 { Z[i, j] = X[i, j] + 2 }
                    map i in 0:512, j in 0:512 { B[i, j] = X[i, j] * 2 }
                    map j in 0:512 { r[j] = a[511 - j] + b[j] }
                    map i in 0:512, j in 0:512 { Y[i, j] = B[i, j] * Z[i, j] + r[j] }
                  }
                })",
             "fuse", R"(sdfg f(X: f32[512, 512], a: f32[512], b: f32[512], Y: f32[512, 512], Z: f32[512, 512]) {
                  transient B: f32 @register
                  transient r: f32[512]
                  state {
                    map j in 0:512 { r[j] = a[511 - j] + b[j] }
                    map i in 0:512, j in 0:512 { Z[i, j] = X[i, j] + 2; B = X[i, j] * 2; Y[i, j] = B * Z[i, j] + r[j] }
                  }
                })");
}

// Each of two small maps could go before the other.
TEST(FuseMaps, SmallMapsDoNotPassEachOther) {
  ExpectUnchanged(R"(sdfg f(a: f32[8], b: f32[8], Y: f32[8], Z: f32[8]) {
                  transient r: f32[8]
                  transient s: f32[8]
                  state {
                    map j in 0:8 { r[j] = a[j] + 1 }
                    map j in 0:8 { s[j] = b[7 - j] + 2 }
                    map j in 0:8 { Y[j] = r[j] + s[7 - j] }
                    map j in 0:8 { Z[j] = s[j] + r[7 - j] * Y[7 - j] }
                  }
                })",
                  "fuse-maps");
}

TEST(FuseMaps, SoftmaxBecomesOneMapOverRows) {
  ExpectPass(R"(sdfg softmax(X: f32[N, M], Y: f32[N, M]) {
                  transient T: f32[N]
                  transient E: f32[N, M]
                  transient S: f32[N]
                  state {
                    map o in 0:N { T[o] = -inf }
                    map o in 0:N, k in 0:M { T[o] max= X[o, k] }
                    map o in 0:N, k in 0:M { E[o, k] = exp(X[o, k] - T[o]) }
                    map o in 0:N { S[o] = 0 }
                    map o in 0:N, k in 0:M { S[o] += E[o, k] }
                    map o in 0:N, k in 0:M { Y[o, k] = E[o, k] / S[o] }
                  }
                })",
             "fuse", R"(sdfg softmax(X: f32[N, M], Y: f32[N, M]) {
                  transient T: f32 @register
                  transient E: f32[N, M]
                  transient S: f32 @register
                  state {
                    map o in 0:N {
                      T = -inf
                      map k in 0:M { T max= X[o, k] }
                      S = 0
                      map k in 0:M { E[o, k] = exp(X[o, k] - T); S += E[o, k] }
                      map k in 0:M { Y[o, k] = E[o, k] / S }
                    }
                  }
                })");
}

TEST(FuseMaps, LayerNormalizationBecomesOneMapOverRows) {
  std::string got = Transformed(R"(sdfg norm(X: f32[N, S, 64], G: f32[64], Y: f32[N, S, 64]) {
                  transient D: f32[N, S, 64]
                  transient mu: f32[N, S]
                  transient var: f32[N, S]
                  transient r: f32[N, S]
                  state {
                    map n in 0:N, s in 0:S, d in 0:64 { D[n, s, d] = X[n, s, d] * 2 }
                    map n in 0:N, s in 0:S { mu[n, s] = 0 }
                    map n in 0:N, s in 0:S, d in 0:64 { mu[n, s] += D[n, s, d] / 64 }
                    map n in 0:N, s in 0:S { var[n, s] = 0 }
                    map n in 0:N, s in 0:S, d in 0:64 { var[n, s] += (D[n, s, d] - mu[n, s]) * (D[n, s, d] - mu[n, s]) / 64 }
                    map n in 0:N, s in 0:S { r[n, s] = 1 / sqrt(var[n, s] + 1e-05) }
                    map n in 0:N, s in 0:S, d in 0:64 { Y[n, s, d] = (D[n, s, d] - mu[n, s]) * r[n, s] * G[d] }
                  }
                })",
                                "fuse");
  EXPECT_EQ(got, R"(sdfg norm(X: f32[N, S, 64], G: f32[64], Y: f32[N, S, 64]) {
  transient D: f32[64] @register
  transient mu: f32 @register
  transient var: f32 @register
  transient r: f32 @register
  state {
    map n in 0:N, s in 0:S {
      var = 0
      mu = 0
      map d in 0:64 {
        D[d] = X[n, s, d] * 2
        mu += D[d] / 64
      }
      map d in 0:64 { var += (D[d] - mu) * (D[d] - mu) / 64 }
      r = 1 / sqrt(var + 1e-05)
      map d in 0:64 { Y[n, s, d] = (D[d] - mu) * r * G[d] }
    }
  }
}
)");
}

TEST(FuseMaps, ContractionsStayWhole) {
  ExpectUnchanged(R"(sdfg matmul(A: f32[M, K], B: f32[K, N], Y: f32[M, N]) {
                       transient C: f32[M, N]
                       state {
                         map m in 0:M, n in 0:N { C[m, n] = 0 }
                         map m in 0:M, n in 0:N, k in 0:K { C[m, n] += A[m, k] * B[k, n] }
                         map m in 0:M, n in 0:N { Y[m, n] = max(C[m, n], 0) }
                       }
                     })",
                  "fuse-maps");
}

TEST(FuseMaps, ColumnReductionsKeepTheirOrder) {
  ExpectUnchanged(R"(sdfg sums(X: f32[N, M], Y: f32[M]) {
                       transient S: f32[M]
                       state {
                         map j in 0:M { S[j] = 0 }
                         map j in 0:M, i in 0:N { S[j] += X[i, j] }
                         map j in 0:M { Y[j] = S[j] / N }
                       }
                     })",
                  "fuse-maps");
}

TEST(FuseMaps, BodiesHaveALimit) {
  ExpectPass(R"(sdfg f(X: f32[N], A: f32[N], B: f32[N], C: f32[N]) {
                  state {
                    map i in 0:N { A[i] = X[i] }
                    map i in 0:N { B[i] = A[i] }
                    map i in 0:N { C[i] = B[i] }
                  }
                })",
             "fuse-maps{max=2}", R"(sdfg f(X: f32[N], A: f32[N], B: f32[N], C: f32[N]) {
                  state {
                    map i in 0:N { A[i] = X[i]; B[i] = A[i] }
                    map i in 0:N { C[i] = B[i] }
                  }
                })");
}

TEST(FuseMaps, BranchesThatMeetAgain) {
  ExpectPass(R"(sdfg f(X: f32[N], Z: f32[N], Y: f32[N]) {
                  transient A: f32[N]
                  transient B: f32[N]
                  state {
                    map i in 0:N { A[i] = exp(X[i]) }
                    map i in 0:N { B[i] = exp(Z[i]) }
                    map i in 0:N { Y[i] = A[i] + B[i] }
                  }
                })",
             "fuse", R"(sdfg f(X: f32[N], Z: f32[N], Y: f32[N]) {
                  transient A: f32 @register
                  transient B: f32 @register
                  state { map i in 0:N { A = exp(X[i]); B = exp(Z[i]); Y[i] = A + B } }
                })");
}

TEST(FuseMaps, AHundredThousandRelusInSeconds) {
  SdfgBuilder b("chain");
  Name last = b.Parameter("X", DType::kF32, {Expr(Name("N"))});
  Name out = b.Parameter("Y", DType::kF32, {Expr(Name("N"))});
  for (int i = 0; i < 100000; ++i) {
    Name next = i + 1 < 100000 ? b.Transient("T" + std::to_string(i), DType::kF32, {Expr(Name("N"))}) : out;
    b.OpenMap({{Name("i"), Expr(0), Expr(Name("N")), Expr(1)}});
    b.Assign(next, {Expr(Name("i"))}, CallExpr("max", {ReadExpr(last, {Expr(Name("i"))}), IntExpr(0)}));
    b.CloseMap();
    last = next;
  }
  Program p = MakeProgram(b.Finish());
  clock_t start = clock();
  ASSERT_TRUE(RunPipeline(TestRegistry(), "simplify; fuse", p).ok());
  double seconds = static_cast<double>(clock() - start) / CLOCKS_PER_SEC;
  int maps = 0;
  ForEachNode(
      p.Entry(), [&](NodeId) { ++maps; }, false);
  EXPECT_LT(maps, 100000 / 40);
  EXPECT_TRUE(Verify(p).ok());
  EXPECT_LT(seconds, 20) << "something became quadratic";
  printf("simplify and fuse: %.2f s\n", seconds);
}

// Each alone is summed in lanes; in one map no iteration would have elements of D for itself. Columns of their own don't meet.
TEST(FuseMaps, SumsIntoOneArrayAtDifferentPlacesStayApart) {
  ExpectUnchanged(R"(
sdfg f(X: f64[N, N], inout Y: f64[N, N], inout D: f64[N, 2]) {
  state {
    map i in 0:N, j in 0:N { Y[i, j] = exp(Y[i, j]); D[i, 0] += Y[i, j] * X[i, j] }
    map i in 0:N, j in 0:N { Y[i, j] = Y[i, j] + 1; D[j, 0] += Y[i, j] * X[j, i] }
  }
})",
                  "fuse-maps");
  ExpectPass(R"(
sdfg f(X: f64[N, N], inout Y: f64[N, N], inout D: f64[N, 2]) {
  state {
    map i in 0:N, j in 0:N { Y[i, j] = exp(Y[i, j]); D[i, 0] += Y[i, j] * X[i, j] }
    map i in 0:N, j in 0:N { Y[i, j] = Y[i, j] + 1; D[i, 1] += Y[i, j] * X[j, i] }
  }
})",
             "fuse-maps", R"(
sdfg f(X: f64[N, N], inout Y: f64[N, N], inout D: f64[N, 2]) {
  state {
    map i in 0:N, j in 0:N {
      Y[i, j] = exp(Y[i, j])
      D[i, 0] += Y[i, j] * X[i, j]
      Y[i, j] = Y[i, j] + 1
      D[i, 1] += Y[i, j] * X[j, i]
    }
  }
})");
}

// What is added where data say is added in order: whatever takes lanes stays apart, if it is much.
TEST(FuseMaps, SumsWhereDataSayStayAlone) {
  ExpectUnchanged(R"(
sdfg f(X: f64[N], V: f64[N], inout D: f64[100]) {
  transient P: i64[N]
  state {
    map i in 0:N { P[i] = i64(exp(sin(X[i] * 3.0 + 1.0) * cos(X[i] * 5.0 - 2.0)) * tanh(X[i] / 7.0 + 4.0) * 9.0 - 1.0) }
    map i in 0:N { D[P[i]] ?? += V[i] }
  }
})",
                  "fuse-maps");
  ExpectPass(R"(
sdfg f(X: f64[N], V: f64[N], inout D: f64[100]) {
  transient P: i64[N]
  state {
    map i in 0:N { P[i] = i64(X[i] * 9.0) }
    map i in 0:N { D[P[i]] ?? += V[i] }
  }
})",
             "fuse-maps", R"(
sdfg f(X: f64[N], V: f64[N], inout D: f64[100]) {
  transient P: i64[N]
  map i in 0:N {
    P[i] = i64(X[i] * 9.0)
    D[P[i]] ?? += V[i]
  }
})");
}

// A pool reads windows of what an activation computes: each alone may have its channels innermost.
TEST(FuseMaps, PoolsStayAlone) {
  ExpectUnchanged(R"(
sdfg f(X: f32[64, 112, 112], Y: f32[64, 56, 56]) {
  transient A: f32[64, 112, 112]
  state {
    map c in 0:64, i in 0:112, j in 0:112 { A[c, i, j] = max(X[c, i, j], 0.0) }
    map c in 0:64, i in 0:56, j in 0:56 {
      Y[c, i, j] = -inf
      map k in 0:3, l in 0:3 { Y[c, i, j] max= A[c, 2 * i + k - 1, 2 * j + l - 1] ?? -inf }
    }
  }
})",
                  "fuse-maps");
}

}  // namespace
}  // namespace headrace::transforms
