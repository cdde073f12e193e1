// What is minimised and counted, besides onnx.SoftmaxCrossEntropyLoss. Sums of half precision are carried out in f32.
#include "plugins/training/families.h"

namespace training_ops {

void RegisterLosses(Registrar& r) {
  r.op("train.MeanSquaredError")
      .Doc("Mean of the squared differences of all elements.")
      .Input("X", "float")
      .Input("target", "float")
      .Output("loss", "float")
      .Shape("shape loss[]")
      .Pure(
          "let d = wide(X[k..]) - wide(target[k..])\n"
          "S[] += d * d\n"
          "loss[] = S / prod(dims(X))")
      .Backward(
          "let g = 2 / prod(dims(X)) * wide(dloss[])\n"
          "dX[k..] = cast((wide(X[k..]) - wide(target[k..])) * g)\n"
          "dtarget[k..] = cast((wide(target[k..]) - wide(X[k..])) * g)")
      .Sample("X: f32[2, 3]; target: f32[2, 3]")
      .Sample("X: f32[]; target: f32[]")
      .Sample("X: f64[2, 2, 3]; target: f64[2, 2, 3]");
  r.op("train.Hits")
      .Doc("How many scores are largest, the first of equal ones, at the class that the label names.")
      .Input("scores", "float")
      .Input("labels", "integer")
      .Output("hits", "i64")
      .Shape("shape hits[]")
      .Pure(
          "let C = dim(scores, 1)\n"
          "M[n, p..] max= scores[n, c, p..]\n"
          "A[n, p..] min= scores[n, c, p..] == M[n, p..] ? i64(c) : i64(C)\n"
          "hits[] += A[n, p..] == i64(labels[n, p..]) ? 1 : 0")
      .Sample("scores: f32[4, 3]; labels: i64[4] in [0, 2]")
      .Sample("scores: f32[2, 3, 5]; labels: i32[2, 5] in [0, 2]");
}

}  // namespace training_ops
