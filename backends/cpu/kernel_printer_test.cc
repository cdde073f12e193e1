// Scheduled kernels as text, run: what is printed is what stands there.
#include "backends/cpu/kernel_testing.h"

namespace headrace::cpu {
namespace {

std::vector<double> Values(int64_t n) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(static_cast<double>(i * 7919 % 1009) / 500 - 1);
  return v;
}

void ExpectClose(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5 * (1 + std::fabs(want[i]))) << "element " << i;
}

// One walk through memory, in parts that any thread may take.
TEST(Kernels, Parts) {
  const std::string text = R"(
sdfg f(X: f32[N, C], Y: f32[N, C]) { call k(p0 = Y, p1 = X, n0 := N, n1 := C) }
kernel k(p0: f32[n0, n1], p1: f32[n0, n1], n0: symbol, n1: symbol) for cpu {
  view v: f32[n0 * n1] of p0
  view u: f32[n0 * n1] of p1
  let g = max(1, 4096 // max(1, n1))
  map a in 0:n0 * n1:g @parallel { map i in a:+g @vector { v[i] = u[i] * 2 + 1 } }
})";
  for (int64_t n : {0, 1, 37, 1000})
    ExpectAsInterpreted(text, {{"X", F32({n, 13}, Whole(n * 13))}});
  const std::string source = SourceOf(text);
  EXPECT_THAT(source, HasSubstr("hr_chunks(x, "));
  EXPECT_THAT(source, HasSubstr("#pragma omp simd"));
  EXPECT_THAT(source, HasSubstr("k0(x, f->X, f->Y, "));  // no frame
}

// Several indices are one row of units.
TEST(Kernels, PartsOfSeveralIndices) {
  ExpectAsInterpreted(R"(
sdfg f(X: f32[N, C], Y: f32[C, N]) { call k(p0 = Y, p1 = X, n := N, c := C) }
kernel k(p0: f32[c, n], p1: f32[n, c], n: symbol, c: symbol) for cpu {
  map i0 in 0:n:8, j0 in 0:c:8 @parallel {
    for i in i0:+8 { for j in j0:+8 { p0[j, i] = p1[i, j] } }
  }
})",
                      {{"X", F32({21, 19}, Whole(21 * 19))}});
}

