// Elements found by data: gather, scatter, sparse matrices, guarded writes, sorting networks.
#include "ir/text/printer.h"
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

TEST(Access, ScatterByAccumulation) {
  Case c = With(R"(sdfg f(A: f64[M], idx: i64[M], Y: f64[5]) {
    map i in 0:5 { Y[i] = 1 }
    map i in 0:M { Y[idx[i]] += A[i] * A[i] }
    map i in 0:5 { Y[i] = sin(Y[i]) }
  })",
                {{"A", Uniform({7}, -1, 1)}, {"idx", Integers({7}, {4, 0, 0, 3, 1, 4, 4})}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T y[5] = {1, 1, 1, 1, 1}, s = 0;
    for (int i = 0; i < 7; ++i) y[m.Int("idx")[i]] += Square(m["A"][i]);
    for (auto& v : y) s += sin(v);
    return s;
  });
}

TEST(Access, ScatterOverwrites) {  // in a loop, so the last one wins
  Case c = With(R"(sdfg f(A: f64[M], idx: i64[M], Y: f64[5]) {
    map i in 0:5 { Y[i] = A[i] * A[0] }
    for i in 0:M { Y[idx[i]] = A[i] * A[i] + 0.1 * Y[(idx[i] + 1) % 5] }
  })",
                {{"A", Uniform({7}, -1, 1)}, {"idx", Integers({7}, {4, 0, 0, 3, 1, 4, 4})}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T y[5], s = 0;
    for (int i = 0; i < 5; ++i) y[i] = m["A"][i] * m["A"][0];
    for (int i = 0; i < 7; ++i) {
      int64_t k = m.Int("idx")[i];
      y[k] = Square(m["A"][i]) + 0.1 * y[(k + 1) % 5];
    }
    for (auto& v : y) s += v;
    return s;
  });
}

TEST(Access, ScatterByAPermutationInAMap) {
  Case c = With(R"(sdfg f(A: f64[5], p: i64[5], Y: f64[5]) {
    map i in 0:5 { Y[i] = A[i] * A[i] }
    map i in 0:5 { Y[p[i]] = sin(A[i]) * A[p[i]] }
  })",
                {{"A", Uniform({5}, -1, 1)}, {"p", Integers({5}, {3, 0, 4, 1, 2})}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (int i = 0; i < 5; ++i) s += sin(m["A"][i]) * m["A"][m.Int("p")[i]];
    return s;
  });
}

TEST(Access, ScatterOfProductsAndMaxima) {
  for (const char* op : {"*=", "max="}) {
    Case c = With(
        std::string(
            "sdfg f(A: f64[M], idx: i64[M], Y: f64[3]) {\n map i in 0:3 { Y[i] = 0.5 }\n map i in 0:M { Y[idx[i]] ") +
            op + " A[i] }\n}",
        {{"A", Uniform({7}, 0.2, 1.2)}, {"idx", Integers({7}, {2, 0, 0, 1, 1, 2, 2})}});
    const bool product = op[0] == '*';
    ExpectGradients(c, [product](auto& m) {
      NumberOf<decltype(m)> y[3] = {0.5, 0.5, 0.5};
      for (int i = 0; i < 7; ++i) {
        auto& v = y[m.Int("idx")[i]];
        v = product ? v * m["A"][i] : Larger(v, m["A"][i]);
      }
      return y[0] + y[1] + y[2];
    });
  }
}

TEST(Access, GatherThroughTwoTablesAndPositions) {
  Case c = With(R"(sdfg f(A: f64[N, 3], i1: i64[M], i2: i64[K], Y: f64[M, K]) {
    map a in 0:M, b in 0:K { Y[a, b] = A[i1[a], i2[b] % 3] * A.flat[i2[i1[a] % K]] }
  })",
                {{"A", Uniform({4, 3}, -1, 1)}, {"i1", Integers({3}, {3, 0, 3})}, {"i2", Integers({4}, {5, 1, 7, 2})}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 4; ++b) {
        int64_t i = m.Int("i1")[a];
        s += m["A"][i * 3 + m.Int("i2")[b] % 3] * m["A"][m.Int("i2")[i % 4]];
      }
    return s;
  });
}

