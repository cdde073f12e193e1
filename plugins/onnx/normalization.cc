// Normalisations: mean and variance over some dimensions, then scale and shift.
#include "plugins/onnx/families.h"

namespace onnx_ops {

void RegisterNormalization(Registrar& r) {
  // "The type of stage one" widens f16 to f32 and never narrows f64: the specification's 1 means f32 at least.
  const char* const stash = "let stash(v) = stash_type == 1 ? wide(v) : cast(v, stash_type)\n";
  const char* const given =
      "  r[c] = scale[c] / sqrt(VAR[c] + epsilon)\n"
      "  Y[n, c, p..] = (X[n, c, p..] - MEAN[c]) * r[c] + B[c]\n";
  auto with = [](std::string text, const std::string& mean, const std::string& var) {
    text.replace(text.find("VAR"), 3, var);
    return text.replace(text.find("MEAN"), 4, mean);
  };
  r.op("BatchNormalization")
      .Doc("Normalises each channel, by given statistics or by the batch's own when training.")
      .Versions(14)
      .Pure("if !training_mode {\n" + with(given, "input_mean", "input_var") +
            "} else {\n"
            "  let x = X[n, c, p..] ; let part = 1 / (len(n) * len(p))\n"
            "  mu[c] += x * part\n"
            "  var[c] += (x - mu[c]) * (x - mu[c]) * part\n" +
            with(given, "mu", "var") +
            "  running_mean[c] = input_mean[c] * momentum + mu[c] * (1 - momentum)\n"
            "  running_var[c] = input_var[c] * momentum + var[c] * (1 - momentum)\n"
            "}")
      .Backward(
          "let x = X[n, c, p..] ; let g = dY[n, c, p..] ?: 0 ; let part = 1 / (len(n) * len(p))\n"
          "let dm = drunning_mean[c] ?: 0 ; let dv = drunning_var[c] ?: 0\n"
          "if training_mode { mu[c] += x * part ; var[c] += (x - mu[c]) * (x - mu[c]) * part }\n"
          "else { mu = input_mean ; var = input_var }\n"
          "r[c] = 1 / sqrt(var[c] + epsilon)\n"
          "s[c] += g over X[n, c, p..]\n"
          "t[c] += g * (x - mu[c]) * r[c]\n"
          "dscale[c] = t[c]\n"
          "dB[c] = s[c]\n"
          "if training_mode {\n"
          "  dX[n, c, p..] = scale[c] * r[c] * (g - s[c] * part - (x - mu[c]) * r[c] * t[c] * part) + "
          "(1 - momentum) * part * (dm + 2 * (x - mu[c]) * dv)\n"
          "  dinput_mean[c] = momentum * dm ; dinput_var[c] = momentum * dv\n"
          "} else {\n"
          "  dX[n, c, p..] = g * scale[c] * r[c]\n"
          "  dinput_mean[c] = -s[c] * scale[c] * r[c]\n"
          "  dinput_var[c] = -0.5 * t[c] * scale[c] * r[c] * r[c]\n"
          "}")
      .Sample("X: f32[2, 3, 4]; scale: f32[3]; B: f32[3]; input_mean: f32[3]; input_var: f32[3] in [0.5, 2]")
      .Sample(
          "X: f32[2, 3, 4]; scale: f32[3]; B: f32[3]; input_mean: f32[3]; input_var: f32[3] in [0.5, 2]; attr training_mode = 1; out Y, running_mean, running_var")
      .Sample(
          "X: f32[2, 3, 4]; scale: f32[3]; B: f32[3]; input_mean: f32[3]; input_var: f32[3] in [0.5, 2]; attr training_mode = 1, momentum = 0.5, epsilon = 0.01; out Y, running_mean, running_var")
      .Sample(
          "X: f32[2, 3, 4]; scale: f32[3]; B: f32[3]; input_mean: f32[3]; input_var: f32[3] in [0.5, 2]; attr epsilon = 0.1");
  // Up to version 13 the outputs have names of inputs: in3 and in4 are the given mean and variance. Versions 7 to 13 train
  // when more than Y is asked for, those before when is_test is not set.
  r.op("BatchNormalization")
      .Doc("Normalises each channel (or, not spatial, each element) by given statistics, or by the batch's own.")
      .Versions(1, 13)
      .Pure(
          "let train = has(mean) || !(is_test ?: 1)\n"
          "if train && (spatial ?: 1) {\n"
          "  let x = X[n, c, p..] ; let part = 1 / (len(n) * len(p))\n"
          "  bm[c] += x * part\n"
          "  bv[c] += (x - bm[c]) * (x - bm[c]) * part\n" +
          with(given, "bm", "bv") +
          "  mean[c] = in3[c] * momentum + bm[c] * (1 - momentum)\n"
          "  var[c] = in4[c] * momentum + bv[c] * (1 - momentum)\n"
          "  saved_mean[c] = bm[c] ; saved_var[c] = bv[c]\n"
          "}\n"
          "if !train && (spatial ?: 1) {\n" +
          with(given, "in3", "in4") +
          "} else { if !train {\n"
          "  r[c, p..] = scale[c, p..] / sqrt(in4[c, p..] + epsilon)\n"
          "  Y[n, c, p..] = (X[n, c, p..] - in3[c, p..]) * r[c, p..] + B[c, p..]\n"
          "} }")
      .Sample("X: f32[2, 3, 4]; scale: f32[3]; B: f32[3]; mean: f32[3]; var: f32[3] in [0.5, 2]")
      .Sample("X: f32[2, 3]; scale: f32[3]; B: f32[3]; mean: f32[3]; var: f32[3] in [0.5, 2]; attr epsilon = 0.1")
      .Sample(
          "X: f32[1, 3, 2, 2]; scale: f32[3]; B: f32[3]; mean: f32[3]; var: f32[3] in [0.5, 2]; attr momentum = 0.5")
      .Sample(
          "X: f32[2, 3, 4]; scale: f32[3]; B: f32[3]; mean: f32[3]; var: f32[3] in [0.5, 2]; attr momentum = 0.5; out Y, mean, var, saved_mean, saved_var");
  const char* const group =
      "require dim(X, 1) % num_groups == 0 else \"X has {} channels, which {} groups don't divide\", dim(X, 1), num_groups\n"
      "let D = dim(X, 1) // num_groups ; let x = VALUE ; let part = 1 / (D * len(p))\n"
      "mu[n, g] += x * part over g in 0:num_groups, c in 0:D\n"
      "var[n, g] += (x - mu[n, g]) * (x - mu[n, g]) * part over g in 0:num_groups, c in 0:D\n"
      "r[n, g] = 1 / sqrt(var[n, g] + epsilon)\n";
  auto of = [&](const std::string& value) {
    return std::string(group).replace(std::string(group).find("VALUE"), 5, value);
  };
  auto group_gradient = [&](const std::string& value, const std::string& channel, const std::string& dy,
                            const std::string& scale) {
    return of(value) + "let h = (x - mu[n, g]) * r[n, g] ; let d = " + dy + " ; let e = d * " + scale +
           "\n"
           "s[n, g] += e * part over g in 0:num_groups, c in 0:D\n"
           "t[n, g] += e * h * part over g in 0:num_groups, c in 0:D\n"
           "dX[n, g*D + c, p..] = cast((e - s[n, g] - h * t[n, g]) * r[n, g]) over g in 0:num_groups, c in 0:D\n"
           "dscale[" +
           channel +
           "] += d * h over g in 0:num_groups, c in 0:D\n"
           "dbias[" +
           channel + "] += d over g in 0:num_groups, c in 0:D";
  };
  r.op("GroupNormalization")
      .Doc("Normalises each group of channels of each sample.")
      .Versions(21)
      .Pure(
          stash + of("stash(X[n, g*D + c, p..])") +
          "require dim(scale, 0) == dim(X, 1) else \"scale has {} elements where X has {} channels\", dim(scale, 0), dim(X, 1)\n"
          "require dim(bias, 0) == dim(X, 1) else \"bias has {} elements where X has {} channels\", dim(bias, 0), dim(X, 1)\n"
          "Y[n, g*D + c, p..] = cast((x - mu[n, g]) * r[n, g]) * scale[g*D + c] + bias[g*D + c] over g in 0:num_groups, c in 0:D")
      .Backward(stash + group_gradient("stash(X[n, g*D + c, p..])", "g*D + c", "stash(dY[n, g*D + c, p..])",
                                       "stash(scale[g*D + c])"))
      .Sample("X: f32[2, 4, 5]; scale: f32[4]; bias: f32[4]; attr num_groups = 2")
      .Sample("X: f32[2, 4, 5]; scale: f32[4]; bias: f32[4]; attr num_groups = 4, epsilon = 0.1")
      .Sample("X: f32[2, 4, 2, 3]; scale: f32[4]; bias: f32[4]; attr num_groups = 1");
  r.op("GroupNormalization")
      .Doc("Normalises each group of channels of each sample; scale and bias per group.")
      .Versions(18, 20)
      .Pure(of("X[n, g*D + c, p..]") +
            "Y[n, g*D + c, p..] = (x - mu[n, g]) * r[n, g] * scale[g] + bias[g] over g in 0:num_groups, c in 0:D")
      .Backward(group_gradient("X[n, g*D + c, p..]", "g", "dY[n, g*D + c, p..]", "scale[g]"))
      .Sample("X: f32[2, 4, 5]; scale: f32[2]; bias: f32[2]; attr num_groups = 2")
      .Sample("X: f32[2, 4, 5]; scale: f32[4]; bias: f32[4]; attr num_groups = 4, epsilon = 0.1")
      .Sample("X: f32[2, 4, 2, 3]; scale: f32[1]; bias: f32[1]; attr num_groups = 1");
  r.op("InstanceNormalization")
      .Doc("Normalises each channel of each sample.")
      .Pure(
          "let x = input[n, c, p..] ; let part = 1 / len(p)\n"
          "mu[n, c] += x * part\n"
          "var[n, c] += (x - mu[n, c]) * (x - mu[n, c]) * part\n"
          "r[n, c] = scale[c] / sqrt(var[n, c] + epsilon)\n"
          "output[n, c, p..] = (x - mu[n, c]) * r[n, c] + B[c]")
      .Backward(
          "let x = input[n, c, p..] ; let g = doutput[n, c, p..] ; let part = 1 / len(p)\n"
          "mu[n, c] += x * part\n"
          "var[n, c] += (x - mu[n, c]) * (x - mu[n, c]) * part\n"
          "r[n, c] = 1 / sqrt(var[n, c] + epsilon)\n"
          "s[n, c] += g\n"
          "t[n, c] += g * (x - mu[n, c]) * r[n, c]\n"
          "dB[c] += s[n, c]\n"
          "dscale[c] += t[n, c]\n"
          "dinput[n, c, p..] = scale[c] * r[n, c] * (g - s[n, c] * part - (x - mu[n, c]) * r[n, c] * t[n, c] * part)")
      .Sample("input: f32[2, 3, 4]; scale: f32[3]; B: f32[3]")
      .Sample("input: f32[2, 3, 4]; scale: f32[3]; B: f32[3]; attr epsilon = 0.1")
      .Sample("input: f32[1, 2, 3, 3]; scale: f32[2]; B: f32[2]; attr epsilon = 0.001");
  r.op("LayerNormalization")
      .Doc("Normalises over the dimensions from `axis` on.")
      .Pure(std::string(stash) +
            "let rank(o) = axis < 0 ? axis + rank(X) : axis\n"
            "let x = stash(X[o.., k..]) ; let part = 1 / len(k)\n"
            "mu[o..] += x * part\n"
            "var[o..] += (x - mu[o..]) * (x - mu[o..]) * part\n"
            "r[o..] = 1 / sqrt(var[o..] + epsilon)\n"
            "T[o.., k..] = cast((x - mu[o..]) * r[o..], dtype(X))\n"
            "Y = T * Scale + (B ?: 0)\n"
            "Mean[o.., 0@range(rank(o), rank(X))] = mu[o..]\n"
            "InvStdDev[o.., 0@range(rank(o), rank(X))] = r[o..]")
      .Backward(std::string(stash) +
                "let rank(o) = axis < 0 ? axis + rank(X) : axis\n"
                "let x = stash(X[o.., k..]) ; let part = 1 / len(k)\n"
                "mu[o..] += x * part\n"
                "var[o..] += (x - mu[o..]) * (x - mu[o..]) * part\n"
                "r[o..] = 1 / sqrt(var[o..] + epsilon)\n"
                "T[o.., k..] = (x - mu[o..]) * r[o..]\n"
                "E = stash(dY) * stash(Scale)\n"
                "s[o..] += E[o.., k..] * part\n"
                "t[o..] += E[o.., k..] * T[o.., k..] * part\n"
                "dX[o.., k..] = cast((E[o.., k..] - s[o..] - T[o.., k..] * t[o..]) * r[o..])\n"
                "dScale += stash(dY) * T\n"
                "dB += stash(dY)")
      .Sample("X: f32[2, 3, 4]; Scale: f32[4]; B: f32[4]")
      .Sample("X: f32[2, 3, 4]; Scale: f32[3, 4]; attr axis = 1")
      .Sample("X: f32[2, 3, 4]; Scale: f32[2, 3, 4]; attr axis = 0, epsilon = 0.1")
      .Sample("X: f32[2, 3, 4]; Scale: f32[4]; B: f32[4]; attr axis = -1; out Y, Mean, InvStdDev");
  r.op("RMSNormalization")
      .Doc("Divides by the root mean square over the dimensions from `axis` on.")
      .Pure(std::string(stash) +
            "let rank(o) = axis < 0 ? axis + rank(X) : axis\n"
            "let x = stash(X[o.., k..])\n"
            "ms[o..] += x * x * (1 / len(k))\n"
            "r[o..] = 1 / sqrt(ms[o..] + epsilon)\n"
            "T[o.., k..] = cast(x * r[o..], dtype(X))\n"
            "Y = T * scale")
      .Backward(std::string(stash) +
                "let rank(o) = axis < 0 ? axis + rank(X) : axis\n"
                "let x = stash(X[o.., k..]) ; let part = 1 / len(k)\n"
                "ms[o..] += x * x * part\n"
                "r[o..] = 1 / sqrt(ms[o..] + epsilon)\n"
                "T[o.., k..] = x * r[o..]\n"
                "E = stash(dY) * stash(scale)\n"
                "t[o..] += E[o.., k..] * T[o.., k..] * part\n"
                "dX[o.., k..] = cast((E[o.., k..] - T[o.., k..] * t[o..]) * r[o..])\n"
                "dscale += stash(dY) * T")
      .Sample("X: f32[2, 3, 4]; scale: f32[4]")
      .Sample("X: f32[2, 3, 4]; scale: f32[3, 4]; attr axis = 1")
      .Sample("X: f32[2, 3, 4]; scale: f32[4]; attr epsilon = 0.1");
  r.op("LRN")
      .Doc("Local response normalisation across neighbouring channels.")
      .Pure(
          "S[n, c, p..] += (X[n, c + j, p..] ?? 0) * (X[n, c + j, p..] ?? 0) "
          "over j in 0 - (size - 1) // 2 : (size - 1) - (size - 1) // 2 + 1, c in 0:dim(X, 1)\n"
          "Y[n, c, p..] = X[n, c, p..] / pow(bias + alpha / size * S[n, c, p..], beta)")
      .Sample("X: f32[2, 5, 3]; attr size = 3")
      .Sample("X: f32[2, 5, 3]; attr size = 2, alpha = 0.1, beta = 0.5, bias = 2.0")
      .Sample("X: f32[1, 4, 2, 2]; attr size = 5, alpha = 0.5");
  r.op("LpNormalization")
      .Doc("Divides by the L1 or L2 norm along an axis.")
      .Pure(
          "S[o..] += p == 1 ? abs(input[o.., k@axis]) : input[o.., k@axis] * input[o.., k@axis]\n"
          "let n = p == 1 ? S[o..] : sqrt(S[o..])\n"
          "output[o.., k@axis] = n == 0 ? 0 : input[o.., k@axis] / n")
      .Sample("input: f32[2, 3]; at 0, 0, 0; attr axis = 1, p = 2")
      .Sample("input: f32[2, 3]; attr axis = 0, p = 1")
      .Sample("input: f32[2, 3, 4]; attr axis = -1");
  r.op("MeanVarianceNormalization")
      .Doc("Subtracts the mean and divides by the standard deviation over some axes.")
      .Pure(
          "let ax = axes ?: [0, 2, 3]\n"
          "mu[o..] += X[o.., k..@ax] * (1 / len(k))\n"
          "var[o..] += (X[o.., k..@ax] - mu[o..]) * (X[o.., k..@ax] - mu[o..]) * (1 / len(k))\n"
          "Y[o.., k..@ax] = (X[o.., k..@ax] - mu[o..]) / (sqrt(var[o..]) + 1e-9)")
      .Sample("X: f32[2, 3, 2, 2]")
      .Sample("X: f32[2, 3, 4]; attr axes = [0, 2]")
      .Sample("X: f32[2, 3]; attr axes = [1]");
}

}  // namespace onnx_ops
