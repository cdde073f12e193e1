// Solvers, factorisations, recurrences over tables, written from their mathematics: against differences, some twice.
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

TEST(Solvers, Cholesky) {
  Case c;
  c.text = R"(sdfg cholesky(inout A: f64[N, N]) {
  transient d: f64
  A[0, 0] = sqrt(A[0, 0])
  for i in 1:N {
    for j in 0:i {
      d = 0
      map k in 0:j { d += A[i, k] * A[j, k] }
      A[i, j] = A[i, j] - d
      A[i, j] = A[i, j] / A[j, j]
    }
    d = 0
    map k in 0:i { d += A[i, k] * A[i, k] }
    A[i, i] = A[i, i] - d
    A[i, i] = sqrt(A[i, i])
  }
})";
  c.values = {{"A", Numbers({4, 4}, {6, 1, 0.5, 0.2, 1, 7, 0.3, 1.1, 0.5, 0.3, 5, 0.4, 0.2, 1.1, 0.4, 8})}};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Solvers, Lu) {
  Case c;
  c.text = R"(sdfg lu(inout A: f64[N, N]) {
  transient d: f64
  for i in 0:N {
    for j in 0:i {
      d = 0
      map k in 0:j { d += A[i, k] * A[k, j] }
      A[i, j] = (A[i, j] - d) / A[j, j]
    }
    for j in i:N {
      d = 0
      map k in 0:i { d += A[i, k] * A[k, j] }
      A[i, j] = A[i, j] - d
    }
  }
})";
  c.values = {{"A", Numbers({4, 4}, {6, 1, 0.5, 0.2, -1, 7, 0.3, 1.1, 0.5, -0.3, 5, 0.4, 0.2, 1.1, 0.7, 8})}};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Solvers, LuWithSubstitution) {
  Case c;
  c.text = R"(sdfg ludcmp(inout A: f64[N, N], b: f64[N], x: f64[N]) {
  transient y: f64[N]
  transient d: f64
  for i in 0:N {
    for j in 0:i {
      for k in 0:j { A[i, j] = A[i, j] - A[i, k] * A[k, j] }
      A[i, j] = A[i, j] / A[j, j]
    }
    for j in i:N { for k in 0:i { A[i, j] += -A[i, k] * A[k, j] } }
  }
  for i in 0:N {
    d = 0
    map k in 0:i { d += A[i, k] * y[k] }
    y[i] = b[i] - d
  }
  for i in N - 1:-1:-1 {
    d = 0
    map k in i + 1:N { d += A[i, k] * x[k] }
    x[i] = (y[i] - d) / A[i, i]
  }
})";
  c.values = {{"A", Numbers({4, 4}, {6, 1, 0.5, 0.2, -1, 7, 0.3, 1.1, 0.5, -0.3, 5, 0.4, 0.2, 1.1, 0.7, 8})},
              {"b", Uniform({4}, -1, 1, 1)}};
  c.outputs = {"x"};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Solvers, Durbin) {
  Case c;
  c.text = R"(sdfg durbin(r: f64[N], y: f64[N]) {
  transient alpha: f64
  transient beta: f64
  transient s: f64
  transient z: f64[N]
  y[0] = -r[0]
  beta = 1
  alpha = -r[0]
  for k in 1:N {
    beta = beta * (1 - alpha * alpha)
    s = 0
    map i in 0:k { s += r[k - i - 1] * y[i] }
    alpha = -(r[k] + s) / beta
    map i in 0:k { z[i] = y[i] + alpha * y[k - i - 1] }
    map i in 0:k { y[i] = z[i] }
    y[k] = alpha
  }
})";
  c.values = {{"r", Uniform({6}, -0.4, 0.4, 1)}};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Solvers, GramSchmidt) {
  Case c;
  c.text = R"(sdfg gramschmidt(inout A: f64[M, N], Q: f64[M, N], R: f64[N, N]) {
  transient nrm: f64
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
})";
  c.values = {{"A", Uniform({6, 4}, -1, 1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Solvers, TriangularSolve) {
  Case c;
  c.text = R"(sdfg trisolv(L: f64[N, N], b: f64[N], x: f64[N]) {
  transient d: f64
  for i in 0:N {
    d = 0
    map j in 0:i { d += L[i, j] * x[j] }
    x[i] = (b[i] - d) / L[i, i]
  }
})";
  c.values = {{"L", Numbers({4, 4}, {2, 9, 9, 9, -1, 3, 9, 9, 0.5, -0.3, 2.5, 9, 0.2, 1.1, 0.7, 1.8})},
              {"b", Uniform({4}, -1, 1, 1)}};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Solvers, SymmetricProduct) {
  Case c;
  c.text = R"(sdfg symm(alpha: f64, beta: f64, inout C: f64[M, N], A: f64[M, M], B: f64[M, N]) {
  transient t: f64[N]
  map i in 0:M, j in 0:N { C[i, j] *= beta }
  for i in 0:M {
    for j in 0:N {
      map k in 0:i { C[k, j] += alpha * B[i, j] * A[i, k] }
      t[j] = 0
      map k in 0:i { t[j] += B[k, j] * A[i, k] }
    }
    map j in 0:N { C[i, j] += alpha * B[i, j] * A[i, i] + alpha * t[j] }
  }
})";
  c.values = {{"alpha", Scalar(1.5)},
              {"beta", Scalar(1.2)},
              {"A", Uniform({4, 4}, -1, 1, 1)},
              {"B", Uniform({4, 3}, -1, 1, 2)},
              {"C", Uniform({4, 3}, -1, 1, 3)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Solvers, RankTwoUpdate) {
  Case c;
  c.text = R"(sdfg syr2k(alpha: f64, beta: f64, inout C: f64[N, N], A: f64[N, M], B: f64[N, M]) {
  for i in 0:N {
    map j in 0:i + 1 { C[i, j] = C[i, j] * beta }
    for k in 0:M { map j in 0:i + 1 { C[i, j] = C[i, j] + A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k] } }
  }
})";
  c.values = {{"alpha", Scalar(1.5)},
              {"beta", Scalar(1.2)},
              {"A", Uniform({4, 3}, -1, 1, 1)},
              {"B", Uniform({4, 3}, -1, 1, 2)},
              {"C", Uniform({4, 4}, -1, 1, 3)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Solvers, TriangularProduct) {
  Case c;
  c.text = R"(sdfg trmm(alpha: f64, A: f64[M, M], inout B: f64[M, N]) {
  for i in 0:M { for j in 0:N {
    map k in i + 1:M { B[i, j] += A[k, i] * B[k, j] }
  } }
  map i in 0:M, j in 0:N { B[i, j] *= alpha }
})";
  c.values = {{"alpha", Scalar(1.5)}, {"A", Uniform({4, 4}, -1, 1, 1)}, {"B", Uniform({4, 3}, -1, 1, 2)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Solvers, Gemver) {
  Case c;
  c.text =
      R"(sdfg gemver(alpha: f64, beta: f64, inout A: f64[N, N], u1: f64[N], v1: f64[N], u2: f64[N], v2: f64[N], inout w: f64[N], inout x: f64[N], y: f64[N], z: f64[N]) {
  map i in 0:N, j in 0:N { A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j] }
  x[i] += beta * A[j, i] * y[j]
  map i in 0:N { x[i] = x[i] + z[i] }
  w[i] += alpha * A[i, j] * x[j]
})";
  c.values = {{"alpha", Scalar(1.5)},         {"beta", Scalar(1.2)},          {"A", Uniform({4, 4}, -1, 1, 1)},
              {"u1", Uniform({4}, -1, 1, 2)}, {"v1", Uniform({4}, -1, 1, 3)}, {"u2", Uniform({4}, -1, 1, 4)},
              {"v2", Uniform({4}, -1, 1, 5)}, {"w", Uniform({4}, -1, 1, 6)},  {"x", Uniform({4}, -1, 1, 7)},
              {"y", Uniform({4}, -1, 1, 8)},  {"z", Uniform({4}, -1, 1, 9)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Solvers, CompressedRows) {
  Case c;
  c.text = R"(sdfg spmv(ptr: i64[P], col: i64[Z], val: f64[Z], x: f64[M], y: f64[P - 1]) {
  for i in 0:P - 1 {
    let lo = ptr[i]
    let hi = ptr[i + 1]
    y[i] = 0
    map k in lo:hi { y[i] += val[k] * x[col[k]] }
  }
})";
  c.values = {{"val", Uniform({7}, -1, 1, 1)},
              {"x", Uniform({5}, -1, 1, 2)},
              {"ptr", Integers({5}, {0, 2, 2, 5, 7})},
              {"col", Integers({7}, {0, 3, 1, 1, 4, 2, 0})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Solvers, ContourIntegral) {
  Case c;
  c.text = R"(sdfg contour(A: f64[N, N], Yr: f64[N, M], P: f64) {
  transient T: c128[N, N]
  transient X: c128[N, M]
  transient P0: c128[N, M]
  transient z: c128
  transient f: c128
  map i in 0:N, j in 0:M { P0[i, j] = 0 }
  for t in 0:4 {
    z = complex(1.3 * cos(f64(t) * 1.5 + 0.2), 0.8 * sin(f64(t) * 1.5 + 0.2))
    map i in 0:N, j in 0:N { T[i, j] = complex(i == j ? 2 : 0, 0) * z - complex(A[i, j], A[j, i]) }
    map i in 0:N, j in 0:M { X[i, j] = complex(Yr[i, j], 0.1) }
    for k in 0:N {
      for i in k + 1:N {
        f = T[i, k] / T[k, k]
        for j in k:N { T[i, j] = T[i, j] - f * T[k, j] }
        for j in 0:M { X[i, j] = X[i, j] - f * X[k, j] }
      }
    }
    for k in N - 1:-1:-1 {
      for j in 0:M {
        for i in k + 1:N { X[k, j] = X[k, j] - T[k, i] * X[i, j] }
        X[k, j] = X[k, j] / T[k, k]
      }
    }
    if real(z * conj(z)) < 1 { map i in 0:N, j in 0:M { X[i, j] = -X[i, j] } }
    map i in 0:N, j in 0:M { P0[i, j] += z * X[i, j] }
  }
  P = 0
  map i in 0:N, j in 0:M { P += real(P0[i, j]) + imag(P0[i, j] * P0[i, j]) }
})";
  c.values = {{"A", Uniform({3, 3}, -0.3, 0.3, 1)}, {"Yr", Uniform({3, 2}, -1, 1, 2)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Solvers, StockhamTransform) {
  Case c;
  c.text = R"(sdfg stockham(xr: f64[N], xi: f64[N], w: f64[N], L: f64) {
  transient y: c128[N]
  transient z: c128[N]
  map i in 0:N { y[i] = complex(xr[i], xi[i]) }
  for l = 1; l < N; l = l * 2 {
    for j in 0:l { for k in 0:N // 2 // l {
      z[j * (N // 2 // l) + k] = y[2 * j * (N // 2 // l) + k] + complex(cos(3.141592653589793 * f64(j) / f64(l)), -sin(3.141592653589793 * f64(j) / f64(l))) * y[(2 * j + 1) * (N // 2 // l) + k]
      z[j * (N // 2 // l) + k + N // 2] = y[2 * j * (N // 2 // l) + k] - complex(cos(3.141592653589793 * f64(j) / f64(l)), -sin(3.141592653589793 * f64(j) / f64(l))) * y[(2 * j + 1) * (N // 2 // l) + k]
    } }
    map i in 0:N { y[i] = z[i] }
  }
  L = 0
  map i in 0:N { L += w[i] * real(y[i]) * imag(y[i]) + real(y[i] * conj(y[i])) * w[i] * w[i] }
})";
  c.values = {{"xr", Uniform({8}, -1, 1, 1)}, {"xi", Uniform({8}, -1, 1, 2)}, {"w", Uniform({8}, -1, 1, 3)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Solvers, ConjugateGradient) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, N], b: f64[N], x: f64[N]) {
  transient r: f64[N]
  transient p: f64[N]
  transient q: f64[N]
  transient rr: f64
  transient rn: f64
  transient pq: f64
  map i in 0:N { x[i] = 0; r[i] = b[i]; p[i] = b[i] }
  rr = 0
  map i in 0:N { rr += r[i] * r[i] }
  for t in 0:2 {
    map i in 0:N { q[i] = 0 }
    map i in 0:N, j in 0:N { q[i] += A[i, j] * p[j] }
    pq = 0
    map i in 0:N { pq += p[i] * q[i] }
    map i in 0:N { x[i] += rr / pq * p[i]; r[i] += -rr / pq * q[i] }
    rn = 0
    map i in 0:N { rn += r[i] * r[i] }
    map i in 0:N { p[i] = r[i] + rn / rr * p[i] }
    rr = rn
  }
})";
  c.values = {{"A", Numbers({3, 3}, {4, 1, 0.5, 1, 5, 0.7, 0.5, 0.7, 3})}, {"b", Uniform({3}, -1, 1, 1)}};
  ExpectGradientsNearDifferences(c, 1e-6);
}

