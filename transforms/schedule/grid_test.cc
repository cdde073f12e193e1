// Schedules for a device whose threads have barriers and shared memory, as texts that the verifier takes; each of the wrong ones has
// one thing changed.
#include "transforms/schedule/grid.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/verify/verify.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

constexpr char kPipeline[] = "simplify; fuse; outline; choose-schedule{device=gpu}";

// Rows have 256 partial results, one of each thread, which they share to combine them.
constexpr char kSoftmax[] = R"(
sdfg f(X: f32[N, C], Y: f32[N, C]) {
  state {
    call k0(p0 = X, p1 = Y, n0 := N, n1 := C)
  }
}

kernel k0(p0: f32[n0, n1], p1: f32[n0, n1], n0: symbol, n1: symbol) for gpu {
  map i0_0 in 0:n0:2 @grid {
    for i0 in i0_0:+2 {
      local r0: f32 @shared
      r0 = -inf
      local sum: f32 @shared
      sum = -inf
      local partial: f32[256] @shared
      map u in 0:256 @block { partial[u] = -inf }
      for i1_0 in 0:256 * (n1 // 256):256 {
        map u in 0:256 @block { partial[u] max= p0[i0, i1_0 + u] }
      }
      map i1 in 256 * (n1 // 256):n1 @block { partial[i1 - 256 * (n1 // 256)] max= p0[i0, i1] }
      map u in 0:256 @halves { sum max= partial[u] }
      r0 max= sum
      local r1: f32 @shared
      r1 = 0
      local sum_1: f32 @shared
      sum_1 = 0.0
      local partial_1: f32[256] @shared
      map u in 0:256 @block { partial_1[u] = 0.0 }
      for i1_0 in 0:256 * (n1 // 256):256 {
        map u in 0:256 @block { partial_1[u] += exp(p0[i0, i1_0 + u] - r0) }
      }
      map i1 in 256 * (n1 // 256):n1 @block { partial_1[i1 - 256 * (n1 // 256)] += exp(p0[i0, i1] - r0) }
      map u in 0:256 @halves { sum_1 += partial_1[u] }
      r1 += sum_1
      map i1 in 0:n1 @block { p1[i0, i1] = exp(p0[i0, i1] - r0) / r1 }
    }
  }
}
)";
TEST(Grid, Softmax) {
  ExpectPass(R"(
sdfg f(X: f32[N, C], Y: f32[N, C]) {
  transient m: f32 @register
  transient s: f32 @register
  map i in 0:N {
    m = -inf
    map j in 0:C { m max= X[i, j] }
    s = 0
    map j in 0:C { s += exp(X[i, j] - m) }
    map j in 0:C { Y[i, j] = exp(X[i, j] - m) / s }
  }
}
)", kPipeline, kSoftmax);
}

// What all threads of a block need is computed once, between two of their maps.
constexpr char kNorm[] = R"(
sdfg f(X: f32[32, 1000], G: f32[1000], B: f32[1000], Y: f32[32, 1000]) {
  state {
    call k0(p0 = X, p1 = Y, p2 = G, p3 = B)
  }
}

kernel k0(p0: f32[32, 1000], p1: f32[32, 1000], p2: f32[1000], p3: f32[1000]) for gpu {
  map i0 in 0:32 @grid {
    local r0: f32 @shared
    r0 = 0
    local sum: f32 @shared
    sum = 0.0
    local partial: f32[256] @shared
    map u in 0:256 @block { partial[u] = 0.0 }
    for i1_0 in 0:768:256 {
      map u in 0:256 @block { partial[u] += p0[i0, i1_0 + u] / 1000 }
    }
    map i1 in 768:1000 @block { partial[i1 - 768] += p0[i0, i1] / 1000 }
    map u in 0:256 @halves { sum += partial[u] }
    r0 += sum
    local r1: f32 @shared
    r1 = 0
    local sum_1: f32 @shared
    sum_1 = 0.0
    local partial_1: f32[256] @shared
    map u in 0:256 @block { partial_1[u] = 0.0 }
    for i1_0 in 0:768:256 {
      map u in 0:256 @block { partial_1[u] += (p0[i0, i1_0 + u] - r0) * (p0[i0, i1_0 + u] - r0) / 1000 }
    }
    map i1 in 768:1000 @block { partial_1[i1 - 768] += (p0[i0, i1] - r0) * (p0[i0, i1] - r0) / 1000 }
    map u in 0:256 @halves { sum_1 += partial_1[u] }
    r1 += sum_1
    local once: f32 @shared
    once = sqrt(r1 + 1e-05)
    map i1 in 0:1000 @block { p1[i0, i1] = (p0[i0, i1] - r0) / once * p2[i1] + p3[i1] }
  }
}
)";
TEST(Grid, Norm) {
  ExpectPass(R"(
sdfg f(X: f32[32, 1000], G: f32[1000], B: f32[1000], Y: f32[32, 1000]) {
  transient m: f32 @register
  transient v: f32 @register
  map i in 0:32 {
    m = 0
    map j in 0:1000 { m += X[i, j] / 1000 }
    v = 0
    map j in 0:1000 { v += (X[i, j] - m) * (X[i, j] - m) / 1000 }
    map j in 0:1000 { Y[i, j] = (X[i, j] - m) / sqrt(v + 0.00001) * G[j] + B[j] }
  }
}
)", kPipeline, kNorm);
}

