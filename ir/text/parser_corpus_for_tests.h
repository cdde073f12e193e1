// Texts that use every construct of IR text and of pure forms: parsed, printed and mutated by the tests.
#pragma once

namespace headrace::testing {

inline constexpr const char* kPrograms[] = {
    R"(sdfg mlp(X: f32[N, 784], W: f32[784, 10], Y: f32[N, 10]) {
  assume 1 <= N <= 64
  transient H: f32[N, 10]
  state {
    onnx.MatMul(A = X, B = W) -> (Y = H)
    map i in 0:N, j in 0:10 { Y[i, j] = max(H[i, j], 0) }
  }
}
)",
    R"(sdfg containers(inout P: f32[4, M], optional B: f32, a: f32, X: f32[N, 3] strides [4, 1] @host from "in", `in put`: i64[N], S0: seq(opt(f32)), Q: c64[2], k: symbol) {
  assume 1 <= N
  assume k <= 6
  constant K: i64[3] = [1, 2, 3]
  constant b: bool[2] = [true, false]
  constant f: f32[2, 3] = [[1.0, 2.5, -0.0], [inf, -inf, nan]]
  constant h: f16[3] = [0.1, 65504, bits(0x7e01)]
  constant q: bf16 = 3.140625
  constant e: f8e4m3fn[2] = [1, 448]
  constant z: f64[100] = fill(1e-300)
  constant u: u64[1] = [18446744073709551615]
  constant u4: i4[2] = [-8, 7]
  constant s: string[2] = ["a\"b\n", ""]
  constant c: c64[2] = [(1, -2), 3]
  constant none: f32[0, 3] = []
  persistent packed: f32[16]
  view V: f32[3] of R offset 1 strides [2] from "v" by "p"
  view R: f32[6] of X
  sequence S: seq(f32)
  transient t: f32 @register
  transient `state`: f32[2]
  state {
    `state`[0] = (B ?? a) + real(Q[1])
    t = `in put`[0] > 2 ? `state`[1] : P[0, k]
  }
}
)",
    R"(sdfg flow(X: f32[N], Y: f32[N], n: i64, F: f32[M]) {
  transient R: f32[count]
  transient x: f32
  onnx.Conv:11{strides = [2, 2], auto_pad = "SAME_UPPER", alpha = 0.5, fs = [1.0, 2], names = ["a"], none = [],
      t = tensor f32[2] [1, 2], body = graph inner, z = floats [], y = strings []}(X = X, W = F, X = X) -> (Y = R)
      # a comment
  ai.onnx.ml.Scaler(X = X) -> (Y = Y) defines (count) impl "pure" from "conv1" by "import"
  let m = Y[0] > 0.5 ? i64(X[0]) : n
  state init from "s" {
    map i in 0:N @parallel { Y[i] = exp(X[i]) * x + (X[i - 1] ?? 0); Y[(i + 1) % N] ?? += 2 }
    map i in 0:N:2, j in i:m { map k in 0:3 { Y[i] max= sat(X[i], i8) < 3 ? 1.0 : -inf } }
    x = 1.5 from "const"
    x min= F.flat[0]
    call inner(x = X, n := N + 1)
  }
  for t in 0:n:2 { for t2 in n:0:-1 { Y[t] = X[t2]; continue } break }
  for v = 1; v < N; v = v * 2 from "outer" { Y[v] = 0 }
  while x > 0 { x = x - 1
    if x == 3 { break } else if !(x < 2) { continue } else { x = 2 } }
  do { x = 3 } while x < 2
  do for t = 0; t < 3; t = t + 1 { x = 4 }
  loop { break }
}
sdfg inner(x: f32[N], n: symbol) { map { x[n - 1] *= 1 } }
)",
    R"(sdfg row(x: f32[M], y: f32) { y = 0; map i in 0:M { y += x[i] } }
