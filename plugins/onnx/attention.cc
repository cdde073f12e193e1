// Attention and what goes with it.
#include "plugins/onnx/families.h"

namespace onnx_ops {
namespace {

const char kAttention[] = R"(
let flat = rank(Q) == 3 ; let H = flat ? q_num_heads : dim(Q, 1) ; let G = flat ? kv_num_heads : dim(K, 1)
let D = flat ? dim(Q, 2) // H : dim(Q, 3) ; let F = flat ? dim(V, 2) // G : dim(V, 3) ; let B = dim(Q, 0)
let I = flat ? dim(Q, 1) : dim(Q, 2) ; let P = has(past_key) ? dim(past_key, 2) : 0 ; let J = P + (flat ? dim(K, 1) : dim(K, 2))
let s = (scale ?? 0) == 0 ? 1 / sqrt(D) : scale ; let q = flat ? Q[b, i, h*D + d] : Q[b, h, i, d]
let cached = has(past_key)
let key(g) = flat ? K[b, j - P, g*D + d] : K[b, g, j - P, d] ; let val(g) = flat ? V[b, j - P, g*F + e] : V[b, g, j - P, e]
if cached || has(present_key) { AK[b, g, j, d] = j < P ? past_key[b, g, j, d] ?? 0 : key(g) over b in 0:B, g in 0:G, j in 0:J, d in 0:D ; present_key = AK }
if cached || has(present_value) { AV[b, g, j, e] = j < P ? past_value[b, g, j, e] ?? 0 : val(g) over b in 0:B, g in 0:G, j in 0:J, e in 0:F ; present_value = AV }
S[b, h, i, j] += q * (cached ? AK[b, h // (H // G), j, d] : key(h // (H // G))) over b in 0:B, h in 0:H, i in 0:I, j in 0:J, d in 0:D
S = S * s
let mode = qk_matmul_output_mode ?? 0
if mode == 0 { qk_matmul_output = S }
if (softcap ?? 0) > 0 { S = softcap * tanh(S / softcap) }
if mode == 1 { qk_matmul_output = S }
let n = nonpad_kv_seqlen[b] ?? J ; let p = i + (has(nonpad_kv_seqlen) ? n - I : P)
let l = left_window_size ?? -1 ; let r = right_window_size ?? -1
S[b, h, i, j] = (!(is_causal ?? 0) || j <= p) && (l < 0 || j >= p - l) && (r < 0 || j <= p + r) && j < n ? S[b, h, i, j] : -inf
if has(attn_mask) { if is_bool(attn_mask) { S[.., j] = (attn_mask[.., j] ?? false) ? S[.., j] : -inf } else { S[.., j] = S[.., j] + (attn_mask[.., j] ?? -inf) } }
if mode == 2 { qk_matmul_output = S }
M[b, h, i] max= S[b, h, i, j]
E[b, h, i, j] = exp(S[b, h, i, j] - (M[b, h, i] == -inf ? 0 : M[b, h, i]))
Z[b, h, i] += E[b, h, i, j]
E[b, h, i, j] = Z[b, h, i] == 0 ? 0 : E[b, h, i, j] / Z[b, h, i]
if mode == 3 { qk_matmul_output = E }
let o = E[b, h, i, j] * (cached ? AV[b, h // (H // G), j, e] : val(h // (H // G)))
if flat { Y[b, i, h*F + e] += o over b in 0:B, h in 0:H, i in 0:I, j in 0:J, e in 0:F } else { Y[b, h, i, e] += o over b in 0:B, h in 0:H, i in 0:I, j in 0:J, e in 0:F })";

const char kLinearAttention[] = R"(
let G = kv_num_heads ; let H = q_num_heads ; let D = dim(key, 2) // G ; let F = dim(value, 2) // G ; let B = dim(query, 0)
let sc = (scale ?? 0) == 0 ? 1 / sqrt(D) : scale
let gated = update_rule == "gated" || update_rule == "gated_delta" ; let delta = update_rule == "delta" || update_rule == "gated_delta"
S[b, g, d, e] = f32(past_state[b, g, d, e] ?? 0) over b in 0:B, g in 0:G, d in 0:D, e in 0:F
for t in 0:dim(query, 1) {
  let k = f32(key[b, t, g*D + d]) ; let v = f32(value[b, t, g*F + e])
  let a = gated ? exp(f32(decay[b, t, dim(decay, 2) == G ? g : g*D + d])) : 1 ; let w = delta ? f32(beta[b, t, dim(beta, 2) == 1 ? 0 : g]) : 1
  R[b, g, e] = 0.0 over b in 0:B, g in 0:G, e in 0:F
  if delta { R[b, g, e] += a * S[b, g, d, e] * k }
  S[b, g, d, e] = a * S[b, g, d, e] + w * k * (v - R[b, g, e])
  output[b, t, h*F + e] += sc * f32(query[b, t, h*D + d]) * S[b, h // (H // G), d, e] over b in 0:B, h in 0:H, d in 0:D, e in 0:F
}
present_state = S)";

const char kRotary[] = R"(
let H = rank(X) == 3 ? dim(X, 2) // num_heads : dim(X, 3)
let R = (rotary_embedding_dim ?? 0) == 0 ? H : rotary_embedding_dim ; let h = R // 2
let pos = position_ids[b, t] ; let Z = rank(X) == 3 ? num_heads : dim(X, 1)
let ct(j) = has(position_ids) ? cos_cache[pos, j] : cos_cache[b, t, j] ; let sn(j) = has(position_ids) ? sin_cache[pos, j] : sin_cache[b, t, j]
let re(j) = interleaved ? 2 * j : j ; let im(j) = interleaved ? 2 * j + 1 : j + h
Y = X
if rank(X) == 4 {
  Y[b, z, t, re(j)] = ct(j) * X[b, z, t, re(j)] - sn(j) * X[b, z, t, im(j)] over j in 0:h, b in 0:dim(X,0), t in 0:dim(X,2), z in 0:Z
  Y[b, z, t, im(j)] = sn(j) * X[b, z, t, re(j)] + ct(j) * X[b, z, t, im(j)] over j in 0:h, b in 0:dim(X,0), t in 0:dim(X,2), z in 0:Z
} else {
  Y[b, t, z*H + re(j)] = ct(j) * X[b, t, z*H + re(j)] - sn(j) * X[b, t, z*H + im(j)] over j in 0:h, z in 0:Z, b in 0:dim(X,0), t in 0:dim(X,1)
  Y[b, t, z*H + im(j)] = sn(j) * X[b, t, z*H + re(j)] + ct(j) * X[b, t, z*H + im(j)] over j in 0:h, z in 0:Z, b in 0:dim(X,0), t in 0:dim(X,1)
})";

}  // namespace

void RegisterAttention(Registrar& r) {
  r.op("Attention").Doc("Scaled dot-product attention with heads, masks, caches, windows and soft capping.").Pure(kAttention)
      .Sample("Q: f32[1, 2, 3, 4]; K: f32[1, 2, 5, 4]; V: f32[1, 2, 5, 4]")
      .Sample("Q: f32[1, 3, 8]; K: f32[1, 5, 8]; V: f32[1, 5, 8]; attr q_num_heads = 2, kv_num_heads = 2, is_causal = 1");
  r.op("LinearAttention").Doc("Attention without softmax, as a recurrence over a state of outer products.").Pure(kLinearAttention)
      .Sample("query: f32[1, 3, 4]; key: f32[1, 3, 4]; value: f32[1, 3, 4]; attr q_num_heads = 2, kv_num_heads = 2");
  r.op("RotaryEmbedding").Doc("Rotates pairs of channels by angles that depend on the position.").Pure(kRotary)
      .Sample("X: f32[1, 2, 3, 4]; cos_cache: f32[5, 2]; sin_cache: f32[5, 2]; position_ids: i64[1, 3] = [0, 1, 2]");
}

}  // namespace onnx_ops
