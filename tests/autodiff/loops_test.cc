// Control flow: loops of every kind, branches at any depth, exits.
#include "ir/text/printer.h"
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

// The loop's head as text and as C++: every start, comparison and step, whole multiples or not, also empty ones.
template <typename Run>
void ExpectLoop(const std::string& head, const Run& indices, NamedSizes symbols = {}) {
  SCOPED_TRACE(head);
  std::string symbol_params;
  for (const auto& s : symbols) symbol_params += ", " + s.first.str() + ": symbol";
  Case c =
      With("sdfg f(A: f64[N], Y: f64[N], P: f64" + symbol_params + ") {\n map i in 0:N { Y[i] = A[i] }\n P = 1\n " +
               head + " {\n Y[i] = sin(Y[i]) * A[i]\n P = P * Y[i] + A[0]\n }\n}",
           {{"A", Uniform({9}, 0.2, 1)}}, symbols);
  ExpectGradients(c, [&](auto& m) {
    using T = NumberOf<decltype(m)>;
    auto y = m["A"];
    T p = 1, s = 0;
    for (int i : indices(9)) y[i] = sin(y[i]) * m["A"][i], p = p * y[i] + m["A"][0];
    for (auto& v : y) s += v;
    return s + p;
  });
}

TEST(Loops, AnyStartBoundComparisonAndStep) {
  using I = std::vector<int>;
  ExpectLoop("for i in 0:N", [](int n) {
    I v;
    for (int i = 0; i < n; ++i) v.push_back(i);
    return v;
  });
  ExpectLoop("for i in 1:N:4", [](int n) {
    I v;
    for (int i = 1; i < n; i += 4) v.push_back(i);
    return v;
  });
  ExpectLoop("for i in 2:N - 1:3", [](int n) {
    I v;
    for (int i = 2; i < n - 1; i += 3) v.push_back(i);
    return v;
  });
  ExpectLoop("for i in N - 1:-1:-1", [](int n) {
    I v;
    for (int i = n - 1; i > -1; --i) v.push_back(i);
    return v;
  });
  ExpectLoop("for i in N - 2:0:-3", [](int n) {
    I v;
    for (int i = n - 2; i > 0; i -= 3) v.push_back(i);
    return v;
  });
  ExpectLoop("for i in 5:5", [](int) { return I{}; });
  ExpectLoop("for i in 6:2", [](int) { return I{}; });
  ExpectLoop("for i = 0; i <= N - 1; i = i + 2", [](int n) {
    I v;
    for (int i = 0; i <= n - 1; i += 2) v.push_back(i);
    return v;
  });
  ExpectLoop("for i = N - 1; i >= 0; i = i - 2", [](int n) {
    I v;
    for (int i = n - 1; i >= 0; i -= 2) v.push_back(i);
    return v;
  });
  ExpectLoop("for i = 0; i != 6; i = i + 2", [](int) { return I{0, 2, 4}; });
  ExpectLoop("for i = 1; i < N; i = i * 2", [](int n) {
    I v;
    for (int i = 1; i < n; i *= 2) v.push_back(i);
    return v;
  });
  ExpectLoop("for i = N - 1; i > 0; i = i // 2", [](int n) {
    I v;
    for (int i = n - 1; i > 0; i /= 2) v.push_back(i);
    return v;
  });
}

TEST(Loops, SymbolicBoundsAndSteps) {
  using I = std::vector<int>;
  for (int64_t k : {1, 2, 3, 20})
    ExpectLoop("for i in 0:N:k",
               [k](int n) {
                 I v;
                 for (int i = 0; i < n; i += static_cast<int>(k)) v.push_back(i);
                 return v;
               },
               {{"k", k}});
  for (int64_t k : {1, 2, 3})
    ExpectLoop("for i = N - 1; i >= 0; i = i - k",
               [k](int n) {
                 I v;
                 for (int i = n - 1; i >= 0; i -= static_cast<int>(k)) v.push_back(i);
                 return v;
               },
               {{"k", k}});
  for (int64_t lo : {0, 3, 9})
    ExpectLoop("for i in lo:N",
               [lo](int n) {
                 I v;
                 for (int i = static_cast<int>(lo); i < n; ++i) v.push_back(i);
                 return v;
               },
               {{"lo", lo}});
}

