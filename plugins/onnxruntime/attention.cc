// Attention as ONNX Runtime's optimizer writes it: masks that are added to the scores, caches in front of keys and values.
#include "plugins/onnxruntime/families.h"

namespace onnxruntime_ops {

namespace {

std::string SizeOf(const std::string& port, int d) { return "dim(" + port + ", " + std::to_string(d) + ")"; }

// The port has this size in dimension d, or one element for all.
std::string Stretches(const std::string& port, int d, const std::string& size) {
  return "  require " + SizeOf(port, d) + " == " + size + " || " + SizeOf(port, d) + " == 1 else \"" + port +
         " has {} in dimension " + std::to_string(d) + " where {} are needed\", " + SizeOf(port, d) + ", " + size + "\n";
}
std::string At(const std::string& port, int d, const std::string& index) {
  return index + " * min(" + SizeOf(port, d) + " - 1, 1)";
}

}  // namespace

std::string AttentionCore(const std::string& mask, const std::string& bias) {
  std::string text =
      "let sc = (scale ?: 0) == 0 ? 1 / sqrt(D) : scale\n"
      "Z[b, h, i, j] += q * AK[b, h, j, d] over b in 0:B, h in 0:H, i in 0:I, j in 0:J, d in 0:D\n"
      "let away = mask_filter_value ?: -10000.0\n"
      "if has(MASK) { if rank(MASK) == 1 {\n"  // lengths, and perhaps where they begin
      "  let both = dim(MASK, 0) == 2 * B\n"
      "  require dim(MASK, 0) == B || both else \"MASK has {} elements where {} or {} are needed\", dim(MASK, 0), B, 2 * B\n"
      "  Z[b, h, i, j] = Z[b, h, i, j] * sc + (j < MASK[b + 0] && (!both || j >= MASK[(both ? B : 0) + b]) ? 0 : away) over b in 0:B, h in 0:H, i in 0:I, j in 0:J\n"
      "} else { if rank(MASK) == 2 { Z[b, h, i, j] = Z[b, h, i, j] * sc + (MASK[b, j] > 0 ? 0 : away) over b in 0:B, h in 0:H, i in 0:I, j in 0:J }\n"
      "  else { Z[b, h, i, j] = Z[b, h, i, j] * sc + (MASK[b, i, j] > 0 ? 0 : away) over b in 0:B, h in 0:H, i in 0:I, j in 0:J } }\n"
      "} else { Z = Z * sc }\n"
      "if unidirectional ?: 0 { Z[b, h, i, j] = j > P + i ? lowest() : Z[b, h, i, j] }\n";
  if (!bias.empty())
    text += "if has(" + bias + ") {\n" + Stretches(bias, 0, "B") + Stretches(bias, 1, "H") + Stretches(bias, 2, "I") +
            Stretches(bias, 3, "J") + "  Z[b, h, i, j] = Z[b, h, i, j] + " + bias + "[" + At(bias, 0, "b") + ", " +
            At(bias, 1, "h") + ", " + At(bias, 2, "i") + ", " + At(bias, 3, "j") + "]\n}\n";
  text +=
      "M[b, h, i] max= Z[b, h, i, j]\n"
      "E[b, h, i, j] = exp(Z[b, h, i, j] - M[b, h, i])\n"
      "W[b, h, i] += E[b, h, i, j]\n"
      "E[b, h, i, j] = E[b, h, i, j] / W[b, h, i]\n"
      "output[b, i, h*F + e] += E[b, h, i, j] * AV[b, h, j, e] over b in 0:B, h in 0:H, i in 0:I, j in 0:J, e in 0:F";
  for (size_t at; (at = text.find("MASK")) != std::string::npos;) text.replace(at, 4, mask);
  return text;
}

namespace {

// Sizes, and keys and values behind those of the past; G holds queries, keys and values side by side.
const char kPackedSizes[] =
    "let B = dim(input, 0) ; let I = dim(input, 1) ; let H = num_heads\n"
    "let hq = has(qkv_hidden_sizes) ? qkv_hidden_sizes[0] : dim(weights, 1) // 3\n"
    "let hv = has(qkv_hidden_sizes) ? qkv_hidden_sizes[2] : dim(weights, 1) // 3\n"
    "let D = hq // H ; let F = hv // H ; let P = has(past) ? dim(past, 3) : 0 ; let J = P + I\n";

const char kPackedCaches[] =
    "let q = G[b, i, h*D + d]\n"
    "if has(past) {\n"
    "  require dim(past, 0) == 2 else \"past has {} arrays where 2 are needed, keys and values\", dim(past, 0)\n"
    "  AK[b, h, j, d] = j < P ? past[0, b, h, j + 0, d] : G[b, j - P, hq + h*D + d] over b in 0:B, h in 0:H, j in 0:J, d in 0:D\n"
    "  AV[b, h, j, e] = j < P ? past[1, b, h, j + 0, e] : G[b, j - P, 2*hq + h*F + e] over b in 0:B, h in 0:H, j in 0:J, e in 0:F\n"
    "} else {\n"
    "  AK[b, h, j, d] = G[b, j, hq + h*D + d] over b in 0:B, h in 0:H, j in 0:J, d in 0:D\n"
    "  AV[b, h, j, e] = G[b, j, 2*hq + h*F + e] over b in 0:B, h in 0:H, j in 0:J, e in 0:F\n"
    "}\n"
    "if has(present) { present[0, b, h, j, d] = AK[b, h, j, d] ; present[1, b, h, j, e] = AV[b, h, j, e] }\n";

const char kSeparate[] =
    "let H = num_heads ; let B = dim(query, 0) ; let I = dim(query, 1) ; let packed = rank(query) == 5\n"
    "let D = packed ? dim(query, 4) : dim(query, 2) // H\n"
    "let L = packed ? I : rank(key) == 4 ? dim(key, 2) : dim(key, 1)\n"
    "let F = !has(value) ? D : rank(value) == 4 ? dim(value, 3) : dim(value, 2) // H\n"
    "let P = has(past_key) ? dim(past_key, 2) : 0 ; let J = P + L\n";

const char kSeparateCaches[] =
    "if has(bias) { require dim(bias, 0) == 2 * H * D + H * F else \"bias has {} elements where {} are needed\", dim(bias, 0), 2 * H * D + H * F }\n"
    "if !packed { if rank(key) == 3 {\n"
    "  require dim(query, 2) == H * D else \"query has {} channels, which {} heads don't divide\", dim(query, 2), H\n"
    "  require dim(value, 2) == H * F else \"value has {} channels, which {} heads don't divide\", dim(value, 2), H\n"
    "  if has(past_value) { require dim(past_value, 2) == P else \"past_value has {} positions and past_key has {}\", dim(past_value, 2), P }\n"
    "  require dim(key, 2) == H * D else \"key has {} channels where {} are needed\", dim(key, 2), H * D\n"
    "  require dim(value, 1) == L else \"value has {} positions and key has {}\", dim(value, 1), L\n"
    "} }\n"
    "let q0 = packed ? query[b, i, h, 0, d] : query[b, i, h*D + d] ; let q = has(bias) ? q0 + bias[h*D + d] : q0\n"
    "let moved = has(bias) && (packed || rank(key) != 4)\n"
    "let k0 = packed ? query[b, j - P, h, 1, d] : rank(key) == 5 ? key[b, j - P, h, 0, d] : rank(key) == 4 ? key[b, h, j - P, d] : key[b, j - P, h*D + d]\n"
    "let v0 = packed ? query[b, j - P, h, 2, e] : rank(key) == 5 ? key[b, j - P, h, 1, e] : rank(value) == 4 ? value[b, h, j - P, e] : value[b, j - P, h*F + e]\n"
    "let k = moved ? k0 + bias[H*D + h*D + d] : k0 ; let v = moved ? v0 + bias[2*H*D + h*F + e] : v0\n"
    "if has(past_key) {\n"
    "  AK[b, h, j, d] = j < P ? past_key[b, h, j + 0, d] : k over b in 0:B, h in 0:H, j in 0:J, d in 0:D\n"
    "  AV[b, h, j, e] = j < P ? past_value[b, h, j + 0, e] : v over b in 0:B, h in 0:H, j in 0:J, e in 0:F\n"
    "} else {\n"
    "  AK[b, h, j, d] = k over b in 0:B, h in 0:H, j in 0:J, d in 0:D\n"
    "  AV[b, h, j, e] = v over b in 0:B, h in 0:H, j in 0:J, e in 0:F\n"
    "}\n"
    "present_key = AK ; present_value = AV\n";

// As in plugins/onnx, with the positions of a whole batch or where it starts.
const char kRotary[] =
    "let flat = rank(input) == 3 ; let T = flat ? dim(input, 1) : dim(input, 2)\n"
    "let C = (rotary_embedding_dim ?: 0) == 0 ? 2 * dim(cos_cache, 1) : rotary_embedding_dim ; let half = C // 2\n"
    "let D = flat ? ((num_heads ?: 0) == 0 ? 2 * dim(cos_cache, 1) : dim(input, 2) // num_heads) : dim(input, 3)\n"
    "let H = flat ? dim(input, 2) // D : dim(input, 1)\n"
    "let pos = rank(position_ids) == 1 ? position_ids[0] + i64(t) : position_ids[b, t]\n"
    "let re(j) = interleaved ? 2 * j : j ; let im(j) = interleaved ? 2 * j + 1 : j + half\n"
    "let x(k) = flat ? input[b, t, h*D + k] : input[b, h, t, k]\n"
    "let low = cos_cache[pos, j] * x(re(j)) - sin_cache[pos, j] * x(im(j)) ; let high = sin_cache[pos, j] * x(re(j)) + cos_cache[pos, j] * x(im(j))\n"
    "if flat { require dim(input, 2) == H * D else \"input has {} channels, which heads of {} don't divide\", dim(input, 2), D }\n"
    "require dim(sin_cache, 0) == dim(cos_cache, 0) && dim(sin_cache, 1) == dim(cos_cache, 1) else \"sin_cache is [{}, {}] and cos_cache is [{}, {}]\", "
    "dim(sin_cache, 0), dim(sin_cache, 1), dim(cos_cache, 0), dim(cos_cache, 1)\n"
    "if rank(position_ids) == 1 { require dim(position_ids, 0) == 1 else \"position_ids has {} elements where 1 is needed\", dim(position_ids, 0) }\n"
    "output = input\n"
    "if flat {\n"
    "  output[b, t, h*D + re(j)] = low over j in 0:half, h in 0:H, b in 0:dim(input, 0), t in 0:T\n"
    "  output[b, t, h*D + im(j)] = high over j in 0:half, h in 0:H, b in 0:dim(input, 0), t in 0:T\n"
    "} else {\n"
    "  output[b, h, t, re(j)] = low over j in 0:half, h in 0:H, b in 0:dim(input, 0), t in 0:T\n"
    "  output[b, h, t, im(j)] = high over j in 0:half, h in 0:H, b in 0:dim(input, 0), t in 0:T\n"
    "}";

}  // namespace

void RegisterAttention(Registrar& r) {
  r.op("com.microsoft.Attention")
      .Doc("Self-attention whose queries, keys and values are one product of the input, with masks and a cache.")
      .Input("input", "float")
      .Input("weights", "float")
      .Input("bias", "float", /*optional=*/true)
      .Input("mask_index", "i32", /*optional=*/true)
      .Input("past", "float", /*optional=*/true)
      .Input("attention_bias", "float", /*optional=*/true)
      .Output("output", "float")
      .Output("present", "float", /*optional=*/true)
      .RequiredAttribute("num_heads", "int")
      .Attribute("mask_filter_value", "float")
      .Attribute("qkv_hidden_sizes", "ints")
      .Attribute("scale", "float")
      .Attribute("unidirectional", "int", "0")
      .Shape(std::string(kPackedSizes) + "shape output[B, I, hv] ; shape present[2, B, H, J, D]")
      .Pure(std::string(kPackedSizes) +
            "require dim(weights, 1) == 2 * hq + hv else \"weights has {} columns where {} are needed\", dim(weights, 1), 2 * hq + hv\n"
            "G[b, i, c] = bias[c] ?: 0 over b in 0:B, i in 0:I, c in 0:dim(weights, 1)\n"
            "G[b, i, c] += input[b, i, e] * weights[e, c]\n" +
            kPackedCaches + AttentionCore("mask_index", "attention_bias"))
      .Sample(
          "input: f32[2, 3, 4]; weights: f32[4, 12]; bias: f32[12]; mask_index: i32[2, 3] = [1, 1, 0, 1, 1, 1]; attr num_heads = 2")
      .Sample(
          "input: f32[1, 2, 4]; weights: f32[4, 12]; bias: f32[12]; past: f32[2, 1, 2, 3, 2]; attr num_heads = 2, unidirectional = 1; out output, present")
      .Sample("input: f32[1, 2, 2]; weights: f32[2, 5]; attention_bias: f32[1, 1, 2, 2]; attr num_heads = 1, qkv_hidden_sizes = [2, 2, 1], scale = 0.5");
  r.op("com.microsoft.MultiHeadAttention")
      .Doc("Attention of queries over keys and values, separate or packed, with masks and caches.")
      .Input("query", "float")
      .Input("key", "float", /*optional=*/true)
      .Input("value", "float", /*optional=*/true)
      .Input("bias", "float", /*optional=*/true)
      .Input("key_padding_mask", "i32", /*optional=*/true)
      .Input("attention_bias", "float", /*optional=*/true)
      .Input("past_key", "float", /*optional=*/true)
      .Input("past_value", "float", /*optional=*/true)
      .Output("output", "float")
      .Output("present_key", "float", /*optional=*/true)
      .Output("present_value", "float", /*optional=*/true)
      .RequiredAttribute("num_heads", "int")
      .Attribute("mask_filter_value", "float")
      .Attribute("scale", "float")
      .Attribute("unidirectional", "int", "0")
      .Shape(std::string(kSeparate) +
             "shape output[B, I, H*F] ; shape present_key[B, H, J, D] ; shape present_value[B, H, J, F]")
      .Pure(std::string(kSeparate) + kSeparateCaches + AttentionCore("key_padding_mask", "attention_bias"))
      .Sample(
          "query: f32[1, 2, 4]; key: f32[1, 3, 4]; value: f32[1, 3, 6]; bias: f32[14]; attention_bias: f32[1, 1, 2, 3]; attr num_heads = 2")
      .Sample(
          "query: f32[2, 2, 4]; key: f32[2, 2, 4]; value: f32[2, 2, 4]; key_padding_mask: i32[2] = [2, 3]; past_key: f32[2, 2, 1, 2]; past_value: f32[2, 2, 1, 2]; attr num_heads = 2, unidirectional = 1; out output, present_key, present_value")
      .Sample("query: f32[1, 3, 2, 3, 4]; attr num_heads = 2");
  r.op("com.microsoft.RotaryEmbedding")
      .Doc("Rotates pairs of channels by angles that depend on the position.")
      .Input("input", "float")
      .Input("position_ids", "i64")
      .Input("cos_cache", "float")
      .Input("sin_cache", "float")
      .Output("output", "float")
      .Attribute("interleaved", "int", "0")
      .Attribute("num_heads", "int", "0")
      .Attribute("rotary_embedding_dim", "int", "0")
      .Shape("shape output[dims(input)]")
      .Pure(kRotary)
      .Sample("input: f32[1, 3, 8]; position_ids: i64[1] = [1]; cos_cache: f32[5, 2]; sin_cache: f32[5, 2]")
      .Sample(
          "input: f32[2, 2, 3, 4]; position_ids: i64[2, 3] = [0, 1, 2, 4, 3, 2]; cos_cache: f32[5, 2]; sin_cache: f32[5, 2]; attr interleaved = 1")
      .Sample("input: f32[1, 2, 6]; position_ids: i64[1, 2] = [3, 1]; cos_cache: f32[4, 1]; sin_cache: f32[4, 1]; attr num_heads = 2, rotary_embedding_dim = 2");
  r.op("com.microsoft.QAttention")
      .Doc("Attention whose input and weights are quantised.")
      .Input("input", "integer")
      .Input("weight", "integer")
      .Input("bias", "float")
      .Input("input_scale", "float")
      .Input("weight_scale", "float")
      .Input("mask_index", "i32", /*optional=*/true)
      .Input("input_zero_point", "integer", /*optional=*/true)
      .Input("weight_zero_point", "integer", /*optional=*/true)
      .Input("past", "float", /*optional=*/true)
      .Output("output", "bias")
      .Output("present", "bias", /*optional=*/true)
      .RequiredAttribute("num_heads", "int")
      .Attribute("mask_filter_value", "float")
      .Attribute("scale", "float")
      .Attribute("unidirectional", "int", "0")
      .Shape(
          "let B = dim(input, 0) ; let I = dim(input, 1) ; let hq = dim(weight, 1) // 3 ; let P = has(past) ? dim(past, 3) : 0\n"
          "shape output[B, I, hq] ; shape present[2, B, num_heads, P + I, hq // num_heads]")
      .Pure(
          "let B = dim(input, 0) ; let I = dim(input, 1) ; let H = num_heads ; let hq = dim(weight, 1) // 3\n"
          "let D = hq // H ; let F = D ; let P = has(past) ? dim(past, 3) : 0 ; let J = P + I\n"
          "let wz = !has(weight_zero_point) ? 0 : rank(weight_zero_point) == 0 ? i32(weight_zero_point[]) : "
          "surely(dim(weight_zero_point, 0) == 1) ? i32(weight_zero_point[0]) : i32(weight_zero_point[c])\n"
          "let ws = rank(weight_scale) == 0 ? weight_scale[] : surely(dim(weight_scale, 0) == 1) ? weight_scale[0] : weight_scale[c]\n"
          "X = i32(input) - i32(input_zero_point ?: 0)\n"
          "V[e, c] = i32(weight[e, c]) - wz\n"
          "A[b, i, c] += X[b, i, e] * V[e, c]\n"
          "N[c] = input_scale * ws over c in 0:dim(weight, 1)\n"
          "G[b, i, c] = cast(A[b, i, c], dtype(bias)) * N[c] + bias[c]\n" +
          std::string(kPackedCaches) + AttentionCore("mask_index", ""))
      .Sample(
          "input: u8[1, 3, 4] in [0, 255]; weight: i8[4, 12] in [-127, 127]; bias: f32[12]; input_scale: f32[] = 0.01; weight_scale: f32[] = 0.02; mask_index: i32[1] = [2]; input_zero_point: u8[] = 120; weight_zero_point: i8[] = 3; attr num_heads = 2")
      .Sample(
          "input: u8[1, 2, 4] in [0, 255]; weight: i8[4, 12] in [-127, 127]; bias: f32[12]; input_scale: f32[] = 0.01; weight_scale: f32[12] in [0.01, 0.03]; past: f32[2, 1, 2, 2, 2]; attr num_heads = 2, unidirectional = 1; out output, present")
      .Sample("input: u8[1, 2, 2] in [0, 255]; weight: u8[2, 6] in [0, 255]; bias: f32[6]; input_scale: f32[] = 0.01; weight_scale: f32[] = 0.02; weight_zero_point: u8[] = 120; attr num_heads = 1");
}

}  // namespace onnxruntime_ops
