// Scheduled kernels: what may stand where, and what must be shown. Each wrong one is a right one with one thing changed.
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

const char kSoftmax[] = R"(kernel softmax(X: f32[N, C], Y: f32[N, C], N: symbol, C: symbol) for cpu {
  let g = max(1, 65536 // max(1, 31 * C))
  map n0 in 0:N:g @parallel {
    for n in n0:+g {
      local p: f32[64]
      map l in 0:64 @vector { p[l] = -inf }
      for c0 in 0:C:64 {
        map c in c0:+64 @vector { p[c - c0] max= X[n, c] }
      }
      local M: f32
      M = -inf
      map l in 0:64 @halves { M max= p[l] }
      map l in 0:64 @vector { p[l] = 0 }
      for c0 in 0:C:64 {
        map c in c0:+64 @vector {
          Y[n, c] = exp(X[n, c] - M)
          p[c - c0] += Y[n, c]
        }
      }
      local S: f32
      S = 0
      map l in 0:64 @halves { S += p[l] }
      map c in 0:C @vector { Y[n, c] = Y[n, c] / S }
    }
  }
}
)";

const char kGather[] = R"(kernel gather(W: f32[V, D], I: i64[N], Y: f32[N, D], V: symbol, D: symbol, N: symbol) for cpu {
  map n in 0:N @parallel {
    check W[I[n], 0]
    map d in 0:D @vector { Y[n, d] = W[I[n], d] }
  }
}
)";

const char kStencil[] = R"(kernel stencil(X: f32[N], Y: f32[N], N: symbol) for cpu {
  for i in 0:min(1, N) { Y[i] = i - 1 >= 0 ? X[i - 1] : 0 }
  map i in 1:N @vector { Y[i] = X[i - 1] }
}
)";

const char kGpu[] = R"(kernel rows(X: f32[N, C], Y: f32[N, C], N: symbol, C: symbol) for gpu {
  map n in 0:N @grid {
    local p: f32[256] @shared
    map t in 0:256 @block {
      p[t] = -inf
      for c in t:C:256 { p[t] max= X[n, c] }
    }
    local M: f32 @shared
    M = -inf
    map t in 0:256 @halves { M max= p[t] }
    map t in 0:256 @block {
      for c in t:C:256 { Y[n, c] = X[n, c] - M }
    }
  }
}
)";

const char kStreamed[] = R"(kernel streamed(X: f32[1024], Y: f32[1024]) for cpu {
  for i in 0:1024:128 {
    local t: f32[128]
    map u in 0:128 @vector { t[u] = X[i + u] + 1 }
    map u in 0:128 @stream { Y[i + u] = t[u] }
  }
}
)";

std::string Codes(const std::string& text) {
  Result<Program> p = ParseProgram(text);
  if (!p.ok()) return p.status().ToString();
  const std::string printed = Print(*p);
  Result<Program> again = ParseProgram(printed);
  EXPECT_TRUE(again.ok() && Print(*again) == printed) << printed;
  std::string codes;
  const Status verified = Verify(*p);
  for (const Diagnostic& d : verified.diagnostics()) codes += d.code + " ";
  return codes;
}

std::string With(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

const char kTile[] = R"(kernel tile(A: f32[N, 4], B: f32[4, 16], inout Y: f32[N, 16], N: symbol) for cpu {
  map i0 in 0:N:6 @parallel {
    if N - i0 >= 6 {
      map @apart {
        local t: f32[6, 16]
        map i in 0:6 @unroll {
          map j in 0:16 @vector { t[i, j] = 0 }
        }
        for k in 0:4 {
          map i in 0:6 @unroll {
            map j in 0:16 @vector { t[i, j] += A[i0 + i, k] * B[k, j] }
          }
        }
        map i in 0:6 @unroll {
          map j in 0:16 @vector { Y[i0 + i, j] += t[i, j] }
        }
      }
    } else {
      for i in i0:+6 {
        map j in 0:16 @vector { Y[i, j] += 1 }
      }
    }
  }
}
)";

TEST(VerifyKernel, RightOnesAreTextThatRoundTrips) {
  for (const char* text : {kSoftmax, kGather, kStencil, kGpu, kTile, kStreamed}) {
    EXPECT_EQ(Codes(text), "");
    const Result<Program> p = ParseProgram(text);
    ASSERT_TRUE(p.ok());
    EXPECT_EQ(Print(*p), text);
  }
}