// y = A x for a sparse A in compressed rows: loop bounds are data.
TEST(Access, SparseMatrixInCompressedRows) {
  const NamedValues values = {{"val", Uniform({6}, -1, 1)},
                              {"x", Uniform({5}, -1, 1, 2)},
                              {"ptr", Integers({5}, {0, 2, 2, 3, 6})},
                              {"col", Integers({6}, {0, 3, 4, 1, 3, 4})}};
  auto reference = [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T s = 0;
    for (int i = 0; i < 4; ++i) {
      T y = 0;
      for (int64_t k = m.Int("ptr")[i]; k < m.Int("ptr")[i + 1]; ++k) y += m["val"][k] * m["x"][m.Int("col")[k]];
      s += y * y;
    }
    return s;
  };
  ExpectGradients(With(R"(sdfg spmv(val: f64[Z], col: i64[Z], ptr: i64[P], x: f64[N], y: f64[P - 1]) {
    for i in 0:P - 1 {
      y[i] = 0
      for k = ptr[i]; k < ptr[i + 1]; k = k + 1 { y[i] = y[i] + val[k] * x[col[k]] }
      y[i] = y[i] * y[i]
    }
  })",
                       values),
                  reference);
  ExpectGradients(With(R"(sdfg spmv(val: f64[Z], col: i64[Z], ptr: i64[P], x: f64[N], y: f64[P - 1]) {
    for i in 0:P - 1 {
      let lo = ptr[i]
      let hi = ptr[i + 1]
      y[i] = 0
      map k in lo:hi { y[i] += val[k] * x[col[k]] }
      y[i] = y[i] * y[i]
    }
  })",
                       values),
                  reference);
}

// Sizes from data that nothing overwrites are found anew in the backward sweep; what changes is kept.
TEST(Access, SizesFromDataThatStays) {
  const std::string text = R"(sdfg f(A: f64[N], inout ptr: i64[P], y: f64[P - 1]) {
    for i in 0:P - 1 {
      let lo = ptr[i]
      y[i] = 0
      map k in lo:N { y[i] += A[k] * A[k] }
      LAST
    }
  })";
  for (const bool changes : {false, true}) {
    std::string with = text;
    with.replace(with.find("LAST"), 4, changes ? "ptr[i + 1] = ptr[i + 1] + lo" : "");
    if (!changes) with.replace(with.find("inout "), 6, "");
    Case c = With(with, {{"A", Uniform({5}, -1, 1)}, {"ptr", Integers({4}, {1, 2, 0, 3})}});
    c.inputs = {Name("A")}, c.outputs = {Name("y")};
    Result<BackwardPrograms> programs = Differentiated(c);
    ASSERT_TRUE(programs.ok()) << programs.status().ToString();
    EXPECT_EQ(Print(programs->program).find("tape_lo") != std::string::npos, changes);
    ExpectGradients(c, [&](auto& m) {
      NumberOf<decltype(m)> s = 0;
      std::vector<int64_t> ptr = m.Int("ptr");
      for (size_t i = 0; i + 1 < ptr.size(); ++i) {
        for (int64_t k = ptr[i]; k < 5; ++k) s += Square(m["A"][static_cast<size_t>(k)]);
        if (changes) ptr[i + 1] += ptr[i];
      }
      return s;
    });
  }
}

TEST(Access, WritesOutsideAreDropped) {
  Case c = With(R"(sdfg f(A: f64[N], Y: f64[N]) {
    map i in 0:N { Y[i] = 0 }
    map i in 0:N, k in 0:3 { Y[2 * i + k - 2] ?? += A[i] * A[i] * f64(k + 1) }
  })",
                {{"A", Uniform({5}, -1, 1)}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (int i = 0; i < 5; ++i)
      for (int k = 0; k < 3; ++k)
        if (int at = 2 * i + k - 2; at >= 0 && at < 5) s += Square(m["A"][i]) * (k + 1.0);
    return s;
  });
}

