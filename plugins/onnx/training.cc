// Optimizer steps (ai.onnx.preview.training) and the classical ops of ai.onnx.ml that are arithmetic.
// An optimizer takes n tensors of each kind one kind after the other: parameters, gradients, state.
#include "plugins/onnx/families.h"

namespace onnx_ops {

void RegisterTraining(Registrar& r) {
  r.op("ai.onnx.preview.training.Adagrad")
      .Doc("One Adagrad step.")
      .Pure(
          "let n = len(inputs) // 3 ; let rate = R / (1 + f32(T) * decay_factor)\n"
          "each i in 0:n {\n"
          "  let g(x, d) = norm_coefficient * x + d\n"
          "  outputs[n + i] = inputs[2*n + i] + g(inputs[i], inputs[n + i]) * g(inputs[i], inputs[n + i])\n"
          "  outputs[i] = inputs[i] - rate * g(inputs[i], inputs[n + i]) / (sqrt(outputs[n + i]) + epsilon)\n"
          "}")
      .Sample(
          "R: f32[] = 0.1; T: i64[] = 1; inputs: f32[2]; inputs: f32[2]; inputs: f32[2] in [0, 1]; out outputs, outputs")
      .Sample(
          "R: f32[] in [0.05, 0.2]; T: i64[] = 3; inputs: f32[2]; inputs: f32[3]; inputs: f32[2]; inputs: f32[3]; inputs: f32[2] in [0, 1]; inputs: f32[3] in [0, 1]; attr norm_coefficient = 0.1, decay_factor = 0.2, epsilon = 0.001; out outputs, outputs, outputs, outputs")
      .Sample(
          "R: f32[] in [0.05, 0.2]; T: i64[] = 0; inputs: f32[2]; inputs: f32[2]; inputs: f32[2] in [0, 1]; attr epsilon = 0.01; out outputs, outputs");
  r.op("ai.onnx.preview.training.Adam")
      .Doc("One Adam step.")
      .Pure(
          "let n = len(inputs) // 4\n"
          "let rate = T > 0 ? R * sqrt(1 - pow(beta, f32(T))) / (1 - pow(alpha, f32(T))) : R\n"
          "each i in 0:n {\n"
          "  let g(x, d) = norm_coefficient * x + d\n"
          "  outputs[n + i] = alpha * inputs[2*n + i] + (1 - alpha) * g(inputs[i], inputs[n + i])\n"
          "  outputs[2*n + i] = beta * inputs[3*n + i] + (1 - beta) * g(inputs[i], inputs[n + i]) * g(inputs[i], inputs[n + i])\n"
          "  outputs[i] = (1 - norm_coefficient_post) * (inputs[i] - rate * outputs[n + i] / (sqrt(outputs[2*n + i]) + epsilon))\n"
          "}")
      .Sample(
          "R: f32[] = 0.1; T: i64[] = 1; inputs: f32[2]; inputs: f32[2]; inputs: f32[2]; inputs: f32[2] in [0, 1]; out outputs, outputs, outputs")
      .Sample(
          "R: f32[] in [0.05, 0.2]; T: i64[] = 3; inputs: f32[2]; inputs: f32[3]; inputs: f32[2]; inputs: f32[3]; inputs: f32[2] in [0, 1]; inputs: f32[3] in [0, 1]; inputs: f32[2] in [0, 1]; inputs: f32[3] in [0, 1]; attr alpha = 0.8, beta = 0.9, epsilon = 0.01, norm_coefficient = 0.1; out outputs, outputs, outputs, outputs, outputs, outputs")
      .Sample(
          "R: f32[] in [0.05, 0.2]; T: i64[] = 0; inputs: f32[2]; inputs: f32[2]; inputs: f32[2] in [0, 1]; inputs: f32[2] in [0, 1]; attr norm_coefficient_post = 0.1, epsilon = 0.01; out outputs, outputs, outputs");
  r.op("ai.onnx.preview.training.Momentum")
      .Doc("One step of gradient descent with momentum, standard or Nesterov's.")
      .Pure(
          "let n = len(inputs) // 3 ; let b = T > 0 ? beta : 1.0\n"
          "each i in 0:n {\n"
          "  let g(x, d) = norm_coefficient * x + d\n"
          "  outputs[n + i] = alpha * inputs[2*n + i] + b * g(inputs[i], inputs[n + i])\n"
          "  outputs[i] = inputs[i] - R * (mode == \"nesterov\" ? g(inputs[i], inputs[n + i]) + alpha * outputs[n + i] : outputs[n + i])\n"
          "}")
      .Sample(
          "R: f32[] = 0.1; T: i64[] = 1; inputs: f32[2]; inputs: f32[2]; inputs: f32[2]; "
          "attr alpha = 0.9, beta = 0.1, norm_coefficient = 0.01, mode = \"standard\"; out outputs, outputs")
      .Sample(
          "R: f32[] in [0.05, 0.2]; T: i64[] = 3; inputs: f32[2]; inputs: f32[3]; inputs: f32[2]; inputs: f32[3]; inputs: f32[2] in [0, 1]; inputs: f32[3] in [0, 1]; attr alpha = 0.9, beta = 0.1, norm_coefficient = 0.01, mode = \"nesterov\"; out outputs, outputs, outputs, outputs")
      .Sample(
          "R: f32[] in [0.05, 0.2]; T: i64[] = 0; inputs: f32[2]; inputs: f32[2]; inputs: f32[2] in [0, 1]; attr alpha = 0.5, beta = 0.3, norm_coefficient = 0.2, mode = \"nesterov\"; out outputs, outputs");
  r.op("ai.onnx.ml.Binarizer")
      .Doc("One above a threshold, zero elsewhere.")
      .Pure("Y = X > threshold ? 1 : 0")
      .Sample("X: f32[2, 3]; at 0")
      .Sample("X: f32[2, 3]; at 0.5; attr threshold = 0.5")
      .Sample("X: f32[3]; attr threshold = -1.0");
  r.op("ai.onnx.ml.ArrayFeatureExtractor")
      .Doc("Columns of the last dimension, by index.")
      .Pure(
          "let n = prod(dims(Y))\n"
          "if rank(X) == 1 { Z[0, j] = X[Y.flat[j]] over j in 0:n } else { Z[o.., j] = X[o.., Y.flat[j]] over j in 0:n }")
      .Sample("X: f32[2, 4]; Y: i64[2] = [3, 0]")
      .Sample("X: f32[4]; Y: i64[2, 2] = [3, 0, 1, 1]")
      .Sample("X: f32[2, 5]; Y: i64[3] = [4, 0, 4]")
      .Sample("X: f32[2, 2, 3]; Y: i64[1] = [1]");
  r.op("ai.onnx.ml.Scaler")
      .Doc("(X - offset) times scale, per column or for all.")
      .Pure(
          "let column(list, j) = len(list) == 1 ? list[0] : list[j]\n"
          "Y[o.., j] = (f32(X[o.., j]) - column(offset ?: [0], j)) * column(scale ?: [1], j)")
      .Sample("X: f32[2, 3]; attr offset = [1.0, 0.5, 2.0], scale = [2.0]")
      .Sample("X: f32[2, 3]; attr scale = [2.0, 1.0, 0.5]")
      .Sample("X: f32[2, 3]; attr offset = [1.5]");
}

}  // namespace onnx_ops
