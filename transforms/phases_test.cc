#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// The gradient of a convolution of 17 elements, every second one, with three weights: two meet even elements, one the others.
constexpr char kSteps[] = R"(
sdfg f(G: f32[8, 96], W: f32[3, 96], out D: f32[17, 96]) {
  transient P: f32[96, 2, 9] layout [d1, d2, d0]
  transient d: f32[96, 17] layout [d1, d0]
  state {
    map c in 0:96, f in 0:2, r in 0:9 { P[c, f, r] = 0 }
    map c in 0:96, f in 0:2, r in 0:9, j in 0:2 { P[c, f, r] += (G[r - j, c] ?? 0) * (W[f + 2 * j, c] ?? 0) }
    map c in 0:96, q in 0:17 { d[c, q] = P[c, q % 2, q // 2] }
    map q in 0:17, c in 0:96 { D[q, c] = d[c, q] * 2 }
  }
})";

TEST(SplitPhases, EachHasTheTermsThatItMeets) {
  ExpectPass(kSteps, "split-phases", R"(
sdfg f(G: f32[8, 96], W: f32[3, 96], out D: f32[17, 96]) {
  transient d: f32[96, 17] layout [d1, d0]
  view d_phase: f32[96, 9] of d strides [1, 192]
  view d_phase_1: f32[96, 8] of d offset 96 strides [1, 192]
  state {
    map c in 0:96, r in 0:9 { d_phase[c, r] = 0 }
    map c in 0:96, r in 0:9, j in 0:2 { d_phase[c, r] += (G[r - j, c] ?? 0) * (W[2 * j, c] ?? 0) }
    map c in 0:96, r in 0:8 { d_phase_1[c, r] = 0 }
    map c in 0:96, r in 0:8, j in 0:1 { d_phase_1[c, r] += (G[r - j, c] ?? 0) * (W[2 * j + 1, c] ?? 0) }
    map q in 0:17, c in 0:96 { D[q, c] = d[c, q] * 2 }
  }
})");
}

// Steps of two and three, from a border on, with a statement that begins and sums in one.
TEST(SplitPhases, OfTwoDimensions) {
  ExpectPass(R"(
sdfg f(G: f32[N, 4, 4, 8], W: f32[5, 5, 8], out D: f32[N, 7, 8, 8]) {
  transient P: f32[N, 8, 2, 3, 5, 4] layout [d0, d2, d3, d4, d5, d1]
  transient d: f32[N, 8, 7, 8] layout [d0, d2, d3, d1]
  state {
    map n in 0:N, c in 0:8, f0 in 0:2, f1 in 0:3, r0 in 0:5, r1 in 0:4 {
      P[n, c, f0, f1, r0, r1] = 1
      map j0 in 0:3, j1 in 0:2 { P[n, c, f0, f1, r0, r1] += (G[n, r0 - j0 + 1, r1 - j1, c] ?? 0) * (W[f0 + 2 * j0, f1 + 3 * j1, c] ?? 0) }
    }
    map n in 0:N, c in 0:8, q0 in 0:7, q1 in 0:8 { d[n, c, q0, q1] = P[n, c, (q0 + 3) % 2, (q1 + 1) % 3, (q0 + 3) // 2 - 1, (q1 + 1) // 3] }
    map n in 0:N, q0 in 0:7, q1 in 0:8, c in 0:8 { D[n, q0, q1, c] = d[n, c, q0, q1] * 2 }
  }
})",
             "split-phases", R"(
sdfg f(G: f32[N, 4, 4, 8], W: f32[5, 5, 8], out D: f32[N, 7, 8, 8]) {
  transient d: f32[N, 8, 7, 8] layout [d0, d2, d3, d1]
  view d_phase: f32[N, 8, 3, 2] of d offset 80 strides [448, 1, 128, 24]
  view d_phase_1: f32[N, 8, 4, 2] of d offset 16 strides [448, 1, 128, 24]
  view d_phase_2: f32[N, 8, 3, 3] of d offset 64 strides [448, 1, 128, 24]
  view d_phase_3: f32[N, 8, 4, 3] of d strides [448, 1, 128, 24]
  view d_phase_4: f32[N, 8, 3, 3] of d offset 72 strides [448, 1, 128, 24]
  view d_phase_5: f32[N, 8, 4, 3] of d offset 8 strides [448, 1, 128, 24]
  state {
    map n in 0:N, c in 0:8, r0 in 0:3, r1 in 0:2 {
      d_phase[n, c, r0, r1] = 1
      map j0 in 0:3, j1 in 0:2 {
        d_phase[n, c, r0, r1] += (G[n, r0 - j0 + 2, r1 - j1 + 1, c] ?? 0) * (W[2 * j0, 3 * j1, c] ?? 0)
      }
    }
    map n in 0:N, c in 0:8, r0 in 0:4, r1 in 0:2 {
      d_phase_1[n, c, r0, r1] = 1
      map j0 in 0:2, j1 in 0:2 {
        d_phase_1[n, c, r0, r1] += (G[n, r0 - j0 + 1, r1 - j1 + 1, c] ?? 0) * (W[2 * j0 + 1, 3 * j1, c] ?? 0)
      }
    }
    map n in 0:N, c in 0:8, r0 in 0:3, r1 in 0:3 {
      d_phase_2[n, c, r0, r1] = 1
      map j0 in 0:3, j1 in 0:2 {
        d_phase_2[n, c, r0, r1] += (G[n, r0 - j0 + 2, r1 - j1, c] ?? 0) * (W[2 * j0, 3 * j1 + 1, c] ?? 0)
      }
    }
    map n in 0:N, c in 0:8, r0 in 0:4, r1 in 0:3 {
      d_phase_3[n, c, r0, r1] = 1
      map j0 in 0:2, j1 in 0:2 {
        d_phase_3[n, c, r0, r1] += (G[n, r0 - j0 + 1, r1 - j1, c] ?? 0) * (W[2 * j0 + 1, 3 * j1 + 1, c] ?? 0)
      }
    }
    map n in 0:N, c in 0:8, r0 in 0:3, r1 in 0:3 {
      d_phase_4[n, c, r0, r1] = 1
      map j0 in 0:3, j1 in 0:1 {
        d_phase_4[n, c, r0, r1] += (G[n, r0 - j0 + 2, r1 - j1, c] ?? 0) * (W[2 * j0, 3 * j1 + 2, c] ?? 0)
      }
    }
    map n in 0:N, c in 0:8, r0 in 0:4, r1 in 0:3 {
      d_phase_5[n, c, r0, r1] = 1
      map j0 in 0:2, j1 in 0:1 {
        d_phase_5[n, c, r0, r1] += (G[n, r0 - j0 + 1, r1 - j1, c] ?? 0) * (W[2 * j0 + 1, 3 * j1 + 2, c] ?? 0)
      }
    }
    map n in 0:N, q0 in 0:7, q1 in 0:8, c in 0:8 { D[n, q0, q1, c] = d[n, c, q0, q1] * 2 }
  }
})");
}

std::string With(std::string text, const std::string& old, const std::string& now) {
  EXPECT_NE(text.find(old), std::string::npos) << old;
  return text.replace(text.find(old), old.size(), now);
}

TEST(SplitPhases, NotThese) {
  ExpectUnchanged(With(kSteps, "layout [d1, d2, d0]", "layout [d0, d1, d2]"), "split-phases");           // elements of a phase don't lie side by side
  ExpectUnchanged(With(kSteps, "P[c, q % 2, q // 2]", "P[c, q % 2, q // 2] + 1"), "split-phases");       // more than a copy
  ExpectUnchanged(With(kSteps, "P[c, f, r] = 0 }", "P[c, f, r] = 0 }\n    map c in 0:96 { d[c, 0] = 1 }"), "split-phases");  // the result is in use
  ExpectUnchanged(With(kSteps, "D[q, c] = d[c, q] * 2", "D[q, c] = d[c, q] * P[c, 0, 0]"), "split-phases");  // others read the phases, too
  ExpectUnchanged(With(kSteps, "P[c, f, r] = 0 }", "P[c, f, r] = G[0, c] }"), "split-phases");           // a statement that would move past others
}

}  // namespace
}  // namespace headrace::transforms