TEST(VerifyKernel, WrongOnes) {
  const struct {
    const char *text, *what, *by, *code;
  } cases[] = {
      {kSoftmax, "p[l] = -inf", "p[0] = -inf", "E0261"},                          // lanes meet in one element
      {kSoftmax, "p[c - c0] max= X[n, c]", "p[0] max= X[n, c]", "E0261"},         // … also where they accumulate
      {kSoftmax, "local p: f32[64]", "local p: f32[32]", "E0260"},                // a shrunk buffer
      {kSoftmax, "map l in 0:64 @halves { M", "map l in 0:48 @halves { M", "E0257"},
      {kSoftmax, "map c in 0:C @vector", "map c in 0:C", "E0257"},                // no kind
      {kSoftmax, "map c in 0:C @vector", "map c in 0:C @parallel", "E0257"},      // not outermost
      {kSoftmax, "map n0 in 0:N:g @parallel", "map n0 in 0:N:g @lane", "E0257"},  // outside of a grid
      {kSoftmax, "Y[n, c] = Y[n, c] / S", "Y[n, c] = Y[n, C - 1 - c] / S", "E0262"},
      {kSoftmax, "X[n, c] - M", "X[n, c + 1] - M", "E0256"},                      // may be outside
      {kSoftmax, "X[n, c] - M", "(X[n, c + 1] ?? 0) - M", "E0257"},
      {kGather, "check W[I[n], 0]", "check W[0, 0]", "E0256"},                    // of another row
      {kGather, "check W[I[n], 0]", "", "E0256"},
      {kGather, "check W[I[n], 0]", "prefetch W[I[n], 0]", "E0256"},              // asks for nothing
      {kStencil, "map i in 1:N", "map i in 0:N", "E0260"},
      {kStencil, "{ Y[i] = X[i - 1] }\n}", "{\n prefetch X[i]\n Y[i] = X[i - 1] }\n}", "E0257"},
      {kStencil, "i - 1 >= 0 ? X[i - 1] : 0", "i >= 0 ? X[i - 1] : 0", "E0256"},  // asks for something else
      {kStencil, "Y[i] = X[i - 1] }\n}", "Y[i] = Y[i - 1] }\n}", "E0262"},        // a recurrence is no map
      {kTile, "map @apart", "map q in 0:1 @apart", "E0257"},
      {kTile, "for k in 0:4 {", "for k in 0:4 {\n check A[i0, k]", "E0257"},      // would have to leave
      {kTile, "for k in 0:4 {", "for k in 0:4 {\n prefetch t[0, 0]", "E0257"},
      {kTile, "local t: f32[6, 16]", "local t: f32[6, 16] @worker", "E0257"},     // for which there may be no memory
      {kTile, "Y[i0 + i, j] += t[i, j]", "Y[i0 + i, 0] += t[i, j]", "E0261"},
      {kStreamed, "Y[i + u] = t[u]", "Y[i + u] = t[u] + 1", "E0257"},              // computes
      {kStreamed, "Y[i + u] = t[u]", "Y[i + 127 - u] = t[u]", "E0257"},           // no line
      {kStreamed, "Y[i + u] = t[u]", "Y[i + u] = t[0]", "E0257"},
      {kStreamed, "map u in 0:128 @stream { Y[i + u]", "map u in 0:128:2 @stream { Y[i + u]", "E0257"},
      {kStreamed, "local t: f32[128]", "local t: f64[128]", "E0257"},             // converts
      {kStreamed, "Y[i + u] = t[u]", "Y[i + u] += t[u]", "E0257"},
      {kGpu, "p[t] max= X[n, c]", "p[0] max= X[n, c]", "E0261"},
      {kGpu, "p: f32[256]", "p: f32[128]", "E0260"},
      {kGpu, "map n in 0:N @grid", "map n in 0:N @vector", "E0257"},
      {kGpu, "Y[n, c] = X[n, c] - M", "Y[n, t] = X[n, c] - M", "E0256"},
      {kGpu, "map t in 0:256 @block {\n      for c in t:C:256 { Y", "if M > 0 { check X[n, 0] }\n    map t in 0:256 @grid {\n      for c in t:C:256 { Y", "E0257"},
  };
  for (const auto& c : cases) {
    const std::string codes = Codes(With(c.text, c.what, c.by));
    EXPECT_NE(codes.find(c.code), std::string::npos) << c.what << " → " << c.by << "\nexpected " << c.code << ", got " << codes;
  }
}

