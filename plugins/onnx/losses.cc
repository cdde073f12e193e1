// Classification losses and running sums.
#include "plugins/onnx/families.h"

namespace onnx_ops {

void RegisterLosses(Registrar& r) {
  r.op("NegativeLogLikelihoodLoss").Doc("Negated input at the target class, weighted; averaged, summed or per element.")
      .Pure("let t = target[n, p..] ; let live = !has(ignore_index) || t != ignore_index\n"
            "let w = live ? weight[t] ?? 1.0 : 0\n"
            "let l = live ? -input[n, t, p..] * w : 0\n"
            "if reduction == \"none\" { loss[n, p..] = l over target[n, p..] }\n"
            "else {\n"
            "  loss[] += l over target[n, p..]\n"
            "  if reduction == \"mean\" { W[] += w over target[n, p..] ; loss[] = loss / W }\n"
            "}")
      .Sample("input: f32[3, 5]; target: i64[3] = [1, 0, 4]").Sample("input: f32[3, 5]; target: i64[3] = [1, 0, 4]; weight: f32[5] in [0.1, 1]");
  r.op("SoftmaxCrossEntropyLoss").Doc("Negative log-likelihood of the softmax of the scores.")
      .Pure("M[n, p..] max= scores[n, c, p..]\n"
            "S[n, p..] += exp(scores[n, c, p..] - M[n, p..])\n"
            "L[n, c, p..] = scores[n, c, p..] - M[n, p..] - log(S[n, p..])\n"
            "log_prob = L\n"
            "let t = labels[n, p..] ; let live = !has(ignore_index) || t != ignore_index\n"
            "let w = live ? weights[t] ?? 1.0 : 0\n"
            "let l = live ? -L[n, t, p..] * w : 0\n"
            "if reduction == \"none\" { output[n, p..] = l over labels[n, p..] }\n"
            "else {\n"
            "  output[] += l over labels[n, p..]\n"
            "  if reduction == \"mean\" { W[] += w over labels[n, p..] ; output[] = output / W }\n"
            "}")
      .Sample("scores: f32[3, 5]; labels: i64[3] = [1, 0, 4]");
  auto scan = [](const char* start, const char* op) {
    return std::string("let n = dim(x, axis)\ny = ") + start + "\nfor t in 0:n {\n"
           "  let i = reverse ? n - 1 - t : t ; let j = reverse ? i + 1 : i - 1\n"
           "  y[o.., i@axis] = (y[o.., j@axis] ?? " + start + ") " + op + " (exclusive ? x[o.., j@axis] ?? " + start + " : x[o.., i@axis])\n}";
  };
  r.op("CumSum").Doc("Running sum along an axis, forwards or backwards, with or without the element itself.").Pure(scan("0", "+"))
      .Sample("x: f32[2, 5]; axis: i64[] = 1").Sample("x: f32[2, 5]; axis: i64[] = 0; attr exclusive = 1, reverse = 1");
  r.op("CumProd").Doc("Running product along an axis, forwards or backwards, with or without the element itself.").Pure(scan("1", "*"))
      .Sample("x: f32[2, 5]; axis: i64[] = 1");
}

}  // namespace onnx_ops
