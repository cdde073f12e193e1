// Classification losses and running sums.
#include "plugins/onnx/families.h"

namespace onnx_ops {

void RegisterLosses(Registrar& r) {
  r.op("NegativeLogLikelihoodLoss")
      .Doc("Negated input at the target class, weighted; averaged, summed or per element.")
      .Pure(
          "let t = target[n, p..] ; let live = !has(ignore_index) || t != ignore_index\n"
          "if has(weight) { require dim(weight, 0) == dim(input, 1) else \"weight has {} elements and input {} classes\", dim(weight, 0), dim(input, 1) }\n"
          "let w = live ? weight[t] ?: 1.0 : 0\n"
          "let l = live ? -input[n, t, p..] * w : 0\n"
          "if reduction == \"none\" { loss[n, p..] = l over target[n, p..] }\n"
          "else {\n"
          "  loss[] += l over target[n, p..]\n"
          "  if reduction == \"mean\" { W[] += w over target[n, p..] ; loss[] = loss / W }\n"
          "}")
      .Backward(
          "let t = target[n, p..] ; let live = !has(ignore_index) || t != ignore_index\n"
          "let w = live ? weight[t] ?: 1.0 : 0\n"
          "if reduction == \"mean\" { W[] += w over target[n, p..] }\n"
          "let g = reduction == \"none\" ? dloss[n, p..] : reduction == \"mean\" ? dloss[] / W[] : dloss[]\n"
          "dinput[n, c, p..] = c == t && live ? -w * g : 0")
      .Sample("input: f32[3, 5]; target: i64[3] = [1, 0, 4]")
      .Sample("input: f32[3, 5]; target: i64[3] = [1, 0, 4]; weight: f32[5] in [0.1, 1]")
      .Sample(
          "input: f32[2, 5, 3]; target: i64[2, 3] = [1, 0, 4, 2, 3, 1]; weight: f32[5] in [0.1, 1]; attr ignore_index = 1, reduction = \"sum\"")
      .Sample(
          "input: f32[2, 5, 3]; target: i64[2, 3] = [1, 0, 4, 2, 3, 1]; attr reduction = \"none\", ignore_index = 3")
      .Sample(
          "input: f32[2, 5, 3]; target: i64[2, 3] = [1, 0, 4, 2, 3, 1]; weight: f32[5] in [0.1, 1]; attr ignore_index = 0");
  r.op("SoftmaxCrossEntropyLoss")
      .Doc("Negative log-likelihood of the softmax of the scores.")
      .Pure(
          "M[n, p..] max= scores[n, c, p..]\n"
          "S[n, p..] += exp(scores[n, c, p..] - M[n, p..])\n"
          "L[n, c, p..] = scores[n, c, p..] - M[n, p..] - log(S[n, p..])\n"
          "log_prob = L\n"
          "let t = labels[n, p..] ; let live = !has(ignore_index) || t != ignore_index\n"
          "let w = live ? weights[t] ?: 1.0 : 0\n"
          "let l = live ? -L[n, t, p..] * w : 0\n"
          "if reduction == \"none\" { output[n, p..] = l over labels[n, p..] }\n"
          "else {\n"
          "  output[] += l over labels[n, p..]\n"
          "  if reduction == \"mean\" { W[] += w over labels[n, p..] ; output[] = output / W }\n"
          "}")
      .Backward(
          "M[n, p..] max= scores[n, c, p..]\n"
          "S[n, p..] += exp(scores[n, c, p..] - M[n, p..])\n"
          "let t = labels[n, p..] ; let live = !has(ignore_index) || t != ignore_index\n"
          "let w = live ? weights[t] ?: 1.0 : 0\n"
          "if reduction == \"mean\" { W[] += w over labels[n, p..] }\n"
          "let d = doutput[] ?: 0\n"
          "let g = reduction == \"none\" ? doutput[n, p..] ?: 0 : reduction == \"mean\" ? d / W[] : d\n"
          "G[n, c, p..] = (dlog_prob[n, c, p..] ?: 0) - (c == t && live ? w * g : 0) over scores[n, c, p..]\n"
          "D[n, p..] += G[n, c, p..]\n"
          "dscores[n, c, p..] = G[n, c, p..] - exp(scores[n, c, p..] - M[n, p..]) / S[n, p..] * D[n, p..]")
      .Sample("scores: f32[3, 5]; labels: i64[3] = [1, 0, 4]")
      .Sample(
          "scores: f32[2, 5, 3]; labels: i64[2, 3] = [1, 0, 4, 2, 3, 1]; weights: f32[5] in [0.1, 1]; attr ignore_index = 1, reduction = \"sum\"; out output, log_prob")
      .Sample(
          "scores: f32[2, 5, 3]; labels: i64[2, 3] = [1, 0, 4, 2, 3, 1]; attr reduction = \"none\", ignore_index = 3")
      .Sample(
          "scores: f32[2, 5, 3]; labels: i64[2, 3] = [1, 0, 4, 2, 3, 1]; weights: f32[5] in [0.1, 1]; attr ignore_index = 0");
  // Of half precision what runs on is a temporary, which is f32: rounded to the target it would stand still at 2048.
  auto scan = [](const std::string& start, const std::string& op) {
    const auto steps = [&](const std::string& into) {
      return "  for t in 0:n {\n"
             "    let i = reverse ? n - 1 - t : t ; let j = reverse ? i + 1 : i - 1\n"
             "    " + into + "[o.., i@axis] = (" + into + "[o.., j@axis] ?? " + start + ") " + op +
             " (exclusive ? x[o.., j@axis] ?? " + start + " : x[o.., i@axis])\n  }\n";
    };
    return "let n = dim(x, axis)\nif dtype(x) == f16 || dtype(x) == bf16 {\n  S = wide(x)\n" + steps("S") + "  y = S\n} else {\n  y = " + start +
           "\n" + steps("y") + "}";
  };
  r.op("CumSum")
      .Doc("Running sum along an axis, forwards or backwards, with or without the element itself.")
      .Pure(scan("0", "+"))
      .Backward(
          "let n = dim(x, axis)\nif dtype(x) == f16 || dtype(x) == bf16 {\n  S = wide(dy)\n  for t in 0:n {\n"
          "    let i = reverse ? t : n - 1 - t ; let j = reverse ? i - 1 : i + 1\n"
          "    S[o.., i@axis] = (S[o.., j@axis] ?? 0) + (exclusive ? dy[o.., j@axis] ?? 0 : dy[o.., i@axis])\n  }\n  dx = S\n"
          "} else {\n  dx = 0\n  for t in 0:n {\n"
          "    let i = reverse ? t : n - 1 - t ; let j = reverse ? i - 1 : i + 1\n"
          "    dx[o.., i@axis] = (dx[o.., j@axis] ?? 0) + (exclusive ? dy[o.., j@axis] ?? 0 : dy[o.., i@axis])\n  }\n}")
      .Sample("x: f32[2, 5]; axis: i64[] = 1")
      .Sample("x: f32[2, 5]; axis: i64[] = 0; attr exclusive = 1, reverse = 1")
      .Sample("x: f32[5]; axis: i32[] = -1; attr reverse = 1")
      .Sample("x: f32[2, 3, 2]; axis: i64[] = 1; attr exclusive = 1");
  r.op("CumProd")
      .Doc("Running product along an axis, forwards or backwards, with or without the element itself.")
      .Pure(scan("1", "*"))
      .Sample("x: f32[2, 5]; axis: i64[] = 1")
      .Sample("x: f32[2, 4]; axis: i64[] = 0; attr reverse = 1")
      .Sample("x: f32[2, 4]; axis: i64[] = -1; attr exclusive = 1, reverse = 1");
}

}  // namespace onnx_ops
