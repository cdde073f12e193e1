// What other systems get wrong without an error, or fail at: strided loops, branches inside loops, products and maxima
// accumulated in maps, several reads of one array, scalar accumulation in loops, gathers, repeated calls, and the NPBench
// stencils. Each program stands here twice, as IR text and as C++ over dual numbers.
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

Case OfA(const std::string& text, Value a) {
  Case c;
  c.text = text;
  c.values = {{"A", std::move(a)}};
  return c;
}

// 1. The last iteration of a strided loop is not at its bound.
TEST(Anchors, StridedLoopRunsBackOverItsOwnIterations) {
  for (int64_t n = 6; n <= 9; ++n) {
    Case c = OfA(R"(sdfg f(A: f64[N], B: f64[N]) {
      map i in 0:N { B[i] = 0 }
      for i in 0:N:3 { B[i] = sin(A[i]) }
    })",
                 Uniform({n}, -1, 1));
    ExpectGradients(c, [](auto& m) {
      NumberOf<decltype(m)> s = 0;
      for (size_t i = 0; i < m["A"].size(); i += 3) s += sin(m["A"][i]);
      return s;
    });
  }
}

// 2. The branch of every iteration is remembered.
TEST(Anchors, BranchInsideALoop) {
  Case c = OfA(R"(sdfg f(A: f64[N], B: f64[N]) {
    for i in 0:N {
      if A[i] > 0.2 { B[i] = sin(A[i]) } else { B[i] = cos(A[i]) }
    }
  })",
               Uniform({9}, -1, 1));
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (auto& a : m["A"]) s += a > 0.2 ? sin(a) : cos(a);
    return s;
  });
}

// 3. Accumulating by a product or a maximum is not a sum.
TEST(Anchors, ProductAccumulatedInAMap) {
  for (double first : {0.7, 0.0}) {  // one factor may be zero: its derivative is the product of the others
    Case c = OfA(R"(sdfg f(A: f64[N], P: f64) {
      P = 1
      map i in 0:N { P *= sin(A[i]) + 0.5 * A[i] }
    })",
                 Numbers({5}, {first, -0.4, 0.9, 1.1, 0.3}));
    ExpectGradients(c, [](auto& m) {
      NumberOf<decltype(m)> p = 1;
      for (auto& a : m["A"]) p *= sin(a) + 0.5 * a;
      return p;
    });
  }
}

TEST(Anchors, ProductOfTwoZerosHasNoGradient) {
  Case c = OfA("sdfg f(A: f64[N], P: f64) {\n P = 1\n map i in 0:N { P *= A[i] }\n}", Numbers({4}, {0, 2, 0, 3}));
  ExpectGradients(c, {{"A", Numbers({4}, {0, 0, 0, 0})}});
}

TEST(Anchors, MaximumAndMinimumAccumulatedInMaps) {
  for (const char* op : {"max", "min"}) {
    Case c = OfA(std::string(R"(sdfg f(A: f64[N, M], R: f64[N]) {
      map i in 0:N { R[i] = A[i, 0] }
      map i in 0:N, j in 0:M { R[i] )") +
                     op + R"(= A[i, j] * A[i, j] - A[i, j] }
    })",
                 Uniform({4, 5}, -1, 2));
    const bool max = op[1] == 'a';
    ExpectGradients(c, [max](auto& m) {
      using T = NumberOf<decltype(m)>;
      T s = 0;
      for (int i = 0; i < 4; ++i) {
        T r = m["A"][i * 5];
        for (int j = 0; j < 5; ++j) {
          T a = m["A"][i * 5 + j], v = a * a - a;
          r = max ? Larger(r, v) : Smaller(r, v);
        }
        s += r;
      }
      return s;
    });
  }
}

