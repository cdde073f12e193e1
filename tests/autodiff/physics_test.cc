// Simulations, filters, wavefronts, written from their mathematics: against differences, some twice.
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

TEST(Physics, AlternatingDirections) {
  Case c;
  c.text = R"(sdfg adi(inout u: f64[N, N], T: symbol) {
  transient v: f64[N, N]
  transient p: f64[N, N]
  transient q: f64[N, N]
  map i in 0:N, j in 0:N { v[i, j] = 0; p[i, j] = 0; q[i, j] = 0 }
  for t in 0:T {
    map j in 1:N - 1 { v[0, j] = 1 }
    map i in 1:N - 1 { p[i, 0] = 0 }
    map i in 1:N - 1 { q[i, 0] = v[0, i] }
    for j in 1:N - 1 {
      map i in 1:N - 1 { p[i, j] = 0.3 / (0.3 * p[i, j - 1] + 1.7) }
      map i in 1:N - 1 { q[i, j] = (-0.2 * u[j, i - 1] + (1 + 2 * 0.2) * u[j, i] - 0.2 * u[j, i + 1] + 0.3 * q[i, j - 1]) / (0.3 * p[i, j - 1] + 1.7) }
    }
    map j in 1:N - 1 { v[N - 1, j] = 1 }
    for j in N - 2:0:-1 {
      map i in 1:N - 1 { v[j, i] = p[i, j] * v[j + 1, i] + q[i, j] }
    }
    map i in 1:N - 1 { u[i, 0] = 1; p[i, 0] = 0; q[i, 0] = u[i, 0] }
    for j in 1:N - 1 {
      map i in 1:N - 1 { p[i, j] = 0.2 / (0.2 * p[i, j - 1] + 1.4) }
      map i in 1:N - 1 { q[i, j] = (-0.3 * v[i - 1, j] + 1.6 * v[i, j] - 0.3 * v[i + 1, j] + 0.2 * q[i, j - 1]) / (0.2 * p[i, j - 1] + 1.4) }
    }
    map i in 1:N - 1 { u[i, N - 1] = 1 }
    for j in N - 2:0:-1 {
      map i in 1:N - 1 { u[i, j] = p[i, j] * u[i, j + 1] + q[i, j] * q[i, j] }
    }
  }
})";
  c.values = {{"u", Uniform({6, 6}, 0, 1, 1)}};
  c.symbols = {{"T", 2}};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Physics, RecursiveFilter) {
  Case c;
  c.text = R"(sdfg deriche(alpha: f64, img: f64[W, H], out: f64[W, H]) {
  transient k: f64
  transient a1: f64
  transient a2: f64
  transient a3: f64
  transient a4: f64
  transient b1: f64
  transient b2: f64
  transient y1: f64[W, H]
  transient y2: f64[W, H]
  k = (1 - exp(-alpha)) * (1 - exp(-alpha)) / (1 + alpha * exp(-alpha) - exp(2 * alpha))
  a1 = k
  a2 = k * exp(-alpha) * (alpha - 1)
  a3 = k * exp(-alpha) * (alpha + 1)
  a4 = -k * exp(-2 * alpha)
  b1 = pow(2, -alpha)
  b2 = -exp(-2 * alpha)
  map i in 0:W { y1[i, 0] = a1 * img[i, 0] }
  map i in 0:W { y1[i, 1] = a1 * img[i, 1] + a2 * img[i, 0] + b1 * y1[i, 0] }
  for j in 2:H { map i in 0:W { y1[i, j] = a1 * img[i, j] + a2 * img[i, j - 1] + b1 * y1[i, j - 1] + b2 * y1[i, j - 2] } }
  map i in 0:W { y2[i, H - 1] = 0 }
  map i in 0:W { y2[i, H - 2] = a3 * img[i, H - 1] }
  for j in H - 3:-1:-1 { map i in 0:W { y2[i, j] = a3 * img[i, j + 1] + a4 * img[i, j + 2] + b1 * y2[i, j + 1] + b2 * y2[i, j + 2] } }
  map i in 0:W, j in 0:H { out[i, j] = y1[i, j] + y2[i, j] }
  map j in 0:H { y1[0, j] = a1 * out[0, j] }
  map j in 0:H { y1[1, j] = a1 * out[1, j] + a2 * out[0, j] + b1 * y1[0, j] }
  for i in 2:W { map j in 0:H { y1[i, j] = a1 * out[i, j] + a2 * out[i - 1, j] + b1 * y1[i - 1, j] + b2 * y1[i - 2, j] } }
  map j in 0:H { y2[W - 1, j] = 0 }
  map j in 0:H { y2[W - 2, j] = a3 * out[W - 1, j] }
  for i in W - 3:-1:-1 { map j in 0:H { y2[i, j] = a3 * out[i + 1, j] + a4 * out[i + 2, j] + b1 * y2[i + 1, j] + b2 * y2[i + 2, j] } }
  map i in 0:W, j in 0:H { out[i, j] = y1[i, j] + y2[i, j] }
})";
  c.values = {{"img", Uniform({5, 6}, 0, 1, 1)}, {"alpha", Scalar(0.25)}};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Physics, HorizontalDiffusion) {
  Case c;
  c.text = R"(sdfg hdiff(fin: f64[I + 4, J + 4, K], coeff: f64[I, J, K], fout: f64[I, J, K]) {
  transient lap: f64[I + 2, J + 2, K]
  transient flx: f64[I + 1, J, K]
  transient fly: f64[I, J + 1, K]
  transient res: f64[I + 1, J, K]
  map i in 0:I + 2, j in 0:J + 2, k in 0:K { lap[i, j, k] = 4 * fin[i + 1, j + 1, k] - (fin[i + 2, j + 1, k] + fin[i, j + 1, k] + fin[i + 1, j + 2, k] + fin[i + 1, j, k]) }
  map i in 0:I + 1, j in 0:J, k in 0:K { res[i, j, k] = lap[i + 1, j + 1, k] - lap[i, j + 1, k] }
  map i in 0:I + 1, j in 0:J, k in 0:K { flx[i, j, k] = res[i, j, k] * (fin[i + 2, j + 2, k] - fin[i + 1, j + 2, k]) > 0 ? 0 : res[i, j, k] }
  map i in 0:I, j in 0:J + 1, k in 0:K { fly[i, j, k] = (lap[i + 1, j + 1, k] - lap[i + 1, j, k]) * (fin[i + 2, j + 2, k] - fin[i + 2, j + 1, k]) > 0 ? 0 : lap[i + 1, j + 1, k] - lap[i + 1, j, k] }
  map i in 0:I, j in 0:J, k in 0:K { fout[i, j, k] = fin[i + 2, j + 2, k] - coeff[i, j, k] * (flx[i + 1, j, k] - flx[i, j, k] + fly[i, j + 1, k] - fly[i, j, k]) }
})";
  c.values = {{"fin", Uniform({7, 8, 2}, -1, 1, 1)}, {"coeff", Uniform({3, 4, 2}, 0, 1, 2)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Physics, VerticalAdvection) {
  Case c;
  c.text = R"(sdfg vadv(inout us: f64[I, J, K], w: f64[I + 1, J, K], up: f64[I, J, K], ut: f64[I, J, K]) {
  transient cc: f64[I, J, K]
  transient dc: f64[I, J, K]
  transient data: f64[I, J]
  transient gcv: f64[I, J]
  transient cs: f64[I, J]
  transient cor: f64[I, J]
  transient gav: f64[I, J]
  transient as1: f64[I, J]
  transient acol: f64[I, J]
  transient bcol: f64[I, J]
  transient div: f64[I, J]
  for k in 0:1 {
    map i in 0:I, j in 0:J { gcv[i, j] = 0.25 * (w[i + 1, j, k + 1] + w[i, j, k + 1]) }
    map i in 0:I, j in 0:J { cs[i, j] = gcv[i, j] * 0.4; cc[i, j, k] = gcv[i, j] * 0.6 }
    map i in 0:I, j in 0:J { bcol[i, j] = 3 - cc[i, j, k] }
    map i in 0:I, j in 0:J { cor[i, j] = -cs[i, j] * (us[i, j, k + 1] - us[i, j, k]) }
    map i in 0:I, j in 0:J { dc[i, j, k] = 3 * up[i, j, k] + ut[i, j, k] + us[i, j, k] + cor[i, j] }
    map i in 0:I, j in 0:J { div[i, j] = 1 / bcol[i, j] }
    map i in 0:I, j in 0:J { cc[i, j, k] = cc[i, j, k] * div[i, j]; dc[i, j, k] = dc[i, j, k] * div[i, j] }
  }
  for k in 1:K - 1 {
    map i in 0:I, j in 0:J { gav[i, j] = -0.25 * (w[i + 1, j, k] + w[i, j, k]) }
    map i in 0:I, j in 0:J { gcv[i, j] = 0.25 * (w[i + 1, j, k + 1] + w[i, j, k + 1]) }
    map i in 0:I, j in 0:J { as1[i, j] = gav[i, j] * 0.4; cs[i, j] = gcv[i, j] * 0.4 }
    map i in 0:I, j in 0:J { acol[i, j] = gav[i, j] * 0.6; cc[i, j, k] = gcv[i, j] * 0.6 }
    map i in 0:I, j in 0:J { bcol[i, j] = 3 - acol[i, j] - cc[i, j, k] }
    map i in 0:I, j in 0:J { cor[i, j] = -as1[i, j] * (us[i, j, k - 1] - us[i, j, k]) - cs[i, j] * (us[i, j, k + 1] - us[i, j, k]) }
    map i in 0:I, j in 0:J { dc[i, j, k] = 3 * up[i, j, k] + ut[i, j, k] + us[i, j, k] + cor[i, j] }
    map i in 0:I, j in 0:J { div[i, j] = 1 / (bcol[i, j] - cc[i, j, k - 1] * acol[i, j]) }
    map i in 0:I, j in 0:J { cc[i, j, k] = cc[i, j, k] * div[i, j]; dc[i, j, k] = (dc[i, j, k] - dc[i, j, k - 1] * acol[i, j]) * div[i, j] }
  }
  for k in K - 1:K {
    map i in 0:I, j in 0:J { gav[i, j] = -0.25 * (w[i + 1, j, k] + w[i, j, k]); as1[i, j] = gav[i, j] * 0.4; acol[i, j] = gav[i, j] * 0.6 }
    map i in 0:I, j in 0:J { bcol[i, j] = 3 - acol[i, j] }
    map i in 0:I, j in 0:J { cor[i, j] = -as1[i, j] * (us[i, j, k - 1] - us[i, j, k]) }
    map i in 0:I, j in 0:J { dc[i, j, k] = 3 * up[i, j, k] + ut[i, j, k] + us[i, j, k] + cor[i, j] }
    map i in 0:I, j in 0:J { div[i, j] = 1 / (bcol[i, j] - cc[i, j, k - 1] * acol[i, j]) }
    map i in 0:I, j in 0:J { dc[i, j, k] = (dc[i, j, k] - dc[i, j, k - 1] * acol[i, j]) * div[i, j] }
  }
  for k in K - 1:K - 2:-1 {
    map i in 0:I, j in 0:J { data[i, j] = dc[i, j, k] }
    map i in 0:I, j in 0:J { us[i, j, k] = 3 * (data[i, j] - up[i, j, k]) }
  }
  for k in K - 2:-1:-1 {
    map i in 0:I, j in 0:J { data[i, j] = dc[i, j, k] - cc[i, j, k] * data[i, j] }
    map i in 0:I, j in 0:J { us[i, j, k] = 3 * (data[i, j] - up[i, j, k]) }
  }
})";
  c.values = {{"us", Uniform({3, 3, 5}, -1, 1, 1)},
              {"w", Uniform({4, 3, 5}, -0.3, 0.3, 2)},
              {"up", Uniform({3, 3, 5}, -1, 1, 3)},
              {"ut", Uniform({3, 3, 5}, -1, 1, 4)}};
  c.outputs = {"us"};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Physics, CavityFlow) {
  Case c;
  c.text = R"(sdfg cavity(inout u: f64[N, N], inout v: f64[N, N], inout p: f64[N, N], dt: f64, nu: f64, T: symbol) {
  transient un: f64[N, N]
  transient vn: f64[N, N]
  transient b: f64[N, N]
  for n in 0:T {
    map i in 0:N, j in 0:N { un[i, j] = u[i, j]; vn[i, j] = v[i, j] }
    map i in 0:N, j in 0:N { b[i, j] = 0 }
    call build_up_b(b = b, dt = dt, u = u, v = v)
    call poisson(p = p, b = b)
    map i in 1:N - 1, j in 1:N - 1 { u[i, j] = un[i, j] - un[i, j] * dt * (un[i, j] - un[i, j - 1]) - vn[i, j] * dt * (un[i, j] - un[i - 1, j]) - dt / 2 * (p[i, j + 1] - p[i, j - 1]) + nu * (dt * (un[i, j + 1] - 2 * un[i, j] + un[i, j - 1]) + dt * (un[i + 1, j] - 2 * un[i, j] + un[i - 1, j])) }
    map i in 1:N - 1, j in 1:N - 1 { v[i, j] = vn[i, j] - un[i, j] * dt * (vn[i, j] - vn[i, j - 1]) - vn[i, j] * dt * (vn[i, j] - vn[i - 1, j]) - dt / 2 * (p[i + 1, j] - p[i - 1, j]) + nu * (dt * (vn[i, j + 1] - 2 * vn[i, j] + vn[i, j - 1]) + dt * (vn[i + 1, j] - 2 * vn[i, j] + vn[i - 1, j])) }
    map j in 0:N { u[0, j] = 0; v[0, j] = 0; v[N - 1, j] = 0 }
    map j in 0:N { u[j, 0] = 0; u[j, N - 1] = 0; v[j, 0] = 0; v[j, N - 1] = 0 }
    map j in 0:N { u[N - 1, j] = 1 }
  }
}
sdfg build_up_b(inout b: f64[N, N], dt: f64, u: f64[N, N], v: f64[N, N]) {
  map i in 1:N - 1, j in 1:N - 1 { b[i, j] = 1 / dt * ((u[i, j + 1] - u[i, j - 1]) / 2 + (v[i + 1, j] - v[i - 1, j]) / 2) - pow((u[i, j + 1] - u[i, j - 1]) / 2, 2) - 2 * ((u[i + 1, j] - u[i - 1, j]) / 2 * (v[i, j + 1] - v[i, j - 1]) / 2) - pow((v[i + 1, j] - v[i - 1, j]) / 2, 2) }
}
sdfg poisson(inout p: f64[N, N], b: f64[N, N]) {
  transient pn: f64[N, N]
  for q in 0:4 {
    map i in 0:N, j in 0:N { pn[i, j] = p[i, j] }
    map i in 1:N - 1, j in 1:N - 1 { p[i, j] = ((pn[i, j + 1] + pn[i, j - 1]) + (pn[i + 1, j] + pn[i - 1, j])) / 4 - 0.25 * b[i, j] }
    map i in 0:N { p[i, N - 1] = p[i, N - 2] }
    map i in 0:N { p[0, i] = p[1, i] }
    map i in 0:N { p[i, 0] = p[i, 1] }
    map i in 0:N { p[N - 1, i] = 0 }
  }
})";
  c.values = {{"u", Uniform({5, 5}, -0.3, 0.3, 1)},
              {"v", Uniform({5, 5}, -0.3, 0.3, 2)},
              {"p", Uniform({5, 5}, -0.3, 0.3, 3)},
              {"dt", Scalar(0.05)},
              {"nu", Scalar(0.1)}};
  c.symbols = {{"T", 3}};
  ExpectGradientsNearDifferences(c);
}

