// One value in, one value out, for every element. Kinks and saturation points are named in the samples.
#include "plugins/onnx/families.h"

namespace onnx_ops {
namespace {

struct Unary {
  const char *name, *doc, *pure, *samples;
};  // samples: with " | " between them

const Unary kUnary[] = {
    {"Abs", "Magnitude of each element.", "Y = abs(X)", "X: f32[2, 3] in [-100, 100]; at 0, -0, -1e-30"},
    {"Acos", "Inverse cosine.", "output = acos(input)", "input: f32[2, 3] in [-1, 1]; at 0, 0.999"},
    {"Acosh", "Inverse hyperbolic cosine.", "output = acosh(input)", "input: f32[2, 3] in [1, 100]"},
    {"Asin", "Inverse sine.", "output = asin(input)", "input: f32[2, 3] in [-1, 1]; at 0, 0.999"},
    {"Asinh", "Inverse hyperbolic sine.", "output = asinh(input)", "input: f32[2, 3] in [-100, 100]; at 0, 1e-30"},
    {"Atan", "Inverse tangent.", "output = atan(input)", "input: f32[2, 3] in [-100, 100]; at 0"},
    {"Atanh", "Inverse hyperbolic tangent.", "output = atanh(input)", "input: f32[2, 3] in [-0.99, 0.99]; at 0, 1e-30"},
    {"BitwiseNot", "Flips every bit.", "Y = ~X", "X: i32[2, 3] in [-100, 100]; at 0, -1"},
    {"Ceil", "Rounds up.", "Y = ceil(X)", "X: f32[2, 3] in [-10, 10]; at 0, -0.5, 2"},
    {"Celu", "Continuously differentiable exponential linear unit.", "Y = X > 0 ? X : alpha * expm1(X / alpha)",
     "X: f32[2, 3] in [-10, 10]; at 0, -0, -100; attr alpha = 2.0"
     " | X: f32[2, 3] in [-10, 10]; at 0; attr alpha = 0.5"
     " | X: f32[2, 3]"},
    {"Cos", "Cosine.", "output = cos(input)", "input: f32[2, 3] in [-10, 10]; at 0"},
    {"Cosh", "Hyperbolic cosine.", "output = cosh(input)", "input: f32[2, 3] in [-10, 10]; at 0"},
    {"Elu", "Exponential linear unit.", "Y = X > 0 ? X : alpha * expm1(X)",
     "X: f32[2, 3] in [-10, 10]; at 0, -0, -100; attr alpha = 0.5"
     " | X: f32[2, 3] in [-10, 10]; at 0; attr alpha = 2.0"
     " | X: f32[2, 3]"},
    {"Erf", "Error function.", "output = erf(input)", "input: f32[2, 3] in [-4, 4]; at 0, 1e-30, 10"},
    {"Exp", "e to the power of each element.", "output = exp(input)", "input: f32[2, 3] in [-10, 10]; at 0, -100, 88"},
    {"Floor", "Rounds down.", "Y = floor(X)", "X: f32[2, 3] in [-10, 10]; at 0, -0.5, 2"},
    {"Gelu", "Gaussian error linear unit, exact or by tanh.",
     "Y = approximate == \"tanh\" ? 0.5 * X * (1 + tanh(sqrt(2 / pi) * (X + 0.044715 * X * X * X)))\n"
     "                          : 0.5 * X * (1 + erf(X * sqrt(0.5)))",
     "X: f32[2, 3] in [-10, 10]; at 0, -100, 100; attr approximate = \"tanh\""
     " | X: f32[2, 3] in [-10, 10]; at 0, -100, 100"
     " | X: f32[3, 2]; attr approximate = \"none\""},
    {"HardSigmoid", "Piecewise linear sigmoid.", "let u = alpha * X[..] + beta\nY = u <= 0 ? 0 : u >= 1 ? 1 : u",
     "X: f32[2, 3] in [-10, 10]; at 0, -2.5, 2.5"
     " | X: f32[2, 3] in [-10, 10]; attr alpha = 0.5, beta = 0.6"
     " | X: f32[2, 3]; attr alpha = 1.0"},
    {"HardSwish", "X times a piecewise linear sigmoid of X.",
     "let u = X[..] <= -3 ? 0.0 : X[..] >= 3 ? 1.0 : X[..] / 6 + 0.5\nY = X * u",
     "X: f32[2, 3] in [-10, 10]; at 0, -3, 3"},
    {"Identity", "The input itself.", "output = input", "input: f32[2, 3]"},
    {"IsInf", "Is it infinite, of a sign that counts?",
     "Y = (detect_positive && X == inf) || (detect_negative && X == -inf)",
     "X: f32[2, 3]; at inf, -inf, nan, 0"
     " | X: f32[2, 3]; at inf, -inf, nan, 0; attr detect_positive = 0"
     " | X: f32[2, 3]; at inf, -inf, nan, 0; attr detect_negative = 0"},
    {"IsNaN", "Is it NaN?", "Y = isnan(X)", "X: f32[2, 3]; at nan, inf, 0"},
    {"LeakyRelu", "Linear with a smaller slope below zero.", "Y = X > 0 ? X : alpha * X",
     "X: f32[2, 3] in [-10, 10]; at 0, -0"
     " | X: f32[2, 3] in [-10, 10]; at 0; attr alpha = 0.5"
     " | X: f32[2, 3] in [-10, 10]; at 0; attr alpha = -0.25"},
    {"Log", "Natural logarithm.", "output = log(input)", "input: f32[2, 3] in [0.01, 100]; at 1, 1e-30"},
    // tanh(log(1 + e)) = n / (n + 2) with n = (1 + e)² - 1; beyond 20 it is 1.
    {"Mish", "X times tanh of softplus of X.", "let e = exp(X[..] > 20 ? 20.0 : X[..])\nlet n = e * (e + 2)\nY = X * (n / (n + 2))",
     "X: f32[2, 3] in [-10, 10]; at 0, -100, 100"},
    {"Neg", "Negation.", "Y = -X", "X: f32[2, 3] in [-10, 10]; at 0"},
    {"Not", "Logical negation.", "Y = !X", "X: bool[2, 3]"},
    {"Reciprocal", "One divided by each element.", "Y = 1 / X", "X: f32[2, 3] in [0.1, 10]; at -0.5"},
    {"Relu", "The positive part.", "Y = X <= 0 ? 0 : X", "X: f32[2, 3] in [-10, 10]; at 0, -0"},
    {"Round", "Nearest integer, halves to even.", "Y = rint(X)", "X: f32[2, 3] in [-10, 10]; at 0.5, 1.5, -0.5"},
    {"Selu", "Scaled exponential linear unit.", "Y = gamma * (X > 0 ? X : alpha * expm1(X))",
     "X: f32[2, 3] in [-10, 10]; at 0, -0, -100"
     " | X: f32[2, 3] in [-10, 10]; at 0; attr alpha = 2.0"
     " | X: f32[2, 3] in [-10, 10]; at 0; attr gamma = 0.5, alpha = 1.0"},
    {"Shrink", "Moves values towards zero by bias, small ones to zero.",
     "let x = is_int(input) ? f64(input[..]) : input[..]  # of integers: truncated\n"
     "output = cast(x < -lambd ? x + bias : x > lambd ? x - bias : 0)",
     "input: f32[2, 3] in [-2, 2]; at 0, 0.5, -0.5; attr bias = 0.25"
     " | input: f32[2, 3] in [-2, 2]; at 0, 1, -1; attr lambd = 1.0"
     " | input: f32[2, 3] in [-2, 2]; attr lambd = 0.25, bias = 0.5"},
    {"Sigmoid", "Logistic function.", "Y = X < 0 ? exp(X) / (1 + exp(X)) : 1 / (1 + exp(-X))",
     "X: f32[2, 3] in [-10, 10]; at 0, -100, 100"},
    {"Sign", "-1, 0 or 1.", "output = sign(input)", "input: f32[2, 3] in [-10, 10]; at 0, -0"},
    {"Sin", "Sine.", "output = sin(input)", "input: f32[2, 3] in [-10, 10]; at 0"},
    {"Sinh", "Hyperbolic sine.", "output = sinh(input)", "input: f32[2, 3] in [-10, 10]; at 0, 1e-30"},
    {"Softplus", "Smooth maximum with zero: log(1 + exp(X)).", "Y = max(X, 0) + log1p(exp(-abs(X)))",
     "X: f32[2, 3] in [-100, 100]; at 0, -0, 1e-30, 100"},
    {"Softsign", "X over one plus its magnitude.", "output = input / (1 + abs(input))",
     "input: f32[2, 3] in [-100, 100]; at 0, 1e30"},
    {"Sqrt", "Square root.", "Y = sqrt(X)", "X: f32[2, 3] in [0.01, 100]; at 1"},
    {"Swish", "X times a sigmoid of alpha times X.",
     "let u = alpha * X[..]\nY = u < 0 ? X * (exp(u) / (1 + exp(u))) : X / (1 + exp(-u))",
     "X: f32[2, 3] in [-10, 10]; at 0; attr alpha = 2.0"
     " | X: f32[2, 3] in [-10, 10]; at 0"
     " | X: f32[2, 3]; attr alpha = 0.5"},
    {"Tan", "Tangent.", "output = tan(input)", "input: f32[2, 3] in [-1.5, 1.5]; at 0"},
    {"Tanh", "Hyperbolic tangent.", "output = tanh(input)", "input: f32[2, 3] in [-10, 10]; at 0, 1e-30, 100"},
    {"ThresholdedRelu", "X where it is above alpha, else zero.", "Y = X > alpha ? X : 0",
     "X: f32[2, 3] in [-3, 3]; at 0, 1; attr alpha = 1.0"
     " | X: f32[2, 3] in [-10, 10]; at 0; attr alpha = 2.0"
     " | X: f32[2, 3]; attr alpha = 0.25"},
};

// One sample stands for ops without attributes: their kinks, and the same on a scalar and on three dimensions.
void SamplesOf(Registrar::Op& op, const Unary& u) {
  Samples(op, u.samples);
  const std::string text = u.samples, shape = "[2, 3]";
  const size_t at = text.find(shape);
  if (text.find(" | ") != std::string::npos || at == std::string::npos) return;
  const std::string before = text.substr(0, at), after = text.substr(at + shape.size());
  op.Sample(before + "[]" + after.substr(0, after.find(';')));
  op.Sample(before + "[2, 1, 3]" + after.substr(0, after.find(';')));
}

}  // namespace

void RegisterElementwise(Registrar& r) {
  for (const Unary& u : kUnary) SamplesOf(r.op(u.name).Doc(u.doc).Pure(u.pure), u);

  const char* const cast =
      "let power(v) = log2(f32(v)) ; let mode = round_mode ?: \"up\"  # f8e8m0 holds powers of two only\n"
      "output = dtype(output) == f8e8m0 && mode != \"nearest\" ? sat(pow(f32(2.0), (mode == \"up\" ? ceil(power(input)) : floor(power(input))))) :\n"
      "         (saturate ?: 1) && is_fp8(dtype(output)) ? sat(input) : cast(input)";
  r.op("Cast")
      .Doc("Converts to the output's type; float to integer truncates.")
      .Pure(cast)
      .Sample("input: f32[2, 3] in [-10, 10]; at 0.5, -0.5; attr to = 7")
      .Sample("input: f64[2, 3] in [-10, 10]; attr to = 1")
      .Sample("input: f32[2, 3] in [-10, 10]; attr to = 11")
      .Sample("input: i32[2, 3] in [-100, 100]; attr to = 1")
      .Sample("input: f32[2, 3] in [-500, 500]; attr to = 17, saturate = 0")
      .Sample("input: f32[2, 3] in [-10, 10]; attr to = 10");
  r.op("CastLike")
      .Doc("Converts to the type of another tensor.")
      .Pure(cast)
      .Sample("input: f32[2, 3] in [-10, 10]; target_type: i32[1]")
      .Sample("input: f32[2, 3] in [-10, 10]; target_type: f64[1]")
      .Sample("input: f64[2, 3] in [-10, 10]; target_type: f32[1]");
  r.op("Clip")
      .Doc("Limits each element to [min, max]; a bound that is absent does not limit.")
      .Pure(
          "let x = input[..]  # a bound that is NaN wins\n"
          "let v = has(min) ? (x < min || isnan(min) ? min : x) : x\n"
          "output = has(max) ? (v > max || isnan(max) ? max : v) : v")
      .Sample("input: f32[2, 3] in [-10, 10]; min: f32[] = -1; max: f32[] = 2")
      .Sample("input: f32[2, 3] in [-10, 10]; at 1, 2; min: f32[] in [1, 1]; max: f32[] in [2, 2]")
      .Sample("input: f32[2, 3] in [-10, 10]")
      .Sample("input: i32[2, 3] in [-9, 9]; max: i32[] = 4");
  r.op("Where")
      .Doc("One of two values by a condition, all broadcast.")
      .Pure("output = condition ? X : Y")
      .Sample("condition: bool[2, 3]; X: f32[2, 3]; Y: f32[3]")
      .Sample("condition: bool[3, 1]; X: f32[1, 2]; Y: f32[]")
      .Sample("condition: bool[4]; X: f32[]; Y: f32[2, 4]");
  r.op("PRelu")
      .Doc("Linear with a learnt slope below zero.")
      .Versions(7)
      .Pure("Y = X > 0 ? X : slope * X")
      .Sample("X: f32[2, 3] in [-10, 10]; at 0; slope: f32[3]")
      .Sample("X: f32[2, 3, 2] in [-10, 10]; at 0; slope: f32[3, 1]")
      .Sample("X: f32[4] in [-10, 10]; slope: f32[1]");
  r.op("PRelu")
      .Doc("Linear with a learnt slope below zero, one for all or one per channel.")
      .Versions(1, 6)
      .Pure(
          "if len(slope) == 1 { Y = X > 0 ? X : slope * X } else { Y[n, c, p..] = X[n, c, p..] > 0 ? X[n, c, p..] : slope[c] * X[n, c, p..] }")
      .Sample("X: f32[2, 3, 4] in [-10, 10]; at 0; slope: f32[3]");
  r.op("SwiGLU")
      .Doc("Gated linear unit: B times swish of A.")
      .Pure(
          "require dims(A) == dims(B) else \"A and B differ in shape\"\n"
          "let u = alpha * A[..]\nY = u < 0 ? B * (A * (exp(u) / (1 + exp(u)))) : B * (A / (1 + exp(-u)))")
      .Sample("A: f32[2, 3] in [-10, 10]; B: f32[2, 3]")
      .Sample("A: f32[2, 3] in [-10, 10]; at 0; B: f32[2, 3]; attr alpha = 2.0")
      .Sample("A: f32[2, 3] in [-10, 10]; B: f32[2, 3]; attr alpha = 0.5");
}

}  // namespace onnx_ops
