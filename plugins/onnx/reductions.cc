// Reductions over axes. `axes` is an attribute in old versions and an input in new ones; the forms read either.
#include "plugins/onnx/families.h"

namespace onnx_ops {
namespace {

const char kAxes[] =
    "let ax = len(axes ?? []) > 0 ? axes : (noop_with_empty_axes ?? 0) ? [] : range(rank(data))\n"
    "let kept = keepdims ? ax : []\n";

struct Reduction { const char *name, *doc, *body; };

const Reduction kReductions[] = {
    {"ReduceL1", "Sum of magnitudes.", "reduced[o.., 0@kept] += abs(data[o.., k..@ax])"},
    {"ReduceL2", "Square root of the sum of squares.",
     "S[o..] += data[o.., k..@ax] * data[o.., k..@ax]\nreduced[o.., 0@kept] = sqrt(S[o..])"},
    {"ReduceLogSum", "Logarithm of the sum.", "S[o..] += data[o.., k..@ax]\nreduced[o.., 0@kept] = log(S[o..])"},
    {"ReduceLogSumExp", "Logarithm of the sum of exponentials, without overflow.",
     "M[o..] max= data[o.., k..@ax]\nlet m = M[o..] == -inf || M[o..] == inf ? 0 : M[o..]\n"
     "S[o..] += exp(data[o.., k..@ax] - m)\nreduced[o.., 0@kept] = m + log(S[o..])"},
    {"ReduceMax", "Maximum.", "reduced[o.., 0@kept] max= data[o.., k..@ax]"},
    {"ReduceMean", "Arithmetic mean.",
     "reduced[o.., 0@kept] += data[o.., k..@ax]\nreduced[o.., 0@kept] = reduced[o.., 0@kept] / len(k)"},
    {"ReduceMin", "Minimum.", "reduced[o.., 0@kept] min= data[o.., k..@ax]"},
    {"ReduceProd", "Product.", "reduced[o.., 0@kept] *= data[o.., k..@ax]"},
    {"ReduceSum", "Sum.", "reduced[o.., 0@kept] += data[o.., k..@ax]"},
    {"ReduceSumSquare", "Sum of squares.", "let x = data[o.., k..@ax]\nreduced[o.., 0@kept] += x * x"},
};

// The first (or last) place of the extremum; NaN counts as extremum.
std::string Arg(const char* op) {
  return std::string("let kept = keepdims ? [axis] : []\nlet x = data[o.., k@axis]\nM[o..] ") + op +
         " x\nlet hit = x == M[o..] || isnan(x)\n"
         "if !(select_last_index ?? 0) { reduced[o.., 0@kept] min= hit ? k : len(k) }\n"
         "else { reduced[o.., 0@kept] max= hit ? k : -1 }";
}

}  // namespace

void RegisterReductions(Registrar& r) {
  for (const Reduction& x : kReductions)
    r.op(x.name).Doc(x.doc).Pure(kAxes + std::string(x.body)).Sample("data: f32[2, 3, 4] in [0.5, 2]; axes: i64[1] = [1]");
  r.op("ArgMax").Doc("Index of the largest element along an axis.").Pure(Arg("max="))
      .Sample("data: f32[2, 3, 4]; attr axis = 1").Sample("data: f32[2, 3]; at 1, 1, 1; attr axis = 1, select_last_index = 1");
  r.op("ArgMin").Doc("Index of the smallest element along an axis.").Pure(Arg("min="))
      .Sample("data: f32[2, 3, 4]; attr axis = 1").Sample("data: f32[2, 3]; at 1, 1, 1; attr axis = 1, select_last_index = 1");
}

}  // namespace onnx_ops
