// Scaling of losses for gradients in f16, whose smallest number is 2^-24.
#include "plugins/training/families.h"

namespace training_ops {

void RegisterScaling(Registrar& r) {
  r.op("train.LossScale")
      .Doc(
          "Whether a step on gradients of a loss times `scale` is taken: all of them are finite. If not, the scale halves; after `interval` "
          "steps in a row it doubles, up to 2^24. `factor` is one divided by the scale, `good` counts steps since it changed, `taken` all.")
      .Input("scale", "f32")
      .Input("good", "i64")
      .Input("taken", "i64")
      .Input("gradients", "float", /*optional=*/false, /*variadic=*/true)
      .Output("go", "bool")
      .Output("factor", "f64")
      .Output("scale_new", "f32")
      .Output("good_new", "i64")
      .Output("taken_new", "i64")
      .Attribute("interval", "int", "2000")
      .Shape("shape go[] ; shape factor[] ; shape scale_new[] ; shape good_new[] ; shape taken_new[]")
      .Pure(
          "each g in gradients { B[] += isnan(g[k..]) || isinf(g[k..]) ? i64(1) : i64(0) }\n"
          "let fine = B[] == 0 ; let full = good[] + 1 >= interval\n"
          "go[] = fine\n"
          "factor[] = 1 / f64(scale[])\n"
          "scale_new[] = fine ? (full ? min(scale[] * 2, 16777216) : scale[]) : max(scale[] / 2, 1)\n"
          "good_new[] = fine && !full ? good[] + 1 : 0\n"
          "taken_new[] = fine ? taken[] + 1 : taken[]")
      .Sample("scale: f32[] in [8, 8]; good: i64[] = 3; taken: i64[] = 7; gradients: f32[2, 3]; gradients: f32[4]; attr interval = 5")
      .Sample("scale: f32[] in [8, 8]; good: i64[] = 4; taken: i64[] = 7; gradients: f32[3]; gradients: f32[2, 1]; attr interval = 5")
      .Sample("scale: f32[] in [8, 8]; good: i64[] = 4; taken: i64[] = 7; gradients: f32[3]; at inf; attr interval = 5");
  r.op("train.ClipScaledNorm")
      .Doc("ClipNorm of gradients that are to be multiplied by `factor`: the factor of both.")
      .Input("factor", "f64")
      .Input("gradients", "float", /*optional=*/false, /*variadic=*/true)
      .Output("scale", "f64")
      .Attribute("max_norm", "float", "1")
      .Shape("shape scale[]")
      .Pure(
          "each g in gradients { S[] += f64(g[k..]) * f64(g[k..]) }\n"
          "scale[] = min(max_norm / (sqrt(S) * factor[] + 1e-6), 1) * factor[]")
      .Sample("factor: f64[] in [0.1, 0.2]; gradients: f32[2, 3] in [10, 20]; gradients: f32[4]; attr max_norm = 0.5")
      .Sample("factor: f64[] in [0.1, 0.2]; gradients: f32[3]; attr max_norm = 100.0")
      .Sample("factor: f64[] in [0.1, 0.2]; gradients: f64[3] in [4, 8]; gradients: f64[]; attr max_norm = 0.25");
}

}  // namespace training_ops
