// Maps, views, calls, accumulation: what runs in no particular order.
#include "ir/text/printer.h"
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

TEST(Maps, SeveralInputsAndOutputs) {
  Case c = With(R"(sdfg f(A: f64[N], B: f64[N], Y: f64[N], Z: f64) {
    map i in 0:N { Y[i] = A[i] * B[i] + A[i] }
    Z = 0
    map i in 0:N { Z += Y[i] / (1 + B[i] * B[i]) }
  })",
                {{"A", Uniform({5}, -1, 1)}, {"B", Uniform({5}, -1, 1, 2)}});
  auto program = [](auto& m, bool y_too) {
    using T = NumberOf<decltype(m)>;
    T s = 0;
    for (int i = 0; i < 5; ++i) {
      T a = m["A"][i], b = m["B"][i], y = a * b + a;
      s += y / (1 + b * b);
      if (y_too) s += m.floats.count("grad_Y") ? y * m["grad_Y"][i] : y;
    }
    return s;
  };
  ExpectGradients(c, [&](auto& m) { return program(m, true); });
  c.outputs = {"Z"};
  ExpectGradients(c, [&](auto& m) { return program(m, false); });
  c.outputs = {"Y", "Z"};
  c.inputs = {"B"};
  c.options.given_gradients = {"Y"};
  c.values.emplace_back("grad_Y", Uniform({5}, -1, 1, 3));
  ExpectGradients(c, [&](auto& m) { return program(m, true); });
}

TEST(Maps, AnInputThatReachesNoOutputHasZeros) {
  Case c = With(
      "sdfg f(A: f64[N], B: f64[N], Y: f64[N], Z: f64[N]) {\n map i in 0:N { Y[i] = A[i] * A[i] }\n map i in 0:N { Z[i] = B[i] }\n}",
      {{"A", Uniform({3}, -1, 1)}, {"B", Uniform({3}, -1, 1)}});
  c.outputs = {"Y"};
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (auto& a : m["A"]) s += a * a;
    return s;
  });
}

TEST(Maps, NestedStridedAndTriangular) {
  Case c = With(R"(sdfg f(A: f64[N, M], Y: f64[N, M], k: symbol) {
    assume 1 <= k
    map i in 0:N, j in 0:M { Y[i, j] = 0 }
    map i in 0:N:k {
      map j in i:M:2 { Y[i, j] = sin(A[i, j]) * A[N - 1 - i, j] }
    }
  })",
                {{"A", Uniform({5, 8}, -1, 1)}}, {{"k", 2}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (int i = 0; i < 5; i += 2)
      for (int j = i; j < 8; j += 2) s += sin(m["A"][i * 8 + j]) * m["A"][(4 - i) * 8 + j];
    return s;
  });
}

TEST(Maps, RegistersInsideMaps) {
  Case c = With(R"(sdfg f(A: f64[N, M], Y: f64[N]) {
    transient r: f64 @register
    transient s: f64 @register
    map i in 0:N {
      r = 0
      map j in 0:M { r += A[i, j] * A[i, j] }
      s = sqrt(r + 1)
      Y[i] = s * s * s + r
    }
  })",
                {{"A", Uniform({4, 3}, -1, 1)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T sum = 0;
    for (int i = 0; i < 4; ++i) {
      T r = 0;
      for (int j = 0; j < 3; ++j) r += Square(m["A"][i * 3 + j]);
      T s = sqrt(r + 1);
      sum += s * s * s + r;
    }
    return sum;
  });
}

