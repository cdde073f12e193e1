// Normalisations: mean and variance over some dimensions, then scale and shift.
#include "plugins/onnx/families.h"

namespace onnx_ops {

void RegisterNormalization(Registrar& r) {
  const char* const given =
      "  r[c] = scale[c] / sqrt(VAR[c] + epsilon)\n"
      "  Y[n, c, p..] = (X[n, c, p..] - MEAN[c]) * r[c] + B[c]\n";
  auto with = [](std::string text, const std::string& mean, const std::string& var) {
    text.replace(text.find("VAR"), 3, var);
    return text.replace(text.find("MEAN"), 4, mean);
  };
  r.op("BatchNormalization").Doc("Normalises each channel, by given statistics or by the batch's own when training.").Versions(14)
      .Pure("if !training_mode {\n" + with(given, "input_mean", "input_var") +
            "} else {\n"
            "  let x = X[n, c, p..] ; let part = 1 / (len(n) * len(p))\n"
            "  mu[c] += x * part\n"
            "  var[c] += (x - mu[c]) * (x - mu[c]) * part\n" + with(given, "mu", "var") +
            "  running_mean[c] = input_mean[c] * momentum + mu[c] * (1 - momentum)\n"
            "  running_var[c] = input_var[c] * momentum + var[c] * (1 - momentum)\n"
            "}")
      .Sample("X: f32[2, 3, 4]; scale: f32[3]; B: f32[3]; input_mean: f32[3]; input_var: f32[3] in [0.5, 2]")
      .Sample("X: f32[2, 3, 4]; scale: f32[3]; B: f32[3]; input_mean: f32[3]; input_var: f32[3] in [0.5, 2]; attr training_mode = 1");
  // Up to version 13 the outputs have names of inputs: in3 and in4 are the given mean and variance.
  r.op("BatchNormalization").Doc("Normalises each channel (or, not spatial, each element) by given statistics.").Versions(1, 13)
      .Pure("if (is_test ?? 1) && (spatial ?? 1) {\n" + with(given, "in3", "in4") +
            "} else { if is_test ?? 1 {\n"
            "  r[c, p..] = scale[c, p..] / sqrt(in4[c, p..] + epsilon)\n"
            "  Y[n, c, p..] = (X[n, c, p..] - in3[c, p..]) * r[c, p..] + B[c, p..]\n"
            "} }")
      .Sample("X: f32[2, 3, 4]; scale: f32[3]; B: f32[3]; mean: f32[3]; var: f32[3] in [0.5, 2]");
  const char* const group =
      "let D = dim(X, 1) // num_groups ; let x = VALUE ; let part = 1 / (D * len(p))\n"
      "mu[n, g] += x * part over g in 0:num_groups, c in 0:D\n"
      "var[n, g] += (x - mu[n, g]) * (x - mu[n, g]) * part over g in 0:num_groups, c in 0:D\n"
      "r[n, g] = 1 / sqrt(var[n, g] + epsilon)\n";
  auto of = [&](const std::string& value) { return std::string(group).replace(std::string(group).find("VALUE"), 5, value); };
  r.op("GroupNormalization").Doc("Normalises each group of channels of each sample.").Versions(21)
      .Pure(of("cast(X[n, g*D + c, p..], stash_type)") +
            "Y[n, g*D + c, p..] = cast((x - mu[n, g]) * r[n, g]) * scale[g*D + c] + bias[g*D + c] over g in 0:num_groups, c in 0:D")
      .Sample("X: f32[2, 4, 5]; scale: f32[4]; bias: f32[4]; attr num_groups = 2");
  r.op("GroupNormalization").Doc("Normalises each group of channels of each sample; scale and bias per group.").Versions(18, 20)
      .Pure(of("X[n, g*D + c, p..]") +
            "Y[n, g*D + c, p..] = (x - mu[n, g]) * r[n, g] * scale[g] + bias[g] over g in 0:num_groups, c in 0:D")
      .Sample("X: f32[2, 4, 5]; scale: f32[2]; bias: f32[2]; attr num_groups = 2");
  r.op("InstanceNormalization").Doc("Normalises each channel of each sample.")
      .Pure("let x = input[n, c, p..] ; let part = 1 / len(p)\n"
            "mu[n, c] += x * part\n"
            "var[n, c] += (x - mu[n, c]) * (x - mu[n, c]) * part\n"
            "r[n, c] = scale[c] / sqrt(var[n, c] + epsilon)\n"
            "output[n, c, p..] = (x - mu[n, c]) * r[n, c] + B[c]")
      .Sample("input: f32[2, 3, 4]; scale: f32[3]; B: f32[3]");
  r.op("LayerNormalization").Doc("Normalises over the dimensions from `axis` on.")
      .Pure("let rank(o) = axis < 0 ? axis + rank(X) : axis\n"
            "let x = cast(X[o.., k..], stash_type) ; let part = 1 / len(k)\n"
            "mu[o..] += x * part\n"
            "var[o..] += (x - mu[o..]) * (x - mu[o..]) * part\n"
            "r[o..] = 1 / sqrt(var[o..] + epsilon)\n"
            "T[o.., k..] = cast((x - mu[o..]) * r[o..], dtype(X))\n"
            "Y = T * Scale + (B ?? 0)\n"
            "Mean[o.., 0@range(rank(o), rank(X))] = mu[o..]\n"
            "InvStdDev[o.., 0@range(rank(o), rank(X))] = r[o..]")
      .Sample("X: f32[2, 3, 4]; Scale: f32[4]; B: f32[4]").Sample("X: f32[2, 3, 4]; Scale: f32[3, 4]; attr axis = 1");
  r.op("RMSNormalization").Doc("Divides by the root mean square over the dimensions from `axis` on.")
      .Pure("let rank(o) = axis < 0 ? axis + rank(X) : axis\n"
            "let x = cast(X[o.., k..], stash_type)\n"
            "ms[o..] += x * x * (1 / len(k))\n"
            "r[o..] = 1 / sqrt(ms[o..] + epsilon)\n"
            "T[o.., k..] = cast(x * r[o..], dtype(X))\n"
            "Y = T * scale")
      .Sample("X: f32[2, 3, 4]; scale: f32[4]");
  r.op("LRN").Doc("Local response normalisation across neighbouring channels.")
      .Pure("S[n, c, p..] += (X[n, c + j, p..] ?? 0) * (X[n, c + j, p..] ?? 0) "
            "over j in 0 - (size - 1) // 2 : (size - 1) - (size - 1) // 2 + 1, c in 0:dim(X, 1)\n"
            "Y[n, c, p..] = X[n, c, p..] / pow(bias + alpha / size * S[n, c, p..], beta)")
      .Sample("X: f32[2, 5, 3]; attr size = 3");
  r.op("LpNormalization").Doc("Divides by the L1 or L2 norm along an axis.")
      .Pure("S[o..] += p == 1 ? abs(input[o.., k@axis]) : input[o.., k@axis] * input[o.., k@axis]\n"
            "let n = p == 1 ? S[o..] : sqrt(S[o..])\n"
            "output[o.., k@axis] = n == 0 ? 0 : input[o.., k@axis] / n")
      .Sample("input: f32[2, 3]; at 0, 0, 0; attr axis = 1, p = 2");
  r.op("MeanVarianceNormalization").Doc("Subtracts the mean and divides by the standard deviation over some axes.")
      .Pure("let ax = axes ?? [0, 2, 3]\n"
            "mu[o..] += X[o.., k..@ax] * (1 / len(k))\n"
            "var[o..] += (X[o.., k..@ax] - mu[o..]) * (X[o.., k..@ax] - mu[o..]) * (1 / len(k))\n"
            "Y[o.., k..@ax] = (X[o.., k..@ax] - mu[o..]) / (sqrt(var[o..]) + 1e-9)")
      .Sample("X: f32[2, 3, 2, 2]");
}

}  // namespace onnx_ops
