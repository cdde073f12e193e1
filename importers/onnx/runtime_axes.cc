// Axes that are values of inputs, known when the model runs: Slice, Pad, Squeeze, Unsqueeze, CumSum, CumProd and the
// reductions become nodes without such axes, whose sizes the run computes. Rank and number of axes must be known.
#include <algorithm>

#include "importers/onnx/lower.h"
#include "importers/onnx/shapes.h"

namespace headrace::onnx_import {
namespace {

Expr Bin(Op op, Expr a, Expr b) { return BinaryExpr(op, std::move(a), std::move(b)); }
Expr Int(size_t i) { return IntExpr(static_cast<int64_t>(i)); }

onnx::NodeProto Node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto n;
  n.set_op_type(op);
  for (const std::string& i : inputs) n.add_input(i);
  n.add_output(output);
  return n;
}

void SetInt(onnx::NodeProto* n, const char* name, int64_t value) {
  auto* a = n->add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::INT);
  a->set_i(value);
}

Val List(const std::string& name, std::vector<Expr> elements) {
  auto v = std::make_shared<ValueInfo>();
  v->name = name;
  v->type.dtype = DType::kI64;
  v->shape = {Int(elements.size())};
  v->known = std::move(elements);
  return v;
}

// The position of `axes` among the inputs; 0 for ops that have none.
size_t AxesInput(const std::string& op) {
  if (op == "Slice" || op == "Pad") return 3;
  const bool second =
      op == "Squeeze" || op == "Unsqueeze" || op == "CumSum" || op == "CumProd" || op.compare(0, 6, "Reduce") == 0;
  return second ? 1 : 0;
}

}  // namespace

class RuntimeAxes {
 public:
  RuntimeAxes(Lowering& lowering, const NodeCall& call, Scope& scope, size_t axes_input)
      : l_(lowering), c_(call), scope_(scope), in_(call.In(0)->shape), axes_input_(axes_input) {}

  bool Run() {
    const std::string& op = c_.op();
    const std::vector<Expr>& shape = c_.In(axes_input_)->shape;
    if (shape.size() > 1 || (!shape.empty() && !AsInt(shape[0]))) return false;
    count_ = shape.empty() ? 1 : static_cast<size_t>(*AsInt(shape[0]));
    const size_t rank = in_.size() + (op == "Unsqueeze" ? count_ : 0);
    if (count_ > rank || count_ == 0 || rank > 16 || (in_.empty() && op != "Unsqueeze")) return false;
    const Origin origin = l_.emit.origin();
    NameAxes(rank, op == "Squeeze");
    if (op == "Slice") Slice();
    else if (op == "Pad") Pad();
    else if (op == "Squeeze") Give({Reshaped(c_.node->output(0))}, {{"data", c_.inputs[0]}, {"shape", Squeezed()}});
    else if (op == "Unsqueeze") Give({Reshaped(c_.node->output(0))}, {{"data", c_.inputs[0]}, {"shape", Unsqueezed()}});
    else if (op == "CumSum" || op == "CumProd") Cumulate();
    else Reduce();
    l_.emit.SetOrigin(origin.Label());
    return true;
  }

 private:
  Expr Read(size_t input, const Expr& i) {
    const Val& v = c_.inputs[input];
    if (v->known) return (*v->known)[static_cast<size_t>(AsInt(i).value_or(0))];
    Expr e = ReadExpr(l_.Materialize(v), v->shape.empty() ? std::vector<Expr>{} : std::vector<Expr>{i});
    return v->type.dtype == DType::kI64 ? e : CastExpr(DType::kI64, e);
  }
  Expr Let(Expr value, const std::string& otherwise = "") {
    if (value.Is(ExprKind::kInt) || value.Is(ExprKind::kSymbol)) return value;
    const Name symbol = l_.emit.Unique(Identifier(c_.node->output(0), "t") + "_n");
    l_.emit.Append(Assign{symbol, std::move(value),
                          otherwise.empty() ? "" : c_.op() + " '" + l_.emit.origin().Label() + "': " + otherwise});
    return SymbolExpr(symbol);
  }
  // in_[axis] of an axis that only the run knows.
  Expr ExtentAt(const Expr& axis) const {
    Expr e = in_.back();
    for (size_t d = in_.size() - 1; d-- > 0;) e = SelectExpr(Bin(Op::kEq, axis, Int(d)), in_[d], e);
    return e;
  }