TEST(Access, GatherWithADefault) {
  Case c = With(R"(sdfg f(A: f64[N], idx: i64[M], Y: f64[M]) {
    map i in 0:M { Y[i] = (A[idx[i]] ?? 2) * (A[idx[i] + 1] ?? A[0]) }
  })",
                {{"A", Uniform({4}, -1, 1)}, {"idx", Integers({6}, {-1, 3, 9, 0, 2, -7})}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T s = 0;
    for (int64_t i : m.Int("idx")) {
      auto at = [&](int64_t k, T otherwise) { return k >= 0 && k < 4 ? m["A"][k] : otherwise; };
      s += at(i, 2) * at(i + 1, m["A"][0]);
    }
    return s;
  });
}

// The index is computed by the program and changes between its uses.
TEST(Access, IndicesThatAreOverwritten) {
  Case c = With(R"(sdfg f(A: f64[N], Y: f64[N]) {
    transient at: i64
    transient table: i64[N]
    map i in 0:N { table[i] = (i * 3 + 1) % N }
    map i in 0:N { Y[i] = A[i] }
    at = 0
    for t in 0:6 {
      Y[at] = Y[at] * A[table[at]] + Y[table[at]]
      at = table[at]
      table[at] = (table[at] + t) % N
    }
  })",
                {{"A", Uniform({5}, 0.2, 1)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    int table[5], at = 0;
    for (int i = 0; i < 5; ++i) table[i] = (i * 3 + 1) % 5;
    auto y = m["A"];
    for (int t = 0; t < 6; ++t) {
      y[at] = y[at] * m["A"][table[at]] + y[table[at]];
      at = table[at];
      table[at] = (table[at] + t) % 5;
    }
    T s = 0;
    for (auto& v : y) s += v;
    return s;
  });
}

TEST(Access, BubbleSort) {
  Case c = With(R"(sdfg f(A: f64[N], w: f64[N], s: f64) {
    transient B: f64[N]
    transient t: f64
    map i in 0:N { B[i] = A[i] }
    for i in 0:N {
      for j in 0:N - 1 - i {
        if B[j] > B[j + 1] {
          t = B[j]
          B[j] = B[j + 1]
          B[j + 1] = t
        }
      }
    }
    s = 0
    map i in 0:N { s += B[i] * w[i] }
  })",
                {{"A", Uniform({6}, -1, 1)}, {"w", Uniform({6}, -1, 1, 2)}});
  ExpectGradients(c, [](auto& m) {
    auto b = m["A"];
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 5 - i; ++j)
        if (b[j] > b[j + 1]) std::swap(b[j], b[j + 1]);
    NumberOf<decltype(m)> s = 0;
    for (int i = 0; i < 6; ++i) s += b[i] * m["w"][i];
    return s;
  });
}

// Histogram with interpolation: the position is a float, rounded down.
TEST(Access, IndexFromAFloat) {
  Case c = With(R"(sdfg f(A: f64[N], T: f64[8], Y: f64[N]) {
    map i in 0:N { Y[i] = T[i64(floor(A[i]))] * (1 - (A[i] - floor(A[i]))) + T[i64(floor(A[i])) + 1] * (A[i] - floor(A[i])) }
  })",
                {{"A", Uniform({6}, 0.1, 6.9)}, {"T", Uniform({8}, -1, 1, 2)}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (auto& a : m["A"]) {
      const double below = std::floor(Primal(a));
      const auto k = static_cast<size_t>(below);
      s += m["T"][k] * (1 - (a - below)) + m["T"][k + 1] * (a - below);
    }
    return s;
  });
}

}  // namespace
}  // namespace headrace::autodiff::testing