TEST(Solvers, Newton) {
  Case c;
  c.text = R"(sdfg f(a: f64[N], r: f64[N]) {
  transient x: f64
  transient d: f64
  for i in 0:N {
    x = a[i]
    do { d = (x * x * x - a[i]) / (3 * x * x); x = x - d } while abs(d) > 1e-9
    r[i] = x
  }
})";
  c.values = {{"a", Uniform({4}, 1, 3, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Solvers, ShortestPaths) {
  Case c;
  c.text = R"(sdfg floyd_warshall(path0: f64[N, N], path: f64[N, N]) {
  transient row: f64[N]
  transient col: f64[N]
  map i in 0:N, j in 0:N { path[i, j] = i == j ? 0 : path0[i, j] }
  for k in 0:N {
    map i in 0:N { row[i] = path[k, i]; col[i] = path[i, k] }
    map i in 0:N, j in 0:N { path[i, j] min= col[i] + row[j] }
  }
})";
  c.values = {{"path0", Uniform({5, 5}, 1, 9, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Solvers, Knapsack) {
  Case c;
  c.text = R"(sdfg f(v: f64[K], c: i64[K], L: f64) {
  transient best: f64[7]
  map w in 0:7 { best[w] = 0 }
  for k in 0:K { for w in 6:c[k] - 1:-1 { best[w] = max(best[w], best[w - c[k]] + v[k]) } }
  L = best[6]
})";
  c.values = {{"v", Uniform({4}, 1, 5, 1)}, {"c", Integers({4}, {2, 3, 1, 2})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Solvers, HiddenMarkovModel) {
  Case c;
  c.text = R"(sdfg f(init: f64[S], trans: f64[S, S], emit: f64[S, O], obs: i64[T], L: f64) {
  transient a: f64[S]
  transient b: f64[S]
  transient m: f64
  map s in 0:S { a[s] = init[s] + emit[s, obs[0]] }
  for t in 1:T {
    m = a[0]
    map s in 0:S { m max= a[s] }
    map s in 0:S { b[s] = 0 }
    map s in 0:S, r in 0:S { b[s] += exp(a[r] - m + trans[r, s]) }
    map s in 0:S { a[s] = log(b[s]) + m + emit[s, obs[t]] }
  }
  m = 0
  map s in 0:S { m += exp(a[s]) }
  L = log(m)
})";
  c.values = {{"init", Uniform({3}, -1, 1, 1)},
              {"trans", Uniform({3, 3}, -1, 1, 2)},
              {"emit", Uniform({3, 4}, -1, 1, 3)},
              {"obs", Integers({6}, {0, 3, 2, 2, 1, 0})}};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Solvers, Covariance) {
  Case c;
  c.text = R"(sdfg covariance(data: f64[N, M], cov: f64[M, M]) {
  transient mean: f64[M]
  transient d: f64[N, M]
  map j in 0:M { mean[j] = 0 }
  map j in 0:M, i in 0:N { mean[j] += data[i, j] / f64(N) }
  map i in 0:N, j in 0:M { d[i, j] = data[i, j] - mean[j] }
  for i in 0:M {
    map j in i:M { cov[i, j] = 0 }
    map j in i:M, k in 0:N { cov[i, j] += d[k, i] * d[k, j] }
    map j in i:M { cov[i, j] = cov[i, j] / (f64(N) - 1) }
    map j in i + 1:M { cov[j, i] = cov[i, j] }
  }
})";
  c.values = {{"data", Uniform({6, 4}, -1, 1, 1)}};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Solvers, Correlation) {
  Case c;
  c.text = R"(sdfg correlation(data: f64[N, M], corr: f64[M, M]) {
  transient mean: f64[M]
  transient std: f64[M]
  transient d: f64[N, M]
  map j in 0:M { mean[j] = 0; std[j] = 0 }
  map j in 0:M, i in 0:N { mean[j] += data[i, j] }
  map j in 0:M { mean[j] = mean[j] / f64(N) }
  map j in 0:M, i in 0:N { std[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j]) }
  map j in 0:M { std[j] = sqrt(std[j] / f64(N)); std[j] = std[j] <= 0.1 ? 1 : std[j] }
  map i in 0:N, j in 0:M { d[i, j] = data[i, j] - mean[j]; d[i, j] = d[i, j] / (sqrt(f64(N)) * std[j]) }
  map i in 0:M { corr[i, i] = 1 }
  for i in 0:M - 1 {
    map j in i + 1:M { corr[i, j] = 0 }
    map j in i + 1:M, k in 0:N { corr[i, j] += d[k, i] * d[k, j] }
    map j in i + 1:M { corr[j, i] = corr[i, j] * corr[i, j] }
  }
})";
  c.values = {{"data", Uniform({7, 4}, -1, 1, 1)}};
  c.outputs = {"corr"};
  ExpectGradientsNearDifferences(c);
}

}  // namespace
}  // namespace headrace::autodiff::testing