constexpr const char* kSoftmax = R"(
sdfg f(X: f32[N, C], Y: f32[N, C]) { call softmax(X = X, Y = Y, N := N, C := C) }
kernel softmax(X: f32[N, C], Y: f32[N, C], N: symbol, C: symbol) for cpu {
  let g = max(1, 65536 // max(1, 31 * C))
  map n0 in 0:N:g @parallel {
    for n in n0:+g {
      local p: f32[64]
      local M: f32
      local S: f32
      map l in 0:64 @vector { p[l] = -inf }
      M = -inf
      S = 0
      for c0 in 0:C:64 { map c in c0:+64 @vector { p[c - c0] max= X[n, c] } }
      map l in 0:64 @halves { M max= p[l] }
      map l in 0:64 @vector { p[l] = 0 }
      for c0 in 0:C:64 { map c in c0:+64 @vector { Y[n, c] = exp(X[n, c] - M); p[c - c0] += Y[n, c] } }
      map l in 0:64 @halves { S += p[l] }
      map c in 0:C @vector { Y[n, c] = Y[n, c] / S }
    }
  }
})";
TEST(Kernels, Softmax) {
  for (int64_t c : {1, 64, 150}) {
    std::vector<double> x = Whole(90 * c);
    const auto out = ExpectAsInterpreted(kSoftmax, {{"X", F32({90, c}, x)}}, {}, 1e-5);
    ASSERT_EQ(out.size(), 1u);
    double sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += out[0].tensor.GetDouble(j);
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

// Partial results that all threads write, each its own, lie in memory of the calling thread.
TEST(Kernels, SumInTwoPhases) {
  const std::string text = R"(
sdfg f(X: f32[N], S: f32[]) { call sum(p0 = X, p1 = S, n := N) }
kernel sum(p0: f32[n], p1: f32[], n: symbol) for cpu {
  let g = max(1, n // 16)
  let parts = (n + g - 1) // g
  local partial: f32[parts] @worker
  local small: i64[3] @worker
  map l in 0:3 @vector { small[l] = l }
  map u in 0:parts @parallel {
    local s: f32
    s = 0
    for i in u * g:min(u * g + g, n) { s += p0[i] }
    partial[u] = s + f32(small[1])
  }
  p1[] = 0
  for u in 0:parts { p1[] += partial[u] - f32(small[1]) }
})";
  for (int64_t n : {0, 5, 1000}) {
    const std::vector<double> x = Whole(n);
    const auto out = ExpectAsInterpreted(text, {{"X", F32({n}, x)}});
    ASSERT_EQ(out.size(), 1u);
    double sum = 0;
    for (double v : x) sum += v;
    EXPECT_EQ(out[0].tensor.GetDouble(0), sum);
  }
}

// Panels in a worker's memory, accumulators in registers.
TEST(Kernels, MatrixProduct) {
  ExpectAsInterpreted(R"(
sdfg f(A: f32[M, K], B: f32[K, N], C: f32[M, N]) { call mm(c = C, a = A, b = B, m := M, n := N, k := K) }
kernel mm(c: f32[m, n], a: f32[m, k], b: f32[k, n], m: symbol, n: symbol, k: symbol) for cpu {
  map i0 in 0:m:4, j0 in 0:n:16 @parallel {
    local panel: f32[k, 16] @worker
    local rows: f32[4, k] @worker
    local acc: f32[4, 16]
    for q in 0:k { map j in j0:+16 @vector { panel[q, j - j0] = b[q, j] } }
    for i in i0:+4 { map q in 0:k @vector { rows[i - i0, q] = a[i, q] } }
    map r in 0:4 @unroll { map l in 0:16 @vector { acc[r, l] = 0 } }
    for q in 0:k {
      for i in i0:+4 { map j in j0:+16 @vector { acc[i - i0, j - j0] += rows[i - i0, q] * panel[q, j - j0] } }
    }
    for i in i0:+4 { map j in j0:+16 @vector { c[i, j] = acc[i - i0, j - j0] } }
  }
})",
                      {{"A", F32({30, 70}, Whole(30 * 70))}, {"B", F32({70, 45}, Whole(70 * 45, 2))}});
}

// Too much for a machine: an error of the run, and the memory that was taken is given back.
TEST(Kernels, ABufferThatIsTooLarge) {
  Registry r;
  auto e = CompileText(R"(
sdfg f(Y: f32[N], k: symbol) { call big(y = Y, n := N, k := k) }
kernel big(y: f32[n], n: symbol, k: symbol) for cpu {
  map i in 0:n @parallel {
    local one: f32[max(1, k)] @worker
    local two: f32[max(1, k), max(1, k)] @worker
    one[0] = 1
    two[0, 0] = 2
    y[i] = one[0] + two[0, 0]
  }
})",
                       r);
  ASSERT_TRUE(e);
  auto out = e->Run({}, {{"N", 3}, {"k", int64_t{1} << 40}});
  ASSERT_FALSE(out.ok());
  EXPECT_THAT(out.status().ToString(), HasSubstr("E0661"));
  out = e->Run({}, {{"N", 3}, {"k", 2}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>{3, 3, 3}));
}

// What is carried keeps its order; lanes lie over the rest.
TEST(Kernels, Recurrence) {
  ExpectAsInterpreted(R"(
sdfg f(X: f32[T, C], inout Y: f32[T, C]) { call scan(y = Y, x = X, t := T, c := C) }
kernel scan(inout y: f32[t, c], x: f32[t, c], t: symbol, c: symbol) for cpu {
  map j0 in 0:c:32 @parallel {
    for s in 0:t {
      map j in j0:+32 @vector { y[s, j] = (s - 1 >= 0 && s - 1 < t ? y[s - 1, j] : 0) + x[s, j] }
    }
  }
})",
                      {{"X", F32({50, 70}, Whole(50 * 70))}, {"Y", F32({50, 70}, Whole(50 * 70, 2))}});
}