entry sdfg rows(X: f32[N, M], Y: f32[N]) { map i in 0:N { call row(x = X[i, :], y = Y[i]) } }
)",
    R"(kernel rows(X: f32[N, C], I: i64[N], out Y: f32[N], N: symbol, C: symbol, t: symbol) for cpu {
  assume t in 0:N
  let g = max(1, 4096 // max(1, C))
  local sums: f32[N, 8] @worker
  map n0 in 0:N:g @parallel { for n in n0:+g {
    local s: f32 ; local p: f32[8]
    map l in 0:8 @vector { p[l] = 0 }
    for c0 in 0:C:8 { map c in c0:+8 @vector { p[c - c0] += X[n, c] } }
    s = 0
    map l in 0:8 @halves { s += p[l] }
    if n > 0 && n < N - 1 { sums[n, 0] = s } else if n == t { sums[n, 0] = 1 } else { sums[n, 0] = 0 }
    check X[I[n], 0]
    check X.flat[n]
    prefetch X[n + 1, 0]
    Y[n] = sums[n, 0] + X[I[n], 0]
  } }
  map b in 0:N @grid { map u in 0:32 @block { for c in u:C:32 { X[b, c] += 1 } } }
}
entry sdfg calls(A: f32[6, 3], J: i64[6], B: f32[6]) { call rows(X = A, I = J, Y = B, N := 6, C := 3, t := 1) }
)",
};

