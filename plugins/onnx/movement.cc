// Ops that only move elements: views, joins, cuts, padding, tiling, permutations.
#include "plugins/onnx/families.h"

namespace onnx_ops {

void RegisterMovement(Registrar& r) {
  const char* const same = "The same elements in the same order under another shape.";
  r.op("Reshape")
      .Doc(same)
      .Pure("reshaped.flat[i] = data.flat[i]")
      .Backward("ddata.flat[i] = dreshaped.flat[i]")
      .Sample("data: f32[2, 6]; shape: i64[2] = [3, 4]")
      .Sample("data: f32[2, 6]; shape: i64[3] = [0, -1, 2]")
      .Sample("data: f32[2, 0]; shape: i64[2] = [0, 5]; attr allowzero = 1")
      .Sample("data: f32[3, 4]; shape: i64[1] = [-1]");
  r.op("Flatten")
      .Doc(same)
      .Pure("output.flat[i] = input.flat[i]")
      .Backward("dinput.flat[i] = doutput.flat[i]")
      .Sample("input: f32[2, 3, 4]; attr axis = 1")
      .Sample("input: f32[2, 3, 4]; attr axis = 0")
      .Sample("input: f32[2, 3, 4]; attr axis = -1");
  r.op("Squeeze")
      .Doc(same)
      .Pure("squeezed.flat[i] = data.flat[i]")
      .Backward("ddata.flat[i] = dsqueezed.flat[i]")
      .Sample("data: f32[2, 1, 4]; axes: i64[1] = [1]")
      .Sample("data: f32[1, 3, 1]")
      .Sample("data: f32[2, 1, 1, 2]; axes: i64[2] = [-2, 1]");
  r.op("Unsqueeze")
      .Doc(same)
      .Pure("expanded.flat[i] = data.flat[i]")
      .Backward("ddata.flat[i] = dexpanded.flat[i]")
      .Sample("data: f32[2, 4]; axes: i64[1] = [1]")
      .Sample("data: f32[3]; axes: i64[2] = [0, -1]")
      .Sample("data: f32[]; axes: i64[1] = [0]");
  r.op("Transpose")
      .Doc("Permutes the dimensions; without perm reverses them.")
      .Pure("let q = perm ?: range(rank(data) - 1, -1, -1)\ntransposed[i..] = data[i..@q]")
      .Backward("let q = perm ?: range(rank(data) - 1, -1, -1)\nddata[i..@q] = dtransposed[i..]")
      .Sample("data: f32[2, 3, 4]; attr perm = [2, 0, 1]")
      .Sample("data: f32[2, 3]")
      .Sample("data: f32[2, 3, 4, 5]; attr perm = [0, 2, 1, 3]");
  r.op("Expand")
      .Doc("Broadcasts to a larger shape.")
      .Pure("output = input")
      .Backward("dinput += doutput")
      .Sample("input: f32[3, 1]; shape: i64[3] = [2, 1, 4]")
      .Sample("input: f32[2, 1]; shape: i64[1] = [3]")
      .Sample("input: f32[]; shape: i64[2] = [2, 3]");
  r.op("Tile")
      .Doc("Repeats the tensor along each dimension.")
      .Pure("output[i..] = input[i % dims(input)]")
      .Backward(
          "dinput[i..] += doutput[t * dims(input) + i] over i.. in 0:dims(input), t.. in 0:dims(output) // dims(input)")
      .Sample("input: f32[2, 3]; repeats: i64[2] = [2, 1]")
      .Sample("input: f32[1, 2, 2]; repeats: i64[3] = [3, 1, 2]")
      .Sample("input: f32[3]; repeats: i64[1] = [4]");
  r.op("Concat")
      .Doc("Joins tensors along an axis.")
      .Pure(
          "let at = 0\n"
          "each T in inputs {\n"
          "  concat_result[o.., at + k @(axis ?: 1)] = T[o.., k@(axis ?: 1)] over T\n"
          "  let at = at + dim(T, axis ?: 1)\n"
          "}")
      .Backward(
          "let at = 0\n"
          "each T in dinputs {\n"
          "  T[o.., k@(axis ?: 1)] = dconcat_result[o.., at + k @(axis ?: 1)] over T\n"
          "  let at = at + dim(T, axis ?: 1)\n"
          "}")
      .Sample("inputs: f32[2, 3]; inputs: f32[2, 1]; attr axis = 1")
      .Sample("inputs: f32[2, 3]; inputs: f32[1, 3]; inputs: f32[3, 3]; attr axis = 0")
      .Sample("inputs: f32[2, 3, 1]; inputs: f32[2, 3, 2]; attr axis = -1");
  r.op("Split")
      .Doc("Cuts a tensor into pieces along an axis.")
      .Pure(
          "let at = 0\n"
          "each T in outputs {\n"
          "  T[o.., k@axis] = input[o.., at + k @axis] over T\n"
          "  let at = at + dim(T, axis)\n"
          "}\n"
          "require at == dim(input, axis) else \"the pieces have {} elements in all and input has {}\", at, dim(input, axis)")
      .Backward(
          "let at = 0\n"
          "each T in doutputs {\n"
          "  dinput[o.., at + k @axis] = T[o.., k@axis] over T\n"
          "  let at = at + dim(T, axis)\n"
          "}")
      .Sample("input: f32[2, 6]; attr axis = 1, num_outputs = 3; out outputs, outputs, outputs")
      .Sample("input: f32[2, 5]; split: i64[2] = [2, 3]; attr axis = 1; out outputs, outputs")
      .Sample("input: f32[7]; attr num_outputs = 3; out outputs, outputs, outputs")
      .Sample("input: f32[4, 2]; split: i64[3] = [1, 0, 3]; attr axis = -2; out outputs, outputs, outputs");
  r.op("Slice")
      .Doc("A strided part along some axes; negative starts and steps count from the end.")
      .Pure(
          "let ax = axes ?: range(len(starts)) ; let d = dim(data, ax) ; let s = steps ?: 1\n"
          "let b = clamp(starts < 0 ? starts + d : starts, 0, s < 0 ? d - 1 : d)\n"
          "output[o.., k..@ax] = data[o.., b + k * s @ax] over output")
      .Backward(
          "let ax = axes ?: range(len(starts)) ; let d = dim(data, ax) ; let s = steps ?: 1\n"
          "let b = clamp(starts < 0 ? starts + d : starts, 0, s < 0 ? d - 1 : d)\n"
          "ddata = 0\n"
          "ddata[o.., b + k * s @ax] = doutput[o.., k..@ax] over doutput")
      .Sample("data: f32[5]; starts: i64[1] = [-3]; ends: i64[1] = [100]")
      .Sample(
          "data: f32[4, 6]; starts: i64[2] = [1, -1]; ends: i64[2] = [3, -7]; axes: i64[2] = [0, 1]; steps: i64[2] = [1, -2]")
      .Sample("data: f32[4, 6]; starts: i64[1] = [-3]; ends: i64[1] = [9223372036854775807]; axes: i64[1] = [-1]");
  const std::string pad =
      "let j = k - lo\n"
      "if mode == \"constant\" { output[o.., k..@ax] = data[o.., j@ax] ?? (VALUE) }\n"
      "else {\n"
      "  let cut = max(-lo, 0) ; let left = d - cut - max(-hi, 0)  # what is removed is not there to be wrapped\n"
      "  let j = mode == \"edge\" ? clamp(k - lo, 0, d - 1) : mode == \"wrap\" ? cut + (k - max(lo, 0)) % left : reflect(k - lo, d)\n"
      "  output[o.., k..@ax] = data[o.., j@ax] over output\n"
      "}";
  auto with = [&](const std::string& value) { return std::string(pad).replace(pad.find("VALUE"), 5, value); };
  r.op("Pad")
      .Doc("Adds (or, if negative, removes) elements at both ends: a constant, the edge, mirrored or wrapped.")
      .Versions(11)
      .Pure("let ax = axes ?: range(rank(data)) ; let lo = pads[0:len(ax)] ; let hi = pads[len(ax):2*len(ax)] ; let d = dim(data, ax)\n" +
            with("constant_value ?: 0"))
      .Sample("data: f32[2, 3]; pads: i64[4] = [1, 0, 0, 2]; attr mode = \"constant\"")
      .Sample("data: f32[2, 3]; pads: i64[4] = [1, 2, 0, 1]; attr mode = \"reflect\"")
      .Sample(
          "data: f32[2, 3]; pads: i64[2] = [2, 1]; constant_value: f32[] in [1, 2]; axes: i64[1] = [1]; attr mode = \"constant\"")
      .Sample("data: f32[4, 3]; pads: i64[4] = [-1, 2, 1, 2]; attr mode = \"wrap\"")
      .Sample("data: f32[2, 3]; pads: i64[4] = [1, 2, 0, 1]; attr mode = \"edge\"");
  r.op("Pad")
      .Doc("Adds elements at both ends: a constant, the edge or mirrored.")
      .Versions(2, 10)
      .Pure("let ax = range(rank(data)) ; let lo = pads[0:len(ax)] ; let hi = pads[len(ax):2*len(ax)] ; let d = dim(data, ax)\n" + with("value"))
      .Sample("data: f32[2, 3]; attr pads = [1, 0, 0, 2], mode = \"edge\"")
      .Sample("data: f32[2, 3]; attr pads = [1, 0, 0, 2], value = 0.5")
      .Sample("data: f32[3, 3]; attr pads = [1, 1, 2, 2], mode = \"reflect\"");
  r.op("Pad")
      .Doc("Adds elements at both ends: a constant, the edge or mirrored.")
      .Versions(1, 1)
      .Pure("let ax = range(rank(data)) ; let lo = paddings[0:len(ax)] ; let hi = paddings[len(ax):2*len(ax)] ; let d = dim(data, ax)\n" + with("value"))
      .Sample("data: f32[2, 3]; attr paddings = [1, 0, 0, 2], mode = \"edge\"")
      .Sample("data: f32[2, 3]; attr paddings = [1, 0, 0, 2], value = 0.5")
      .Sample("data: f32[3, 3]; attr paddings = [1, 1, 2, 2], mode = \"reflect\"");
  r.op("CenterCropPad")
      .Doc("Crops or pads symmetrically to a given size.")
      .Pure(
          "let ax = axes ?: range(rank(input_data)) ; let d = dim(input_data, ax)\n"
          "let off = shape > d ? -((shape - d) // 2) : (d - shape) // 2\n"
          "output_data[o.., k..@ax] = input_data[o.., k + off @ax] ?? 0")
      .Sample("input_data: f32[5, 2]; shape: i64[2] = [3, 4]")
      .Sample("input_data: f32[5, 2, 4]; shape: i64[2] = [2, 7]; attr axes = [2, 0]")
      .Sample("input_data: f32[5, 3]; shape: i64[1] = [4]; attr axes = [-2]");
  r.op("DepthToSpace")
      .Doc("Moves blocks of channels into space.")
      .Pure(
          "let b = blocksize ; let C = dim(output, 1)\n"
          "require dim(input, 1) % (b * b) == 0 else \"input has {} channels, no multiple of {}\", dim(input, 1), b * b\n"
          "let at = (mode ?: \"DCR\") == \"DCR\" ? (u * b + v) * C + c : (c * b + u) * b + v\n"
          "output[n, c, h*b + u, w*b + v] = input[n, at, h, w] over u in 0:b, v in 0:b, c in 0:C")
      .Backward(
          "let b = blocksize ; let C = dim(output, 1)\n"
          "let at = (mode ?: \"DCR\") == \"DCR\" ? (u * b + v) * C + c : (c * b + u) * b + v\n"
          "dinput[n, at, h, w] = doutput[n, c, h*b + u, w*b + v] over u in 0:b, v in 0:b, c in 0:C, h in 0:dim(input, 2), w in 0:dim(input, 3)")
      .Sample("input: f32[1, 8, 2, 3]; attr blocksize = 2")
      .Sample("input: f32[1, 8, 2, 3]; attr blocksize = 2, mode = \"CRD\"")
      .Sample("input: f32[2, 9, 1, 2]; attr blocksize = 3");
  r.op("SpaceToDepth")
      .Doc("Moves blocks of space into channels.")
      .Pure(
          "let b = blocksize ; let C = dim(input, 1)\n"
          "require dim(input, 2) % b == 0 && dim(input, 3) % b == 0 else \"blocks of {} don't divide an input of {} by {}\", b, dim(input, 2), dim(input, 3)\n"
          "let at = (mode ?: \"DCR\") == \"DCR\" ? (u * b + v) * C + c : (c * b + u) * b + v\n"
          "output[n, at, h, w] = input[n, c, h*b + u, w*b + v] over u in 0:b, v in 0:b, c in 0:C, h in 0:dim(output, 2), w in 0:dim(output, 3)")
      .Backward(
          "let b = blocksize ; let C = dim(input, 1)\n"
          "let at = (mode ?: \"DCR\") == \"DCR\" ? (u * b + v) * C + c : (c * b + u) * b + v\n"
          "dinput[n, c, h*b + u, w*b + v] = doutput[n, at, h, w] over u in 0:b, v in 0:b, c in 0:C, h in 0:dim(output, 2), w in 0:dim(output, 3)")
      .Sample("input: f32[1, 2, 4, 6]; attr blocksize = 2")
      .Sample("input: f32[2, 1, 6, 3]; attr blocksize = 3")
      .Sample("input: f32[1, 2, 4, 6]; attr blocksize = 2, mode = \"CRD\"");
  r.op("ReverseSequence")
      .Doc("Reverses the first sequence_lens[b] steps of each sequence.")
      .Pure(
          "let L = sequence_lens[b]\n"
          "Y[t@time_axis, b@batch_axis, o..] = input[(t < L ? L - 1 - t : t)@time_axis, b@batch_axis, o..]")
      .Backward(
          "let L = sequence_lens[b]\n"
          "dinput[t@time_axis, b@batch_axis, o..] = dY[(t < L ? L - 1 - t : t)@time_axis, b@batch_axis, o..]")
      .Sample("input: f32[4, 2]; sequence_lens: i64[2] = [3, 4]")
      .Sample("input: f32[4, 3, 2]; sequence_lens: i64[4] = [3, 1, 2, 0]; attr batch_axis = 0, time_axis = 1")
      .Sample("input: f32[3, 2, 2]; sequence_lens: i64[2] = [1, 3]; attr batch_axis = 1, time_axis = 0");
  r.op("Trilu")
      .Doc("The upper or lower triangle of the last two dimensions.")
      .Pure("output[.., i, j] = ((upper ?: 1) ? j - i >= (k ?: 0) : j - i <= (k ?: 0)) ? input[.., i, j] : 0")
      .Sample("input: f32[2, 3, 4]; k: i64[] = 1")
      .Sample("input: f32[3, 3]; attr upper = 0")
      .Sample("input: f32[3, 4]; k: i64[] = -1; attr upper = 0");
  r.op("Dropout")
      .Doc("At inference the input itself; in training drops elements with probability ratio and scales the rest.")
      .Versions(12)
      .Pure(
          "let p = ratio ?: 0.5\n"
          "let train = training_mode ?: false\n"
          "let s = i64(seed ?: 0)\n"
          "mask.flat[i] = !train || uniform(s, i) >= p\n"
          "output.flat[i] = !train || uniform(s, i) >= p ? (train ? data.flat[i] / (1 - p) : data.flat[i]) : 0")
      .Sample("data: f32[2, 3]")
      .Sample("data: f32[2, 3]; ratio: f32[] = 0.25; training_mode: bool[] = true; attr seed = 7; out output, mask");
  r.op("Dropout")
      .Doc("The input itself: these versions describe inference.")
      .Versions(7, 11)
      .Pure("output = data ; mask = 1")
      .Sample("data: f32[2, 3]")
      .Sample("data: f32[2, 3]; attr ratio = 0.25")
      .Sample("data: f32[3]; attr ratio = 0.0");
  r.op("Dropout")
      .Doc("The input itself where is_test is set; else as in training since version 12, with one mask for all runs.")
      .Versions(1, 6)
      .Pure(
          "let p = ratio ?: 0.5\n"
          "let train = !is_test\n"
          "mask.flat[i] = !train || uniform(0, i) >= p\n"
          "output.flat[i] = !train || uniform(0, i) >= p ? (train ? data.flat[i] / (1 - p) : data.flat[i]) : 0")
      .Sample("data: f32[2, 3]; attr is_test = 1")
      .Sample("data: f32[2, 3]; attr is_test = 1, ratio = 0.25")
      .Sample("data: f32[3]; attr is_test = 1, ratio = 0.0");
}

}  // namespace onnx_ops