// Steps that only the run knows, and those that go down.
TEST(Kernels, Steps) {
  const std::string text = R"(
sdfg f(X: f32[N], Y: f32[N], Z: f32[N], k: symbol) { call steps(x = X, y = Y, z = Z, n := N, k := k) }
kernel steps(x: f32[n], y: f32[n], z: f32[n], n: symbol, k: symbol) for cpu {
  local s: f32
  for i in 0:n { y[i] = 0 ; z[i] = 0 }
  for i in 0:n:max(1, k) { y[i] = x[i] }
  s = 0
  for i in n - 1:-1:-1 { s = s * 2 + x[i] ; z[i] = s }
})";
  for (int64_t k : {1, 3}) ExpectAsInterpreted(text, {{"X", F32({9}, Whole(9))}}, {{"k", k}});
}

// Floats of all widths, whole numbers; maxima and products, too.
TEST(Kernels, Halves) {
  for (const char* type : {"f16", "bf16", "f32", "f64", "i32", "u8", "i64"})
    for (const char* op : {"+=", "max=", "min=", "*="}) {
      const std::string t = type;
      const std::string text = "sdfg f(X: " + t + "[16], S: " + t + "[]) { call k(x = X, s = S) }\n" + "kernel k(x: " + t +
                               "[16], s: " + t + "[]) for cpu {\n s[] = 1\n map u in 0:16 @halves { s[] " + op + " x[u] }\n}";
      std::vector<double> x(16, 1);
      x[3] = 2, x[10] = 3;
      Tensor in = *Tensor::Create(*ParseDType(type), {16});
      for (int64_t i = 0; i < 16; ++i) IsFloat(in.dtype) ? in.SetDouble(i, x[i]) : in.SetInt(i, static_cast<int64_t>(x[i]));
      ExpectAsInterpreted(text, {{"X", in}});
    }
}

// The order of halves is the text's: 1e8 + 1 loses the 1, but not where they meet late.
TEST(Kernels, HalvesHaveAnOrder) {
  auto out = RunText(R"(
sdfg f(X: f32[4], S: f32[]) { call k(x = X, s = S) }
kernel k(x: f32[4], s: f32[]) for cpu {
  s[] = 0
  map u in 0:4 @halves { s[] += x[u] }
})",
                     {{"X", F32({4}, {1e8, 1, -1e8, 1})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0]), (std::vector<double>{2}));  // (x0 + x2) + (x1 + x3)
}

constexpr const char* kGather = R"(
sdfg f(E: f32[V, D], I: i64[B], Y: f32[B, D]) {
  call gather(e = E, i = I, y = Y, v := V, d := D, b := B) from "lookup"
}
kernel gather(e: f32[v, d], i: i64[b], y: f32[b, d], v: symbol, d: symbol, b: symbol) for cpu {
  map q in 0:b @parallel {
    if d > 0 { check e[i[q], 0] }
    for c in 0:d {
      check e[i[q], c]
      y[q, c] = e[i[q], c]
    }
  }
})";
TEST(Kernels, Gather) {
  ExpectAsInterpreted(kGather, {{"E", F32({5, 3}, Whole(15))}, {"I", I64({4}, {4, 0, 2, 2})}});
}

// Nothing is read: what is near may be anything, also beyond the array.
TEST(Kernels, Prefetch) {
  const char text[] = R"(
sdfg f(X: f32[N, 4], Y: f32[N, 4]) { call copy(x = X, y = Y, n := N) }
kernel copy(x: f32[n, 4], y: f32[n, 4], n: symbol) for cpu {
  map i in 0:n @parallel {
    prefetch x[i + 1000000, 7]
    prefetch x.flat[4 * n - i]
    map @apart { for c in 0:4 { prefetch y[i + 1, c] ; y[i, c] = x[i, c] } }
  }
})";
  ExpectAsInterpreted(text, {{"X", F32({5, 4}, Whole(20))}});
  EXPECT_THAT(SourceOf(text), HasSubstr("hr_prefetch(&p0[0], "));
}