TEST(Physics, ChannelFlow) {
  Case c;
  c.text = R"(sdfg channel(u0: f64[M, N], v0: f64[M, N], F: f64, us: f64, steps: i64) {
  transient u: f64[M, N]
  transient v: f64[M, N]
  transient un: f64[M, N]
  transient vn: f64[M, N]
  transient udiff: f64
  transient a: f64
  transient b: f64
  map i in 0:M, j in 0:N { u[i, j] = u0[i, j]; v[i, j] = v0[i, j] }
  udiff = 1
  steps = 0
  while udiff > 0.02 {
    map i in 0:M, j in 0:N { un[i, j] = u[i, j]; vn[i, j] = v[i, j] }
    map i in 1:M - 1, j in 0:N { u[i, j] = un[i, j] - un[i, j] * 0.1 * (un[i, j] - un[i, (j + N - 1) % N]) - vn[i, j] * 0.1 * (un[i, j] - un[i - 1, j]) + 0.05 * (un[i, (j + 1) % N] - 2 * un[i, j] + un[i, (j + N - 1) % N] + un[i + 1, j] - 2 * un[i, j] + un[i - 1, j]) + F * 0.1 }
    map i in 1:M - 1, j in 0:N { v[i, j] = vn[i, j] - un[i, j] * 0.1 * (vn[i, j] - vn[i, (j + N - 1) % N]) - vn[i, j] * 0.1 * (vn[i, j] - vn[i - 1, j]) + 0.05 * (vn[i, (j + 1) % N] - 2 * vn[i, j] + vn[i, (j + N - 1) % N]) }
    map j in 0:N { u[0, j] = 0; u[M - 1, j] = 0; v[0, j] = 0; v[M - 1, j] = 0 }
    a = 0
    b = 0
    map i in 0:M, j in 0:N { a += u[i, j]; b += un[i, j] }
    udiff = (a - b) / a
    steps += 1
  }
  us = 0
  map i in 0:M, j in 0:N { us += u[i, j] * u[i, j] + v[i, j] }
})";
  c.values = {{"u0", Uniform({4, 5}, 0, 0.3, 1)}, {"v0", Uniform({4, 5}, -0.1, 0.1, 2)}, {"F", Scalar(1.0)}};
  c.outputs = {"us"};
  ExpectGradientsNearDifferences(c, 1e-6);
}