// 4. An array that is read twice by one statement.
TEST(Anchors, SquareOfAnIntermediate) {
  Case c = OfA(R"(sdfg f(A: f64[N], S: f64) {
    transient B: f64[N]
    transient C: f64[N]
    map i in 0:N { B[i] = sin(A[i]) }
    map i in 0:N { C[i] = B[i] * B[i] }
    S = 0
    map i in 0:N { S += C[i] }
  })",
               Uniform({8}, -2, 2));
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (auto& a : m["A"]) s += sin(a) * sin(a);
    return s;
  });
}

TEST(Anchors, NeighboursMultiplied) {
  Case c = OfA(R"(sdfg f(A: f64[N], S: f64) {
    transient B: f64[N]
    map i in 0:N { B[i] = A[i] * A[i] }
    S = 0
    map i in 0:N - 1 { S += B[i + 1] * B[i] }
  })",
               Uniform({8}, -2, 2));
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (size_t i = 0; i + 1 < m["A"].size(); ++i) s += Square(m["A"][i]) * Square(m["A"][i + 1]);
    return s;
  });
}

// 5. A scalar that grows in a loop, also inside a branch.
TEST(Anchors, ScalarAccumulatedInALoop) {
  Case c = OfA(R"(sdfg f(A: f64[N], S: f64[1]) {
    S[0] = 0
    for i in 0:N { S[0] = S[0] + sin(A[i]) }
  })",
               Uniform({8}, -2, 2));
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (auto& a : m["A"]) s += sin(a);
    return s;
  });
}

TEST(Anchors, ScalarAccumulatedInBranches) {
  Case c = OfA(R"(sdfg f(A: f64[N], S: f64[1]) {
    S[0] = 1
    for i in 0:N {
      if A[i] > 0 { S[0] = S[0] + sin(A[i]) } else { S[0] = S[0] * A[i] }
    }
  })",
               Uniform({8}, -2, 2));
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 1;
    for (auto& a : m["A"]) s = a > 0 ? s + sin(a) : s * a;
    return s;
  });
}

// 6. Indices that are data.
TEST(Anchors, Gather) {
  Case c = OfA(R"(sdfg f(A: f64[N], idx: i64[M], B: f64[M]) {
    map i in 0:M { B[i] = sin(A[idx[i]]) }
  })",
               Uniform({5}, -2, 2));
  c.values.emplace_back("idx", Integers({7}, {4, 0, 0, 3, 1, 4, 4}));
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (int64_t i : m.Int("idx")) s += sin(m["A"][i]);
    return s;
  });
}

TEST(Anchors, ProductOfAnArray) {
  Case c = OfA("sdfg f(A: f64[N], P: f64) {\n P = 1\n map i in 0:N { P *= A[i] }\n}", Uniform({6}, 0.5, 2));
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> p = 1;
    for (auto& a : m["A"]) p *= a;
    return p;
  });
}

// 7. What works elsewhere works here.
TEST(Anchors, ElementwiseChainAndReshape) {
  Case c = OfA(R"(sdfg f(A: f64[N, 6], S: f64) {
    transient B: f64[N, 6]
    transient C: f64[N, 6]
    view D: f64[2 * N, 3] of C
    map i in 0:N, j in 0:6 { B[i, j] = exp(A[i, j]) }
    map i in 0:N, j in 0:6 { C[i, j] = tanh(B[i, j]) * B[i, j] }
    S = 0
    map i in 0:2 * N, j in 0:3 { S += D[i, j] * D[i, 0] }
  })",
               Uniform({2, 6}, -1, 1));
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    std::vector<T> d;
    for (auto& a : m["A"]) d.push_back(tanh(exp(a)) * exp(a));
    T s = 0;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 3; ++j) s += d[i * 3 + j] * d[i * 3];
    return s;
  });
}

