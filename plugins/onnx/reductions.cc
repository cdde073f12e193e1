// Reductions over axes. `axes` is an attribute in old versions and an input in new ones; the forms read either.
#include "plugins/onnx/families.h"

namespace onnx_ops {
namespace {

const char kAxes[] =
    "let ax = len(axes ?: []) > 0 ? axes : (noop_with_empty_axes ?: 0) ? [] : range(rank(data))\n"
    "let kept = keepdims ? ax : []\n";

// Roots and logarithms of integers are truncated.
const char kReal[] = "let real(v) = is_int(data) ? f64(v) : v\n";

struct Reduction {
  const char *name, *doc, *body, *gradient;
};  // gradient: "" = the derivative of the form

// Extrema share the gradient among equals, as torch.amax does.
const char kShared[] =
    "C[o..] += data[o.., k..@ax] == y ? 1 : 0\n"
    "ddata[o.., k..@ax] = data[o.., k..@ax] == y ? g / cast(C[o..], dtype(data)) : 0";
// The product of the others, right at zeros.
const char kOthers[] =
    "let x = data[o.., k..@ax]\nZ[o..] += x == 0 ? 1 : 0\nP[o..] *= x == 0 ? 1 : x\n"
    "ddata[o.., k..@ax] = x == 0 ? (Z[o..] == 1 ? g * P[o..] : 0) : Z[o..] == 0 ? g * (y / x) : 0";

const Reduction kReductions[] = {
    {"ReduceL1", "Sum of magnitudes.", "reduced[o.., 0@kept] += abs(data[o.., k..@ax])",
     "ddata[o.., k..@ax] = g * sign(data[o.., k..@ax])"},
    {"ReduceL2", "Square root of the sum of squares.",
     "S[o..] += data[o.., k..@ax] * data[o.., k..@ax]\n"
     "reduced[o.., 0@kept] = cast(sqrt(real(S[o..])))",
     "ddata[o.., k..@ax] = y == 0 ? 0 : g * (data[o.., k..@ax] / y)"},
    {"ReduceLogSum", "Logarithm of the sum.",
     "S[o..] += data[o.., k..@ax]\nreduced[o.., 0@kept] = cast(log(real(S[o..])))", ""},
    {"ReduceLogSumExp", "Logarithm of the sum of exponentials, without overflow.",
     "M[o..] max= data[o.., k..@ax]\nlet m = M[o..] == -inf || M[o..] == inf ? 0 : M[o..]\n"
     "S[o..] += exp(real(data[o.., k..@ax] - m))\nreduced[o.., 0@kept] = cast(real(m) + log(S[o..]))",
     "ddata[o.., k..@ax] = g * exp(data[o.., k..@ax] - (y == -inf ? 0 : y))"},
    {"ReduceMax", "Maximum.", "reduced[o.., 0@kept] max= data[o.., k..@ax]", kShared},
    {"ReduceMean", "Arithmetic mean.",
     "reduced[o.., 0@kept] += data[o.., k..@ax]\nreduced[o.., 0@kept] = reduced[o.., 0@kept] / len(k)",
     "ddata[o.., k..@ax] = g / len(k)"},
    {"ReduceMin", "Minimum.", "reduced[o.., 0@kept] min= data[o.., k..@ax]", kShared},
    {"ReduceProd", "Product.", "reduced[o.., 0@kept] *= data[o.., k..@ax]", kOthers},
    {"ReduceSum", "Sum.", "reduced[o.., 0@kept] += data[o.., k..@ax]", "ddata[o.., k..@ax] = g"},
    {"ReduceSumSquare", "Sum of squares.", "let x = data[o.., k..@ax]\nreduced[o.., 0@kept] += x * x",
     "ddata[o.., k..@ax] = 2 * data[o.., k..@ax] * g"},
};

// The first (or last) place of the extremum; NaN counts as extremum.
std::string Arg(const char* op) {
  return std::string("let kept = keepdims ? [axis] : []\nlet x = data[o.., k@axis]\nM[o..] ") + op +
         " x\nlet hit = x == M[o..] || isnan(x)\n"
         "if !(select_last_index ?: 0) { reduced[o.., 0@kept] min= hit ? k : len(k) }\n"
         "else { reduced[o.., 0@kept] max= hit ? k : -1 }";
}

}  // namespace

void RegisterReductions(Registrar& r) {
  for (const Reduction& x : kReductions)
    r.op(x.name)
        .Doc(x.doc)
        .Pure(kAxes + std::string(kReal) + x.body)
        .Backward(*x.gradient ? kAxes + std::string("let g = dreduced[o.., 0@kept] ; let y = reduced[o.., 0@kept]\n") +
                                    x.gradient
                              : "")
        .Sample("data: f32[2, 3, 4] in [0.5, 2]; axes: i64[1] = [1]")
        .Sample("data: f32[2, 3, 4] in [0.5, 2]; axes: i64[2] = [0, -1]; attr keepdims = 0")
        .Sample("data: f32[2, 3] in [0.5, 2]")
        .Sample("data: f32[2, 3] in [0.5, 2]; attr noop_with_empty_axes = 1");
  r.op("ArgMax")
      .Doc("Index of the largest element along an axis.")
      .Pure(Arg("max="))
      .Sample("data: f32[2, 3, 4]; attr axis = 1")
      .Sample("data: f32[2, 3]; at 1, 1, 1; attr axis = 1, select_last_index = 1");
  r.op("ArgMin")
      .Doc("Index of the smallest element along an axis.")
      .Pure(Arg("min="))
      .Sample("data: f32[2, 3, 4]; attr axis = 1")
      .Sample("data: f32[2, 3]; at 1, 1, 1; attr axis = 1, select_last_index = 1");
}

}  // namespace onnx_ops