TEST(Loops, NestedWithBoundsOfTheOuterIndex) {
  Case c = With(R"(sdfg f(A: f64[N, N], Y: f64[N]) {
    map i in 0:N { Y[i] = 1 }
    for i in 0:N {
      for j in i:-1:-1 {
        for k in j:i + 1:2 { Y[j] = Y[j] * A[i, k] + Y[i] }
      }
    }
  })",
                {{"A", Uniform({4, 4}, -1, 1)}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> y[4] = {1, 1, 1, 1};
    for (int i = 0; i < 4; ++i)
      for (int j = i; j > -1; --j)
        for (int k = j; k < i + 1; k += 2) y[j] = y[j] * m["A"][i * 4 + k] + y[i];
    return y[0] + y[1] + y[2] + y[3];
  });
}

// Inside of a triangle, from its other side: no iteration of the innermost loop.
TEST(Loops, ThatNeverRun) {
  Case c;
  c.text = R"(sdfg f(A: f64[4], Y: f64) {
  transient s: f64
  s = 0.5
  for i in 0:4 {
    for j in i:4 {
      state { s = s * 0.5 + A[j] * A[i] }
      for k in i:j:-1 { state { s = s * A[k] } }
    }
  }
  Y = s * s
})";
  c.values = {{"A", Uniform({4}, 0.2, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Loops, WhileWithATripCountOfData) {
  for (double x : {0.1, 3.0, 50.0}) {
    Case c = With(R"(sdfg f(x: f64, a: f64, y: f64) {
      y = x
      while y > 1 { y = y * a + sin(y) * 0.1 }
    })",
                  {{"x", Scalar(x)}, {"a", Scalar(0.7)}});
    ExpectGradients(c, [](auto& m) {
      auto y = m["x"][0], a = m["a"][0];
      while (y > 1) y = y * a + sin(y) * 0.1;
      return y;
    });
  }
}

TEST(Loops, DoWhile) {
  for (double x : {0.1, 30.0}) {
    Case c = With("sdfg f(x: f64, y: f64) {\n y = x\n do { y = sqrt(y) * 0.9 } while y > 1\n}", {{"x", Scalar(x)}});
    ExpectGradients(c, [](auto& m) {
      auto y = m["x"][0];
      do y = sqrt(y) * 0.9;
      while (y > 1);
      return y;
    });
  }
}

TEST(Loops, WhileInsideFor) {
  Case c = With(R"(sdfg f(A: f64[N], Y: f64[N], s: f64) {
    transient n: i64
    s = 0
    for i in 0:N {
      Y[i] = A[i]
      n = 0
      while n < i && s < 100 {
        Y[i] = Y[i] * Y[i] + A[n]
        s += Y[i]
        n += 1
      }
    }
  })",
                {{"A", Uniform({5}, 0.1, 0.9)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T s = 0, sum = 0;
    for (int i = 0; i < 5; ++i) {
      T y = m["A"][i];
      for (int n = 0; n < i && s < 100; ++n) y = y * y + m["A"][n], s += y;
      sum += y;
    }
    return s + sum;
  });
}

TEST(Loops, BreakContinueAndEndlessLoops) {
  Case c = With(R"(sdfg f(A: f64[N], Y: f64[N], s: f64) {
    transient total: f64
    transient n: i64
    map i in 0:N { Y[i] = 0 }
    total = 0
    for i in 0:N {
      if A[i] < 0 { continue }
      total = total + A[i] * A[i]
      if total > 1.5 { break }
      Y[i] = sin(total) * A[i]
    }
    n = 0
    s = 1
    loop {
      s = s * total + 0.25
      n += 1
      if n == 2 { continue }
      if s > 4 || n > 5 { break }
      s = s + total
    }
  })",
                {{"A", Numbers({8}, {0.5, -0.3, 0.7, 0.2, -0.9, 0.4, 0.9, 0.3})}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T total = 0, sum = 0, s = 1;
    for (auto& a : m["A"]) {
      if (a < 0) continue;
      total = total + a * a;
      if (total > 1.5) break;
      sum += sin(total) * a;
    }
    for (int n = 1;; ++n) {
      s = s * total + 0.25;
      if (n == 2) continue;
      if (s > 4 || n > 5) break;
      s = s + total;
    }
    return sum + s;
  });
}

TEST(Loops, BreakOutOfNestedLoops) {
  Case c = With(R"(sdfg f(A: f64[N, M], s: f64) {
    s = 0
    for i in 0:N {
      for j in 0:M {
        if A[i, j] < -0.8 { break }
        s = s * 0.9 + A[i, j] * A[i, 0]
        while s > 0.5 {
          s = s * 0.5
          if A[i, j] > 0.5 { break }
          s = s - A[0, j] * 0.01
        }
      }
      if s < -0.9 { continue }
      s = s + sin(s)
    }
  })",
                {{"A", Uniform({6, 5}, -1, 1)}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    auto& A = m["A"];
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 5; ++j) {
        if (A[i * 5 + j] < -0.8) break;
        s = s * 0.9 + A[i * 5 + j] * A[i * 5];
        while (s > 0.5) {
          s = s * 0.5;
          if (A[i * 5 + j] > 0.5) break;
          s = s - A[j] * 0.01;
        }
      }
      if (s < -0.9) continue;
      s = s + sin(s);
    }
    return s;
  });
}

