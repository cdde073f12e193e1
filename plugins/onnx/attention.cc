// Attention and what goes with it.
#include "plugins/onnx/families.h"

namespace onnx_ops {
namespace {

// Sizes and names that both directions use.
const char kAttentionHead[] = R"(
let flat = rank(Q) == 3 ; let H = flat ? q_num_heads : dim(Q, 1) ; let G = flat ? kv_num_heads : dim(K, 1)
let D = flat ? dim(Q, 2) // H : dim(Q, 3) ; let F = flat ? dim(V, 2) // G : dim(V, 3) ; let B = dim(Q, 0)
let I = flat ? dim(Q, 1) : dim(Q, 2) ; let P = has(past_key) ? dim(past_key, 2) : 0 ; let J = P + (flat ? dim(K, 1) : dim(K, 2))
let s = (scale ?: 0) == 0 ? 1 / sqrt(D) : scale ; let q = flat ? Q[b, i, h*D + d] : Q[b, h, i, d]
let cached = has(past_key)
let L = flat ? dim(K, 1) : dim(K, 2) ; let LV = flat ? dim(V, 1) : dim(V, 2)
require LV == L else "V has {} positions and K has {}", LV, L
require H % G == 0 else "Q has {} heads, which is no multiple of the {} of K", H, G
if flat {
  require dim(Q, 2) == H * D else "Q has {} channels, which {} heads don't divide", dim(Q, 2), H
  require dim(K, 2) == G * D else "K has {} channels where {} are needed", dim(K, 2), G * D
  require dim(V, 2) == G * F else "V has {} channels, which {} heads don't divide", dim(V, 2), G
}
else { require dim(V, 1) == G else "V has {} heads and K has {}", dim(V, 1), G }
if has(past_value) { require dim(past_value, 2) == P else "past_value has {} positions and past_key has {}", dim(past_value, 2), P }
if has(attn_mask) {
  require dim(attn_mask, -1) <= J else "attn_mask has {} positions where there are {}", dim(attn_mask, -1), J
  if rank(attn_mask) > 1 { require dim(attn_mask, -2) == I || dim(attn_mask, -2) == 1 else "attn_mask has {} rows where {} are needed", dim(attn_mask, -2), I }
  if rank(attn_mask) > 2 { require dim(attn_mask, -3) == H || dim(attn_mask, -3) == 1 else "attn_mask has {} heads where {} are needed", dim(attn_mask, -3), H }
  if rank(attn_mask) > 3 { require dim(attn_mask, 0) == B || dim(attn_mask, 0) == 1 else "attn_mask has {} samples where {} are needed", dim(attn_mask, 0), B }
}
let key(g) = flat ? K[b, j - P, g*D + d] : K[b, g, j - P, d] ; let val(g) = flat ? V[b, j - P, g*F + e] : V[b, g, j - P, e])";

const char kAttention[] = R"(
if cached || has(present_key) { AK[b, g, j, d] = j < P ? past_key[b, g, j + 0, d] ?: 0 : key(g) over b in 0:B, g in 0:G, j in 0:J, d in 0:D ; present_key = AK }
if cached || has(present_value) { AV[b, g, j, e] = j < P ? past_value[b, g, j + 0, e] ?: 0 : val(g) over b in 0:B, g in 0:G, j in 0:J, e in 0:F ; present_value = AV }
S[b, h, i, j] += q * (cached ? AK[b, h // (H // G), j, d] : key(h // (H // G))) over b in 0:B, h in 0:H, i in 0:I, j in 0:J, d in 0:D
S = S * s
let mode = qk_matmul_output_mode ?: 0
if mode == 0 { qk_matmul_output = S }
if (softcap ?: 0) > 0 { S = softcap * tanh(S / softcap) }
if mode == 1 { qk_matmul_output = S }
let n = nonpad_kv_seqlen[b] ?: J ; let p = i + (has(nonpad_kv_seqlen) ? n - I : P)
let l = left_window_size ?: -1 ; let r = right_window_size ?: -1
S[b, h, i, j] = (!(is_causal ?: 0) || j <= p) && (l < 0 || j >= p - l) && (r < 0 || j <= p + r) && j < n ? S[b, h, i, j] : -inf
if has(attn_mask) { if is_bool(attn_mask) { S[.., j] = (attn_mask[.., j] ?? false) ? S[.., j] : -inf } else { S[.., j] = S[.., j] + (attn_mask[.., j] ?? -inf) } }
if mode == 2 { qk_matmul_output = S }
M[b, h, i] max= S[b, h, i, j]
E[b, h, i, j] = exp(S[b, h, i, j] - (M[b, h, i] == -inf ? 0 : M[b, h, i]))
Z[b, h, i] += E[b, h, i, j]
E[b, h, i, j] = Z[b, h, i] == 0 ? 0 : E[b, h, i, j] / Z[b, h, i]
if mode == 3 { qk_matmul_output = E }
let o = E[b, h, i, j] * (cached ? AV[b, h // (H // G), j, e] : val(h // (H // G)))
if flat { Y[b, i, h*F + e] += o over b in 0:B, h in 0:H, i in 0:I, j in 0:J, e in 0:F } else { Y[b, h, i, e] += o over b in 0:B, h in 0:H, i in 0:I, j in 0:J, e in 0:F })";

// Everything up to the probabilities E again, then backwards. T is what softcap multiplies gradients with.
const char kAttentionGradient[] = R"(
let R = H // G ; let q(h) = flat ? Q[b, i, h*D + d] : Q[b, h, i, d] ; let dy(h) = flat ? dY[b, i, h*F + e] ?: 0 : dY[b, h, i, e] ?: 0
if cached { AK[b, g, j, d] = j < P ? past_key[b, g, j + 0, d] ?: 0 : key(g) over b in 0:B, g in 0:G, j in 0:J, d in 0:D
            AV[b, g, j, e] = j < P ? past_value[b, g, j + 0, e] ?: 0 : val(g) over b in 0:B, g in 0:G, j in 0:J, e in 0:F }
let ak(g) = cached ? AK[b, g, j, d] : key(g) ; let av(g) = cached ? AV[b, g, j, e] : val(g)
U[b, h, i, j] += q(h) * ak(h // R) over b in 0:B, h in 0:H, i in 0:I, j in 0:J, d in 0:D
let cap = softcap ?: 0 ; let raw = s * U[b, h, i, j]
if cap > 0 { T[b, h, i, j] = tanh(raw / cap) ; S[b, h, i, j] = cap * T[b, h, i, j] } else { S[b, h, i, j] = raw }
let n = nonpad_kv_seqlen[b] ?: J ; let p = i + (has(nonpad_kv_seqlen) ? n - I : P)
let l = left_window_size ?: -1 ; let r = right_window_size ?: -1
S[b, h, i, j] = (!(is_causal ?: 0) || j <= p) && (l < 0 || j >= p - l) && (r < 0 || j <= p + r) && j < n ? S[b, h, i, j] : -inf
if has(attn_mask) { if is_bool(attn_mask) { S[.., j] = (attn_mask[.., j] ?? false) ? S[.., j] : -inf } else { S[.., j] = S[.., j] + (attn_mask[.., j] ?? -inf) } }
M[b, h, i] max= S[b, h, i, j]
E[b, h, i, j] = exp(S[b, h, i, j] - (M[b, h, i] == -inf ? 0 : M[b, h, i]))
Z[b, h, i] += E[b, h, i, j]
E[b, h, i, j] = Z[b, h, i] == 0 ? 0 : E[b, h, i, j] / Z[b, h, i]
dE[b, h, i, j] += dy(h) * av(h // R) over b in 0:B, h in 0:H, i in 0:I, j in 0:J, e in 0:F
dZ[b, h, i] += dE[b, h, i, j] * E[b, h, i, j]
dS[b, h, i, j] = E[b, h, i, j] * (dE[b, h, i, j] - dZ[b, h, i])
if has(attn_mask) { if !is_bool(attn_mask) { dattn_mask[.., j] += dS[.., j] over j in 0:dim(attn_mask, -1) } }
dU[b, h, i, j] = cap > 0 ? s * dS[b, h, i, j] * (1 - T[b, h, i, j] * T[b, h, i, j]) : s * dS[b, h, i, j]
if flat { dQ[b, i, h*D + d] += dU[b, h, i, j] * ak(h // R) over b in 0:B, h in 0:H, i in 0:I, d in 0:D, j in 0:J }
else { dQ[b, h, i, d] += dU[b, h, i, j] * ak(h // R) over b in 0:B, h in 0:H, i in 0:I, d in 0:D, j in 0:J }
dAK[b, g, j, d] = dpresent_key[b, g, j, d] ?: 0 over b in 0:B, g in 0:G, j in 0:J, d in 0:D
dAK[b, g, j, d] += dU[b, g*R + m, i, j] * q(g*R + m) over b in 0:B, g in 0:G, j in 0:J, d in 0:D, m in 0:R, i in 0:I
dAV[b, g, j, e] = dpresent_value[b, g, j, e] ?: 0 over b in 0:B, g in 0:G, j in 0:J, e in 0:F
dAV[b, g, j, e] += E[b, g*R + m, i, j] * dy(g*R + m) over b in 0:B, g in 0:G, j in 0:J, e in 0:F, m in 0:R, i in 0:I
if flat { dK[b, t, g*D + d] = dAK[b, g, P + t, d] over b in 0:B, g in 0:G, t in 0:J - P, d in 0:D
          dV[b, t, g*F + e] = dAV[b, g, P + t, e] over b in 0:B, g in 0:G, t in 0:J - P, e in 0:F }
else { dK[b, g, t, d] = dAK[b, g, P + t, d] over b in 0:B, g in 0:G, t in 0:J - P, d in 0:D
       dV[b, g, t, e] = dAV[b, g, P + t, e] over b in 0:B, g in 0:G, t in 0:J - P, e in 0:F }
if cached { dpast_key[b, g, t, d] = dAK[b, g, t, d] over b in 0:B, g in 0:G, t in 0:P, d in 0:D
            dpast_value[b, g, t, e] = dAV[b, g, t, e] over b in 0:B, g in 0:G, t in 0:P, e in 0:F })";

const char kLinearAttention[] = R"(
let G = kv_num_heads ; let H = q_num_heads ; let D = dim(key, 2) // G ; let F = dim(value, 2) // G ; let B = dim(query, 0)
require dim(query, 2) == H * D else "query has {} channels where {} are needed", dim(query, 2), H * D
require dim(key, 2) == G * D else "key has {} channels, which {} heads don't divide", dim(key, 2), G
require dim(key, 0) == B && dim(value, 0) == B else "key has {} samples, value {}, and query {}", dim(key, 0), dim(value, 0), B
require dim(key, 1) == dim(query, 1) && dim(value, 1) == dim(query, 1) else "key has {} positions, value {}, and query {}", dim(key, 1), dim(value, 1), dim(query, 1)
if has(decay) {
  require dim(decay, 0) == B && dim(decay, 1) == dim(query, 1) else "decay has {} samples and {} positions, query {} and {}", dim(decay, 0), dim(decay, 1), B, dim(query, 1)
  require dim(decay, 2) == G || dim(decay, 2) == G * D else "decay has {} channels where {} or {} are needed", dim(decay, 2), G, G * D
}
if has(beta) {
  require dim(beta, 0) == B && dim(beta, 1) == dim(query, 1) else "beta has {} samples and {} positions, query {} and {}", dim(beta, 0), dim(beta, 1), B, dim(query, 1)
  require dim(beta, 2) == G || dim(beta, 2) == 1 else "beta has {} channels where {} or 1 are needed", dim(beta, 2), G
}
require dim(value, 2) == G * F else "value has {} channels, which {} heads don't divide", dim(value, 2), G
let sc = (scale ?: 0) == 0 ? 1 / sqrt(D) : scale
let gated = update_rule == "gated" || update_rule == "gated_delta" ; let delta = update_rule == "delta" || update_rule == "gated_delta"
S[b, g, d, e] = f32(past_state[b, g, d, e] ?: 0) over b in 0:B, g in 0:G, d in 0:D, e in 0:F
for t in 0:dim(query, 1) {
  let k = f32(key[b, t, g*D + d]) ; let v = f32(value[b, t, g*F + e])
  let a = gated ? exp(f32(decay[b, t, dim(decay, 2) == G ? g : g*D + d])) : 1 ; let w = delta ? f32(beta[b, t, dim(beta, 2) == 1 ? 0 : g]) : 1
  R[b, g, e] = 0.0 over b in 0:B, g in 0:G, e in 0:F
  if delta { R[b, g, e] += a * S[b, g, d, e] * k }
  S[b, g, d, e] = a * S[b, g, d, e] + w * k * (v - R[b, g, e])
  output[b, t, h*F + e] += sc * f32(query[b, t, h*D + d]) * S[b, h // (H // G), d, e] over b in 0:B, h in 0:H, d in 0:D, e in 0:F
}
present_state = S)";

const char kRotaryHead[] = R"(
let H = rank(X) == 3 ? dim(X, 2) // num_heads : dim(X, 3)
let R = (rotary_embedding_dim ?: 0) == 0 ? H : rotary_embedding_dim ; let h = R // 2
let pos = position_ids[b, t] ; let Z = rank(X) == 3 ? num_heads : dim(X, 1)
let ct(j) = has(position_ids) ? cos_cache[pos, j] : cos_cache[b, t, j] ; let sn(j) = has(position_ids) ? sin_cache[pos, j] : sin_cache[b, t, j]
let re(j) = interleaved ? 2 * j : j ; let im(j) = interleaved ? 2 * j + 1 : j + h
if rank(X) == 3 { require dim(X, 2) == num_heads * H else "X has {} channels, which {} heads don't divide", dim(X, 2), num_heads }
require R <= H && R % 2 == 0 else "{} of {} channels of a head can't be rotated in pairs", R, H
let wide = has(position_ids) ? 1 : 2
require dim(cos_cache, wide) == h else "cos_cache has {} angles where {} are needed", dim(cos_cache, wide), h
require dim(sin_cache, wide) == h else "sin_cache has {} angles where {} are needed", dim(sin_cache, wide), h
require dim(sin_cache, 0) == dim(cos_cache, 0) else "sin_cache has {} rows and cos_cache has {}", dim(sin_cache, 0), dim(cos_cache, 0))";

const char kRotary[] = R"(
Y = X
if rank(X) == 4 {
  Y[b, z, t, re(j)] = ct(j) * X[b, z, t, re(j)] - sn(j) * X[b, z, t, im(j)] over j in 0:h, b in 0:dim(X,0), t in 0:dim(X,2), z in 0:Z
  Y[b, z, t, im(j)] = sn(j) * X[b, z, t, re(j)] + ct(j) * X[b, z, t, im(j)] over j in 0:h, b in 0:dim(X,0), t in 0:dim(X,2), z in 0:Z
} else {
  Y[b, t, z*H + re(j)] = ct(j) * X[b, t, z*H + re(j)] - sn(j) * X[b, t, z*H + im(j)] over j in 0:h, z in 0:Z, b in 0:dim(X,0), t in 0:dim(X,1)
  Y[b, t, z*H + im(j)] = sn(j) * X[b, t, z*H + re(j)] + ct(j) * X[b, t, z*H + im(j)] over j in 0:h, z in 0:Z, b in 0:dim(X,0), t in 0:dim(X,1)
})";

// Turned back; an angle's gradient sums over heads.
const char kRotaryGradient[] = R"(
let x(j) = rank(X) == 4 ? X[b, z, t, j] : X[b, t, z*H + j] ; let g(j) = rank(X) == 4 ? dY[b, z, t, j] : dY[b, t, z*H + j]
let B = dim(X, 0) ; let T = rank(X) == 4 ? dim(X, 2) : dim(X, 1)
dX = dY
if rank(X) == 4 {
  dX[b, z, t, re(j)] = ct(j) * g(re(j)) + sn(j) * g(im(j)) over j in 0:h, b in 0:B, t in 0:T, z in 0:Z
  dX[b, z, t, im(j)] = ct(j) * g(im(j)) - sn(j) * g(re(j)) over j in 0:h, b in 0:B, t in 0:T, z in 0:Z
} else {
  dX[b, t, z*H + re(j)] = ct(j) * g(re(j)) + sn(j) * g(im(j)) over j in 0:h, z in 0:Z, b in 0:B, t in 0:T
  dX[b, t, z*H + im(j)] = ct(j) * g(im(j)) - sn(j) * g(re(j)) over j in 0:h, z in 0:Z, b in 0:B, t in 0:T
}
let dct = g(re(j)) * x(re(j)) + g(im(j)) * x(im(j)) ; let dsn = g(im(j)) * x(re(j)) - g(re(j)) * x(im(j))
if has(position_ids) {
  dcos_cache[pos, j] += dct over j in 0:h, b in 0:B, t in 0:T, z in 0:Z
  dsin_cache[pos, j] += dsn over j in 0:h, b in 0:B, t in 0:T, z in 0:Z
} else {
  dcos_cache[b, t, j] += dct over j in 0:h, b in 0:B, t in 0:T, z in 0:Z
  dsin_cache[b, t, j] += dsn over j in 0:h, b in 0:B, t in 0:T, z in 0:Z
})";

}  // namespace

void RegisterAttention(Registrar& r) {
  r.op("Attention")
      .Doc("Scaled dot-product attention with heads, masks, caches, windows and soft capping.")
      .Pure(std::string(kAttentionHead) + kAttention)
      .Backward(std::string(kAttentionHead) + kAttentionGradient)
      .Sample("Q: f32[1, 2, 3, 4]; K: f32[1, 2, 5, 4]; V: f32[1, 2, 5, 4]")
      .Sample(
          "Q: f32[1, 3, 8]; K: f32[1, 5, 8]; V: f32[1, 5, 8]; attr q_num_heads = 2, kv_num_heads = 2, is_causal = 1")
      .Sample(
          "Q: f32[2, 4, 3, 4]; K: f32[2, 2, 2, 4]; V: f32[2, 2, 2, 5]; attn_mask: f32[3, 4]; past_key: f32[2, 2, 2, 4]; past_value: f32[2, 2, 2, 5]; attr softcap = 2.0, scale = 0.3; out Y, present_key, present_value, qk_matmul_output")
      .Sample(
          "Q: f32[1, 2, 4, 4]; K: f32[1, 2, 4, 4]; V: f32[1, 2, 4, 4]; attn_mask: bool[4, 4] = [true, false, true, true, true, true, false, true, false, false, true, true, true, true, true, true]; attr is_causal = 1");
  r.op("LinearAttention")
      .Doc("Attention without softmax, as a recurrence over a state of outer products.")
      .Pure(kLinearAttention)
      .Sample(
          "query: f32[1, 3, 4]; key: f32[1, 3, 4]; value: f32[1, 3, 4]; decay: f32[1, 3, 2] in [-1, 0]; beta: f32[1, 3, 2] in [0, 1]; attr q_num_heads = 2, kv_num_heads = 2")
      .Sample(
          "query: f32[1, 3, 4]; key: f32[1, 3, 4]; value: f32[1, 3, 4]; decay: f32[1, 3, 2] in [-1, 0]; attr q_num_heads = 2, kv_num_heads = 2, update_rule = \"gated\"")
      .Sample(
          "query: f32[1, 3, 4]; key: f32[1, 3, 4]; value: f32[1, 3, 4]; beta: f32[1, 3, 2] in [0, 1]; attr q_num_heads = 2, kv_num_heads = 2, update_rule = \"delta\"")
      .Sample(
          "query: f32[1, 3, 4]; key: f32[1, 3, 4]; value: f32[1, 3, 4]; attr q_num_heads = 2, kv_num_heads = 2, update_rule = \"linear\", scale = 0.5");
  r.op("RotaryEmbedding")
      .Doc("Rotates pairs of channels by angles that depend on the position.")
      .Pure(std::string(kRotaryHead) + kRotary)
      .Backward(std::string(kRotaryHead) + kRotaryGradient)
      .Sample("X: f32[1, 2, 3, 4]; cos_cache: f32[5, 2]; sin_cache: f32[5, 2]; position_ids: i64[1, 3] = [0, 1, 2]")
      .Sample("X: f32[2, 3, 8]; cos_cache: f32[2, 3, 2]; sin_cache: f32[2, 3, 2]; attr num_heads = 2, interleaved = 1")
      .Sample(
          "X: f32[1, 2, 3, 6]; cos_cache: f32[5, 2]; sin_cache: f32[5, 2]; position_ids: i64[1, 3] = [4, 0, 2]; attr rotary_embedding_dim = 4");
}

}  // namespace onnx_ops
