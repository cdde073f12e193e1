// The passes of the simplify pipeline, one by one and together.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

TEST(FuseStates, MergesNeighbours) {
  ExpectPass(R"(sdfg f(X: f32, Y: f32, Z: f32) { state { Y = X }; state { Z = Y }
                for i in 0:4 { state { Z += X }; state { Z += Y } } })",
             "fuse-states",
             "sdfg f(X: f32, Y: f32, Z: f32) { state { Y = X; Z = Y }; for i in 0:4 { state { Z += X; Z += Y } } }");
}

TEST(FuseStates, ALabelledStateBeginsAnew) {
  ExpectPass("sdfg f(X: f32, Y: f32, Z: f32) { state { Y = X }; state backward { Z = Y }; state { Z += X } }",
             "fuse-states", "sdfg f(X: f32, Y: f32, Z: f32) { state { Y = X }; state backward { Z = Y; Z += X } }");
}

TEST(AssumeSigns, OfWhatMayBeNegative) {
  ExpectPass(R"(sdfg f(K: i64[2], X: f32[N], Y: f32, k: symbol, m: symbol, M: symbol) {
                  transient T: f32[M, m + 1]
                  let n = K[0]
                  let p = N + 1
                  let q = p
                  let q = q - n
                  T[0, 0] = 1
                  for i in k:N { Y = X[i + n] + T[0, 0] }
                  for j in N - 1:-1:-1 { Y += X[j + m] + X[p] + X[q] }
                })",
             "assume-signs",
             R"(sdfg f(K: i64[2], X: f32[N], Y: f32, k: symbol, m: symbol, M: symbol) {
                  assume -9223372036854775808 <= i
                  assume -9223372036854775808 <= k
                  assume -9223372036854775808 <= m
                  assume -9223372036854775808 <= n
                  assume -9223372036854775808 <= q
                  transient T: f32[M, m + 1]
                  let n = K[0]
                  let p = N + 1
                  let q = p
                  let q = q - n
                  T[0, 0] = 1
                  for i in k:N { Y = X[i + n] + T[0, 0] }
                  for j in N - 1:-1:-1 { Y += X[j + m] + X[p] + X[q] }
                })");
  ExpectUnchanged("sdfg f(Y: f32) { Y = 0; while Y < 3 { Y += 1 } }", "assume-signs");
  ExpectUnchanged(R"(sdfg f(K: i64[1], X: f32[N], Y: f32, k: symbol) {
                       assume k >= -3
                       let n = K[0]
                       transient T: f32[n]
                       map i in 0:n { T[i] = X[i] }
                       Y = T[n - 1] + X[k + 3]
                     })",
                  "assume-signs");
}

TEST(FoldControl, ConstantBranches) {
  ExpectPass(R"(sdfg f(X: f32[N], Y: f32) {
                  if N + 1 > N { state { Y = 1 } } else { state { Y = 2 } }
                  if 2 > 3 { state { Y += 4 } }
                })",
             "fold-control", "sdfg f(X: f32[N], Y: f32) { state { Y = 1 } }");
  ExpectUnchanged("sdfg f(X: f32[N], Y: f32) { if N > 1 { state { Y = 1 } } else { state { Y = 2 } } }",
                  "fold-control");
}

TEST(FoldControl, LoopsAndMapsWithoutOrWithOneIteration) {
  ExpectPass(R"(sdfg f(X: f32[N], Y: f32[4]) {
                  for t in 0:1 { state { Y[t] = 3 } }
                  for t in N:N { state { Y[0] += 1 } }
                  state { map i in 3:3 { Y[i] = 0 }; Y[1] = 2 }
                })",
             "fold-control", "sdfg f(X: f32[N], Y: f32[4]) { state { Y[0] = 3 }; state { Y[1] = 2 } }");
  // A loop variable may be negative: the condition stays.
  ExpectUnchanged("sdfg f(Y: f32) { state { Y = 0 }; for t in -2:3 { if t >= 0 { state { Y += 1 } } } }",
                  "fold-control");
}