TEST(Loops, BranchesAtDepth) {
  Case c = With(R"(sdfg f(A: f64[N], Y: f64[N], s: f64) {
    s = 0
    for i in 0:N {
      Y[i] = A[i]
      for t in 0:3 {
        if Y[i] > 0.5 {
          Y[i] = Y[i] * Y[i]
          if t == 1 { s = s + Y[i] } else if s > 0.4 { s = s * Y[i]; Y[i] = 0.1 } else { map k in 0:i { Y[k] = Y[k] * 1.5 } }
        } else if Y[i] > 0 {
          Y[i] = Y[i] * 2
        } else {
          Y[i] = 0.3 - Y[i]
        }
      }
    }
  })",
                {{"A", Uniform({7}, -1, 1)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    std::vector<T> y = m.New(7);
    T s = 0, sum = 0;
    for (int i = 0; i < 7; ++i) {
      y[i] = m["A"][i];
      for (int t = 0; t < 3; ++t) {
        if (y[i] > 0.5) {
          y[i] = y[i] * y[i];
          if (t == 1) s = s + y[i];
          else if (s > 0.4) s = s * y[i], y[i] = 0.1;
          else
            for (int k = 0; k < i; ++k) y[k] = y[k] * 1.5;
        } else if (y[i] > 0) {
          y[i] = y[i] * 2;
        } else {
          y[i] = 0.3 - y[i];
        }
      }
    }
    for (auto& v : y) sum += v;
    return s + sum;
  });
}

// The condition's operands change after the branch.
TEST(Loops, ConditionThatIsOverwritten) {
  Case c = With(R"(sdfg f(A: f64[N], y: f64) {
    y = 0.5
    for i in 0:N {
      if y < 1 { y = y + A[i] * A[i] } else { y = y * A[i] }
    }
    if y > 0.2 { y = y * y }
  })",
                {{"A", Uniform({7}, 0.3, 0.9)}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> y = 0.5;
    for (auto& a : m["A"]) y = y < 1 ? y + a * a : y * a;
    return y > 0.2 ? y * y : y;
  });
}

TEST(Loops, TimeStepsWithTwoBuffers) {
  Case c = With(R"(sdfg f(A: f64[N], Y: f64[N], T: symbol) {
    transient u: f64[2, N]
    map i in 0:N { u[0, i] = A[i] }
    map i in 0:N { u[1, i] = A[i] }
    for t in 0:T {
      map i in 1:N - 1 { u[(t + 1) % 2, i] = u[t % 2, i] + 0.1 * sin(u[t % 2, i - 1]) * u[t % 2, i + 1] }
    }
    map i in 0:N { Y[i] = u[T % 2, i] }
  })",
                {{"A", Uniform({6}, -1, 1)}}, {{"T", 5}});
  ExpectGradients(c, [](auto& m) {
    auto u = m["A"], v = u;
    for (int t = 0; t < 5; ++t) {
      for (int i = 1; i < 5; ++i) v[i] = u[i] + 0.1 * sin(u[i - 1]) * u[i + 1];
      std::swap(u, v);
    }
    NumberOf<decltype(m)> s = 0;
    for (auto& x : u) s += x;
    return s;
  });
}

TEST(Loops, SizesFromData) {
  Case c = With(R"(sdfg f(A: f64[N], limit: i64, Y: f64) {
    let n = limit < N ? limit : N
    Y = 1
    for i in 0:n { Y = Y * A[i] }
    map i in n:N { Y += A[i] * A[i] }
  })",
                {{"A", Uniform({6}, 0.5, 1.5)}, {"limit", Count(4)}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> y = 1;
    for (int i = 0; i < 4; ++i) y *= m["A"][i];
    for (int i = 4; i < 6; ++i) y += Square(m["A"][i]);
    return y;
  });
}

TEST(Loops, NothingRuns) {
  Case c = With(
      "sdfg f(A: f64[N], Y: f64[N]) {\n map i in 0:N { Y[i] = A[i] }\n for t in 0:N - 3 { map i in 0:N { Y[i] = Y[i] * A[t] } }\n}",
      {{"A", Uniform({2}, -1, 1)}});
  ExpectGradients(c, {{"A", Numbers({2}, {1, 1})}});
}