// A bad index ends the run: the error names index, shape and the call's origin.
TEST(Kernels, CheckFails) {
  for (int64_t bad : {int64_t{5}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    auto out = RunText(kGather, {{"E", F32({5, 3}, Whole(15))}, {"I", I64({4}, {4, bad, 2, 2})}});
    ASSERT_FALSE(out.ok());
    EXPECT_THAT(out.status().ToString(), HasSubstr("E0650"));
    EXPECT_THAT(out.status().ToString(), HasSubstr("e[" + std::to_string(bad) + ", 0], shape [5, 3]"));
    EXPECT_THAT(out.status().ToString(), HasSubstr("lookup"));
  }
}

// Later phases don't run after a failed check: they may stand on what it promised.
TEST(Kernels, NothingAfterAFailedCheck) {
  const std::string source = SourceOf(R"(
sdfg f(I: i64[N], Y: f32[N]) { call k(i = I, y = Y, n := N) }
kernel k(i: i64[n], y: f32[n], n: symbol) for cpu {
  map q in 0:n @parallel { check y[i[q]] }
  map q in 0:n @parallel { y[q] = 1 }
})");
  EXPECT_LT(source.find("if (x->stop) return;"), source.find("k0_part1(x, p0, p1, n0, begin, end); }")) << source;
}

// A read whose index a condition allows happens under it, however often the value is used: there is no element that far.
TEST(Kernels, ReadsStayInTheirChoices) {
  const std::string read = "x[i - 1000000000000]";
  const std::string where = "i - 1000000000000 >= 0 && i - 1000000000000 < n ? ";
  for (const std::string& value : {read, read + " * " + read, "exp(" + read + " * 2 + 1) + sin(" + read + ") * cos(" + read +
                                  ") + tanh(" + read + ") * sqrt(abs(" + read + "))"}) {
    const std::string text = "sdfg f(X: f32[N], Y: f32[N], k: symbol) { call s(x = X, y = Y, n := N, k := k) }\n" +
                             std::string("kernel s(x: f32[n], y: f32[n], n: symbol, k: symbol) for cpu {\n") +
                             "map i in 0:n @vector { y[i] = (" + where + value + " : 1) + (" + where + read + " : 2) + (k > 3 && " + where + read + " : 3) }\n}";
    auto out = RunText(text, {{"X", F32({9}, Whole(9))}}, {{"k", 4}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    EXPECT_EQ(Doubles((*out)[0]), std::vector<double>(9, 6)) << value;
  }
}

constexpr const char* kStencil = R"(
sdfg f(X: f32[H, W], Y: f32[H, W]) { call blur(p0 = Y, p1 = X, h := H, w := W) }
kernel blur(p0: f32[h, w], p1: f32[h, w], h: symbol, w: symbol) for cpu {
  let g = max(1, 4096 // max(1, w))
  map i0 in 0:h:g @parallel {
    for i in i0:+g {
      map j in 0:w @vector {
        p0[i, j] = p1[i, j] * 4 + (i - 1 >= 0 && i - 1 < h ? p1[i - 1, j] : 0) + (i + 1 < h ? p1[i + 1, j] : 0) + (j - 1 >= 0 && j - 1 < w ? p1[i, j - 1] : 0) + (j + 1 < w ? p1[i, j + 1] : 0)
      }
    }
  }
})";
TEST(Kernels, Stencil) {
  for (int64_t w : {1, 2, 33}) ExpectAsInterpreted(kStencil, {{"X", F32({20, w}, Whole(20 * w))}});
}

// Locals of loops and branches are gone where those end; what an `if` writes is written.
TEST(Kernels, Scopes) {
  ExpectAsInterpreted(R"(
sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) { call k(x = X, y = Y, z = Z, n := N) }
kernel k(x: f32[n], y: f32[n], z: f32[n], n: symbol) for cpu {
  local around: f32
  around = 2
  for i in 0:n {
    local t: f32
    local few: f32[2] @worker
    local one: f32 @worker
    t = x[i] * 2
    few[1] = t
    one = few[1]
    if one > 0 {
      local u: f32
      u = one
      y[i] = u
    } else if one < 0 { y[i] = -1 } else { y[i] = 0 }
  }
  map i in 0:n @parallel {
    local v: f32
    v = y[i]
    if i < n // 2 { z[i] = v * around } else { z[i] = around }
  }
})",
                      {{"X", F32({40}, Whole(40))}});
}

// Equal kernels are one function, whatever their names are.
TEST(Kernels, EqualTextIsShared) {
  const std::string text = R"(
sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
  call a(p = Y, q = X, n := N)
  call b(u = Z, v = Y, m := N)
  map i in 0:N { Z[i] = Z[i] + X[i] }
}
kernel a(p: f32[n], q: f32[n], n: symbol) for cpu { map i in 0:n @vector { p[i] = q[i] + 1 } }
kernel b(u: f32[m], v: f32[m], m: symbol) for cpu { map t in 0:m @vector { u[t] = v[t] + 1 } }
)";
  Registry r;
  auto e = CompileText(text, r);
  ASSERT_TRUE(e);
  double kernels = -1, scheduled = -1, plain = -1;
  for (const auto& [name, value] : e->Report()) {
    if (name == "kernels") kernels = value;
    if (name == "kernels scheduled") scheduled = value;
    if (name == "kernels without a schedule") plain = value;
  }
  EXPECT_EQ(kernels, 2);
  EXPECT_EQ(scheduled, 1);
  EXPECT_EQ(plain, 1);
  ExpectAsInterpreted(text, {{"X", F32({5}, Whole(5))}});
}

