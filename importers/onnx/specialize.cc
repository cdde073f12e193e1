#include "importers/onnx/specialize.h"

#include <unordered_map>
#include <vector>

namespace headrace::onnx_import {
namespace {

// Op → input positions whose values decide the shape of an output or the structure of the computation.
const std::unordered_map<std::string, std::vector<int>>& DecidingInputs() {
  static const auto* const kTable =
      new std::unordered_map<std::string, std::vector<int>>{{"AffineGrid", {1}},
                                                            {"BlackmanWindow", {0}},
                                                            {"CenterCropPad", {1}},
                                                            {"Col2Im", {1, 2}},
                                                            {"ConstantOfShape", {0}},
                                                            {"CumProd", {1}},
                                                            {"CumSum", {1}},
                                                            {"DFT", {1, 2}},
                                                            {"Dropout", {2}},
                                                            {"Expand", {1}},
                                                            {"HammingWindow", {0}},
                                                            {"HannWindow", {0}},
                                                            {"MaxUnpool", {2}},
                                                            {"MelWeightMatrix", {0, 1, 2, 3, 4}},
                                                            {"OneHot", {1}},
                                                            {"Pad", {1, 3}},
                                                            {"RandomNormal", {0}},
                                                            {"Range", {0, 1, 2}},
                                                            {"ReduceL1", {1}},
                                                            {"ReduceL2", {1}},
                                                            {"ReduceLogSum", {1}},
                                                            {"ReduceLogSumExp", {1}},
                                                            {"ReduceMax", {1}},
                                                            {"ReduceMean", {1}},
                                                            {"ReduceMin", {1}},
                                                            {"ReduceProd", {1}},
                                                            {"ReduceSum", {1}},
                                                            {"ReduceSumSquare", {1}},
                                                            {"Reshape", {1}},
                                                            {"Resize", {1, 2, 3}},
                                                            {"STFT", {1, 3}},
                                                            {"Slice", {1, 2, 3, 4}},
                                                            {"Split", {1}},
                                                            {"SplitToSequence", {1}},
                                                            {"Squeeze", {1}},
                                                            {"Tile", {1, 2}},
                                                            {"TopK", {1}},
                                                            {"Unsqueeze", {1}},
                                                            {"Upsample", {1}}};
  return *kTable;
}

// Ops that compute one small integer tensor from others: what decides their result decides what reads it.
bool PassesOn(const std::string& op) {
  static const auto* const kOps = new std::unordered_set<std::string>{
      "Abs",       "Add",        "Cast",      "Ceil",    "Concat", "Div",
      "Equal",     "Expand",     "Flatten",   "Floor",   "Gather", "GatherElements",
      "Greater",   "Identity",   "Less",      "Max",     "Min",    "Mod",
      "Mul",       "Neg",        "Not",       "Pad",     "Range",  "ReduceMax",
      "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Round",  "ScatterElements",
      "ScatterND", "Slice",      "Split",     "Squeeze", "Sub",    "Tile",
      "Transpose", "Unsqueeze",  "Where"};
  return kOps->count(op) != 0;
}

void Collect(const onnx::GraphProto& g, std::unordered_set<std::string>* names) {
  for (const auto& node : g.node()) {
    if (!node.domain().empty() && node.domain() != "ai.onnx") continue;
    auto it = DecidingInputs().find(node.op_type());
    if (it != DecidingInputs().end())
      for (int i : it->second)
        if (i < node.input_size() && !node.input(i).empty()) names->insert(node.input(i));
    for (const auto& a : node.attribute())
      if (a.has_g()) Collect(a.g(), names);
  }
}

// One sweep against the order of the nodes is enough for a sorted graph; others converge in a few.
bool Propagate(const onnx::GraphProto& g, std::unordered_set<std::string>* names) {
  bool changed = false;
  for (int n = g.node_size() - 1; n >= 0; --n) {
    const auto& node = g.node(n);
    for (const auto& a : node.attribute()) {
      if (!a.has_g()) continue;
      if (node.op_type() == "If")  // what decides by the node's result decides by its branches'
        for (int i = 0; i < node.output_size() && i < a.g().output_size(); ++i)
          if (names->count(node.output(i))) changed |= names->insert(a.g().output(i).name()).second;
      changed |= Propagate(a.g(), names);
    }
    if (!PassesOn(node.op_type())) continue;
    bool wanted = false;
    for (const auto& o : node.output()) wanted |= names->count(o) != 0;
    if (!wanted) continue;
    for (const auto& i : node.input())
      if (!i.empty()) changed |= names->insert(i).second;
  }
  return changed;
}

}  // namespace

std::unordered_set<std::string> ShapeDeciding(const onnx::GraphProto& g) {
  std::unordered_set<std::string> names;
  Collect(g, &names);
  for (int sweep = 0; sweep < 8 && Propagate(g, &names); ++sweep) {}
  return names;
}

}  // namespace headrace::onnx_import
