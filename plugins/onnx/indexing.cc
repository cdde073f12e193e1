// Reads and writes at indices that are data. Negative indices count from the end.
#include "plugins/onnx/families.h"

namespace onnx_ops {
namespace {

// One write per reduction, `none` included.
std::string Scatter(const std::string& target, const std::string& value) {
  const char* const ops[][2] = {{"none", "="}, {"add", "+="}, {"mul", "*="}, {"max", "max="}, {"min", "min="}};
  std::string out;
  for (const auto& [name, op] : ops)
    out += std::string("if (reduction ?: \"none\") == \"") + name + "\" { output[" + target + "] " + op + " " + value +
           " }\n";
  return out;
}

}  // namespace

void RegisterIndexing(Registrar& r) {
  r.op("Gather")
      .Doc("Whole slices along an axis, by index.")
      .Pure(
          "let rank(a) = axis < 0 ? axis + rank(data) : axis\n"
          "output[a.., i.., b..] = data[a.., wrap(indices[i..], dim(data, axis)), b..]")
      .Backward(
          "let rank(a) = axis < 0 ? axis + rank(data) : axis\n"
          "ddata[a.., wrap(indices[i..], dim(data, axis)), b..] += doutput[a.., i.., b..]")
      .Sample("data: f32[3, 4]; indices: i64[2] = [0, -1]; attr axis = 1")
      .Sample("data: f32[3, 4]; indices: i64[2, 2] = [0, 2, 2, 1]; attr axis = 0")
      .Sample("data: f32[2, 3, 4]; indices: i32[] = -1; attr axis = -1");
  r.op("GatherElements")
      .Doc("Single elements along an axis, by a tensor of indices.")
      .Pure("output[o.., k@axis] = data[o + 0, wrap(indices[o.., k@axis], dim(data, axis)) @axis] over indices")
      .Backward("ddata[o + 0, wrap(indices[o.., k@axis], dim(data, axis)) @axis] += doutput[o.., k@axis] over indices")
      .Sample("data: f32[3, 3]; indices: i64[2, 3] = [1, 2, 0, 2, 0, -1]; attr axis = 0")
      .Sample("data: f32[2, 3]; indices: i64[2, 2] = [0, 0, 2, 1]; attr axis = 1")
      .Sample("data: f32[3, 2]; indices: i32[3, 1] = [0, -2, 1]; attr axis = -1");
  r.op("GatherND")
      .Doc("Slices by rows of coordinates.")
      .Pure(
          "let rank(b) = (batch_dims ?: 0) ; let rank(u) = rank(indices) - (batch_dims ?: 0) - 1\n"
          "let at = indices[b.., u.., :]\n"
          "output[b.., u.., s..] = data[b.., wrap(at, dims(data)[(batch_dims ?: 0) : (batch_dims ?: 0) + dim(indices, -1)]), s..]")
      .Backward(
          "let rank(b) = (batch_dims ?: 0) ; let rank(u) = rank(indices) - (batch_dims ?: 0) - 1\n"
          "let at = indices[b.., u.., :]\n"
          "ddata[b.., wrap(at, dims(data)[(batch_dims ?: 0) : (batch_dims ?: 0) + dim(indices, -1)]), s..] += doutput[b.., u.., s..]")
      .Sample("data: f32[2, 2]; indices: i64[2, 2] = [0, 0, 1, 1]")
      .Sample("data: f32[2, 3, 2]; indices: i64[2, 1, 1] = [2, 0]; attr batch_dims = 1")
      .Sample("data: f32[2, 3, 2]; indices: i64[3, 1] = [1, 1, -2]");
  const std::string copy = "let at = wrap(indices[o.., k@axis], dim(data, axis))\noutput = data\n";
  const std::string elements = copy + Scatter("o + 0, at@axis", "updates[o.., k@axis] over updates");
  // Of products and extrema the derivative of the pure form is right.
  const std::string gradient =
      "let rank(o) = rank(indices) - 1\n"
      "let at = wrap(indices[o.., k@axis], dim(data, axis))\n"
      "if (reduction ?: \"none\") == \"none\" || (reduction ?: \"none\") == \"add\" {\n"
      "  ddata = doutput\n"
      "  if (reduction ?: \"none\") == \"none\" { ddata[o + 0, at@axis] = 0 over indices }\n"
      "  dupdates[o.., k@axis] = doutput[o + 0, at@axis] over indices\n"
      "}";
  r.op("ScatterElements")
      .Doc("Writes single elements along an axis, by a tensor of indices.")
      .Pure(elements)
      .Backward(gradient)
      .Sample("data: f32[3, 3]; indices: i64[2, 3] = [1, 0, 2, 0, 2, 1]; updates: f32[2, 3]; attr axis = 0")
      .Sample("data: f32[5]; indices: i64[3] = [1, 1, 3]; updates: f32[3]; attr axis = 0, reduction = \"add\"")
      .Sample(
          "data: f32[2, 4]; indices: i64[2, 2] = [1, -1, 0, 0]; updates: f32[2, 2]; attr axis = 1, reduction = \"mul\"")
      .Sample(
          "data: f32[2, 4]; indices: i64[2, 2] = [1, -1, 0, 0]; updates: f32[2, 2]; attr axis = -1, reduction = \"max\"")
      .Sample(
          "data: f32[2, 4]; indices: i64[2, 2] = [1, -1, 0, 0]; updates: f32[2, 2]; attr axis = 1, reduction = \"min\"");
  r.op("Scatter")
      .Doc("Writes single elements along an axis (the old name of ScatterElements).")
      .Pure(copy + "output[o + 0, at@axis] = updates[o.., k@axis] over updates")
      .Backward(
          "let rank(o) = rank(indices) - 1\n"
          "let at = wrap(indices[o.., k@axis], dim(data, axis))\n"
          "ddata = doutput\nddata[o + 0, at@axis] = 0 over indices\n"
          "dupdates[o.., k@axis] = doutput[o + 0, at@axis] over indices")
      .Sample("data: f32[3, 3]; indices: i64[2, 3] = [1, 0, 2, 0, 2, 1]; updates: f32[2, 3]; attr axis = 0")
      .Sample("data: f32[2, 4]; indices: i64[2, 2] = [1, 3, 0, 2]; updates: f32[2, 2]; attr axis = 1")
      .Sample("data: f32[2, 4]; indices: i64[1, 2] = [1, 2]; updates: f32[1, 2]; attr axis = -1");
  r.op("ScatterND")
      .Doc("Writes slices at rows of coordinates.")
      .Pure("let at = wrap(indices[u.., :], dims(data)[0 : dim(indices, -1)])\noutput = data\n" +
            Scatter("at, s..", "updates[u.., s..]"))
      .Backward(
          "let at = wrap(indices[u.., :], dims(data)[0 : dim(indices, -1)])\n"
          "if (reduction ?: \"none\") == \"none\" || (reduction ?: \"none\") == \"add\" {\n"
          "  ddata = doutput\n"
          "  if (reduction ?: \"none\") == \"none\" { ddata[at, s..] = 0 over u.. in 0:dims(indices)[0:rank(indices) - 1] }\n"
          "  dupdates[u.., s..] = doutput[at, s..]\n"
          "}")
      .Sample("data: f32[8]; indices: i64[4, 1] = [4, 3, 1, 7]; updates: f32[4]")
      .Sample("data: f32[4, 2]; indices: i64[3, 1] = [1, 1, -1]; updates: f32[3, 2]; attr reduction = \"add\"")
      .Sample("data: f32[2, 3]; indices: i64[3, 2] = [0, 1, 0, 1, 1, 2]; updates: f32[3]; attr reduction = \"mul\"")
      .Sample("data: f32[2, 3]; indices: i64[3, 2] = [0, 1, 0, 1, 1, 2]; updates: f32[3]; attr reduction = \"max\"")
      .Sample("data: f32[4]; indices: i64[2, 1] = [0, 2]; updates: f32[2]; attr reduction = \"min\"");
  r.op("TensorScatter")
      .Doc("Writes an update into a cache at a position per sequence, wrapping on demand.")
      .Pure(
          "let S = dim(past_cache, axis)\n"
          "present_cache = past_cache\n"
          "let at = (write_indices[b] ?: 0) + t\n"
          "present_cache[b, (mode == \"circular\" ? at % S : at)@axis, o..] = update[b, t@axis, o..] over update")
      .Sample("past_cache: f32[2, 4, 3]; update: f32[2, 1, 3]; write_indices: i64[2] = [1, 3]")
      .Sample(
          "past_cache: f32[2, 4, 3]; update: f32[2, 3, 3]; write_indices: i64[2] = [1, 3]; attr mode = \"circular\"")
      .Sample("past_cache: f32[2, 2, 4]; update: f32[2, 2, 1]; attr axis = 2");
  r.op("OneHot")
      .Doc("One value at the index, another elsewhere, along a new axis.")
      .Pure(
          "require dim(values, 0) == 2 else \"values has {} elements where 2 are needed\", dim(values, 0)\n"
          "let d = wrap(i64(indices[o..]), i64(depth))\n"
          "output[o.., k@axis] = k == d ? values[1] : values[0]")
      .Sample("indices: i64[3] = [0, 2, -1]; depth: i64[] = 4; values: f32[2] = [0, 1]")
      .Sample("indices: i64[2, 2] = [0, 1, 5, -2]; depth: i64[] = 3; values: f32[2]; attr axis = 1")
      .Sample("indices: i64[3] = [0, 2, -1]; depth: i64[] = 4; values: f32[2]; attr axis = 0")
      .Sample("indices: i64[2, 1] = [3, -4]; depth: i64[] = 4; values: f32[2]; attr axis = -1");
  r.op("EyeLike")
      .Doc("Ones on the k-th diagonal of a matrix.")
      .Pure("output[i, j] = j - i == k ? 1 : 0")
      .Sample("input: i32[3, 4]; attr k = 1, dtype = 1")
      .Sample("input: f32[3, 3]")
      .Sample("input: f32[2, 5]; attr k = -1, dtype = 11")
      .Sample("input: f32[3, 2]; attr k = 1");
  r.op("Compress")
      .Doc("The slices whose condition is true.")
      .Pure(
          "let n = dim(condition, 0)\n"
          "P[i] += condition[j] && j < i ? 1 : 0 over i in 0:n, j in 0:n\n"
          "if has(axis) { output[o.., (condition[i] ? P[i] : -1)@axis] ?? = input[o.., i + 0 @axis] over condition }\n"
          "else { output[condition[i] ? P[i] : -1] ?? = input.flat[i + 0] over condition }")
      .Backward(
          "let n = dim(condition, 0)\n"
          "P[i] = 0 over i in 0:n\n"
          "for t in 1:n { P[t] = P[t - 1] + (condition[t - 1] ? 1 : 0) }\n"
          "let c = condition[i] ?? false\n"
          "if has(axis) { dinput[o.., i@axis] = c ? doutput[o.., (P[i] ?? 0)@axis] ?? 0 : 0 }\n"
          "else { dinput.flat[i] = c ? doutput[P[i] ?? 0] ?? 0 : 0 }")
      .Sample("input: f32[3, 2]; condition: bool[3] = [false, true, true]; attr axis = 0")
      .Sample("input: f32[3, 2]; condition: bool[5] = [false, true, true, false, true]")
      .Sample("input: f32[3, 2]; condition: bool[2] = [false, true]; attr axis = -1");
  r.op("NonZero")
      .Doc("Coordinates of the elements that are not zero, one column each.")
      .Pure(
          "let n = prod(dims(X))\n"
          "P[i] += j < i && X.flat[j] != 0 ? 1 : 0 over i in 0:n, j in 0:n\n"
          "Y[r, (X.flat[i] != 0 ? P[i] : -1)] ?? = i // stride(X, r) % dims(X)[r] over i in 0:n")
      .Sample("X: f32[2, 2]; at 0, 1");
  const std::string topk =
      "let x = X[o.., i@axis] ; let y = X[o.., j@axis]\n"
      "R[o.., i] += ((largest ?: 1) ? y > x : y < x) || y == x && j < i ? 1 : 0 over j in 0:dim(X, axis)\n"
      "Values[o.., R[o.., i]@axis] ?? = x over X\n"
      "Indices[o.., R[o.., i]@axis] ?? = i over X";
  r.op("TopK")
      .Doc("The k largest or smallest elements along an axis, in order, and where they were.")
      .Pure(topk)
      .Backward("dX[o.., Indices[o.., r@axis]@axis] += dValues[o.., r@axis]")
      .Sample("X: f32[3, 4]; K: i64[1] = [2]; attr axis = 1")
      .Sample("X: f32[3, 4]; K: i64[1] = [3]; attr axis = 0, largest = 0")
      .Sample("X: f32[2, 5]; at 1, 1; K: i64[1] = [3]; attr axis = -1");
}

}  // namespace onnx_ops