// From the ONNX operators: every construct of the form grammar is here.
inline constexpr const char* kForms[] = {
    "OUT = X < 0 ? exp(X) / (1 + exp(X)) : 1 / (1 + exp(-X))",
    "OUT = min(max(input, min ?: lowest()), max ?: highest())",
    "OUT = saturate && is_fp8(dtype(output)) ? sat(input) : cast(input)",
    "OUT = direction == \"LEFT\" ? X << Y : X >> Y",
    "OUT = ~X | A & B ^ C",
    "OUT = (detect_positive && X == inf) || (detect_negative && X == -inf)",
    "each T in data_0 { mean += T }\nmean = mean / len(data_0)",
    "each T in data_0 { max max= T }",
    "each T in data_0 { min min= T }",
    "M[o..] max= input[o.., k@axis] ; E[o.., k] = exp(input[o.., k@axis] - M[o..])\nS[o..] += E[o.., k]\n"
    "output[o.., k@axis] = E[o.., k] / S[o..]",
    "let ax = len(axes ?: []) > 0 ? axes : (noop_with_empty_axes ? [] : range(rank(data)))\nlet kept = keepdims ? ax : []\n"
    "reduced[o.., 0@kept] += data[o.., k..@ax]",
    "let kept = keepdims ? [axis] : []\nlet x = data[o.., k@axis]\nM[o..] max= x\nlet hit = x == M[o..] || isnan(x)\n"
    "if !select_last_index { reduced[o.., 0@kept] min= hit ? k : len(k) }\nelse { reduced[o.., 0@kept] max= hit ? k : -1 }",
    "let rank(m) = rank(A) > 1 ; let rank(n) = rank(B) > 1\nY[.., m.., n..] += A[.., m.., k] * B[.., k, n..]",
    "let a = transA ? A[k, m] : A[m, k]\nlet b = transB ? B[n, k] : B[k, n]\nT[m, n] += a * b\nY = alpha * T + beta * (C ?: 0)",
    "let N = rank(X) - 2 ; let in = dims(X)[2:N+2] ; let out = dims(Y)[2:N+2]\n"
    "let st = strides ?: 1 ; let dl = dilations ?: 1 ; let K = kernel_shape ?: dims(W)[2:N+2]\n"
    "let total = max((out - 1) * st + (K - 1) * dl + 1 - in, 0)\n"
    "let lo = auto_pad == \"SAME_UPPER\" ? total // 2 : auto_pad == \"VALID\" ? 0 : (pads ?: 0)[0:N]\n"
    "let D = dim(W, 1) ; let M = dim(W, 0) / group\nY[n, o, p..] = B[o] ?: 0\n"
    "Y[n, o, p..] += (X[n, o // M * D + c, p * st + k * dl - lo] ?? 0) * W[o, c, k..]",
    "Y[n, g*M + o, i * st + k * dl - lo] ?? += X[n, g*C + c, i..] * W[g*C + c, o, k..] over g in 0:group, c in 0:C, o in 0:M",
    "S[n, c, p..] += X[n, c, at] ?? 0 over k.. in 0:K, p.. in 0:out\n"
    "C[p..] += all(count_include_pad ? at < in + hi : at >= 0 && at < in) ? 1.0 : 0.0",
    "Indices[n, c, p..] min= (X[n, c, at] ?? lowest()) == Y[n, c, p..] && all(at >= 0 && at < in) ? flat : 1e18 over k.. in 0:K",
    "reshaped.flat[i] = data.flat[i]",
    "let q = perm ?: range(rank(data) - 1, -1, -1)\ntransposed[i..] = data[i..@q]",
    "let at = 0\neach T in inputs {\n  concat_result[o.., at + k @axis] = T[o.., k@axis]\n  let at = at + dim(T, axis)\n}",
    "let ax = axes ?: range(len(starts)) ; let d = dim(data, ax) ; let s = steps ?: 1\n"
    "let b = clamp(starts < 0 ? starts + d : starts, 0, s < 0 ? d - 1 : d)\noutput[o.., k..@ax] = data[o.., b + k * s @ax] over output",
    "let rank(b) = batch_dims ; let d = dims(data)[batch_dims : rank(data)]\nlet at = indices[b.., u.., :]\n"
    "output[b.., u.., s..] = data[b.., wrap(at, dims(data)[batch_dims : batch_dims + dim(indices, -1)]), s..]",
    "output[o.., k@axis] = data[o.., wrap(indices[o.., k@axis], dim(data, axis)) @axis] over indices",
    "if reduction == \"none\" { output[at, s..] = updates[u.., s..] }\nif reduction == \"mul\" { output[at, s..] *= updates[u.., s..] }",
    "Values[o.., R[o.., i]@axis] ?? = x over X\nIndices[o.., R[o.., i]@axis] ?? = i",
    "let n = dim(x, axis)\ny = 0\nfor t in 0:n {\n  let i = reverse ? n - 1 - t : t ; let j = reverse ? i + 1 : i - 1\n"
    "  y[o.., i@axis] = (y[o.., j@axis] ?? 0) + (exclusive ? x[o.., j@axis] ?? 0 : x[o.., i@axis])\n}",
    "each d in 0:D { for s in 0:T {\n  let u(q) = gx[b, q*H + j] + gh[b, q*H + j] ; let pc(q) = (P[d, q*H + j] ?? 0) * c[d, b, j]\n"
    "  cn[b, j] = call(f[3*d], u(2) + pc(2)) * c[d, b, j] + call(f[3*d], u(0)) * call(f[3*d+1], u(3)) over b in 0:N, j in 0:H\n"
    "  if has(Y) { if !layout { Y[at, d, b, j] = live ? new : 0 over b in 0:N } else { Y[b, at, d, j] = 0.0 } }\n} }",
    "Y[r, c, p..] max= x over s.. in [0,0]:[gmax,gmax], u.. in [0,0]:[2,2], p.. in [0,0]:P",
    "let f = activations ?: [\"Tanh\", \"Tanh\"]\nOUT = call(f[0], X)",
    "let live = !has(ignore_index) || t != ignore_index\nW[] += w over target[n, p..]\nloss[] = loss / W",
    "Y[t@time_axis, b@batch_axis, o..] = input[(t < L ? L - 1 - t : t)@time_axis, b@batch_axis, o..]",
    "H[p.., i] = i == D ? 1 : reverse(at)[i] over p.. in 0:dims_, i in 0:D+1\ngrid[n, p.., d] += theta[n, d, i] * H[p.., i]",
    "Mean[o.., 0@range(rank(o), rank(X))] = mu[o..]",
    "S[.., j] = is_bool(attn_mask) ? ((attn_mask[.., j] ?? false) ? S[.., j] : -inf) : S[.., j] + (attn_mask[.., j] ?? -inf)",
    "y = sat(rint((f32(T) + f32(B ?: 0)) * (x_scale * w_scale / y_scale)) + f32(y_zero_point))",
    "let xz = i32(x_zero_point ?: 0)\nOUT = (i32(x[n, c] ?? x_zero_point ?: 0) - xz) % 7",
    "S[n, c, p..] += X[n, c + j, p..] ?? 0 over j in 0 - (size - 1) // 2 : (size - 1) - (size - 1) // 2 + 1, c in 0:dim(X, 1)",
    "Y[n, c, p..] += X[n, c, at] over k.. in (mode == \"nearest\" ? in * 0 : 1 - r) : (mode == \"nearest\" ? 1 : r + 1)",
    "output[unfold(I[i..], concat(dims(X)[0:2], U))] = X[i..]",
    "output[at, (list)..] = data.flat[fold(at, list)] ?? 0",
    "shape Y[rank(X), prod(dims(X))]\nP[i] += j < i && X.flat[j] != 0 ? 1 : 0 over i in 0:n, j in 0:n",
    "if a { Y = 1 } else if b > 2 { Y = 2 } else { Y = 3 }  # three ways",
};

}  // namespace headrace::testing
