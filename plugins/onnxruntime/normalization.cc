// Layer normalisations with a residual added, and embeddings with one behind them.
#include "plugins/onnxruntime/families.h"

namespace onnxruntime_ops {
namespace {

// Of x[o.., k], the last dimension: T, with mu and r.
std::string Centred(const std::string& x) {
  return "let x = " + x +
         " ; let part = 1 / len(k)\n"
         "mu[o..] += x * part\n"
         "va[o..] += (x - mu[o..]) * (x - mu[o..]) * part\n"
         "r[o..] = 1 / sqrt(va[o..] + epsilon)\n"
         "T[o.., k] = (x - mu[o..]) * r[o..]\n";
}
std::string RootMeanSquare(const std::string& x) {
  return "let x = " + x +
         " ; let part = 1 / len(k)\n"
         "ms[o..] += x * x * part\n"
         "r[o..] = 1 / sqrt(ms[o..] + epsilon)\n"
         "T[o.., k] = x * r[o..]\n";
}

// The residual may lack the batch, or have one of 1.
const char kSum[] =
    "let rank(o) = rank(input) - 1\n"
    "S = input[..] + skip[..]\n"
    "if has(bias) { S = S[..] + bias[..] }\n";

// The tokens' vectors, E[b, s, k].
std::string Embedded(const std::string& word, const std::string& position, const std::string& segment,
                     const std::string& at) {
  return "let B = dim(input_ids, 0) ; let L = dim(input_ids, 1) ; let C = dim(" + word + ", 1)\n" + "let at = " + at +
         "\n"
         "E[b, s, k] = " +
         word + "[input_ids[b, s], k] + " + position +
         "[at, k] over b in 0:B, s in 0:L, k in 0:C\n"
         "if has(segment_ids) { E[b, s, k] = E[b, s, k] + " +
         segment + "[segment_ids[b, s], k] over b in 0:B, s in 0:L, k in 0:C }\n";
}
const char kMaskIndex[] =
    "if has(mask) { mask_index[b] += mask[b, s] == 1 ? 1 : 0 } else { mask_index = 0 }\n";

}  // namespace

void RegisterNormalization(Registrar& r) {
  const std::string sizes =
      "shape output[dims(input)] ; shape mean[dims(input)[0:rank(input) - 1], 1]\n"
      "shape inv_std_var[dims(input)[0:rank(input) - 1], 1] ; shape input_skip_bias_sum[dims(input)]";
  r.op("com.microsoft.SkipLayerNormalization")
      .Doc("Layer normalisation of input + skip + bias over the last dimension.")
      .Input("input", "float")
      .Input("skip", "float")
      .Input("gamma", "float")
      .Input("beta", "float", /*optional=*/true)
      .Input("bias", "float", /*optional=*/true)
      .Output("output", "float")
      .Output("mean", "float", /*optional=*/true)
      .Output("inv_std_var", "float", /*optional=*/true)
      .Output("input_skip_bias_sum", "float", /*optional=*/true)
      .Attribute("epsilon", "float", "1e-12")
      .Shape(sizes)
      .Pure(kSum + Centred("S[o.., k]") +
            "if has(beta) { output = T[..] * gamma[..] + beta[..] } else { output = T[..] * gamma[..] }\n"
            "mean[o.., 0] = mu[o..] ; inv_std_var[o.., 0] = r[o..] ; input_skip_bias_sum = S")
      .Sample(
          "input: f32[2, 3, 4]; skip: f32[2, 3, 4]; gamma: f32[4]; beta: f32[4]; bias: f32[4]; attr epsilon = 1e-5; out output, input_skip_bias_sum")
      .Sample("input: f32[2, 3, 4]; skip: f32[3, 4]; gamma: f32[4]; attr epsilon = 1e-5")
      .Sample("input: f32[1, 2, 3]; skip: f32[1, 2, 3]; gamma: f32[3]; beta: f32[3]; attr epsilon = 0.1; out output, mean, inv_std_var");
  r.op("com.microsoft.SkipSimplifiedLayerNormalization")
      .Doc("input + skip + bias over its root mean square, times gamma.")
      .Input("input", "float")
      .Input("skip", "float")
      .Input("gamma", "float")
      .Input("bias", "float", /*optional=*/true)
      .Output("output", "float")
      .Output("mean", "float", /*optional=*/true)
      .Output("inv_std_var", "float", /*optional=*/true)
      .Output("input_skip_bias_sum", "float", /*optional=*/true)
      .Attribute("epsilon", "float", "1e-12")
      .Shape(sizes)
      .Pure(kSum + RootMeanSquare("S[o.., k]") +
            "output = T[..] * gamma[..]\n"
            "if has(mean) { mean = 0 }\n"
            "inv_std_var[o.., 0] = r[o..] ; input_skip_bias_sum = S")
      .Sample("input: f32[2, 3, 4]; skip: f32[2, 3, 4]; gamma: f32[4]; attr epsilon = 1e-5; out output, input_skip_bias_sum")
      .Sample("input: f32[2, 3]; skip: f32[3]; gamma: f32[3]; bias: f32[3]; attr epsilon = 0.1")
      .Sample("input: f32[1, 2, 3]; skip: f32[1, 2, 3]; gamma: f32[3]; attr epsilon = 0.01; out output, inv_std_var");
  // ONNX Runtime writes it without a domain, though ONNX has no such operator.
  r.op("SimplifiedLayerNormalization")
      .Doc("X over its root mean square over the dimensions from `axis` on, times scale.")
      .Input("X", "float")
      .Input("scale", "float")
      .Output("Y", "float")
      .Output("inv_std_var", "float", /*optional=*/true)
      .Attribute("axis", "int", "-1")
      .Attribute("epsilon", "float", "1e-5")
      .Attribute("stash_type", "int", "1")
      .Shape(
          "let a = axis < 0 ? axis + rank(X) : axis\n"
          "shape Y[dims(X)] ; shape inv_std_var[dims(X)[0:a], 0 * range(a, rank(X)) + 1]")
      .Pure(
          "let rank(o) = axis < 0 ? axis + rank(X) : axis\n"
          "ms[o..] += X[o.., k..] * X[o.., k..] * (1 / len(k))\n"
          "r[o..] = 1 / sqrt(ms[o..] + epsilon)\n"
          "T[o.., k..] = X[o.., k..] * r[o..]\n"
          "Y = T[..] * scale[..]\n"
          "inv_std_var[o.., 0@range(rank(o), rank(X))] = r[o..]")
      .Sample("X: f32[2, 3, 4]; scale: f32[4]")
      .Sample("X: f32[2, 3, 4]; scale: f32[3, 4]; attr axis = 1; out Y, inv_std_var")
      .Sample("X: f32[3]; scale: f32[3]; attr epsilon = 0.1");
  r.op("com.microsoft.EmbedLayerNormalization")
      .Doc("Layer normalisation of the sum of word, position and segment embeddings; and how many tokens the mask has.")
      .Input("input_ids", "i32")
      .Input("segment_ids", "i32", /*optional=*/true)
      .Input("word_embedding", "float")
      .Input("position_embedding", "float")
      .Input("segment_embedding", "float", /*optional=*/true)
      .Input("gamma", "float")
      .Input("beta", "float")
      .Input("mask", "i32", /*optional=*/true)
      .Input("position_ids", "i32", /*optional=*/true)
      .Output("output", "float")
      .Output("mask_index", "i32", /*optional=*/true)
      .Output("embedding_sum", "float", /*optional=*/true)
      .Attribute("epsilon", "float", "1e-12")
      .Attribute("mask_index_type", "int", "0")
      .Shape(
          "shape output[dims(input_ids), dim(word_embedding, 1)] ; shape mask_index[dim(input_ids, 0)]\n"
          "shape embedding_sum[dims(input_ids), dim(word_embedding, 1)]")
      .Pure(Embedded("word_embedding", "position_embedding", "segment_embedding",
                     "has(position_ids) ? (surely(dim(position_ids, 0) == 1) ? i64(position_ids[0, s]) : i64(position_ids[b, s])) : s + 0") +
            "let rank(o) = 2\n" + Centred("E[o.., k]") +
            "output = T[..] * gamma[..] + beta[..]\n"
            "if has(mask_index) { " +
            std::string(kMaskIndex) + "}\nembedding_sum = E")
      .Sample(
          "input_ids: i32[2, 3] in [0, 4]; segment_ids: i32[2, 3] in [0, 1]; word_embedding: f32[5, 4]; position_embedding: f32[6, 4]; segment_embedding: f32[2, 4]; gamma: f32[4]; beta: f32[4]; mask: i32[2, 3] = [1, 1, 0, 1, 1, 1]; attr epsilon = 1e-5; out output, mask_index, embedding_sum")
      .Sample(
          "input_ids: i32[2, 3] in [0, 4]; word_embedding: f32[5, 4]; position_embedding: f32[6, 4]; gamma: f32[4]; beta: f32[4]; position_ids: i32[1, 3] = [2, 0, 5]; attr epsilon = 1e-5")
      .Sample("input_ids: i32[1, 2] in [0, 1]; word_embedding: f32[2, 3]; position_embedding: f32[2, 3]; gamma: f32[3]; beta: f32[3]; attr epsilon = 0.1");
  auto dequantised = [](const std::string& p) {
    return "cast(i32(" + p + "_quant[i, k]) - i32(" + p + "_zero_point), dtype(" + p + "_scale)) * " + p + "_scale";
  };
  std::string tables;
  for (const char* p : {"word_embedding", "position_embedding"})
    tables += std::string("t_") + p + "[i, k] = " + dequantised(p) + "\n";
  r.op("com.microsoft.QEmbedLayerNormalization")
      .Doc("EmbedLayerNormalization of quantised tables.")
      .Input("input_ids", "i32")
      .Input("segment_ids", "i32", /*optional=*/true)
      .Input("word_embedding_quant", "integer")
      .Input("position_embedding_quant", "integer")
      .Input("segment_embedding", "integer", /*optional=*/true)
      .Input("gamma_quant", "integer")
      .Input("beta_quant", "integer")
      .Input("mask", "i32", /*optional=*/true)
      .Input("word_embedding_scale", "float")
      .Input("position_embedding_scale", "float")
      .Input("segment_embedding_scale", "float", /*optional=*/true)
      .Input("gamma_scale", "float")
      .Input("beta_scale", "float")
      .Input("word_embedding_zero_point", "integer")
      .Input("position_embedding_zero_point", "integer")
      .Input("segment_embedding_zero_point", "integer", /*optional=*/true)
      .Input("gamma_zero_point", "integer")
      .Input("beta_zero_point", "integer")
      .Output("layernorm_out", "gamma_scale")
      .Output("mask_index_out", "i32")
      .Attribute("epsilon", "float", "1e-12")
      .Shape(
          "shape layernorm_out[dims(input_ids), dim(word_embedding_quant, 1)] ; shape mask_index_out[dim(input_ids, 0)]")
      .Pure(tables +
            "if has(segment_embedding) { t_segment[i, k] = cast(i32(segment_embedding[i, k]) - i32(segment_embedding_zero_point), dtype(segment_embedding_scale)) * segment_embedding_scale }\n"
            "g[k] = cast(i32(gamma_quant[k]) - i32(gamma_zero_point), dtype(gamma_scale)) * gamma_scale\n"
            "be[k] = cast(i32(beta_quant[k]) - i32(beta_zero_point), dtype(beta_scale)) * beta_scale\n" +
            Embedded("t_word_embedding", "t_position_embedding", "t_segment", "s + 0") + "let rank(o) = 2\n" +
            Centred("E[o.., k]") +
            "layernorm_out[o.., k] = T[o.., k] * g[k] + be[k]\n"
            "if has(mask) { mask_index_out[b] += mask[b, s] == 1 ? 1 : 0 } else { mask_index_out = 0 }")
      .Sample(
          "input_ids: i32[2, 3] in [0, 4]; segment_ids: i32[2, 3] in [0, 1]; word_embedding_quant: u8[5, 4] in [0, 255]; position_embedding_quant: u8[6, 4] in [0, 255]; segment_embedding: u8[2, 4] in [0, 255]; gamma_quant: u8[4] in [0, 255]; beta_quant: u8[4] in [0, 255]; "
          "word_embedding_scale: f32[] = 0.02; position_embedding_scale: f32[] = 0.01; segment_embedding_scale: f32[] = 0.03; gamma_scale: f32[] = 0.01; beta_scale: f32[] = 0.02; "
          "word_embedding_zero_point: u8[] = 120; position_embedding_zero_point: u8[] = 130; segment_embedding_zero_point: u8[] = 128; gamma_zero_point: u8[] = 10; beta_zero_point: u8[] = 128; attr epsilon = 1e-5");
}

}  // namespace onnxruntime_ops