TEST(FoldControl, AnOutputWithoutElementsStaysAnOutput) {
  ExpectPass("sdfg f(X: f32, Y: f32[0]) { state { map i in 0:0 { Y[i] = X } } }", "fold-control",
             "sdfg f(X: f32, out Y: f32[0]) { state {} }");
}

// Whatever else a condition asks.
TEST(FoldControl, LoopsThatNeverBegin) {
  const std::string loop = "sdfg f(X: bool, Y: f32) { state { Y = 1 }; for t = 0; t < N && X; t = t + 1 { state { Y = 2 } } }";
  const auto of = [&](const std::string& trips) { return std::string(loop).replace(loop.find('N'), 1, trips); };
  ExpectPass(of("0"), "fold-control", "sdfg f(X: bool, Y: f32) { state { Y = 1 } }");
  ExpectUnchanged(of("1"), "fold-control");
}

TEST(FoldControl, AnOutputThatIsNeverWrittenStaysAnOutput) {
  ExpectPass("sdfg f(X: f32, Y: f32, Z: f32) { if 2 > 3 { Y = X }; Z = X }", "fold-control",
             "sdfg f(X: f32, out Y: f32, Z: f32) { state { Z = X } }");
  ExpectPass("sdfg f(X: f32, Y: f32[4]) { for t in 4:4 { Y[t] = X } }", "fold-control",
             "sdfg f(X: f32, out Y: f32[4]) {}");
  ExpectPass("sdfg f(X: f32, inout P: f32, Z: f32) { if 2 > 3 { P += X }; Z = P }", "fold-control",
             "sdfg f(X: f32, inout out P: f32, Z: f32) { state { Z = P } }");
  // The caller's argument is an output because the callee's is.
  ExpectPass(R"(sdfg f(X: f32, Y: f32) { call g(x = X, y = Y) }
                sdfg g(x: f32, y: f32) { if 2 > 3 { y = x } })",
             "fold-control",
             R"(sdfg f(X: f32, Y: f32) { call g(x = X, y = Y) }
                sdfg g(x: f32, out y: f32) {})");
  // Inlined and folded, likewise.
  ExpectPass(R"(sdfg f(X: f32, Y: f32) { call g(x = X, y = Y) }
                sdfg g(x: f32, y: f32) { if 2 > 3 { y = x } })",
             "fold-control; inline-nested", "sdfg f(X: f32, out Y: f32) {}");
}

TEST(FoldControl, IndicesWithOneValue) {
  ExpectPass(R"(sdfg f(X: f32[N, 1, 4], Y: f32[N, 1], Z: f32[1, 1]) {
                  state {
                    map n in 0:N, c in 0:1 { map d in 0:1 { Y[n, c] = X[n, d, c] }; map k in 0:4 { Y[n, c] += X[n, c, k] } }
                    map a in 0:1, b in 0:1 { Z[a, b] = 0 }
                  }
                })",
             "fold-control", R"(sdfg f(X: f32[N, 1, 4], Y: f32[N, 1], Z: f32[1, 1]) {
                  state {
                    map n in 0:N { Y[n, 0] = X[n, 0, 0]; map k in 0:4 { Y[n, 0] += X[n, 0, k] } }
                    map a in 0:1 { Z[a, 0] = 0 }
                  }
                })");
}

TEST(EliminateDeadCode, RemovesWhatNobodyReads) {
  ExpectPass(R"(sdfg f(X: f32[N], Y: f32[N]) {
                  transient A: f32[N]
                  transient B: f32[N]
                  view V: f32[N] of A
                  state {
                    map i in 0:N { A[i] = X[i]; Y[i] = X[i] * 2 }
                    map i in 0:N { B[i] = V[i] }
                  }
                })",
             "eliminate-dead-code", "sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = X[i] * 2 } } }");
}

