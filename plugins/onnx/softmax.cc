// Softmax and its kin. Before version 13 all dimensions from `axis` on are one.
#include "plugins/onnx/families.h"

namespace onnx_ops {

void RegisterSoftmax(Registrar& r) {
  r.op("Softmax")
      .Doc("Exponentials along an axis, normalised to sum to one.")
      .Versions(13)
      .Pure(
          "M[o..] max= input[o.., k@axis]\n"
          "E[o.., k@axis] = exp(input[o.., k@axis] - M[o..])\n"
          "let step(v) = dtype(input) == f16 ? f16(v) : v  # temporaries of half precision are f32; ONNX's body rounds each step\n"
          "S[o..] += step(E[o.., k@axis])\n"
          "let part(e, s) = dtype(input) == f16 ? step(e) / step(s) : e * (1 / s)\n"
          "output[o.., k@axis] = part(E[o.., k@axis], S[o..])")
      .Backward(
          "G[o..] += doutput[o.., k@axis] * output[o.., k@axis]\n"
          "dinput[o.., k@axis] = (doutput[o.., k@axis] - G[o..]) * output[o.., k@axis]")
      .Sample("input: f32[2, 3, 4] in [-100, 100]; attr axis = 1")
      .Sample("input: f32[2, 3, 4]; attr axis = -1")
      .Sample("input: f32[2, 3, 4]; attr axis = 0");
  r.op("Softmax")
      .Doc("Softmax over the dimensions from `axis` on, taken as one.")
      .Versions(1, 12)
      .Pure(
          "let rank(o) = axis < 0 ? axis + rank(input) : axis\n"
          "M[o..] max= input[o.., k..]\n"
          "E[o.., k..] = exp(input[o.., k..] - M[o..])\n"
          "S[o..] += E[o.., k..]\n"
          "output[o.., k..] = E[o.., k..] * (1 / S[o..])")
      .Backward(
          "let rank(o) = axis < 0 ? axis + rank(input) : axis\n"
          "G[o..] += doutput[o.., k..] * output[o.., k..]\n"
          "dinput[o.., k..] = (doutput[o.., k..] - G[o..]) * output[o.., k..]")
      .Sample("input: f32[2, 3, 4] in [-100, 100]; attr axis = 1")
      .Sample("input: f32[2, 3, 4]; attr axis = 2")
      .Sample("input: f32[2, 3, 4]; attr axis = 0");
  r.op("LogSoftmax")
      .Doc("Logarithm of the softmax, without overflow.")
      .Versions(13)
      .Pure(
          "M[o..] max= input[o.., k@axis]\n"
          "S[o..] += exp(input[o.., k@axis] - M[o..])\n"
          "output[o.., k@axis] = input[o.., k@axis] - M[o..] - log(S[o..])")
      .Backward(
          "G[o..] += doutput[o.., k@axis]\n"
          "dinput[o.., k@axis] = doutput[o.., k@axis] - exp(output[o.., k@axis]) * G[o..]")
      .Sample("input: f32[2, 3, 4] in [-100, 100]; attr axis = 1")
      .Sample("input: f32[2, 3, 4]; attr axis = -1")
      .Sample("input: f32[2, 3, 4]; attr axis = 0");
  r.op("LogSoftmax")
      .Doc("Log-softmax over the dimensions from `axis` on, taken as one.")
      .Versions(1, 12)
      .Pure(
          "let rank(o) = axis < 0 ? axis + rank(input) : axis\n"
          "M[o..] max= input[o.., k..]\n"
          "S[o..] += exp(input[o.., k..] - M[o..])\n"
          "output[o.., k..] = input[o.., k..] - M[o..] - log(S[o..])")
      .Backward(
          "let rank(o) = axis < 0 ? axis + rank(input) : axis\n"
          "G[o..] += doutput[o.., k..]\n"
          "dinput[o.., k..] = doutput[o.., k..] - exp(output[o.., k..]) * G[o..]")
      .Sample("input: f32[2, 3, 4] in [-100, 100]; attr axis = 1")
      .Sample("input: f32[2, 3, 4]; attr axis = 2")
      .Sample("input: f32[2, 3, 4]; attr axis = 0");
  r.op("Hardmax")
      .Doc("One at the first maximum along an axis, zero elsewhere.")
      .Versions(13)
      .Pure(
          "M[o..] max= input[o.., k@axis]\n"
          "A[o..] min= input[o.., k@axis] == M[o..] || isnan(input[o.., k@axis]) ? k : len(k)\n"
          "output[o.., k@axis] = k == A[o..] ? 1 : 0")
      .Sample("input: f32[2, 3, 4]; at 1, 1; attr axis = 1")
      .Sample("input: f32[2, 3, 4]; attr axis = -1")
      .Sample("input: f32[2, 3, 4]; attr axis = 0");
  r.op("Hardmax")
      .Doc("One at the first maximum over the dimensions from `axis` on, zero elsewhere.")
      .Versions(1, 12)
      .Pure(
          "let rank(o) = axis < 0 ? axis + rank(input) : axis\n"
          "let at = fold(k, dims(input)[rank(o):rank(input)])\n"
          "M[o..] max= input[o.., k..]\n"
          "A[o..] min= input[o.., k..] == M[o..] || isnan(input[o.., k..]) ? at : len(k)\n"
          "output[o.., k..] = at == A[o..] ? 1 : 0")
      .Sample("input: f32[2, 3, 4]; at 1, 1; attr axis = 1")
      .Sample("input: f32[2, 3, 4]; attr axis = 2")
      .Sample("input: f32[2, 3, 4]; attr axis = 0");
}

}  // namespace onnx_ops