TEST(Physics, Bodies) {
  Case c;
  c.text = R"(sdfg nbody(mass: f64[N], pos: f64[N, 3], vel: f64[N, 3], KE: f64[4], PE: f64[4]) {
  transient x: f64[N, 3]
  transient v: f64[N, 3]
  transient acc: f64[N, 3]
  transient com: f64[3]
  transient mm: f64
  map i in 0:4 { KE[i] = 0; PE[i] = 0 }
  map d in 0:3 { com[d] = 0 }
  mm = 0
  map i in 0:N { mm += mass[i] }
  map i in 0:N, d in 0:3 { com[d] += vel[i, d] * mass[i] }
  map i in 0:N, d in 0:3 { v[i, d] = vel[i, d] - com[d] / mm; x[i, d] = pos[i, d] }
  call forces(m = mass, x = x, a = acc)
  call energy(m = mass, x = x, v = v, KE = KE, PE = PE, k := 0)
  for t in 0:3 {
    map i in 0:N, d in 0:3 { v[i, d] += acc[i, d] * 0.05 }
    map i in 0:N, d in 0:3 { x[i, d] += v[i, d] * 0.1 }
    call forces(m = mass, x = x, a = acc)
    map i in 0:N, d in 0:3 { v[i, d] += acc[i, d] * 0.05 }
    call energy(m = mass, x = x, v = v, KE = KE, PE = PE, k := t + 1)
  }
}
sdfg forces(m: f64[N], x: f64[N, 3], a: f64[N, 3]) {
  transient inv: f64[N, N]
  map i in 0:N, j in 0:N { inv[i, j] = (x[j, 0] - x[i, 0]) * (x[j, 0] - x[i, 0]) + (x[j, 1] - x[i, 1]) * (x[j, 1] - x[i, 1]) + (x[j, 2] - x[i, 2]) * (x[j, 2] - x[i, 2]) + 0.01 }
  map i in 0:N, j in 0:N { inv[i, j] = inv[i, j] > 0 ? pow(inv[i, j], -1.5) : inv[i, j] }
  map i in 0:N, d in 0:3 { a[i, d] = 0 }
  map i in 0:N, d in 0:3, j in 0:N { a[i, d] += (x[j, d] - x[i, d]) * inv[i, j] * m[j] }
}
sdfg energy(m: f64[N], x: f64[N, 3], v: f64[N, 3], inout KE: f64[4], inout PE: f64[4], k: symbol) {
  transient r: f64
  KE[k] = 0
  map i in 0:N, d in 0:3 { KE[k] += 0.5 * m[i] * v[i, d] * v[i, d] }
  PE[k] = 0
  for i in 0:N { for j in i + 1:N {
    r = sqrt((x[j, 0] - x[i, 0]) * (x[j, 0] - x[i, 0]) + (x[j, 1] - x[i, 1]) * (x[j, 1] - x[i, 1]) + (x[j, 2] - x[i, 2]) * (x[j, 2] - x[i, 2]))
    if r > 0 { r = 1 / r }
    PE[k] = PE[k] - m[i] * m[j] * r
  } }
})";
  c.values = {
      {"mass", Uniform({4}, 0.5, 2, 1)}, {"pos", Uniform({4, 3}, -1, 1, 2)}, {"vel", Uniform({4, 3}, -1, 1, 3)}};
  c.outputs = {"KE", "PE"};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Physics, Scattering) {
  Case c;
  c.text =
      R"(sdfg sse(neigh: i64[NA, NB], dHr: f64[NA, NB, B, B], Gr: f64[NE, NA, B, B], Gi: f64[NE, NA, B, B], L: f64) {
  transient S: c128[NE, NA, B, B]
  transient T: c128[B, B]
  map e in 0:NE, a in 0:NA, x in 0:B, y in 0:B { S[e, a, x, y] = 0 }
  for E in 0:NE { for w in 0:2 { for a in 0:NA { for b in 0:NB {
    if E >= w {
      map x in 0:B, y in 0:B { T[x, y] = 0 }
      map x in 0:B, y in 0:B, z in 0:B { T[x, y] += complex(Gr[E - w, neigh[a, b], x, z], Gi[E - w, neigh[a, b], x, z]) * complex(dHr[a, b, z, y], 0.3) }
      map x in 0:B, y in 0:B, z in 0:B { S[E, a, x, y] += T[x, z] * complex(dHr[a, b, z, y], 0) * T[z, y] }
    }
  } } } }
  L = 0
  map e in 0:NE, a in 0:NA, x in 0:B, y in 0:B { L += real(S[e, a, x, y] * conj(S[e, a, x, y])) }
})";
  c.values = {{"neigh", Integers({3, 2}, {1, 2, 0, 2, 1, 1})},
              {"dHr", Uniform({3, 2, 2, 2}, -1, 1, 1)},
              {"Gr", Uniform({3, 3, 2, 2}, -1, 1, 2)},
              {"Gi", Uniform({3, 3, 2, 2}, -1, 1, 3)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Physics, Orbits) {
  Case c;
  c.text = R"(sdfg mandel(cr: f64[N], ci: f64[N], zz: f64[N]) {
  transient z: c128
  transient n: i64
  for i in 0:N {
    z = complex(cr[i], ci[i])
    n = 0
    while real(z * conj(z)) < 4 && n < 8 { z = z * z + complex(cr[i], ci[i]); n += 1 }
    zz[i] = real(z * conj(z))
  }
})";
  c.values = {{"cr", Numbers({3}, {-0.5, 0.3, -1.2})}, {"ci", Numbers({3}, {0.5, 0.3, 0.2})}};
  c.outputs = {"zz"};
  ExpectGradientsNearDifferences(c);
}