// What a condition says holds where it does, or doesn't; so does what was checked there.
const char kWhere[] = R"(kernel where(W: f32[V], I: i64[N], A: f32[N], B: f32[N], Y: f32[2 * N], Z: f32[N], V: symbol, N: symbol) for cpu {
  map i in 0:2 * N @parallel { Y[i] = i < N ? A[i] : B[i - N] }
  for i in 0:N {
    if I[i] != 3 { check W[I[i]] }
    Z[i] = I[i] != 3 ? W[I[i]] : 0
  }
}
)";
TEST(VerifyKernel, WhatIsPrefetchedMayBeAnything) {
  std::string text = kGather;
  const std::string check = "check W[I[n], 0]\n";
  text.insert(text.find(check) + check.size(), "    prefetch W[I[n] + 1, D + 9]\n");
  EXPECT_EQ(Codes(text), "");
}

TEST(VerifyKernel, WhatConditionsSay) {
  EXPECT_EQ(Codes(kWhere), "");
  EXPECT_EQ(Codes(With(kWhere, "i < N ? A[i]", "i <= N ? A[i]")), "E0256 ");
  EXPECT_EQ(Codes(With(kWhere, "B[i - N]", "B[i - N + 1]")), "E0256 ");
  EXPECT_EQ(Codes(With(kWhere, "Z[i] = I[i] != 3", "Z[i] = I[i] != 4")), "E0256 ");
  EXPECT_EQ(Codes(With(kWhere, "if I[i] != 3 { check W[I[i]] }", "if I[i] != 3 { check W[I[i]] }\n    Z[i] = 1")), "");
}

// Of steps that grow only the first point is there: 256, 512 and 768 are none, and a check is enough.
TEST(VerifyKernel, PointsThatStepsPassOver) {
  EXPECT_EQ(Codes(R"(kernel steps(A: f32[600], m: symbol) for cpu {
  assume 4 <= m
  for i in 0:1000:256 * m {
    check A[i]
    A[i] = 1.0
  }
})"),
            "");
}

// Below the diagonal, from it down: inside by the outer range. One further is not.
TEST(VerifyKernel, TrianglesThatCountDown) {
  const std::string text = R"(kernel down(inout Z: f64[N], A: f64[N, N], N: symbol) for cpu {
  for i in 0:N:2 {
    for j in i:-1:-1 { Z[j] = Z[j] + A[i, j] * Z[i - j] }
  }
}
)";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(With(text, "A[i, j] * Z[i - j]", "A[i, j] * Z[i + j]")), "E0256 ");
  EXPECT_EQ(Codes(With(text, "i:-1:-1", "i:-2:-1")).find("E0260 "), 0u);  // at -1
}

// An index that changes after it was checked is not known any more.
TEST(VerifyKernel, WhatChangesIsForgotten) {
  const std::string text = R"(kernel late(W: f32[V], inout I: i64[N], Y: f32[N], V: symbol, N: symbol) for cpu {
  for i in 0:N {
    check W[I[i]]
    Y[i] = W[I[i]]
    I[i] = 7
  }
}
)";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(With(text, "    Y[i] = W[I[i]]\n    I[i] = 7", "    I[i] = 7\n    Y[i] = W[I[i]]")), "E0256 ");
  EXPECT_EQ(Codes(With(text, "    Y[i] = W[I[i]]\n    I[i] = 7", "    for k in 0:3 { Y[k] = W[I[i]]; I[i] = 7 }")), "E0256 E0256 ");
}

