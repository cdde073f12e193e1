// What batch normalisation needs of a batch. Its gradient takes mean and variance as they were computed, and sums nothing again.
#include "plugins/training/families.h"

namespace training_ops {

void RegisterStatistics(Registrar& r) {
  r.op("train.ChannelMoments")
      .Doc("Mean of each channel, the second dimension, over all others, and the mean of the squared differences from it.")
      .Input("X", "float")
      .Output("mean", "float")
      .Output("variance", "float")
      .Shape("shape mean[dim(X, 1)]; shape variance[dim(X, 1)]")
      .Pure(
          "let x = wide(X[n, c, p..]) ; let count = len(n) * len(p)\n"
          "s[c] += x\n"
          "mu[c] = s[c] / count\n"
          "q[c] += (x - mu[c]) * (x - mu[c])\n"
          "mean[c] = cast(mu[c])\n"
          "variance[c] = cast(q[c] / count)")
      .Backward(
          "let m = wide(dmean[c] ?: 0) ; let v = wide(dvariance[c] ?: 0) ; let part = 1 / (len(n) * len(p))\n"
          "dX[n, c, p..] = cast((m + 2 * (wide(X[n, c, p..]) - wide(mean[c])) * v) * part)")
      .Sample("X: f32[2, 3, 4]")
      .Sample("X: f64[2, 3, 2, 2]")
      .Sample("X: f32[5, 2]");
}

}  // namespace training_ops
