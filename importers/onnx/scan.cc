// Scan: a loop over slices of its inputs; its results are gathered along any axis, in either direction.
#include <algorithm>

#include "importers/onnx/loops.h"
#include "importers/onnx/onnx_types.h"

namespace headrace::onnx_import {

bool LoopLowering::ScanOnce(std::vector<Carried>* carried, bool* again) {
  const onnx::GraphProto& body = call_.Attr("body")->g();
  Emitter& emit = l_.emit;
  const size_t errors = l_.errors.size();
  const size_t n = carried->size(), m = static_cast<size_t>(call_.Int("num_scan_inputs", 0));
  const auto in_axes = call_.Ints("scan_input_axes").value_or(std::vector<int64_t>(m, 0));
  const auto in_reverse = call_.Ints("scan_input_directions").value_or(std::vector<int64_t>(m, 0));
  const size_t k = static_cast<size_t>(body.output_size()) - n;
  const auto out_axes = call_.Ints("scan_output_axes").value_or(std::vector<int64_t>(k, 0));
  const auto out_reverse = call_.Ints("scan_output_directions").value_or(std::vector<int64_t>(k, 0));
  if (in_axes.size() != m || in_reverse.size() != m || out_axes.size() != k || out_reverse.size() != k) {
    l_.Report(Fail("the lists of axes and directions don't match the scan inputs and outputs"), call_);
    return false;
  }
  Expr trips;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < m; ++i) {
    const Val& x = call_.inputs[n + i];
    const int64_t rank = static_cast<int64_t>(x->shape.size());
    const int64_t axis = in_axes[i] < 0 ? in_axes[i] + rank : in_axes[i];
    if (axis < 0 || axis >= rank) {
      l_.Report(Fail("a scan input's axis is out of range", std::to_string(in_axes[i])), call_);
      return false;
    }
    axes.push_back(axis);
    const Expr& d = x->shape[static_cast<size_t>(axis)];
    if (trips && AsInt(trips) && AsInt(d) && *AsInt(trips) != *AsInt(d)) {
      l_.Report(Fail("the scan inputs differ in length", ToString(trips) + " and " + ToString(d)), call_);
      return false;
    }
    if (!trips || AsInt(d)) trips = d;
    l_.Materialize(x);
  }
  Enter(carried);
  const Name var = emit.Unique("iter");
  const Expr at = SymbolExpr(var), last = trips - 1 - at;
  emit.OpenBody();
  Scope inner;
  inner.parent = &scope_;
  inner.opsets = scope_.opsets;
  inner.prefix = scope_.prefix;
  for (size_t i = 0; i < n; ++i) inner.values[body.input(static_cast<int>(i)).name()] = (*carried)[i].value;
  for (size_t i = 0; i < m; ++i) {
    const std::string& name = body.input(static_cast<int>(n + i)).name();
    inner.values[name] = Slice(call_.inputs[n + i], axes[i], in_reverse[i] ? last : at, name);
  }
  std::vector<Val> out = l_.LowerGraph(body, inner, call_);
  if (std::any_of(out.begin(), out.end(), [](const Val& v) { return !v; }) || l_.errors.size() > errors) return false;
  std::vector<Gathered> gathered;
  for (size_t i = 0; i < k; ++i) {
    Gathered g;
    g.element = out[n + i];
    const int64_t rank = static_cast<int64_t>(g.element->shape.size()) + 1;
    g.axis = out_axes[i] < 0 ? out_axes[i] + rank : out_axes[i];
    if (g.axis < 0 || g.axis >= rank || g.element->type.kind != ValueType::kTensor) {
      l_.Report(Fail("a scan output's axis is out of range", std::to_string(out_axes[i])), call_);
      return false;
    }
    std::vector<Expr> shape = g.element->shape;
    shape.insert(shape.begin() + g.axis, trips);
    const std::string& name =
        static_cast<int>(n + i) < call_.node->output_size() ? call_.node->output(static_cast<int>(n + i)) : "";
    g.container = l_.NewContainer(name.empty() ? "scan" : name, *g.element, shape);
    Put(g.container, g.element, g.axis, out_reverse[i] ? last : at);
    gathered.push_back(std::move(g));
  }
  const bool settled = Leave(carried, std::vector<Val>(out.begin(), out.begin() + static_cast<int64_t>(n)));
  std::vector<BlockId> blocks = emit.CloseBody();
  if (l_.errors.size() > errors) return false;
  if (!settled) {
    *again = true;
    return true;
  }
  RequireEqualLengths(axes, trips);
  Loop loop;
  loop.var = var;
  loop.init = IntExpr(0);
  loop.condition = BinaryExpr(Op::kLt, at, trips);
  loop.update = at + 1;
  loop.body = std::move(blocks);
  emit.Append(std::move(loop));
  for (size_t i = 0; i < n; ++i)
    if (static_cast<int>(i) < call_.node->output_size() && !call_.node->output(static_cast<int>(i)).empty())
      scope_.values[call_.node->output(static_cast<int>(i))] = (*carried)[i].value;
  for (size_t i = 0; i < k; ++i)
    if (static_cast<int>(n + i) < call_.node->output_size())
      Gather(call_.node->output(static_cast<int>(n + i)), gathered[i], trips, Expr(), false);
  return true;
}

void LoopLowering::RequireEqualLengths(const std::vector<int64_t>& axes, const Expr& trips) {
  const size_t first = call_.inputs.size() - axes.size();
  for (size_t i = 0; i < axes.size(); ++i) {
    const Expr& length = call_.inputs[first + i]->shape[static_cast<size_t>(axes[i])];
    if (length == trips) continue;
    Require equal;
    equal.condition = BinaryExpr(Op::kEq, length, trips);
    equal.message = "scan input " + call_.node->input(static_cast<int>(first + i)) + " has {} in dimension " +
                    std::to_string(axes[i]) + " where the scan has {} iterations";
    equal.values = {length, trips};
    l_.emit.Append(std::move(equal));
  }
}

void LoopLowering::RunScan() {
  const onnx::GraphProto& body = call_.Attr("body")->g();
  const int64_t m = call_.Int("num_scan_inputs", 0);
  const int64_t n = static_cast<int64_t>(call_.inputs.size()) - m;
  if (m < 1 || n < 0 || body.input_size() != n + m || body.output_size() < n ||
      call_.node->output_size() > body.output_size())
    return l_.Report(Fail("the body's inputs and outputs don't match the scan's"), call_);
  std::vector<Carried> carried(static_cast<size_t>(n));
  for (size_t i = 0; i < call_.inputs.size(); ++i) {
    if (!call_.inputs[i] || call_.inputs[i]->type.kind != ValueType::kTensor)
      return l_.Report(Fail("a scan takes tensors"), call_);
    if (i < carried.size()) carried[i].initial = call_.inputs[i];
  }
  Rounds(&carried, &LoopLowering::ScanOnce);
}

void Lowering::LowerScan(const NodeCall& call, Scope& scope) {
  LoopLowering scan(*this, call, scope);
  if (call.opset < 9) scan.RunBatchedScan();
  else scan.RunScan();
}

}  // namespace headrace::onnx_import