// No thread sees what another one writes.
constexpr char kMish[] = R"(
sdfg f(X: f32[N], Y: f32[N]) {
  state {
    call k0(p0 = Y, p1 = X, n0 := N)
  }
}

kernel k0(p0: f32[n0], p1: f32[n0], n0: symbol) for gpu {
  map i0_0 in 0:n0:1024 @grid {
    map i0 in i0_0:+1024 @block { p0[i0] = p1[i0] * tanh(log(1 + exp(p1[i0]))) }
  }
}
)";
TEST(Grid, Mish) {
  ExpectPass(R"(
sdfg f(X: f32[N], Y: f32[N]) {
  map i in 0:N { Y[i] = X[i] * tanh(log(1 + exp(X[i]))) }
}
)", kPipeline, kMish);
}

// Columns are laid out in shared memory; each thread keeps its column of a tile in registers.
constexpr char kProduct[] = R"(
sdfg f(A: f32[128, 60], B: f32[60, 512], C: f32[128, 512]) {
  state {
    call k0(p0 = C)
    call k1(p0 = C, p1 = A, p2 = B)
  }
}

kernel k0(p0: f32[128, 512]) for gpu {
  view v: f32[65536] of p0
  map i0_0 in 0:65536:4096 @grid {
    map i0 in i0_0:+4096 @block { v[i0] = 0 }
  }
}

kernel k1(inout p0: f32[128, 512], p1: f32[128, 60], p2: f32[60, 512]) for gpu {
  map i0_0 in 0:128:64, i1_0 in 0:512:256 @grid {
    for i2_0 in 0:60:15 {
      local b: f32[15, 512] @shared
      for i2 in i2_0:+15 {
        map i1 in i1_0:+256 @block { b[i2 - i2_0, i1 - i1_0] = p2[i2, i1] }
      }
      for i0_1 in i0_0:+64:8, i1_1 in i1_0:+256:256 {
        local t: f32[8, 256]
        map r in 0:8 @unroll {
          map u in 0:256 @block { t[r, u] = 0.0 }
        }
        for d in i2_0:+15 {
          map r in 0:8 @unroll {
            map u in 0:256 @block { t[r, u] = fma(p1[i0_1 + r, d], b[d - i2_0, i1_1 - i1_0 + u], t[r, u]) }
          }
        }
        map r in 0:8 @unroll {
          map u in 0:256 @block { p0[i0_1 + r, i1_1 + u] += t[r, u] }
        }
      }
    }
  }
}
)";
TEST(Grid, Product) {
  ExpectPass(R"(
sdfg f(A: f32[128, 60], B: f32[60, 512], C: f32[128, 512]) {
  map i in 0:128, j in 0:512 { C[i, j] = 0 }
  map i in 0:128, j in 0:512, k in 0:60 { C[i, j] += A[i, k] * B[k, j] }
}
)", kPipeline, kProduct);
}