// A buffer is one for each iteration of the body that holds all its uses: only the maps inside can race for it.
const char kBuffer[] = R"(kernel turn(X: f32[N, C], Y: f32[N, C], N: symbol, C: symbol) for cpu {
  map n in 0:N @parallel {
    local row: f32[C] @worker
    map c in 0:C @vector { row[c] = X[n, c] }
    map c in 0:C @vector { Y[n, c] = row[C - 1 - c] }
  }
}
)";
TEST(VerifyKernel, BuffersOfWorkers) {
  EXPECT_EQ(Codes(kBuffer), "");
  EXPECT_EQ(Codes(With(kBuffer, "row[c] = X[n, c]", "row[c // 2] = X[n, c]")), "E0261 ");
  EXPECT_EQ(Codes(With(kBuffer, "Y[n, c] = row[C - 1 - c]", "row[c] = row[C - 1 - c]")), "E0262 ");
  // … and the same of registers.
  std::string registers = With(kBuffer, "local row: f32[C] @worker", "local row: f32[64]");
  registers = With(registers, "map c in 0:C @vector { row", "map c in 0:64 @vector { row");
  registers = With(registers, "row[c] = X[n, c]", "row[c] = n");
  registers = With(registers, "map c in 0:C @vector { Y[n, c] = row[C - 1 - c]", "map c in 0:64 @vector { row[c] = row[63 - c]");
  EXPECT_EQ(Codes(registers), "E0262 ");
  std::string shared = With(kBuffer, "    local row: f32[C] @worker\n", "");
  shared = With(shared, "  map n", "  local row: f32[C] @worker\n  map c in 0:C @vector { row[c] = 0 }\n  map n");
  EXPECT_EQ(Codes(shared).find("E0261"), 0u) << "it is shared by all n";
}

// Tiles: what an `if` compared holds of all that moves with it; the rest is a part.
const char kTiles[] = R"(kernel tiles(inout C: f32[M], M: symbol) for cpu {
  map i0 in 0:M:48 @parallel {
    for i1 in i0:+48:12 {
      if i1 + 12 <= M {
        map r in 0:12 @unroll { C[i1 + r] += 1 }
      } else {
        for i in i1:+12 { C[i] += 1 }
      }
    }
  }
}
)";
TEST(VerifyKernel, Tiles) {
  EXPECT_EQ(Codes(kTiles), "");
  EXPECT_EQ(Codes(With(kTiles, "i1 + 12 <= M", "i1 + 13 <= M + 1")), "");
  EXPECT_EQ(Codes(With(kTiles, "i1 + 12 <= M", "M > i1 + 11")), "");
  EXPECT_EQ(Codes(With(kTiles, "i1 + 12 <= M", "i1 + 11 <= M")), "E0256 ");
  EXPECT_EQ(Codes(With(kTiles, "i1 + 12 <= M", "i0 + 12 <= M")), "E0256 ");
  EXPECT_EQ(Codes(With(kTiles, "C[i] += 1", "C[i1 + 11] += 1")), "E0256 ");  // not what the other side knows
  // Tiles that go on in the next part meet its first one.
  EXPECT_EQ(Codes(With(With(kTiles, "0:M:48", "0:M:40"), "+48:12", "+40:12")).find("E0261"), 0u);
}

// One iteration meets no other, wherever it writes.
TEST(VerifyKernel, OneIteration) {
  const char text[] = R"(kernel k(inout W: f32[V], I: i64[N], N: symbol, V: symbol) for gpu {
  map g in 0:1 @grid {
    for i in 0:N {
      check W[I[i]]
      W[I[i]] += 1
    }
  }
}
)";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(With(text, "g in 0:1", "g in 0:2")), "E0261 ");
}

// What the threads of a block share lies in its memory.
TEST(VerifyKernel, RegistersOfThreads) {
  EXPECT_EQ(Codes(With(kGpu, "p: f32[256] @shared", "p: f32[256]")), "E0257 ");
  EXPECT_EQ(Codes(With(kGpu, "M: f32 @shared", "M: f32")), "E0257 ");
  const char own[] = R"(kernel k(X: f32[N, 64], Y: f32[N, 64], N: symbol) for gpu {
  map n in 0:N @grid {
    local p: f32[64]
    map t in 0:64 @block { p[t] = X[n, t] }
    map t in 0:64 @block { Y[n, t] = p[t] * 2 }
  }
}
)";
  EXPECT_EQ(Codes(own), "");
  EXPECT_EQ(Codes(With(own, "p[t] * 2", "p[63 - t] * 2")), "E0257 ");
  EXPECT_EQ(Codes(With(With(own, "p[t] * 2", "p[63 - t] * 2"), "f32[64]\n", "f32[64] @shared\n")), "");
  EXPECT_EQ(Codes(With(own, "map t in 0:64 @block { Y", "map t in 1:64 @block { Y")), "E0257 ") << "t is not the thread's number";
}