TEST(Maps, SoftmaxWrittenOut) {
  Case c = With(R"(sdfg f(A: f64[N, M], Y: f64[N, M], g: f64[N, M], L: f64) {
    transient top: f64[N]
    transient sum: f64[N]
    map i in 0:N { top[i] = -inf }
    map i in 0:N, j in 0:M { top[i] max= A[i, j] }
    map i in 0:N { sum[i] = 0 }
    map i in 0:N, j in 0:M { sum[i] += exp(A[i, j] - top[i]) }
    map i in 0:N, j in 0:M { Y[i, j] = exp(A[i, j] - top[i]) / sum[i] }
    L = 0
    map i in 0:N, j in 0:M { L += Y[i, j] * g[i, j] }
  })",
                {{"A", Uniform({3, 4}, -2, 2)}, {"g", Uniform({3, 4}, -1, 1, 2)}});
  c.outputs = {"L"};
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T loss = 0;
    for (int i = 0; i < 3; ++i) {
      T sum = 0;
      for (int j = 0; j < 4; ++j) sum += exp(m["A"][i * 4 + j]);
      for (int j = 0; j < 4; ++j) loss += exp(m["A"][i * 4 + j]) / sum * m["g"][i * 4 + j];
    }
    return loss;
  });
}

TEST(Maps, MatrixProductAsAMap) {
  Case c = With(R"(sdfg f(A: f64[N, K], B: f64[K, M], Y: f64[N, M]) {
    map i in 0:N, j in 0:M { Y[i, j] = 0 }
    map i in 0:N, j in 0:M, k in 0:K { Y[i, j] += A[i, k] * B[k, j] }
    map i in 0:N, j in 0:M { Y[i, j] = tanh(Y[i, j]) }
  })",
                {{"A", Uniform({3, 4}, -1, 1)}, {"B", Uniform({4, 2}, -1, 1, 2)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T s = 0;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 2; ++j) {
        T y = 0;
        for (int k = 0; k < 4; ++k) y += m["A"][i * 4 + k] * m["B"][k * 2 + j];
        s += tanh(y);
      }
    return s;
  });
}

TEST(Maps, PiecewiseTasklets) {
  Case c = With(R"(sdfg f(A: f64[N], B: f64[N], Y: f64[N]) {
    map i in 0:N {
      Y[i] = (A[i] > 0 ? (B[i] > 0 ? A[i] * B[i] : sin(A[i])) : exp(B[i])) + max(A[i], B[i]) * min(A[i], 0.25) + abs(B[i]) + clamp(A[i], -0.5, 0.5)
    }
  })",
                {{"A", Uniform({12}, -1, 1)}, {"B", Uniform({12}, -1, 1, 2)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T s = 0;
    for (int i = 0; i < 12; ++i) {
      T a = m["A"][i], b = m["B"][i];
      s += (a > 0 ? (b > 0 ? a * b : sin(a)) : exp(b)) + Larger(a, b) * Smaller(a, T(0.25)) + (b < 0 ? -b : b) +
           Smaller(Larger(a, T(-0.5)), T(0.5));
    }
    return s;
  });
}

// What only a condition reads gets zeros, and no statement that adds them.
TEST(Maps, WhatOnlyConditionsReadIsNotAddedTo) {
  Case c = With(R"(sdfg f(A: f64[5], B: f64[6], Y: f64[5]) {
    transient slope: f64 @register
    map i in 0:5 { slope = B[i + 1] - B[i]; Y[i] = slope * A[i] > 0 ? 0 : A[i] * A[i] }
  })", {{"A", Uniform({5}, -1, 1)}, {"B", Uniform({6}, -1, 1, 2)}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> sum = 0;
    for (int i = 0; i < 5; ++i)
      if (!((m["B"][i + 1] - m["B"][i]) * m["A"][i] > 0)) sum += m["A"][i] * m["A"][i];
    return sum;
  });
  if (Flag("rules", "") != "") return;  // whose maps are as the rules have them
  const std::string gradient = Print(Differentiated(c)->program);
  const size_t zeros = gradient.find("grad_B[");
  ASSERT_NE(zeros, std::string::npos) << gradient;
  EXPECT_EQ(gradient.find("grad_B[", zeros + 1), std::string::npos) << gradient;
}