  // Each axis as a symbol in 0:rank. What may be negative is no symbol: those are sizes.
  void NameAxes(size_t rank, bool must_be_one) {
    const int64_t n = static_cast<int64_t>(rank);
    for (size_t i = 0; i < count_; ++i) {
      const Expr given = Read(axes_input_, Int(i));
      const Expr axis = SelectExpr(Bin(Op::kLt, given, IntExpr(0)), Bin(Op::kAdd, given, IntExpr(n)), given);
      Expr holds = Bin(Op::kAnd, Bin(Op::kGe, axis, IntExpr(0)), Bin(Op::kLt, axis, IntExpr(n)));
      for (const Expr& before : axes_) holds = Bin(Op::kAnd, holds, Bin(Op::kNe, axis, before));
      if (must_be_one) holds = Bin(Op::kAnd, holds, Bin(Op::kEq, ExtentAt(axis), IntExpr(1)));
      Require(holds, std::string("one of its axes is out of range or given twice") +
                         (must_be_one ? ", or has not one element" : ""));
      axes_.push_back(Let(axis));
    }
  }
  void Require(const Expr& holds, const std::string& otherwise) {
    const Expr at = SelectExpr(holds, IntExpr(0), IntExpr(1));
    Let(ReadExpr(l_.Materialize(List("holds", {IntExpr(0)})), {at}), otherwise);
  }

  // What input `list` gives for dimension d: its element (from `first` on) where an axis is d, else `otherwise`.
  Expr For(size_t d, size_t list, size_t first, Expr otherwise) {
    for (size_t i = 0; i < count_; ++i)
      otherwise = SelectExpr(Bin(Op::kEq, axes_[i], Int(d)), Read(list, Int(first + i)), otherwise);
    return otherwise;
  }
  // A list of numbers that may be negative: data, no symbols.
  Val Data(const std::string& name, const std::vector<Expr>& elements) {
    auto v = std::make_shared<ValueInfo>();
    v->name = name;
    v->type.dtype = DType::kI64;
    v->shape = {Int(elements.size())};
    v->container = l_.NewContainer(name, *v, v->shape);
    v->body = l_.emit.body();
    for (size_t i = 0; i < elements.size(); ++i) {
      Tasklet t;
      t.target = v->container;
      t.index = {Int(i)};
      t.value = elements[i];
      l_.emit.Statement(std::move(t));
    }
    l_.journal_.push_back(v);
    return v;
  }
  Expr IsAxis(size_t d) const {
    Expr hit = Bin(Op::kEq, axes_[0], Int(d));
    for (size_t i = 1; i < count_; ++i) hit = Bin(Op::kOr, hit, Bin(Op::kEq, axes_[i], Int(d)));
    return hit;
  }
  // The number of axes before dimension d.
  Expr AxesBefore(size_t d) const {
    Expr n = IntExpr(0);
    for (const Expr& a : axes_)
      n = Bin(Op::kAdd, n, SelectExpr(Bin(Op::kLt, a, Int(d)), IntExpr(1), IntExpr(0)));
    return n;
  }

  onnx::NodeProto Reshaped(const std::string& output, const std::string& data = "data",
                           const std::string& shape = "shape") const {
    onnx::NodeProto n = Node("Reshape", {data, shape}, output);
    SetInt(&n, "allowzero", 1);  // sizes are as they are
    return n;
  }
  void Give(std::vector<onnx::NodeProto> nodes, std::vector<std::pair<std::string, Val>> values) {
    std::vector<Val> out = l_.LowerWithin(std::move(nodes), std::move(values), scope_);
    scope_.values[c_.node->output(0)] = out[0];
  }

  void Slice() {
    std::vector<Expr> starts, ends, steps;
    if (c_.In(4))
      for (size_t i = 0; i < count_; ++i) Require(Bin(Op::kNe, Read(4, Int(i)), IntExpr(0)), "a step is zero");
    for (size_t d = 0; d < in_.size(); ++d) {
      starts.push_back(For(d, 1, 0, IntExpr(0)));
      ends.push_back(For(d, 2, 0, in_[d]));
      if (c_.In(4)) steps.push_back(For(d, 4, 0, IntExpr(1)));
    }
    std::vector<std::pair<std::string, Val>> values = {
        {"data", c_.inputs[0]}, {"starts", Data("starts", starts)}, {"ends", Data("ends", ends)}};
    onnx::NodeProto n = Node("Slice", {"data", "starts", "ends"}, c_.node->output(0));
    if (c_.In(4)) {
      n.add_input("");
      n.add_input("steps");
      values.emplace_back("steps", Data("steps", steps));
    }
    Give({std::move(n)}, std::move(values));
  }

  void Pad() {
    std::vector<Expr> pads;
    for (size_t side = 0; side < 2; ++side)
      for (size_t d = 0; d < in_.size(); ++d) pads.push_back(For(d, 1, side * count_, IntExpr(0)));
    std::vector<std::pair<std::string, Val>> values = {{"data", c_.inputs[0]}, {"pads", Data("pads", pads)}};
    onnx::NodeProto n = Node("Pad", {"data", "pads"}, c_.node->output(0));
    for (const auto& a : c_.node->attribute()) *n.add_attribute() = a;
    if (c_.In(2)) {
      n.add_input("value");
      values.emplace_back("value", c_.inputs[2]);
    }
    Give({std::move(n)}, std::move(values));
  }