// One index on both sides, of which one has fewer: no two points of all of them meet.
TEST(VerifyKernel, WholeTilesAndARest) {
  const char text[] = R"(kernel k(C: f32[200]) for cpu {
  map i0 in 0:100:48 @parallel {
    for i1 in i0:+48:12 {
      if i1 + 12 <= 100 {
        map r in 0:12 @unroll { C[i1 + r] = 1 }
      } else {
        map r in 0:4 @unroll { C[i1 + r] = 2 }
      }
    }
  }
}
)";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(With(text, "C[i1 + r] = 2", "C[i1 + r + 12] = 2")), "E0262 ");
  EXPECT_EQ(Codes(With(text, "r in 0:4", "r in 1:5")), "");
  EXPECT_EQ(Codes(With(text, "r in 0:4", "r in 1:14")), "E0262 E0261 ");
  EXPECT_EQ(Codes(With(text, "r in 0:4", "r in 0:24")), "E0262 E0261 ");
  EXPECT_EQ(Codes(With(With(text, "0:100:48", "0:100:40"), "+48:12", "+40:12")).find("E0261"), 0u);
}

// What iterations add up in one element has an order, whichever statements do it.
// Parts of parts that are counted from where they begin, and what begins there in turn; parts of 32 are whole, for 512 and 192 k are multiples.
TEST(VerifyKernel, WholePartsOfParts) {
  const char text[] = R"(kernel k(p: f32[512, 784], q: f32[6, 32], n: symbol) for cpu {
  assume 1 <= n
  map i0 in 0:512:192 * max(65536 // max(602112 * n, 1), 1) @parallel {
    for i1 in i0:+192 * max(65536 // max(602112 * n, 1), 1):192 {
      local b: f32[6, 32] @worker
      for i2 in i1:min(i1 + 192, 512):32 {
        map i in i2:i2 + 32 @vector { b[(i2 - i1) // 32, i - i2] = p[i, 0] }
      }
    }
  }
}
)";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(With(text, "i2:i2 + 32", "i2:i2 + 33")).find("E0260"), 0u);
}

TEST(VerifyKernel, StatementsThatAddUpInOneElement) {
  const char text[] = R"(kernel k(X: f32[N], inout Y: f32[N + 8], N: symbol) for cpu {
  map i in 0:N @parallel {
    Y[i] += X[i]
    Y[i] += 2 * X[i]
  }
}
)";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(With(text, "Y[i] += 2", "Y[i + 1] += 2")), "E0262 ");
  EXPECT_EQ(Codes(With(With(text, "Y[i] += 2", "Y[i + 1] += 2"), "map i in 0:N @parallel", "map i in 0:N @vector")), "E0262 ");
  EXPECT_EQ(Codes(With(With(text, "Y[i] += 2", "Y[i + 1] += 2"), "map i in 0:N @parallel", "for i in 0:N")), "");
}

// Steps by name count up: otherwise parts of ranges are none.
TEST(VerifyKernel, StepsThatMayBeNone) {
  const char text[] = R"(kernel k(X: f32[N], Y: f32[N], N: symbol, g: symbol) for cpu {
  assume 1 <= g
  for i0 in 0:N:g {
    for i in i0:+g { Y[i] = X[i] }
  }
}
)";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(With(text, "1 <= g", "0 <= g")), "E0257 ");
  EXPECT_EQ(Codes(With(With(With(text, "1 <= g", "0 <= g"), "0:N:g", "0:N:max(1, g)"), "i0:+g", "i0:+max(1, g)")), "");
}

// Code for registers has them on a thread's stack, and @unroll written out.
TEST(VerifyKernel, WhatIsTooLarge) {
  const char text[] = R"(kernel k(Y: f32[1000000]) for cpu {
  for i0 in 0:1000000:1000 {
    local t: f32[1000]
    map i in 0:1000 @unroll { t[i] = 0 }
    for i in 0:1000 { Y[i0 + i] = t[i] }
  }
}
)";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(With(text, "t: f32[1000]", "t: f32[1000000]")), "E0257 ");
  EXPECT_EQ(Codes(With(text, "t: f32[1000]", "t: f32[1000000] @worker")), "");
  EXPECT_EQ(Codes("kernel k(Y: f32[1000000]) for cpu {\n  map i in 0:1000000 @unroll { Y[i] = 0 }\n}\n"), "E0257 ");
}