// A positive part of a sum of arrays: the gradient asks the result, which is one array, whether it was taken.
TEST(Maps, PositivePartsAskTheirResult) {
  const std::string text = R"(sdfg f(A: f64[N], B: f64[N], W: f64[N], Z: f64) {
    transient Y: f64[N]
    transient t: f64 @register
    map i in 0:N { t = 2 * A[i] + B[i]; Y[i] = t <= 0 ? 0 : t }
    LATER
    Z = 0
    map i in 0:N { Z += Y[i] * W[i] * Y[N - 1 - i] }
  })";
  const auto with = [&](const std::string& later) {
    std::string s = text;
    s.replace(s.find("LATER"), 5, later);
    return With(s, {{"A", Numbers({5}, {0.5, -1, 0.5, 2, -0.0})}, {"B", Numbers({5}, {0.25, 2, 1, -4, 0})}, {"W", Uniform({5}, 1, 2)}});
  };
  const auto expected = [](double by) {
    return [by](auto& m) {
      using T = NumberOf<decltype(m)>;
      T s = 0;
      const auto y = [&](int i) {
        T t = 2 * m["A"][i] + m["B"][i];
        return t > 0 ? by * t : T(0);
      };
      for (int i = 0; i < 5; ++i) s += y(i) * m["W"][i] * y(4 - i);
      return s;
    };
  };
  Case plain = with("");
  ExpectGradients(plain, expected(1));
  ExpectGradients(with("map i in 0:N { Y[i] = Y[i] * 3 }"), expected(3));  // the result is overwritten
  ExpectGradients(with("map i in 0:N { Y[i] += 2 * Y[i] }"), expected(3));
  if (Flag("rules", "") != "") return;
  const std::string gradient = Print(Differentiated(plain)->program);
  EXPECT_NE(gradient.find("Y_again[i] <= 0.0 ?"), std::string::npos) << gradient;
  EXPECT_EQ(gradient.find("t_1 <= 0"), std::string::npos) << gradient;
}

// Not where the result is not what one iteration wrote: the next of a loop overwrites it, or others of the map do.
TEST(Maps, PositivePartsThatAreOverwritten) {
  ExpectGradientsNearDifferences(With(R"(sdfg f(A: f64[4], B: f64[4], Z: f64) {
    transient Y: f64[4]
    transient t: f64 @register
    Z = 0
    for k in 0:3 {
      map i in 0:4 { t = A[i] * k + B[i]; Y[i] = t <= 0 ? 0 : t }
      map i in 0:4 { Z += Y[i] * Y[3 - i] * A[i] }
    }
  })", {{"A", Uniform({4}, -1, 1, 3)}, {"B", Uniform({4}, -1, 1, 4)}}));
  ExpectGradientsNearDifferences(With(R"(sdfg f(A: f64[4], B: f64[4], Y: f64[4]) {
    transient t: f64 @register
    map i in 0:4 { t = A[i] + B[i] * B[i]; Y[i] = t <= 0 ? 0 : t; Y[i] = Y[i] * A[i] }
  })", {{"A", Uniform({4}, -1, 1, 3)}, {"B", Uniform({4}, -1, 1, 4)}}));
}

// The branch that is not taken may be infinite.
TEST(Maps, UntakenBranchesAreExactlyZero) {
  Case c = With("sdfg f(A: f64[N], Y: f64[N]) {\n map i in 0:N { Y[i] = A[i] > 0 ? log(A[i]) + sqrt(A[i]) : A[i] }\n}",
                {{"A", Numbers({4}, {0, -1, 2, 0.5})}});
  ExpectGradients(c, {{"A", Numbers({4}, {1, 1, 0.5 + 0.5 / std::sqrt(2.0), 2 + 0.5 / std::sqrt(0.5)})}});
}

