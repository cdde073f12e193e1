// Sequences whose elements are known while importing are no sequences: what reads one reads the tensors, which have
// gradients. A sequence that something else needs (an output, a loop) is made as well.
#include <algorithm>

#include "importers/onnx/lower.h"

namespace headrace::onnx_import {
namespace {

constexpr int64_t kMaxElements = 1024;

// Sizes along the axis of the elements of SplitToSequence; empty: not known, or not right (then the node says what is wrong).
std::vector<int64_t> Sizes(const NodeCall& call, int64_t axis) {
  const std::optional<int64_t> extent = AsInt(call.In(0)->shape[static_cast<size_t>(axis)]);
  const ValueInfo* split = call.In(1);
  std::vector<int64_t> sizes;
  if (split && !split->shape.empty()) {
    if (auto list = call.KnownInts(1)) sizes = *list;
    int64_t sum = 0;
    for (int64_t s : sizes) sum += s;
    if (extent && sum != *extent) return {};
  } else {
    std::optional<std::vector<int64_t>> part = split ? call.KnownInts(1) : std::vector<int64_t>{1};
    if (!extent || !part || part->size() != 1 || (*part)[0] < 1) return {};
    for (int64_t rest = *extent; rest > 0 && sizes.size() < kMaxElements; rest -= (*part)[0])
      sizes.push_back(std::min(rest, (*part)[0]));
  }
  const bool right = std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s >= 0; });
  return right && sizes.size() < kMaxElements ? sizes : std::vector<int64_t>{};
}

onnx::NodeProto Node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto n;
  n.set_op_type(op);
  for (const std::string& i : inputs) n.add_input(i);
  if (!output.empty()) n.add_output(output);
  return n;
}

void SetAxis(onnx::NodeProto* n, const char* name, int64_t axis, bool list) {
  auto* a = n->add_attribute();
  a->set_name(name);
  a->set_type(list ? onnx::AttributeProto::INTS : onnx::AttributeProto::INT);
  if (list) a->add_ints(axis);
  else a->set_i(axis);
}

Val List(const std::string& name, const std::vector<int64_t>& values) {
  auto v = std::make_shared<ValueInfo>();
  v->name = name;
  v->type.dtype = DType::kI64;
  v->shape = {IntExpr(static_cast<int64_t>(values.size()))};
  v->known.emplace();
  for (int64_t x : values) v->known->push_back(IntExpr(x));
  return v;
}

}  // namespace

std::vector<Val> Lowering::LowerWithin(std::vector<onnx::NodeProto> nodes,
                                       std::vector<std::pair<std::string, Val>> values, Scope& scope) {
  Scope inner;
  inner.parent = &scope;
  inner.prefix = scope.prefix;
  for (auto& [name, v] : values) inner.values[name] = v;
  Opsets allowzero = *scope.opsets;  // a Reshape of these nodes may have sizes of 0 in models of any opset
  allowzero[""] = std::max(allowzero[""], 14);
  std::vector<Val> out;
  for (onnx::NodeProto& n : nodes) {
    inner.opsets = n.op_type() == "Reshape" ? &allowzero : scope.opsets;
    n.set_name(emit.origin().Label().substr(scope.prefix.size()));
    kept_.push_back(std::make_unique<onnx::NodeProto>(std::move(n)));
    LowerNode(*kept_.back(), inner);
    out.clear();
    for (const auto& o : kept_.back()->output()) out.push_back(inner.values[o]);
  }
  return out;
}

void Lowering::KeepElements(const NodeCall& call, Scope& scope) {
  if (call.op() == "SequenceConstruct") scope.values[call.node->output(0)]->elements = call.inputs;
  if (call.op() != "SplitToSequence" || call.In(0)->type.dtype == DType::kString) return;
  const int64_t rank = static_cast<int64_t>(call.In(0)->shape.size());
  int64_t axis = call.Int("axis", 0);
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank) return;
  const std::vector<int64_t> sizes = Sizes(call, axis);
  if (sizes.empty()) return;
  const Origin origin = emit.origin();
  const bool drop = !call.In(1) && call.Int("keepdims", 1) == 0;
  onnx::NodeProto split = Node("Split", {"data"}, "");
  SetAxis(&split, "axis", axis, false);
  if (call.opset >= 13) split.add_input("sizes");
  else {
    SetAxis(&split, "split", sizes[0], true);
    for (size_t i = 1; i < sizes.size(); ++i) split.mutable_attribute(1)->add_ints(sizes[i]);
  }
  for (size_t i = 0; i < sizes.size(); ++i) split.add_output(call.node->output(0) + "_" + std::to_string(i));
  std::vector<Val> parts = LowerWithin({split}, {{"data", call.inputs[0]}, {"sizes", List("sizes", sizes)}}, scope);
  for (Val& part : parts) {
    if (!drop) break;
    onnx::NodeProto squeeze = Node("Squeeze", {"data"}, part->name);
    if (call.opset >= 13) squeeze.add_input("axes");
    else SetAxis(&squeeze, "axes", axis, true);
    part = LowerWithin({squeeze}, {{"data", part}, {"axes", List("axes", {axis})}}, scope)[0];
  }
  emit.SetOrigin(origin.Label());
  scope.values[call.node->output(0)]->elements = std::move(parts);
}

bool Lowering::UseElements(const NodeCall& call, Scope& scope) {
  if (!call.In(0) || call.In(0)->elements.empty()) return false;
  const std::vector<Val> elements = call.inputs[0]->elements;
  const int64_t count = static_cast<int64_t>(elements.size());
  if (call.op() == "SequenceAt") {
    auto position = call.KnownInts(1);
    if (!position || position->size() != 1 || (*position)[0] < -count || (*position)[0] >= count) return false;
    const int64_t at = (*position)[0] + ((*position)[0] < 0 ? count : 0);
    scope.values[call.node->output(0)] = elements[static_cast<size_t>(at)];
    return true;
  }
  if (call.op() != "ConcatFromSequence") return false;
  const bool stack = call.Int("new_axis", 0) != 0;
  const int64_t axis = call.Int("axis", 0);
  std::vector<std::pair<std::string, Val>> values = {{"axes", List("axes", {axis})}};
  std::vector<onnx::NodeProto> nodes;
  onnx::NodeProto concat = Node("Concat", {}, call.node->output(0));
  SetAxis(&concat, "axis", axis, false);
  for (size_t i = 0; i < elements.size(); ++i) {
    const std::string name = std::to_string(i);
    values.emplace_back(name, elements[i]);
    concat.add_input(stack ? name + "_row" : name);
    if (!stack) continue;
    nodes.push_back(Node("Unsqueeze", {name}, name + "_row"));
    if (call.opset >= 13) nodes.back().add_input("axes");
    else SetAxis(&nodes.back(), "axes", axis, true);
  }
  nodes.push_back(std::move(concat));
  scope.values[call.node->output(0)] = LowerWithin(std::move(nodes), std::move(values), scope)[0];
  return true;
}

}  // namespace headrace::onnx_import