// Steps of time are calls, one grid after the other.
constexpr char kStencil[] = R"(
sdfg f(inout A: f32[130, 130], inout B: f32[130, 130], T: symbol) {
  assume -9223372036854775808 <= T
  for t in 0:T {
    state {
      call k0(p0 = B, p1 = A)
      call k0(p0 = A, p1 = B)
    }
  }
}

kernel k0(p0: f32[130, 130], p1: f32[130, 130]) for gpu {
  map i0_0 in 0:128:2 @grid {
    for i0 in i0_0:+2 {
      map i1 in 0:128 @block {
        p0[i0 + 1, i1 + 1] = (p1[i0 + 1, i1 + 1] + p1[i0, i1 + 1] + p1[i0 + 2, i1 + 1] + p1[i0 + 1, i1] + p1[i0 + 1, i1 + 2]) / 5
      }
    }
  }
}
)";
TEST(Grid, Stencil) {
  ExpectPass(R"(
sdfg f(inout A: f32[130, 130], inout B: f32[130, 130], T: symbol) {
  for t in 0:T {
    map i in 1:130 - 1, j in 1:130 - 1 { B[i, j] = (A[i, j] + A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]) / 5 }
    map i in 1:130 - 1, j in 1:130 - 1 { A[i, j] = (B[i, j] + B[i - 1, j] + B[i + 1, j] + B[i, j - 1] + B[i, j + 1]) / 5 }
  }
}
)", kPipeline, kStencil);
}

// Rows that several terms are added to keep their order; threads have a column each. What is added to is asked for before.
constexpr char kEmbeddingGradient[] = R"(
sdfg f(I: i64[N], dY: f32[N, D], dW: f32[V, D]) {
  state {
    call k0(p0 = dW, n0 := V, n1 := D)
    call k1(dW = dW, I = I, dY = dY, n0 := N, n1 := D, n2 := V)
  }
}

kernel k0(p0: f32[n0, n1], n0: symbol, n1: symbol) for gpu {
  view v: f32[n0 * n1] of p0
  map i0_0 in 0:n0 * n1:4096 @grid {
    map i0 in i0_0:+4096 @block { v[i0] = 0 }
  }
}

kernel k1(inout dW: f32[n2, n1], I: i64[n0], dY: f32[n0, n1], n0: symbol, n1: symbol, n2: symbol) for gpu {
  map i1_0_0 in 0:n1:256 * max(4096 // max(2 * n0 * min(n1, 256), 1), 1) @grid {
    for i1_0 in i1_0_0:+256 * max(4096 // max(2 * n0 * min(n1, 256), 1), 1):256, i0 in 0:n0 {
      check dW[I[i0], i1_0]
      map i1 in i1_0:+256 @block { dW[I[i0], i1] += dY[i0, i1] }
    }
  }
}
)";
TEST(Grid, EmbeddingGradient) {
  ExpectPass(R"(
sdfg f(I: i64[N], dY: f32[N, D], dW: f32[V, D]) {
  map v in 0:V, d in 0:D { dW[v, d] = 0 }
  map n in 0:N, d in 0:D { dW[I[n], d] += dY[n, d] }
}
)", kPipeline, kEmbeddingGradient);
}

// What is done once, and what no range can share out, is a grid of one block.
TEST(Grid, OneBlock) {
  ExpectPass(R"(
kernel counts(inout p0: f32[40], p1: i64[n0], p2: f32[n0], n0: symbol) {
  map i in 0:n0 { p0[p1[i] - 3] ?? += p2[i] }
})",
             "choose-schedule{device=gpu}", R"(
kernel counts(inout p0: f32[40], p1: i64[n0], p2: f32[n0], n0: symbol) for gpu {
  map g in 0:1 @grid {
    for i in 0:n0 {
      if p1[i] - 3 >= 0 && p1[i] - 3 < 40 {
        p0[p1[i] - 3] += p2[i]
      }
    }
  }
})");
}