TEST(Maps, IntegerInputsAndIndicesInValues) {
  Case c = With(R"(sdfg f(A: f64[N], n: i64[N], Y: f64[N]) {
    map i in 0:N { Y[i] = A[i] * f64(n[i]) + (n[i] % 2 == 0 ? A[i] * A[i] : f64(i) * A[i]) }
  })",
                {{"A", Uniform({5}, -1, 1)}, {"n", Integers({5}, {3, 4, -2, 0, 7})}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (int i = 0; i < 5; ++i) {
      auto a = m["A"][i];
      int64_t n = m.Int("n")[i];
      s += a * double(n) + (n % 2 == 0 ? a * a : double(i) * a);
    }
    return s;
  });
}

TEST(Maps, ViewsOfViews) {
  Case c = With(R"(sdfg f(A: f64[4, 6], Y: f64[4, 6]) {
    transient B: f64[4, 6]
    view rows: f64[2, 6] of B offset 6 strides [12, 1]
    view corner: f64[3, 2] of rows offset 1 strides [2, 12]
    map i in 0:4, j in 0:6 { B[i, j] = A[i, j] * A[i, j] }
    for i in 0:3 { for j in 0:2 { corner[i, j] = sin(corner[i, j]) * rows[j, 0] } }
    map i in 0:3, j in 0:2 { corner[i, j] = exp(corner[i, j]) }
    map i in 0:4, j in 0:6 { Y[i, j] = B[i, j] * B[3 - i, j] }
  })",
                {{"A", Uniform({4, 6}, -1, 1)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    std::vector<T> b;
    for (auto& a : m["A"]) b.push_back(a * a);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 2; ++j) {
        T& x = b[6 + 12 * j + 1 + 2 * i];
        x = exp(sin(x) * b[6 + 12 * j]);
      }
    T s = 0;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 6; ++j) s += b[i * 6 + j] * b[(3 - i) * 6 + j];
    return s;
  });
}

TEST(Maps, TransposedViewOfAnInputAndOfAnOutput) {
  Case c = With(R"(sdfg f(A: f64[N, 3], Y: f64[3, N]) {
    view At: f64[3, N] of A strides [1, 3]
    view Yt: f64[N, 3] of Y strides [1, N]
    map i in 0:3, j in 0:N { Y[i, j] = At[i, j] * At[2 - i, j] }
    map i in 0:N { Yt[i, 0] = exp(Yt[i, 1]) }
  })",
                {{"A", Uniform({4, 3}, -1, 1)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T s = 0;
    for (int j = 0; j < 4; ++j) {
      T y[3];
      for (int i = 0; i < 3; ++i) y[i] = m["A"][j * 3 + i] * m["A"][j * 3 + 2 - i];
      s += exp(y[1]) + y[1] + y[2];
    }
    return s;
  });
}

TEST(Maps, NestedSdfgsAlsoInsideMaps) {
  Case c = With(R"(sdfg f(A: f64[N, M], Y: f64[N, M]) {
    transient B: f64[N, M]
    map i in 0:N { call row(x = A[i, :], y = B[i, :]) }
    call square(x = B, y = Y)
  }
  sdfg row(x: f64[K], y: f64[K]) {
    transient t: f64
    t = 0
    map i in 0:K { t += x[i] * x[i] }
    map i in 0:K { y[i] = x[i] / (1 + t) }
  }
  sdfg square(x: f64[P, Q], y: f64[P, Q]) {
    map i in 0:P { call row(x = x[i, :], y = y[i, :]) }
    map i in 0:P, j in 0:Q { y[i, j] = y[i, j] * x[i, j] }
  })",
                {{"A", Uniform({3, 4}, -1, 1)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T s = 0;
    for (int i = 0; i < 3; ++i) {
      T t = 0, u = 0, b[4];
      for (int j = 0; j < 4; ++j) t += Square(m["A"][i * 4 + j]);
      for (int j = 0; j < 4; ++j) b[j] = m["A"][i * 4 + j] / (1 + t), u += b[j] * b[j];
      for (int j = 0; j < 4; ++j) s += b[j] / (1 + u) * b[j];
    }
    return s;
  });
}