// A view lies in its base, and what is written through it has elements of its own.
TEST(VerifyKernel, ViewsOfSchedules) {
  const auto codes = [](const std::string& view, const std::string& store) {
    return Codes("kernel k(X: f32[16], Y: f32[16]) for cpu {\n  view v: " + view + "\n  map i in 0:4 @parallel {\n    for j in 0:4 { " +
                 store + " }\n  }\n}\n");
  };
  EXPECT_EQ(codes("f32[4, 4] of X offset 1 strides [4, 1]", "Y[4 * i + j] = v[i, j]"), "E0256 ");
  EXPECT_EQ(codes("f32[4, 4] of X offset 15 strides [-4, -1]", "Y[4 * i + j] = v[i, j]"), "");
  EXPECT_EQ(codes("f32[4, 4] of X offset 14 strides [-4, -1]", "Y[4 * i + j] = v[i, j]"), "E0256 ");
  EXPECT_EQ(codes("f32[4, 4] of X offset 0 strides [2, 1]", "Y[4 * i + j] = v[i, j]"), "");  // windows
  EXPECT_EQ(codes("f32[4, 4] of Y offset 0 strides [1, 4]", "v[i, j] = X[4 * i + j]"), "");
  EXPECT_EQ(codes("f32[4, 4] of Y offset 0 strides [2, 1]", "v[i, j] = X[4 * i + j]"), "E0261 ");
  EXPECT_EQ(codes("f32[4, 4] of Y offset 0 strides [0, 1]", "v[i, j] = X[4 * i + j]"), "E0261 ");
}

// Two iterations of a map may be at different points of the loops in them.
TEST(VerifyKernel, LoopsWithinMapsDontTellThemApart) {
  const char text[] = R"(kernel k(inout C: f32[N, 9], N: symbol) for cpu {
  map i in 0:8 @parallel {
    for p in 0:2, n in 0:N { C[n, i + p] += 1 }
  }
}
)";
  EXPECT_EQ(Codes(text), "E0261 ");
  EXPECT_EQ(Codes(With(With(text, "i + p", "2 * i + p"), "in 0:8", "in 0:4")), "");
  EXPECT_EQ(Codes(With(text, "i + p", "i")), "");
}

// Lanes are at one point of the loops around them; so are iterations of maps around these loops only where they agree.
TEST(VerifyKernel, LanesAreAtOnePointOfTheLoopsAroundThem) {
  const char text[] = R"(kernel k(inout C: f32[64, 9]) for cpu {
  map n in 0:64 @parallel {
    for i in 0:8 {
      map j in 0:8 - i @vector { C[n, i + j + 1] += 1 }
    }
  }
}
)";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(With(text, "C[n, i", "C[0, i")), "E0261 ");
  EXPECT_EQ(Codes(With(With(text, "n in 0:64", "n in 0:2"), "C[n, i + j + 1]", "C[0, i + j + n]")), "E0261 ");
  EXPECT_EQ(Codes(With(text, "i + j + 1", "i + 1")), "E0261 ");
  EXPECT_EQ(Codes(With(text, "for i in 0:8", "map i in 0:8 @unroll")), "E0261 ");
}

TEST(VerifyKernel, LoopsReadWhatIterationsBeforeWrote) {
  const auto fails = [](const std::string& local) {
    const auto p = ParseProgram("kernel k(X: f32[8, 8], Y: f32[8]) {\n  for i in 0:8 {\n    local r: f32\n    " + local +
                                "\n    X[i, 0] = Y[7] + r\n    map j in 0:8 { Y[j] = X[i, 0] }\n    r = 1\n  }\n}\n");
    EXPECT_TRUE(p.ok()) << p.status().ToString();
    return Verify(*p).ToString();
  };
  EXPECT_EQ(fails("r = 0"), "OK");
  EXPECT_NE(fails("").find("E0230"), std::string::npos) << fails("");  // registers are an iteration's own
}

}  // namespace
}  // namespace headrace