TEST(EliminateDeadCode, KeepsParametersThatAreReturnedAsTheyWereGiven) {
  ExpectPass("sdfg f(X: f32[N], inout P: f32[N], Y: f32[N]) { transient T: f32[N]; T[i] = P[i]; Y[i] = X[i] }", "eliminate-dead-code",
             "sdfg f(X: f32[N], inout out P: f32[N], Y: f32[N]) { Y[i] = X[i] }");
}

TEST(EliminateCopies, KeepsParametersThatAreReturnedAsTheyWereGiven) {
  ExpectPass("sdfg f(X: f32[N], inout P: f32[N], Y: f32[N]) { transient T: f32[N]; T[i] = P[i]; Y[i] = X[i] }", "eliminate-copies",
             "sdfg f(X: f32[N], inout out P: f32[N], Y: f32[N]) { Y[i] = X[i] }");
}

TEST(EliminateDeadCode, KeepsWhatConditionsAndSizesNeed) {
  ExpectUnchanged(R"(sdfg f(X: f32, Y: f32) {
                       transient c: bool
                       state { c = X > 0 }
                       if c { state { Y = 1 } } else { state { Y = 2 } }
                     })",
                  "eliminate-dead-code");
}

// Loops of sizes that are named anew before anybody reads them; not where what is read might be outside, or is read later.
TEST(EliminateDeadCode, RemovesLoopsOfUnusedSizes) {
  ExpectPass(R"(sdfg f(I: i64[9], X: f32[64], inout Y: f32[8]) {
                  for i in 0:8 { let n = I[i]; let m = I[i + 1] }
                  for i in 0:8 {
                    let n = I[i]
                    state { map j in 0:n { Y[i] += X[j] } }
                  }
                })",
             "eliminate-dead-code", R"(sdfg f(I: i64[9], X: f32[64], inout Y: f32[8]) {
                  for i in 0:8 {
                    let n = I[i]
                    state { map j in 0:n { Y[i] += X[j] } }
                  }
                })");
  ExpectUnchanged(R"(sdfg f(I: i64[9], X: f32[64], inout Y: f32[8]) {
                       for i in 0:9 { let n = I[i + 1] }
                       for i in 0:8 { let m = I[i] }
                       state { map i in 0:8, j in 0:m { Y[i] += X[j] } }
                     })",
                  "eliminate-dead-code");
}

TEST(EliminateDeadCode, KeepsWhatChoicesInKernelsRead) {
  const char* text = R"(kernel k(p0: f32[n0], p1: f32[n0], n0: symbol) for cpu {
  for i0_0 in 0:n0:8 {
    local b: f32[8]
    local unused: f32[8]
    map u in 0:8 @vector { b[u] = 1.0 }
    if i0_0 + 8 <= n0 {
      map u in 0:8 @vector { p0[i0_0 + u] = b[u] }
    } else {
      map i0 in i0_0:+8 @vector { p0[i0] = b[i0 - i0_0] }
    }
  }
}
)";
  std::string without = text;
  without.replace(without.find("    local unused: f32[8]\n"), 25, "");
  ExpectPass(text, "eliminate-dead-code", without);
}

TEST(EliminateDeadCode, KeepsRegistersThatCallsInMapsRead) {
  ExpectUnchanged(R"(entry sdfg f(X: f32[N, K], Y: f32[N, K]) {
                       transient s: f32 @register
                       map i in 0:N {
                         s = X[i, 0] * 2
                         call g(x = X[i, :], s = s, y = Y[i, :])
                       }
                     }
                     sdfg g(x: f32[B], s: f32, y: f32[B]) { map k in 0:B { y[k] = x[k] * s } })",
                  "eliminate-dead-code");
}