TEST(Physics, Histogram) {
  Case c;
  c.text = R"(sdfg hist(data: f64[N], radius: f64[N], res: f64[4]) {
  transient w: f64[4]
  transient c: f64[4]
  map k in 0:4 { w[k] = 0; c[k] = 0 }
  map i in 0:N { w[i64(floor(radius[i] * 2))] += data[i] * data[i] }
  map i in 0:N { c[i64(floor(radius[i] * 2))] += 1 }
  map k in 0:4 { res[k] = w[k] / c[k] }
})";
  c.values = {{"data", Uniform({10}, 0.2, 1, 1)},
              {"radius", Numbers({10}, {0.13, 0.42, 0.81, 1.21, 1.64, 1.93, 0.34, 0.72, 1.17, 1.58})}};
  c.inputs = {"data"};
  ExpectGradientsNearDifferences(c);
}

TEST(Physics, ArcDistance) {
  Case c;
  c.text = R"(sdfg arc(t1: f64[N], p1: f64[N], t2: f64[N], p2: f64[N], d: f64[N]) {
  transient t: f64[N]
  map i in 0:N { t[i] = sin((t2[i] - t1[i]) / 2) * sin((t2[i] - t1[i]) / 2) + cos(t1[i]) * cos(t2[i]) * sin((p2[i] - p1[i]) / 2) * sin((p2[i] - p1[i]) / 2) }
  map i in 0:N { d[i] = 2 * atan2(sqrt(t[i]), sqrt(1 - t[i])) }
})";
  c.values = {{"t1", Uniform({5}, -1, 1, 1)},
              {"p1", Uniform({5}, -1, 1, 2)},
              {"t2", Uniform({5}, -1, 1, 3)},
              {"p2", Uniform({5}, -1, 1, 4)}};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Physics, RungeKutta) {
  Case c;
  c.text = R"(sdfg f(p: f64[4], x0: f64[2], y: f64[2]) {
  transient x: f64[2]
  transient xs: f64[2]
  transient k: f64[4, 2]
  map i in 0:2 { x[i] = x0[i] }
  for t in 0:5 {
    for s in 0:4 {
      map i in 0:2 { xs[i] = x[i] + (s == 0 ? 0 : s == 3 ? 0.1 : 0.05) * (s == 0 ? 0 : k[s - 1, i]) }
      k[s, 0] = p[0] * xs[0] - p[1] * xs[0] * xs[1]
      k[s, 1] = p[3] * xs[0] * xs[1] - p[2] * xs[1]
    }
    map i in 0:2 { x[i] += 0.1 / 6 * (k[0, i] + 2 * k[1, i] + 2 * k[2, i] + k[3, i]) }
  }
  map i in 0:2 { y[i] = x[i] }
})";
  c.values = {{"p", Numbers({4}, {1.5, 1, 3, 1})}, {"x0", Numbers({2}, {1, 1.2})}};
  ExpectGradientsNearDifferences(c);
  ExpectHessianNearDifferences(c);
}