TEST(Maps, StencilsInTwoDimensions) {
  Case c = With(R"(sdfg f(A: f64[N, M], Y: f64[N, M]) {
    map i in 0:N, j in 0:M { Y[i, j] = A[i, j] }
    map i in 1:N - 1, j in 1:M - 1 {
      Y[i, j] = A[i - 1, j] * A[i + 1, j] - sin(A[i, j - 1]) * A[i, j] + 0.5 * A[i, j + 1]
    }
  })",
                {{"A", Uniform({5, 6}, -1, 1)}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    auto& A = m["A"];
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 6; ++j) {
        const int at = i * 6 + j;
        if (i > 0 && i < 4 && j > 0 && j < 5) s += A[at - 6] * A[at + 6] - sin(A[at - 1]) * A[at] + 0.5 * A[at + 1];
        else s += A[at];
      }
    return s;
  });
}

TEST(Maps, ReadsWithADefaultOutside) {
  Case c = With(R"(sdfg f(A: f64[N], W: f64[3], Y: f64[N]) {
    map i in 0:N { Y[i] = 0 }
    map i in 0:N, k in 0:3 { Y[i] += (A[2 * i + k - 3] ?? 0.5) * W[k] }
  })",
                {{"A", Uniform({6}, -1, 1)}, {"W", Uniform({3}, -1, 1, 2)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T s = 0;
    for (int i = 0; i < 6; ++i)
      for (int k = 0; k < 3; ++k) {
        const int at = 2 * i + k - 3;
        s += (at >= 0 && at < 6 ? m["A"][at] : T(0.5)) * m["W"][k];
      }
    return s;
  });
}

TEST(Maps, ProductsPerRowWithZeros) {
  Case c = With(R"(sdfg f(A: f64[N, M], Y: f64[N]) {
    map i in 0:N { Y[i] = 2 }
    map i in 0:N, j in 0:M { Y[i] *= A[i, j] }
  })",
                {{"A", Numbers({3, 3}, {0, 2, 3, 0, 0, 4, 5, 6, 7})}});
  ExpectGradients(c, {{"A", Numbers({3, 3}, {12, 0, 0, 0, 0, 0, 84, 70, 60})}});
}

TEST(Maps, AccumulatingIntoWhatIsThere) {
  Case c = With(R"(sdfg f(A: f64[N], B: f64[N, M], Y: f64[N]) {
    map i in 0:N { Y[i] = A[i] }
    map i in 0:N, j in 0:M { Y[i] max= B[i, j] }
    map i in 0:N, j in 0:M { Y[i] *= B[i, j] + A[i] }
    map i in 0:N, j in 0:M { Y[i] += B[i, j] * A[i] }
  })",
                {{"A", Uniform({4}, -1, 1)}, {"B", Uniform({4, 3}, -1, 1, 2)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    T s = 0;
    for (int i = 0; i < 4; ++i) {
      T a = m["A"][i], y = a;
      for (int j = 0; j < 3; ++j) y = Larger(y, m["B"][i * 3 + j]);
      for (int j = 0; j < 3; ++j) y *= m["B"][i * 3 + j] + a;
      for (int j = 0; j < 3; ++j) y += m["B"][i * 3 + j] * a;
      s += y;
    }
    return s;
  });
}

// Fusion puts both into one map, where the first is a gradient that must have been cleared.
TEST(Maps, OverwrittenBeforeItWasRead) {
  Case c = With(R"(sdfg f(A: f64[N, M], Y: f64) {
    transient U: f64[N, M]
    transient t: f64[N]
    map i in 0:N, j in 0:M { U[i, j] = A[i, j] * A[i, j] }
    map i in 0:N { t[i] = 0 }
    map i in 0:N, j in 0:M { t[i] += A[i, j] }
    map i in 0:N, j in 0:M { U[i, j] = sin(A[i, j] + t[i]) }
    map i in 1:N - 1, j in 0:M - 1 { U[i, j] = 0.3 * A[i - 1, j] * A[i, j + 1] }
    map i in 1:N - 1, j in 0:M - 1 { U[i, j] = 0.4 * A[i - 1, j] * A[i, j + 1] + A[i, j] }
    Y = 0
    map i in 0:N, j in 0:M { Y += U[i, j] * U[i, j] }
  })",
                {{"A", Uniform({4, 3}, -1, 1)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    auto& A = m["A"];
    T s = 0;
    for (int i = 0; i < 4; ++i) {
      T t = A[i * 3] + A[i * 3 + 1] + A[i * 3 + 2];
      for (int j = 0; j < 3; ++j)
        s += Square(i > 0 && i < 3 && j < 2 ? 0.4 * A[i * 3 - 3 + j] * A[i * 3 + j + 1] + A[i * 3 + j]
                                            : sin(A[i * 3 + j] + t));
    }
    return s;
  });
}