TEST(EliminateCopies, ReadersReadTheOriginal) {
  ExpectPass(R"(sdfg f(X: f32[N], Y: f32[N]) {
                  transient A: f32[N]
                  transient B: f32[N]
                  state {
                    map i in 0:N { A[i] = X[i] }
                    map i in 0:N { B[i] = A[i] }
                    map i in 0:N { Y[i] = max(B[i], 0) }
                  }
                })",
             "eliminate-copies", "sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = max(X[i], 0) } } }");
}

TEST(EliminateCopies, WritersWriteTheOutput) {
  ExpectPass(R"(sdfg f(X: f32[N], Y: f32[N]) {
                  transient A: f32[N]
                  state {
                    map i in 0:N { A[i] = max(X[i], 0) }
                    map i in 0:N { Y[i] = A[i] }
                  }
                })",
             "eliminate-copies", "sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = max(X[i], 0) } } }");
}

// A node that finds the size of its output brings the memory, which is no view of the output's.
TEST(EliminateCopies, NotIntoAnotherShapeOfASizeThatANodeFinds) {
  ExpectUnchanged(R"(sdfg f(X: f32[N], Y: i64[n]) {
                       transient T: i64[1, n]
                       state {
                         onnx.NonZero(X = X) -> (Y = T) defines (n)
                         map i in 0:n { Y.flat[i] = T.flat[i] }
                       }
                     })",
                  "eliminate-copies");
}

TEST(EliminateCopies, NotWhenTheOriginalChangesMeanwhile) {
  ExpectUnchanged(R"(sdfg f(inout X: f32[N], Y: f32[N]) {
                       transient A: f32[N]
                       state {
                         map i in 0:N { A[i] = X[i] }
                         map i in 0:N { X[i] = 0 }
                         map i in 0:N { Y[i] = A[i] + 1 }
                       }
                     })",
                  "eliminate-copies");
  // The write comes later in the text and earlier in the next round.
  ExpectUnchanged(R"(sdfg f(inout X: f32[N], Y: f32[N]) {
                       transient A: f32[N]
                       state {
                         map i in 0:N { A[i] = X[i] }
                         map i in 0:N { Y[i] = 0 }
                       }
                       for t in 0:3 {
                         state {
                           map i in 0:N { Y[i] += A[i] }
                           map i in 0:N { X[i] = t }
                         }
                       }
                     })",
                  "eliminate-copies");
}

TEST(EliminateCopies, AnInputCopiedToAnOutputStays) {
  ExpectUnchanged("sdfg f(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = X[i] } } }", "eliminate-copies");
  // A transposition is no copy, nor is a part, nor a conversion.
  ExpectUnchanged(R"(sdfg f(X: f32[N, N], Y: f32[N, N], Z: f64[N]) {
                       transient A: f32[N, N]
                       transient B: f64[N]
                       state {
                         map i in 0:N, j in 0:N { A[i, j] = X[j, i] }
                         map i in 0:N, j in 0:N { Y[i, j] = A[i, j] + A[j, i] }
                         map i in 0:N { B[i] = X[0, i] }
                         map i in 0:N { Z[i] = B[i] + 1 }
                       }
                     })",
                  "eliminate-copies");
}

