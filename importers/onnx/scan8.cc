// Scan of opset 8, whose inputs have a batch dimension in front: a loop over the batch around a scan of today.
#include "importers/onnx/loops.h"

namespace headrace::onnx_import {

void LoopLowering::RunBatchedScan() {
  if (call_.In(0)) return l_.Report(UnsupportedError("E0548",
                                                     "Scan of opset 8 with sequence_lens is not supported"), call_);
  if (call_.inputs.size() < 2) return l_.Report(Fail("a scan needs an input"), call_);
  Expr batch;
  for (size_t i = 1; i < call_.inputs.size(); ++i) {
    const Val& v = call_.inputs[i];
    if (!v || v->type.kind != ValueType::kTensor || v->shape.empty())
      return l_.Report(Fail("a scan of opset 8 takes tensors with a batch dimension"), call_);
    if (!batch || AsInt(v->shape[0])) batch = v->shape[0];
    l_.Materialize(v);
  }
  // One entry's scan, as opset 9 would write it.
  auto node = std::make_unique<onnx::NodeProto>(*call_.node);
  node->mutable_input()->DeleteSubrange(0, 1);
  for (int i = 0; i < node->input_size(); ++i) node->set_input(i, "entry_" + std::to_string(i));
  for (int i = 0; i < node->output_size(); ++i)
    if (!node->output(i).empty()) node->set_output(i, "result_" + std::to_string(i));
  for (auto& a : *node->mutable_attribute())
    if (a.name() == "directions") a.set_name("scan_input_directions");
  const onnx::NodeProto* entry = node.get();
  l_.kept_.push_back(std::move(node));
  const Name var = l_.emit.Unique("entry");
  const size_t errors = l_.errors.size();
  l_.emit.OpenBody();
  Scope inner;
  inner.parent = &scope_;
  inner.opsets = scope_.opsets;
  inner.prefix = scope_.prefix;
  NodeCall one;
  one.node = entry;
  one.opset = 9;
  for (int i = 0; i < entry->input_size(); ++i) {
    one.inputs.push_back(Slice(call_.inputs[static_cast<size_t>(i) + 1], 0, SymbolExpr(var), entry->input(i)));
    inner.values[entry->input(i)] = one.inputs.back();
  }
  LoopLowering(l_, one, inner).RunScan();
  if (l_.errors.size() > errors) return;
  for (int i = 0; i < entry->output_size(); ++i) {
    if (entry->output(i).empty()) continue;
    Val v = inner.values[entry->output(i)];
    auto whole = std::make_shared<ValueInfo>();
    whole->name = call_.node->output(i);
    whole->type = v->type;
    whole->shape = v->shape;
    whole->shape.insert(whole->shape.begin(), batch);
    whole->container = l_.NewContainer(whole->name, *whole, whole->shape);
    Put(whole->container, v, 0, SymbolExpr(var));
    scope_.values[whole->name] = whole;
  }
  Loop loop;
  loop.var = var;
  loop.init = IntExpr(0);
  loop.condition = BinaryExpr(Op::kLt, SymbolExpr(var), batch);
  loop.update = SymbolExpr(var) + 1;
  loop.body = l_.emit.CloseBody();
  const int outer = l_.emit.body();
  for (const auto& name : call_.node->output())
    if (!name.empty()) {
      scope_.values[name]->body = outer;
      l_.journal_.push_back(scope_.values[name]);
    }
  l_.emit.Append(std::move(loop));
}

}  // namespace headrace::onnx_import