// What is left to the host compiler depends on what stands in a kernel: files are of one kind, and don't depend on the calls.
TEST(Kernels, FilesAreOfOneKind) {
  const auto p = ParseProgram(R"(
sdfg f(X: f32[32], Z: f32[32]) {
  call lanes(p = Z, q = X)
  map i in 0:32 { Z[i] = Z[i] + X[i] }
}
kernel lanes(p: f32[32], q: f32[32]) for cpu { map i in 0:32 @vector { p[i] = q[i] + 1 } }
)");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  const auto g = GenerateProgram(WithArenas(*p), Registry());
  ASSERT_TRUE(g.ok()) << g.status().ToString();
  std::vector<std::pair<std::string, CodeKind>> files;
  for (const SourceFile& f : g->files) files.emplace_back(f.name, f.kind);
  EXPECT_THAT(files, ::testing::ElementsAre(std::pair("headrace.h", CodeKind::kCalls), std::pair("program.h", CodeKind::kCalls),
                                            std::pair("kernels0.cc", CodeKind::kLanes),
                                            std::pair("loops0.cc", CodeKind::kLoops), std::pair("program0.cc", CodeKind::kCalls)));
  for (const SourceFile& f : g->files)
    EXPECT_EQ(f.text.find("#include \"program.h\"") != std::string::npos, f.name == "program0.cc") << f.name;
}

const char kRowSums[] = R"(
sdfg f(X: f32[N, C], Y: f32[N]) {
  call k(p0 = Y, p1 = X, n0 := N, n1 := C)
}
kernel k(p0: f32[n0], p1: f32[n0, n1], n0: symbol, n1: symbol) for cpu {
  map i0 in 0:n0:3 @parallel {
    for i in i0:+3 {
      local partial: f32[8]
      map u in 0:8 @vector { partial[u] = 0 }
      for c0 in 0:n1:8 {
        map c in c0:+8 @vector { partial[c - c0] += p1[i, c] }
      }
      local sum: f32
      sum = 0
      map u in 0:8 @halves { sum += partial[u] }
      p0[i] = sum
    }
  }
}
)";