TEST(EliminateCopies, ReshapesBecomeViews) {
  ExpectPass(R"(sdfg f(X: f32[N, M], Y: f32[N * M]) {
                  transient A: f32[N * M]
                  state {
                    map i in 0:N * M { A.flat[i] = X.flat[i] }
                    map i in 0:N * M { Y[i] = max(A[i], 0) }
                  }
                })",
             "eliminate-copies", R"(sdfg f(X: f32[N, M], Y: f32[N * M]) {
                  view A: f32[N * M] of X
                  state { map i in 0:N * M { Y[i] = max(A[i], 0) } }
                })");
  ExpectPass(R"(sdfg f(X: f32[N, M], Y: f32[N * M]) {
                  transient A: f32[N, M]
                  state {
                    map i in 0:N, j in 0:M { A[i, j] = max(X[i, j], 0) }
                    map i in 0:N * M { Y.flat[i] = A.flat[i] }
                  }
                })",
             "eliminate-copies", R"(sdfg f(X: f32[N, M], Y: f32[N * M]) {
                  view A: f32[N, M] of Y
                  state { map i in 0:N, j in 0:M { A[i, j] = max(X[i, j], 0) } }
                })");
  // Into all of an array as a view shows it.
  ExpectPass(R"(sdfg f(X: f32[8], Y: f32[2, 4]) {
                  transient A: f32[2, 4]
                  view a: f32[8] of A
                  state {
                    map i in 0:8 { a[i] = X[i] }
                    map i in 0:2, j in 0:4 { Y[i, j] = A[i, j] + a[0] }
                  }
                })",
             "eliminate-copies", R"(sdfg f(X: f32[8], Y: f32[2, 4]) {
                  view A: f32[2, 4] of X
                  view a: f32[8] of A
                  state { map i in 0:2, j in 0:4 { Y[i, j] = A[i, j] + a[0] } }
                })");
}

// As reverse mode hands gradients on.
TEST(EliminateCopies, ElementsGoByARegister) {
  ExpectPass(R"(sdfg f(X: f32[8], Y: f32[2, 4]) {
                  transient A: f32[2, 4]
                  view a: f32[8] of A
                  transient r: f32 @register
                  state {
                    map i in 0:8 {
                      r = X[i]
                      a[i] = r
                    }
                    map i in 0:2, j in 0:4 { Y[i, j] = 2 * A[i, j] }
                  }
                })",
             "eliminate-copies", R"(sdfg f(X: f32[8], Y: f32[2, 4]) {
                  view A: f32[2, 4] of X
                  view a: f32[8] of A
                  transient r: f32 @register
                  state { map i in 0:2, j in 0:4 { Y[i, j] = 2 * A[i, j] } }
                })");
}

TEST(EliminateCopies, UnitDimensionsComeAndGoAsViews) {
  ExpectPass(R"(sdfg f(X: f32[N, M], Y: f32[N, M]) {
                  transient A: f32[N, 1, M]
                  state {
                    map i in 0:N, j in 0:M { A[i, 0, j] = X[i, j] }
                    map i in 0:N, j in 0:M { Y[i, j] = max(A[i, 0, j], 0) }
                  }
                })",
             "eliminate-copies", R"(sdfg f(X: f32[N, M], Y: f32[N, M]) {
                  view A: f32[N, 1, M] of X
                  state { map i in 0:N, j in 0:M { Y[i, j] = max(A[i, 0, j], 0) } }
                })");
}

TEST(InlineNested, BodiesComeToTheirCallers) {
  ExpectPass(R"(
    sdfg f(A: f32[N, 4], B: f32[N, 4]) {
      transient T: f32[N, 4]
      state {
        call twice(x = A, y = T)
        call twice(x = T, y = B)
      }
    }
    sdfg twice(x: f32[n, m], y: f32[n, m]) {
      transient T: f32[n, m]
      state {
        map i in 0:n, j in 0:m { T[i, j] = x[i, j] + m }
        map i in 0:n, j in 0:m { y[i, j] = T[i, j] * 2 }
      }
    })",
             "inline-nested", R"(
    sdfg f(A: f32[N, 4], B: f32[N, 4]) {
      transient T: f32[N, 4]
      transient T_1: f32[N, 4]
      transient T_2: f32[N, 4]
      state {
        map i in 0:N, j in 0:4 { T_1[i, j] = A[i, j] + 4 }
        map i in 0:N, j in 0:4 { T[i, j] = T_1[i, j] * 2 }
        map i in 0:N, j in 0:4 { T_2[i, j] = T[i, j] + 4 }
        map i in 0:N, j in 0:4 { B[i, j] = T_2[i, j] * 2 }
      }
    })");
}

}  // namespace
}  // namespace headrace::transforms