TEST(Anchors, TriangularLoop) {
  Case c = OfA(R"(sdfg f(A: f64[N, N], B: f64[N, N]) {
    map i in 0:N, j in 0:N { B[i, j] = 0 }
    for i in 0:N { for j in i:N { B[i, j] = sin(A[i, j]) * A[j, i] } }
  })",
               Uniform({5, 5}, -1, 1));
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (int i = 0; i < 5; ++i)
      for (int j = i; j < 5; ++j) s += sin(m["A"][i * 5 + j]) * m["A"][j * 5 + i];
    return s;
  });
}

TEST(Anchors, ScanInPlace) {
  Case c = OfA(R"(sdfg f(A: f64[N], B: f64[N]) {
    map i in 0:N { B[i] = A[i] }
    for i in 1:N { B[i] *= B[i - 1] }
  })",
               Uniform({7}, 0.5, 1.5));
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0, p = 1;
    for (auto& a : m["A"]) s += p *= a;
    return s;
  });
}

TEST(Anchors, ArrayOverwrittenByItsSine) {
  Case c = OfA(R"(sdfg f(A: f64[N], B: f64[N]) {
    map i in 0:N { B[i] = A[i] }
    for t in 0:3 { map i in 0:N { B[i] = sin(B[i]) } }
  })",
               Uniform({7}, -2, 2));
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (auto& a : m["A"]) s += sin(sin(sin(a)));
    return s;
  });
}

TEST(Anchors, StateLevelBranch) {
  for (double x : {0.5, -0.5}) {
    Case c = OfA(R"(sdfg f(A: f64[N], x: f64, B: f64[N]) {
      if x > 0 { map i in 0:N { B[i] = sin(A[i]) * x } } else { map i in 0:N { B[i] = A[i] * A[i] - x } }
    })",
                 Uniform({5}, -2, 2));
    c.values.emplace_back("x", Scalar(x));
    ExpectGradients(c, [](auto& m) {
      NumberOf<decltype(m)> s = 0, y = m["x"][0];
      for (auto& a : m["A"]) s += y > 0 ? sin(a) * y : a * a - y;
      return s;
    });
  }
}

// ---- NPBench ----

// Called twice by the harness: accumulators must start from zero in every call.
TEST(Npbench, Jacobi1d) {
  Case c;
  c.text = R"(sdfg jacobi_1d(inout A: f64[N], inout B: f64[N], TSTEPS: symbol) {
    for t in 1:TSTEPS {
      map i in 1:N - 1 { B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]) }
      map i in 1:N - 1 { A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1]) }
    }
  })";
  c.values = {{"A", Uniform({11}, 0, 1)}, {"B", Uniform({11}, 0, 1, 2)}};
  c.symbols = {{"TSTEPS", 5}};
  ExpectGradients(c, [](auto& m) {
    auto &A = m["A"], &B = m["B"];
    for (int t = 1; t < 5; ++t) {
      for (int i = 1; i < 10; ++i) B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]);
      for (int i = 1; i < 10; ++i) A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1]);
    }
    NumberOf<decltype(m)> s = 0;
    for (int i = 0; i < 11; ++i) s += A[i] + B[i];
    return s;
  });
}

std::string Heat(const std::string& to, const std::string& from) {
  return "map i in 1:N - 1, j in 1:N - 1, k in 1:N - 1 {\n" + to + "[i, j, k] = 0.125 * (" + from +
         "[i + 1, j, k] - 2 * " + from + "[i, j, k] + " + from + "[i - 1, j, k]) + 0.125 * (" + from +
         "[i, j + 1, k] - 2 * " + from + "[i, j, k] + " + from + "[i, j - 1, k]) + 0.125 * (" + from +
         "[i, j, k + 1] - 2 * " + from + "[i, j, k] + " + from + "[i, j, k - 1]) + " + from + "[i, j, k]\n}\n";
}

template <typename T>
void HeatStep(std::vector<T>& to, const std::vector<T>& from, int n) {
  for (int i = 1; i < n - 1; ++i)
    for (int j = 1; j < n - 1; ++j)
      for (int k = 1; k < n - 1; ++k) {
        const int at = (i * n + j) * n + k;
        T v = from[at];
        for (int d : {1, n, n * n}) v += 0.125 * (from[at + d] - 2 * from[at] + from[at - d]);
        to[at] = v;
      }
}

