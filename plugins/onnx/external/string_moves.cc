// Ops that move elements, on strings: the op itself moves positions, and one function fetches the
// strings.
//   onnx.Concat(inputs = A, inputs = B) -> (C)   =   P_0 = 1 …, P_1 = …; onnx.Concat(P_0, P_1) ->
//   (Q); C = strings[Q]
#include "plugins/onnx/external/call.h"
#include "plugins/onnx/external/expand.h"

namespace onnx_ops::external {
namespace {

std::string Elements(const hr_port& p) {
  std::string n = "1";
  for (int d = 0; d < p.rank; ++d) n += " * (" + std::string(p.shape[d]) + ")";
  return n;
}

std::string Expand(const Node& n) {
  const hr_node* raw = n.raw();
  std::string containers, fill, strings, names, inner_in, inner_out, fetch, start = "1", attributes, positions;
  int index = 0;
  for (const Parameter& p : InputsOf(n)) {
    std::string actual = p.name;
    if (p.port->dtype == HR_STRING) {
      actual = "positions_" + p.name;
      const std::string shape = Node::Shape(p.port);
      containers += "  transient " + actual + ": i64[" + shape + "]\n";
      std::string ranges;
      std::string at = start, target;
      for (int d = 0; d < p.port->rank; ++d) {
        const std::string i = "i" + std::to_string(index++);
        ranges += (d ? ", " : "") + i + " in 0:" + p.port->shape[d];
        target += (d ? ", " : "") + i;
        std::string stride = i;
        for (int e = d + 1; e < p.port->rank; ++e) stride += " * (" + std::string(p.port->shape[e]) + ")";
        at += " + " + stride;
      }
      fill += p.port->rank ? "    map " + ranges + " { " + actual + "[" + target + "] = " + at + " }\n"
                           : "    " + actual + " = " + at + "\n";
      start += " + " + Elements(*p.port);
      strings += ", strings = " + p.name;
      names += ", \"strings\"";
    }
    inner_in += (inner_in.empty() ? "" : ", ") + std::string(p.port->name) + " = " + actual;
  }
  for (const Parameter& p : OutputsOf(n)) {
    if (p.port->dtype != HR_STRING) {
      inner_out += (inner_out.empty() ? "" : ", ") + std::string(p.port->name) + " = " + p.name;
      continue;
    }
    const std::string moved = "moved_" + p.name;
    containers += "  transient " + moved + ": i64[" + Node::Shape(p.port) + "]\n";
    inner_out += (inner_out.empty() ? "" : ", ") + std::string(p.port->name) + " = " + moved;
    fetch += "    call.onnx_string_pick{inputs = [\"positions\"" + names +
             "], outputs = [\"result\"]}(positions = " + moved + strings + ") -> (result = " + p.name + ")\n";
  }
  for (int i = 0; i < raw->n_attributes; ++i) {
    const hr_attribute& a = raw->attributes[i];
    const std::string name = a.name;
    if (name == "defines" || a.tensor || !a.text || !*a.text) continue;
    attributes +=
        (attributes.empty() ? "" : ", ") + ("`" + name + "` = ") + (std::string(a.text) == "[]" ? "ints[]" : a.text);
  }
  return Header(n, "string_moves") + containers + "  state {\n" + fill + "    " + raw->domain + "." + raw->op + ":" +
         std::to_string(raw->version) + (attributes.empty() ? "" : "{" + attributes + "}") + "(" + inner_in + ") -> (" +
         inner_out + ")" + Defines(n) + "\n" + fetch + "  }\n}\n";
}

std::string OnStrings(const Node& n) {
  bool in = false, out = false;
  for (int i = 0; i < n.raw()->n_inputs; ++i)
    in |= n.raw()->inputs[i].present && n.raw()->inputs[i].dtype == HR_STRING && n.raw()->inputs[i].rank >= 0;
  for (int i = 0; i < n.raw()->n_outputs; ++i)
    out |= n.raw()->outputs[i].present && n.raw()->outputs[i].dtype == HR_STRING && n.raw()->outputs[i].rank >= 0;
  return in && out ? "" : "serves strings only";
}

}  // namespace

// Inputs "strings" one after the other, counted from 1; position 0 is the empty string.
HR_ONNX_FUNCTION(onnx_string_pick) {
  const hr_value& at = call.Tensor("positions");
  const int sources = call.Inputs("strings");
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (int s = 0; s < sources; ++s) ends.push_back(end += Count(ShapeOf(call.Tensor("strings", s))));
  const int64_t n = Count(ShapeOf(at));
  std::vector<std::string> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    int64_t k = ToInt(at, i) - 1;
    if (k == -1) continue;
    Require(k >= 0 && k < end, "a position is outside the strings");
    int s = 0;
    while (k >= ends[static_cast<size_t>(s)]) ++s;
    out[static_cast<size_t>(i)] = String(call.Tensor("strings", s), k - (s ? ends[static_cast<size_t>(s) - 1] : 0));
  }
  call.MakeStrings(call.Output("result"), ShapeOf(at), out);
}

void RegisterStringMoves(Registrar& r) {
  AddFunction(r, "string_pick");
  for (const char* op : {"Reshape",
                         "Flatten",
                         "Squeeze",
                         "Unsqueeze",
                         "Transpose",
                         "Expand",
                         "Tile",
                         "Concat",
                         "Split",
                         "Slice",
                         "Gather",
                         "GatherElements",
                         "GatherND",
                         "Scatter",
                         "ScatterElements",
                         "ScatterND",
                         "Where",
                         "Pad",
                         "CenterCropPad",
                         "DepthToSpace",
                         "SpaceToDepth",
                         "ReverseSequence",
                         "TensorScatter",
                         "ai.onnx.ml.ArrayFeatureExtractor"})
    r.impl(op, "strings", OnStrings, Expand);
}

}  // namespace onnx_ops::external
