// Statements that the strategy has a schedule for, one or more of each kind. T is the type, N and C are sizes; V = 40.
#pragma once

namespace headrace::testing {

struct ScheduledProgram {
  const char* name;
  const char* types;  // that it is written for
  double tolerance;   // 0: equal bits
  const char* text;
};

inline constexpr char kAll[] = "f32 f64 f16 bf16 i32 i64", kFloats[] = "f32 f64 f16", kOnce[] = "f32";

inline constexpr ScheduledProgram kPrograms[] = {
    {"elementwise", "f32 f64 f16 bf16 i32 i64 bool", 0, "(X: T[N, C], Y: T[N, C]) { map i in 0:N, j in 0:C { Y[i, j] = X[i, j] } }"},
    {"rows", kAll, 0, "(X: T[N, C], Y: T[N]) { map i in 0:N { Y[i] = 1; map j in 0:C { Y[i] += X[i, j] } } }"},
    {"rows of several", kAll, 0, "(X: T[N, C, 3], Y: T[N]) { map i in 0:N { Y[i] = 0 }\n map i in 0:N, j in 0:C, k in 0:2 { Y[i] += X[i, j, k + 1] } }"},
    {"columns", kAll, 0, "(X: T[N, C], Y: T[C]) { map j in 0:C { Y[j] = 2 }\n map i in 0:N, j in 0:C { Y[j] += X[i, j] } }"},
    {"extrema of rows", kAll, 0, "(X: T[N, C], Y: T[N], Z: T[N]) { map i in 0:N { Y[i] = 1; Z[i] = 1 }\n map i in 0:N, j in 0:C { Y[i] max= X[i, j] }\n map i in 0:N, j in 0:C { Z[i] min= X[i, j] } }"},
    {"extrema of columns", kAll, 0, "(X: T[N, C], Y: T[C]) { map j in 0:C { Y[j] = 1 }\n map i in 0:N, j in 0:C { Y[j] min= X[i, j] } }"},
    {"any and all", "bool", 0, "(X: T[N, C], Y: T[N], Z: T[C]) { map i in 0:N { Y[i] = false }\n map i in 0:C { Z[i] = true }\n map i in 0:N, j in 0:C { Y[i] += X[i, j] }\n map i in 0:N, j in 0:C { Z[j] *= X[i, j] } }"},
    {"whole", kAll, 0, "(X: T[N, C], Y: T[]) { Y[] = 0\n map i in 0:N, j in 0:C { Y[] += X[i, j] } }"},
    {"softmax", kFloats, 2e-3, R"((X: T[N, C], Y: T[N, C]) {
        transient m: T @register
        transient s: T @register
        transient e: T[C] @register
        map i in 0:N {
        m = -inf
        map j in 0:C { m max= X[i, j] }
        s = 0
        map j in 0:C { e[j] = exp(X[i, j] - m); s += e[j] }
        map j in 0:C { Y[i, j] = e[j] / s } } })"},
    {"normalised", kFloats, 2e-3, R"((X: T[N, C], Y: T[N, C]) {
        transient m: T @register
        transient v: T @register
        map i in 0:N {
        m = 0
        v = 0
        map j in 0:C { m += X[i, j] }
        map j in 0:C { v += (X[i, j] - m) * (X[i, j] - m) }
        map j in 0:C { Y[i, j] = (X[i, j] - m) / sqrt(v + 1) } } })"},
    {"gather", kAll, 0, "(W: T[40, C], I: i64[N], Y: T[N, C]) { map i in 0:N, j in 0:C { Y[i, j] = W[I[i], j] } }"},
    {"gather of blocks", kOnce, 0, "(W: T[40, C, 3], I: i64[N], Y: T[N, C, 3]) { map i in 0:N, j in 0:C, k in 0:3 { Y[i, j, k] = W[I[i], j, k] } }"},
    {"gather of elements", kAll, 0, "(W: T[40], I: i64[N, C], Y: T[N, C]) { map i in 0:N, j in 0:C { Y[i, j] = W[I[i, j]] } }"},
    {"sums of gathered rows", kOnce, 0, "(W: T[40, C], I: i64[N], Y: T[C]) { map j in 0:C { Y[j] = 0 }\n map i in 0:N, j in 0:C { Y[j] += W[I[i], j] } }"},
    {"sums of gathered elements", kOnce, 0, "(W: T[40], I: i64[N, C], Y: T[N]) { map i in 0:N { Y[i] = 0 }\n map i in 0:N, j in 0:C { Y[i] += W[I[i, j]] } }"},
    {"scatter", kAll, 0, "(inout W: T[40, C], I: i64[N], X: T[N, C]) { map i in 0:N, j in 0:C { W[I[i], j] += X[i, j] } }"},
    {"scatter of elements", kOnce, 0, "(inout W: T[40], I: i64[N, C], X: T[N, C]) { map i in 0:N, j in 0:C { W[I[i, j]] max= X[i, j] } }"},
    {"gathered where asked", kOnce, 0, "(W: T[40, C], I: i64[N], Y: T[N, C]) { map i in 0:N, j in 0:C { Y[i, j] = I[i] != 3 ? W[I[i], j] : 7 } }"},
    {"sum where asked", kOnce, 0, "(W: T[40], I: i64[N, C], Y: T[]) { Y[] = 0\n map i in 0:N, j in 0:C { Y[] += I[i, j] != 3 ? W[I[i, j]] : 0 } }"},
    {"side by side", kAll, 0, "(X: T[N, C], Z: T[N, C], Y: T[N, 2 * C]) { map i in 0:N, j in 0:2 * C { Y[i, j] = j < C ? X[i, j] : Z[i, j - C] } }"},
    {"one below the other", kOnce, 0, "(X: T[N, C], Z: T[N, C], Y: T[2 * N, C]) { map i in 0:2 * N, j in 0:C { Y[i, j] = i < N ? X[i, j] : Z[i - N, j] } }"},
    {"triangle", kOnce, 0, "(X: T[N, N], Y: T[N, N]) { map i in 0:N, j in 0:N { Y[i, j] = 0 }\n map i in 0:N, j in 0:i { Y[i, j] = X[i, j] + X[j, i] } }"},
    {"upper triangle", kOnce, 0, "(X: T[N, N], Y: T[N]) { map i in 0:N { Y[i] = 0 }\n map i in 0:N, j in i:N { Y[i] += X[i, j] } }"},
    {"dots", kFloats, 0, "(X: T[N, C], Z: T[N, C], Y: T[N], S: T[C]) { map i in 0:N { Y[i] = 0 }\n map j in 0:C { S[j] = 0 }\n map i in 0:N, j in 0:C { Y[i] += X[i, j] * Z[i, j]; S[j] += X[i, j] } }"},
    {"borders", kAll, 0, "(X: T[N, C], Y: T[N, C]) { map i in 0:N, j in 0:C { Y[i, j] = (X[i, j - 1] ?? 0) + (X[i - 1, j] ?? 0) + (X[i, j + 2] ?? 0) } }"},
    {"windows", kOnce, 0, "(X: T[N, C], Y: T[N, C]) { map i in 0:N, j in 0:C { Y[i, j] = 0; map k in 0:3 { Y[i, j] += X[i, j + k - 1] ?? 0 } } }"},
    {"dropped elements", kAll, 0, "(inout W: T[40], I: i64[N], X: T[N]) { map i in 0:N { W[I[i] - 3] ?? += X[i] } }"},
    {"dropped rows", kOnce, 0, "(inout W: T[40, C], I: i64[N], X: T[N, C]) { map i in 0:N, j in 0:C { W[I[i] - 3, j] ?? max= X[i, j] } }"},
    {"moved", kAll, 0, "(X: T[N, C], Y: T[N, C]) { map i in 0:N, j in 0:C { Y[i, j] = 0 }\n map i in 0:N, j in 0:C { Y[i - 2, j + 1] ?? = X[i, j] } }"},
    {"moved and added", kOnce, 0, "(X: T[N, C], inout Y: T[N, C]) { map i in 0:N, j in 0:C { Y[i + 1, j - 3] ?? += X[i, j] + (X[i - 1, j] ?? (X[i, j - 1] ?? 2)) } }"},
    {"beyond where asked", kOnce, 0, "(X: T[N, C], I: i64[N], Y: T[N, C]) { map i in 0:N, j in 0:C { Y[i, j] = I[i] > 50 ? X[2 * i, j] : 7 } }"},
    {"from memory or otherwise", kOnce, 0, "(X: T[N, C], I: i64[N], Y: T[N]) { map i in 0:N { Y[i] = X[I[i] - 3, 0] ?? (X[i, I[i]] ?? 4) } }"},
    {"largest of sums", kAll, 0, "(X: T[N, C], Y: T[N], Z: T[]) { Z[] = 1\n map i in 0:N { Y[i] = 0; map j in 0:C { Y[i] += X[i, j] }; Z[] max= Y[i] } }"},
    {"product of complex matrices", "c64 c128", 0, "(A: T[N, 9], B: T[9, C], Y: T[N, C]) { map i in 0:N, j in 0:C { Y[i, j] = 0 }\n map i in 0:N, j in 0:C, k in 0:9 { Y[i, j] += A[i, k] * B[k, j] } }"},
    {"product of complex matrices, turned", "c64", 0, "(A: T[N, 3, 7], B: T[C, 3, 7], Y: T[C, N]) { map i in 0:N, j in 0:C { Y[j, i] = 1 }\n map i in 0:N, j in 0:C, k in 0:3, l in 0:7 { Y[j, i] += A[i, k, l] * B[j, k, l] } }"},
    {"groups", kAll, 0, "(X: T[N, 12, C], W: T[8, 6], Y: T[N, 8, C]) { map n in 0:N, o in 0:8, j in 0:C { Y[n, o, j] = 0 }\n map n in 0:N, o in 0:8, j in 0:C, k in 0:6 { Y[n, o, j] += X[n, k + 6 * (o // 4), j] * W[o, k] } }"},
    {"counted in registers", kOnce, 0, R"((X: T[N, C], I: i64[N, C], Y: T[N, 40]) {
        transient r: T[40] @register
        map i in 0:N {
        map k in 0:40 { r[k] = 0 }
        map j in 0:C { r[I[i, j]] += X[i, j] }
        map k in 0:40 { Y[i, k] = r[k] } } })"},
    {"pooled columns", kFloats, 0, R"((X: T[N, C], Y: T[C]) {
        transient s: T @register
        transient r: T @register
        map j in 0:C {
        s = 1
        map i in 0:N { r = max(X[i, j], 0); s += 2 * r }
        Y[j] = s - 3 } })"},
    {"changed and pooled", kFloats, 0, R"((inout X: T[N, C], Y: T[C]) {
        transient r: T @register
        map j in 0:C {
        Y[j] = 0
        map i in 0:N { r = max(X[i, j], 0); X[i, j] = X[i, j] - r; Y[j] += X[i, j] * r + 1 }
        Y[j] = 2 * Y[j] } })"},
    {"whole, by steps back", kOnce, 0, "(X: T[N, C], Y: T[]) { Y[] = 0\n map i in N - 1:-1:-2, j in 0:C { Y[] += X[i, j] } }"},
};

}  // namespace headrace::testing