TEST(Npbench, Heat3d) {
  Case c;
  c.text = "sdfg heat_3d(inout A: f64[N, N, N], inout B: f64[N, N, N], TSTEPS: symbol) {\n for t in 1:TSTEPS {\n" +
           Heat("B", "A") + Heat("A", "B") + "}\n}";
  c.outputs = {"A"};
  c.values = {{"A", Uniform({5, 5, 5}, 0, 1)}, {"B", Uniform({5, 5, 5}, 0, 1, 2)}};
  c.symbols = {{"TSTEPS", 4}};
  ExpectGradients(c, [](auto& m) {
    for (int t = 1; t < 4; ++t) HeatStep(m["B"], m["A"], 5), HeatStep(m["A"], m["B"], 5);
    NumberOf<decltype(m)> s = 0;
    for (auto& a : m["A"]) s += a;
    return s;
  });
}

// Wrong elsewhere from three steps on.
TEST(Npbench, Fdtd2d) {
  for (int64_t steps : {1, 2, 3, 5}) {
    Case c;
    c.text = R"(sdfg fdtd_2d(inout ex: f64[NX, NY], inout ey: f64[NX, NY], inout hz: f64[NX, NY], fict: f64[TMAX]) {
      for t in 0:TMAX {
        map j in 0:NY { ey[0, j] = fict[t] }
        map i in 1:NX, j in 0:NY { ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j]) }
        map i in 0:NX, j in 1:NY { ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1]) }
        map i in 0:NX - 1, j in 0:NY - 1 {
          hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
        }
      }
    })";
    c.outputs = {"hz"};
    c.values = {{"ex", Uniform({5, 6}, 0, 1)},
                {"ey", Uniform({5, 6}, 0, 1, 2)},
                {"hz", Uniform({5, 6}, 0, 1, 3)},
                {"fict", Uniform({steps}, 0, 1, 4)}};
    ExpectGradients(c, [steps](auto& m) {
      auto &ex = m["ex"], &ey = m["ey"], &hz = m["hz"];
      for (int64_t t = 0; t < steps; ++t) {
        for (int j = 0; j < 6; ++j) ey[j] = m["fict"][t];
        for (int i = 6; i < 30; ++i) ey[i] -= 0.5 * (hz[i] - hz[i - 6]);
        for (int i = 0; i < 30; ++i)
          if (i % 6) ex[i] -= 0.5 * (hz[i] - hz[i - 1]);
        for (int i = 0; i < 24; ++i)
          if (i % 6 != 5) hz[i] -= 0.7 * (ex[i + 1] - ex[i] + ey[i + 6] - ey[i]);
      }
      NumberOf<decltype(m)> s = 0;
      for (auto& a : hz) s += a;
      return s;
    });
  }
}

TEST(Npbench, Seidel2d) {
  Case c = OfA(R"(sdfg seidel_2d(inout A: f64[N, N], TSTEPS: symbol) {
    for t in 0:TSTEPS - 1 { for i in 1:N - 1 { for j in 1:N - 1 {
      A[i, j] = (A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]) / 9
    } } }
  })",
               Uniform({5, 5}, 0, 1));
  c.symbols = {{"TSTEPS", 4}};
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    auto& A = m["A"];
    for (int t = 0; t < 3; ++t)
      for (int i = 1; i < 4; ++i)
        for (int j = 1; j < 4; ++j) {
          T v = 0;
          for (int di = -1; di <= 1; ++di)
            for (int dj = -1; dj <= 1; ++dj) v += A[(i + di) * 5 + j + dj];
          A[i * 5 + j] = v / 9;
        }
    T s = 0;
    for (auto& a : A) s += a;
    return s;
  });
}

}  // namespace
}  // namespace headrace::autodiff::testing