TEST(Physics, Wavefront) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, N], L: f64) {
  transient D: f64[N, N]
  map i in 0:N, j in 0:N { D[i, j] = A[i, j] }
  for w in 2:2 * N - 1 { for i in max(1, w - N + 1):min(w, N) { D[i, w - i] = D[i, w - i] + 0.5 * sin(D[i - 1, w - i]) * D[i, w - i - 1] } }
  L = D[N - 1, N - 1] * D[0, N - 1]
})";
  c.values = {{"A", Uniform({6, 6}, -1, 1, 1)}};
  ExpectGradientsNearDifferences(c);
}

TEST(Physics, SortingNetwork) {
  Case c;
  c.text = R"(sdfg f(A: f64[N], w: f64[N], L: f64) {
  transient T: f64[N]
  transient lo: f64
  map i in 0:N { T[i] = A[i] }
  for p in 0:N { for i in p % 2:N - 1:2 { lo = min(T[i], T[i + 1]); T[i + 1] = max(T[i], T[i + 1]); T[i] = lo } }
  L = 0
  map i in 0:N { L += w[i] * T[i] * T[i] }
})";
  c.values = {{"A", Uniform({6}, -1, 1, 1)}, {"w", Numbers({6}, {1, 2, 3, 4, 5, 6})}};
  ExpectGradientsNearDifferences(c);
}

TEST(Physics, LoopsThatRunOnce) {
  Case c;
  c.text = R"(sdfg f(A: f64[N, K], Y: f64[N]) {
  transient a: f64[N]
  transient b: f64[N]
  for k in 1:K - 1 { map i in 0:N { a[i] = A[i, k] * A[i, k - 1]; b[i] = a[i] * 2 } ; map i in 0:N { Y[i] = a[i] * b[i] } }
  for k in K - 1:K { map i in 0:N { a[i] = A[i, k] * A[i, k - 1]; b[i] = a[i] * a[i] } ; map i in 0:N { Y[i] = a[i] * b[i] + Y[i] } }
  for k in 0:1 { for j in K - 1:K - 2:-1 { map i in 0:N { a[i] = sin(Y[i]); Y[i] = a[i] * A[i, j] } } }
})";
  c.values = {{"A", Uniform({4, 3}, -1, 1, 1)}};
  ExpectGradientsNearDifferences(c);
}

}  // namespace
}  // namespace headrace::autodiff::testing