  Val Squeezed() {
    std::vector<Expr> sizes;
    for (size_t k = 0; k + count_ < in_.size(); ++k) {
      Expr size = in_.back();
      for (size_t d = in_.size() - 1; d-- > k;) {
        const Expr stands = Bin(Op::kEq, Bin(Op::kSub, Int(d), AxesBefore(d)), Int(k));
        size = SelectExpr(Bin(Op::kAnd, UnaryExpr(Op::kNot, IsAxis(d)), stands), in_[d], size);
      }
      sizes.push_back(Let(size));
    }
    return List("shape", std::move(sizes));
  }

  Val Unsqueezed() {
    std::vector<Expr> sizes;
    for (size_t d = 0; d < in_.size() + count_; ++d) {
      Expr size = in_.empty() ? IntExpr(1) : ExtentAt(Let(Bin(Op::kSub, Int(d), AxesBefore(d))));
      sizes.push_back(Let(SelectExpr(IsAxis(d), IntExpr(1), size)));
    }
    return List("shape", std::move(sizes));
  }

  // [before, along, behind] the axis.
  void Cumulate() {
    Expr before = IntExpr(1), behind = IntExpr(1);
    for (size_t d = 0; d < in_.size(); ++d) {
      before = Bin(Op::kMul, before, SelectExpr(Bin(Op::kLt, Int(d), axes_[0]), in_[d], IntExpr(1)));
      behind = Bin(Op::kMul, behind, SelectExpr(Bin(Op::kGt, Int(d), axes_[0]), in_[d], IntExpr(1)));
    }
    auto one = std::make_shared<ValueInfo>(*List("axis", {IntExpr(1)}));
    one->shape.clear();
    onnx::NodeProto n = Node(c_.op(), {"flat", "axis"}, "along");
    for (const auto& a : c_.node->attribute()) *n.add_attribute() = a;
    Give({Reshaped("flat"), std::move(n), Reshaped(c_.node->output(0), "along", "back")},
         {{"data", c_.inputs[0]},
          {"shape", List("shape", {Let(before), Let(ExtentAt(axes_[0])), Let(behind)})},
          {"axis", one},
          {"back", List("back", in_)}});
  }

  // Every dimension becomes two, one of which is 1: [kept, reduced, kept, reduced …].
  void Reduce() {
    std::vector<Expr> pairs, odd;
    for (size_t d = 0; d < in_.size(); ++d) {
      pairs.push_back(Let(SelectExpr(IsAxis(d), IntExpr(1), in_[d])));
      pairs.push_back(Let(SelectExpr(IsAxis(d), in_[d], IntExpr(1))));
      odd.push_back(Int(2 * d + 1));
    }
    const bool keep = c_.Int("keepdims", 1) != 0;
    std::vector<std::pair<std::string, Val>> values = {
        {"data", c_.inputs[0]}, {"shape", List("shape", pairs)}, {"axes", List("axes", odd)}};
    onnx::NodeProto n = Node(c_.op(), {"pairs", "axes"}, keep ? c_.node->output(0) : "kept");
    SetInt(&n, "keepdims", 0);
    std::vector<onnx::NodeProto> nodes = {Reshaped("pairs"), std::move(n)};
    if (!keep) {
      nodes.push_back(Reshaped(c_.node->output(0), "kept", "squeezed"));
      values.emplace_back("squeezed", Squeezed());
    }
    Give(std::move(nodes), std::move(values));
  }

  Lowering& l_;
  const NodeCall& c_;
  Scope& scope_;
  const std::vector<Expr> in_;
  const size_t axes_input_;
  size_t count_ = 0;
  std::vector<Expr> axes_;
};

bool Lowering::UseRuntimeAxes(const NodeCall& call, Scope& scope) {
  const size_t input = AxesInput(call.op());
  const ValueInfo *data = call.In(0), *axes = input == 0 ? nullptr : call.In(input);
  if (!axes || axes->known || axes->constant || !data || data->type.kind != ValueType::kTensor)
    return false;
  if (data->type.dtype == DType::kString || !IsInteger(axes->type.dtype)) return false;
  for (size_t i = 1; i < call.inputs.size(); ++i) {  // lists of a length that the form of the node must know
    const ValueInfo* list = call.In(i);
    if (list && (list->shape.size() > 1 || (!list->shape.empty() && !AsInt(list->shape[0])))) return false;
  }
  return RuntimeAxes(*this, call, scope, input).Run();
}

}  // namespace headrace::onnx_import