std::string Codes(const std::string& text) {
  const Result<Program> p = ParseProgram(text);
  if (!p.ok()) return p.status().ToString();
  std::string codes;
  const Status verified = Verify(*p);
  for (const Diagnostic& d : verified.diagnostics()) codes += d.code + " " + d.message + "\n";
  return codes;
}

std::string With(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

TEST(Grid, WrongOnes) {
  const struct {
    const char *text, *what, *by, *message;
  } cases[] = {
      // A phase that comes too early, or that is part of the one before.
      {kNorm, "map u in 0:256 @halves { sum_1 += partial_1[u] }", "map u in 0:256 @block { sum_1 += partial_1[u] }", "all write the same element of 'sum_1'"},
      {kNorm, "map u in 0:256 @block { partial[u] = 0.0 }\n", "map u in 0:256 @halves { sum += partial[u] }\n", "'partial' is read before it is written"},
      {kNorm, "partial[u] += p0[i0, i1_0 + u] / 1000", "partial[u] += p0[i0, i1_0 + u] / 1000 + partial[255 - u]", "may meet an element that another iteration"},
      // A buffer that is too short, or that others don't see.
      {kNorm, "partial: f32[256] @shared", "partial: f32[128] @shared", "is outside its bounds"},
      {kNorm, "partial: f32[256] @shared", "partial: f32[256]", "'partial' is used by several threads of a block"},
      {kNorm, "once: f32 @shared", "once: f32", "'once' is used by several threads of a block"},
      {kProduct, "b: f32[15, 512] @shared", "b: f32[15, 255] @shared", "is outside its bounds"},
      {kProduct, "fma(p1[i0_1 + r, d], b[d - i2_0, i1_1 - i1_0 + u], t[r, u])", "fma(p1[i0_1 + r, d], b[d - i2_0, i1_1 - i1_0 + u], t[r, 255 - u])", "'t' is used by several threads of a block"},
      {kProduct, "  map i0_0 in 0:128:64, i1_0 in 0:512:256 @grid {\n", "  local w: f32[15] @shared\n  map u in 0:15 @grid { w[u] = 0 }\n  map u in 0:15 @grid { w[u] = 1 }\n  map i0_0 in 0:128:64, i1_0 in 0:512:256 @grid {\n", "is @shared by several grids"},
      // Threads that accumulate into one element.
      {kNorm, "partial[u] += p0[i0, i1_0 + u]", "r0 += p0[i0, i1_0 + u]", "all write the same element of 'r0'"},
      {kProduct, "p0[i0_1 + r, i1_1 + u] += t[r, u]", "p0[i0_1 + r, i1_1] += t[r, u]", "all write the same element of 'p0'"},
      {kEmbeddingGradient, "for i1_0 in i1_0_0:", "map i1_0 in i1_0_0:", "does not say where its iterations run"},
      // Blocks that meet.
      {kProduct, "map i0_0 in 0:128:64, i1_0", "map i0_0 in 0:128:32, i1_0", "all write the same element of 'p0'"},
      // A barrier that not all threads come to.
      {kProduct, "map u in 0:256 @block { t[r, u] = 0.0 }", "map w in 0:1 @block {\nmap u in 0:256 @block { t[r, u] = 0.0 }\n}", "stands inside what one thread does"},
      {kSoftmax, "r0 max= sum", "map u in 0:256 @block { r0 max= sum }", "all write the same element of 'r0'"},
      {kMish, "map i0_0 in 0:n0:1024 @grid", "map i0_0 in 0:n0:1024 @block", "stands outside of a map @grid"},
      // An access that nothing was asked about.
      {kEmbeddingGradient, "check dW[I[i0], i1_0]", "check dW[i0, i1_0]", "is not shown to be within its bounds"},
      {kStencil, "p1[i0 + 2, i1 + 1]", "p1[i0 + 3, i1 + 1]", "is outside its bounds"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Codes(c.text), "");
    const std::string codes = Codes(With(c.text, c.what, c.by));
    EXPECT_TRUE(!codes.empty() && codes.find(c.message) != codes.npos) << c.what << " → " << c.by << "\ngot " << codes;
  }
}

}  // namespace
}  // namespace headrace::transforms