// Parts, lanes, partial results and halves; the same bits with one thread and two.
TEST(Kernels, SumsOfRows) {
  const int64_t n = 10, c = 37;
  const std::vector<double> x = Values(n * c);
  std::vector<double> want(n, 0.0);
  for (int64_t i = 0; i < n * c; ++i) want[static_cast<size_t>(i / c)] += static_cast<float>(x[static_cast<size_t>(i)]);
  std::vector<std::vector<double>> got;
  for (int threads : {1, 2}) {
    Registry r;
    CompileOptions o = TestOptions();
    o.threads = threads;
    auto e = CompileText(kRowSums, r, o);
    ASSERT_NE(e, nullptr);
    auto out = e->Run({{"X", F32({n, c}, x)}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    got.push_back(Doubles((*out)[0]));
    ExpectClose(got.back(), want);
  }
  EXPECT_EQ(got[0], got[1]);
}

// What is computed before a parallel map is passed on to it; two maps one after the other are two phases.
TEST(Kernels, TwoPhases) {
  const char* text = R"(
sdfg f(X: f32[N], Y: f32[N]) {
  call k(p0 = Y, p1 = X, n0 := N)
}
kernel k(p0: f32[n0], p1: f32[n0], n0: symbol) for cpu {
  let g = max(1, n0 // 4)
  local most: f32
  local parts: f32[8]
  map u in 0:8 @vector { parts[u] = -inf }
  map q in 0:4 @parallel {
    for i in q * g:min(q * g + g, n0) { parts[q] max= p1[i] }
  }
  for i in 4 * g:n0 { parts[4] max= p1[i] }
  most = -inf
  map u in 0:8 @halves { most max= parts[u] }
  map i0 in 0:n0:g @parallel {
    map i in i0:+g @vector { p0[i] = p1[i] - most }
  }
}
)";
  const int64_t n = 103;
  const std::vector<double> x = Values(n);
  double most = -1e9;
  for (double v : x) most = std::max(most, static_cast<double>(static_cast<float>(v)));
  std::vector<double> want;
  for (double v : x) want.push_back(static_cast<float>(v) - most);
  auto out = RunText(text, {{"X", F32({n}, x)}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  ExpectClose(Doubles((*out)[0]), want);
}

// What stands apart is a function of its own, where compilers keep tiles in registers.
TEST(Kernels, Apart) {
  const std::string text = R"(
sdfg f(A: f32[M, 40], B: f32[40, 32], C: f32[M, 32]) {
  map i in 0:M, j in 0:32 { C[i, j] = 1 }
  call k(a = A, b = B, c = C, m := M)
}
kernel k(a: f32[m, 40], b: f32[40, 32], inout c: f32[m, 32], m: symbol) for cpu {
  map i0 in 0:m:48 @parallel {
    for i1 in i0:+48:12 {
      if i1 + 12 <= m {
        map @apart {
          local t: f32[12, 32]
          map r in 0:12 @unroll { map u in 0:32 @vector { t[r, u] = 0 } }
          for k in 0:40 { map r in 0:12 @unroll { map u in 0:32 @vector { t[r, u] = fma(a[i1 + r, k], b[k, u], t[r, u]) } } }
          map r in 0:12 @unroll { map u in 0:32 @vector { c[i1 + r, u] += t[r, u] } }
        }
      } else {
        for i in i1:+12 {
          for k in 0:40 { map u in 0:32 @vector { c[i, u] += a[i, k] * b[k, u] } }
        }
      }
    }
  }
})";
  for (int64_t m : {0, 11, 12, 100}) ExpectAsInterpreted(text, {{"A", F32({m, 40}, Whole(m * 40))}, {"B", F32({40, 32}, Whole(1280, 2))}});
  // What it takes are arguments: references are stored as one vector, and one of them is read slowly.
  EXPECT_THAT(SourceOf(text), HasSubstr("[&](int64_t i1, const float* __restrict p0, const float* __restrict p1, float* __restrict p2) __attribute__((noinline)) {"));
}

// One within another: what the inner one takes from around both, the outer one takes, too.
TEST(Kernels, ApartWithinApart) {
  const std::string text = R"(
sdfg f(A: f32[M, 32], C: f32[M, 32]) {
  map i in 0:M, j in 0:32 { C[i, j] = 1 }
  call k(a = A, c = C, m := M)
}
kernel k(a: f32[m, 32], inout c: f32[m, 32], m: symbol) for cpu {
  for i in 0:m {
    map @apart {
      local t: f32[1, 32]
      map u in 0:32 @vector { t[0, u] = c[i, u] }
      for q in 0:2 {
        map @apart {
          local e: f32[1, 32]
          map u in 0:32 @vector { e[0, u] = a[i, u] + m }
          map u in 0:32 @vector { t[0, u] += q * e[0, u] }
        }
      }
      map u in 0:32 @vector { c[i, u] = t[0, u] }
    }
  }
})";
  for (int64_t m : {0, 1, 5}) ExpectAsInterpreted(text, {{"A", F32({m, 32}, Whole(m * 32))}});
  const std::string source = SourceOf(text);
  EXPECT_THAT(source, HasSubstr("[&](int64_t i0, float* __restrict p0, const float* __restrict p1, int64_t n0) __attribute__((noinline)) {"));
  EXPECT_THAT(source, HasSubstr("[&](int64_t i0, const float* __restrict p1, int64_t n0, int64_t i2) __attribute__((noinline)) {"));
}

}  // namespace
}  // namespace headrace::cpu