// Ties of an accumulated extremum share equally.
TEST(Maps, TiesOfAMaximumShare) {
  Case c = With("sdfg f(A: f64[N], Y: f64) {\n Y = -inf\n map i in 0:N { Y max= A[i] }\n}",
                {{"A", Numbers({5}, {1, 3, 3, 0, 3})}});
  const double third = 1.0 / 3;
  ExpectGradients(c, {{"A", Numbers({5}, {0, third, third, 0, third})}});
}

TEST(Maps, InPlaceAndPartialOverwrites) {
  Case c = With(R"(sdfg f(A: f64[N], Y: f64[N]) {
    transient B: f64[N]
    map i in 0:N { B[i] = A[i] * A[i] }
    map i in 0:N { Y[i] = sin(B[i]) }
    map i in 1:N:2 { B[i] = exp(B[i]) * A[0] }
    map i in 0:N { Y[i] = Y[i] * B[i] }
    B[0] = Y[1]
    B[1] = B[0] * B[0]
    map i in 0:N { Y[i] = Y[i] + B[i] * B[N - 1 - i] }
  })",
                {{"A", Uniform({6}, -1, 1)}});
  ExpectGradients(c, [](auto& m) {
    using T = NumberOf<decltype(m)>;
    auto& A = m["A"];
    std::vector<T> b, y;
    for (auto& a : A) b.push_back(a * a), y.push_back(sin(a * a));
    for (int i = 1; i < 6; i += 2) b[i] = exp(b[i]) * A[0];
    for (int i = 0; i < 6; ++i) y[i] *= b[i];
    b[0] = y[1], b[1] = b[0] * b[0];
    T s = 0;
    for (int i = 0; i < 6; ++i) s += y[i] + b[i] * b[5 - i];
    return s;
  });
}

TEST(Maps, ReversedRangesAndEmptyOnes) {
  Case c = With(R"(sdfg f(A: f64[N], Y: f64[N], k: symbol) {
    map i in 0:N { Y[i] = 0 }
    map i in N - 1:-1:-2 { Y[i] = A[i] * A[0] }
    map i in 3:k { Y[i] = 1e9 * A[i] }
  })",
                {{"A", Uniform({5}, -1, 1)}}, {{"k", 2}});
  ExpectGradients(c, [](auto& m) {
    NumberOf<decltype(m)> s = 0;
    for (int i = 4; i > -1; i -= 2) s += m["A"][i] * m["A"][0];
    return s;
  });
}

TEST(Maps, SmallFloatsGetGradientsOfTheirOwnType) {
  Case c;
  c.text = "sdfg f(A: f32[N], Y: f32[N]) {\n map i in 0:N { Y[i] = A[i] * A[i] * A[i] }\n}";
  Tensor a = *Tensor::Create(DType::kF32, {3}), g = *Tensor::Create(DType::kF32, {3});
  for (int i = 0; i < 3; ++i) a.SetDouble(i, i + 1), g.SetDouble(i, 3 * (i + 1) * (i + 1));
  c.values = {{"A", Value(a)}};
  c.tolerance = 1e-6;
  ExpectGradients(c, {{"A", Value(g)}});
}

}  // namespace
}  // namespace headrace::autodiff::testing