TEST(Loops, GramSchmidt) {
  Case c = With(R"(sdfg f(inout A: f64[M, N], Q: f64[M, N], R: f64[N, N]) {
    transient nrm: f64
    map i in 0:M, j in 0:N { Q[i, j] = 0 }
    map i in 0:N, j in 0:N { R[i, j] = 0 }
    for k in 0:N {
      nrm = 0
      map i in 0:M { nrm += A[i, k] * A[i, k] }
      R[k, k] = sqrt(nrm)
      map i in 0:M { Q[i, k] = A[i, k] / R[k, k] }
      for j in k + 1:N {
        map i in 0:M { R[k, j] += Q[i, k] * A[i, j] }
        map i in 0:M { A[i, j] = A[i, j] - Q[i, k] * R[k, j] }
      }
    }
  })",
                {{"A", Uniform({4, 3}, -1, 1)}});
  c.outputs = {"Q", "R"};
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    auto& A = m["A"];
    T s = 0;
    for (int k = 0; k < 3; ++k) {
      T n = 0, q[4];
      for (int i = 0; i < 4; ++i) n += Square(A[i * 3 + k]);
      n = sqrt(n), s += n;
      for (int i = 0; i < 4; ++i) s += q[i] = A[i * 3 + k] / n;
      for (int j = k + 1; j < 3; ++j) {
        T r = 0;
        for (int i = 0; i < 4; ++i) r += q[i] * A[i * 3 + j];
        for (int i = 0; i < 4; ++i) A[i * 3 + j] = A[i * 3 + j] - q[i] * r;
        s += r;
      }
    }
    return s;
  });
}

TEST(Loops, CholeskyInPlace) {
  Case c = With(R"(sdfg f(inout A: f64[N, N]) {
    for i in 0:N {
      for j in 0:i {
        for k in 0:j { A[i, j] = A[i, j] - A[i, k] * A[j, k] }
        A[i, j] = A[i, j] / A[j, j]
      }
      for k in 0:i { A[i, i] = A[i, i] - A[i, k] * A[i, k] }
      A[i, i] = sqrt(A[i, i])
    }
  })",
                {{"A", Numbers({3, 3}, {4, 1, 0.5, 1, 3, 0.7, 0.5, 0.7, 2})}});
  ExpectGradients(c, [](auto& m) {
    auto& A = m["A"];
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < i; ++j) {
        for (int k = 0; k < j; ++k) A[i * 3 + j] -= A[i * 3 + k] * A[j * 3 + k];
        A[i * 3 + j] /= A[j * 3 + j];
      }
      for (int k = 0; k < i; ++k) A[i * 4] -= Square(A[i * 3 + k]);
      A[i * 4] = sqrt(A[i * 4]);
    }
    NumberOf<decltype(m)> s = 0;
    for (auto& a : A) s += a;
    return s;
  });
}

// A symmetric matrix, both sides of which are written from the same values: a loop whose statements are maps one by one, not together.
TEST(Loops, BothSidesOfADiagonal) {
  Case c = With(R"(sdfg f(A: f64[5, 4], Y: f64[4, 4]) {
    transient p: f64[4]
    transient v: f64[4]
    for i in 0:4 {
      map k in 0:4 - i { p[k] = 0 }
      map k in 0:4 - i, l in 0:5 { p[k] += A[l, i] * A[l, i + k] }
      map k in 0:4 - i { v[k] = p[k] / 3 }
      map k in 0:4 - i { Y[i + k, i] = v[k] }
      map k in 0:4 - i { Y[i, i + k] = v[k] }
    }
    map i in 0:4, j in 0:4 { Y[i, j] = Y[i, j] * Y[i, j] }
  })",
                {{"A", Uniform({5, 4}, -1, 1)}});
  Result<BackwardPrograms> programs = Differentiated(c);
  ASSERT_TRUE(programs.ok()) << programs.status().ToString();
  EXPECT_EQ(Print(programs->program).find("  for "), std::string::npos) << Print(programs->program);
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T s = 0;
    for (size_t i = 0; i < 4; ++i)
      for (size_t j = 0; j < 4; ++j) {
        T y = 0;
        for (size_t l = 0; l < 5; ++l) y += m["A"][4 * l + i] * m["A"][4 * l + j];
        s += Square(y * (1.0 / 3));
      }
    return s;
  });
}

}  // namespace
}  // namespace headrace::autodiff::testing
