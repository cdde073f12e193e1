// Sizes that are values of integer inputs (Reshape's shape, Slice's ends, TopK's k …), read when the program runs: each
// becomes a symbol set by `let` before the node, so that the node itself has nothing to define.
#include <algorithm>

#include "importers/onnx/lower.h"
#include "importers/onnx/shapes.h"

namespace headrace::onnx_import {
namespace {

// Null where an operand is: an element that is not there.
Expr Bin(Op op, Expr a, Expr b) { return a && b ? BinaryExpr(op, std::move(a), std::move(b)) : Expr(); }
Expr Eq(const Expr& a, int64_t v) { return Bin(Op::kEq, a, IntExpr(v)); }
Expr Negative(const Expr& a) { return Bin(Op::kLt, a, IntExpr(0)); }
Expr Call2(const char* f, const Expr& a, const Expr& b) { return a && b ? CallExpr(f, {a, b}) : Expr(); }
// ceil(a / b) of integers of any sign.
Expr CeilDiv(const Expr& a, const Expr& b) {
  return a && b ? UnaryExpr(Op::kNeg, Bin(Op::kFloorDiv, UnaryExpr(Op::kNeg, a), b)) : Expr();
}

}  // namespace

class RuntimeSizes {
 public:
  RuntimeSizes(Lowering& lowering, NodeCall& call, std::vector<Inferred>* out) : l_(lowering), c_(call), out_(*out) {}

  void Run() {
    const std::string& op = c_.op();
    if (!c_.node->domain().empty() && c_.node->domain() != "ai.onnx") return;
    if (op == "AffineGrid") NameElements(1);
    if (op == "BlackmanWindow" || op == "HannWindow" || op == "HammingWindow") NameElements(0);
    if (op == "Reshape" || op == "Squeeze") SameElements();
    if (op == "Conv" || op == "ConvInteger") Channels(1, 1);
    if (op == "QLinearConv") Channels(3, 1);
    if (op == "ConvTranspose") Channels(1, 0);
    if (op == "BatchNormalization" || op == "InstanceNormalization") Scales();
    if (op == "ArgMax" || op == "ArgMin") Chosen();
    if (op == "Pad") Mirrored();
    if (op == "Reshape") Reshape();
    else if (op == "Expand") Expand();
    else if (op == "Slice") Slice();
    else if (op == "Range") Range();
    else if (op == "Pad") Pad();
    else if (op == "Resize" || op == "Upsample") Resize();
    else if (op.compare(0, 6, "Reduce") == 0) Reduce();
    else if (op == "Split") Split();
    else if (op == "Tile") Fill(0, [&](size_t d) { return Bin(Op::kMul, c_.In(0)->shape[d], Size(1, d)); });
    else if (op == "ConstantOfShape") Fill(0, [&](size_t d) { return Size(0, d); });
    else if (op == "MaxUnpool" && c_.In(2)) Fill(0, [&](size_t d) { return Size(2, d); });
    else if (op == "OneHot") Fill(0, [&](size_t) { return Element(1, 0); });
    else if (op == "BlackmanWindow" || op == "HannWindow" || op == "HammingWindow")
      Fill(0, [&](size_t) { return Element(0, 0); });
    else if (op == "AffineGrid") Fill(0, [&](size_t d) { return d == 0 ? c_.In(0)->shape[0] : Element(1, d + 1); });
    else if (op == "CenterCropPad") CenterCropPad();
    else if (op == "TopK" && c_.In(1)) {
      Fill(0, [&](size_t) { return Element(1, 0); });
      if (out_.size() > 1 && out_[0].has_rank) out_[1].shape = out_[0].shape;
    }
  }

 private:
  // Element i of an integer input: known, or a read of its container as i64.
  Expr Element(size_t input, size_t i) {
    if (input >= c_.inputs.size() || !c_.inputs[input]) return {};
    const Val& v = c_.inputs[input];
    if (v->known) return i < v->known->size() ? (*v->known)[i] : Expr();
    if (v->shape.size() > 1 ||
        (!v->shape.empty() && (!AsInt(v->shape[0]) || static_cast<int64_t>(i) >= *AsInt(v->shape[0]))))
      return {};
    Expr e = ReadExpr(l_.Materialize(v),
                      v->shape.empty() ? std::vector<Expr>{} : std::vector<Expr>{IntExpr(static_cast<int64_t>(i))});
    return v->type.dtype == DType::kI64 ? e : CastExpr(DType::kI64, e);
  }
  // Element i where `holds`, else an index out of range: the run ends there instead of computing with impossible sizes.
  Expr Element(size_t input, size_t i, const Expr& holds) {
    Expr e = Element(input, i);
    const Val& v = c_.inputs[input];
    if (!e || !holds || v->known || v->shape.empty()) return e;
    e = ReadExpr(l_.Materialize(v), {SelectExpr(holds, IntExpr(static_cast<int64_t>(i)), v->shape[0])});
    return v->type.dtype == DType::kI64 ? e : CastExpr(DType::kI64, e);
  }
  Expr Size(size_t input, size_t i) { return Element(input, i, Bin(Op::kGe, Element(input, i), IntExpr(0))); }
  // The node sees an integer input's elements as symbols: its forms then compute with sizes, not with data.
  void NameElements(size_t input) {
    if (!c_.In(input) || c_.In(input)->known || c_.In(input)->shape.size() > 1 || !IsInteger(c_.In(input)->type.dtype))
      return;
    const std::vector<Expr>& shape = c_.In(input)->shape;
    const int64_t n = shape.empty() ? 1 : AsInt(shape[0]).value_or(-1);
    if (n < 0 || n > 16) return;
    std::vector<Expr> elements;
    for (int64_t i = 0; i < n; ++i) {
      elements.push_back(Let(Element(input, static_cast<size_t>(i))));
      if (!elements.back()) return;
    }
    auto named = std::make_shared<ValueInfo>(*c_.inputs[input]);
    named->known = std::move(elements);
    c_.inputs[input] = std::move(named);
  }
  // What the run says when sizes turn out impossible.
  std::string Complaint(const std::string& what) const {
    return c_.op() + " '" + l_.emit.origin().Label() + "': " + what;
  }
  static constexpr const char* kNegative = "a size that it is given is negative";
  Expr Let(Expr value, const std::string& otherwise = kNegative) {
    if (!value) return {};
    if (IsIndexExpr(value)) return Simplify(value);
    const std::string& name = c_.node->output_size() > 0 ? c_.node->output(0) : c_.op();
    Name symbol = l_.emit.Unique(Identifier(name, "t") + "_n");
    const bool reads = !ReadContainers(value).empty();
    l_.emit.Append(Assign{symbol, std::move(value), reads ? Complaint(otherwise) : ""});
    return SymbolExpr(symbol);
  }
  template <typename Fn>
  void Fill(size_t output, Fn&& size, const std::string& otherwise = kNegative) {
    if (output >= out_.size() || !out_[output].has_rank) return;
    for (size_t d = 0; d < out_[output].shape.size(); ++d)
      if (!out_[output].shape[d]) out_[output].shape[d] = Let(size(d), otherwise);
  }
  bool Open(size_t output) const {
    return output < out_.size() && out_[output].has_rank &&
           std::any_of(out_[output].shape.begin(), out_[output].shape.end(), [](const Expr& e) { return !e; });
  }

  // Sizes that must agree, but can't be proved to: the run reads out of range if not, and says why.
  void Require(const Expr& a, const Expr& b, const std::string& sizes) {
    if (a && b && ProveEq(a, b) != Truth::kYes) Check(Bin(Op::kEq, a, b), sizes + ", and they differ");
  }
  void Check(const Expr& holds, const std::string& otherwise) {
    auto zero = std::make_shared<ValueInfo>();
    zero->name = "sizes_agree";
    zero->type.dtype = DType::kI64;
    zero->shape = {IntExpr(1)};
    zero->known = std::vector<Expr>{IntExpr(0)};
    const Expr at = SelectExpr(holds, IntExpr(0), IntExpr(1));
    const Name symbol = l_.emit.Unique(Identifier(c_.node->output(0), "t") + "_fits");
    l_.emit.Append(Assign{symbol, ReadExpr(l_.Materialize(zero), {at}), Complaint(otherwise)});
  }
  void SameElements() {
    if (out_.empty() || !out_[0].has_rank || Open(0) || !c_.In(0) || c_.In(0)->type.kind != ValueType::kTensor) return;
    const Expr in = Product(c_.In(0)->shape), out = Product(out_[0].shape);
    if (in && out) Require(in, out, "its input has " + ToString(in) + " elements, its output " + ToString(out));
  }
  // A channel that is not there would be taken for padding.
  void Channels(size_t weights, size_t axis) {
    const ValueInfo *x = c_.In(0), *w = c_.In(weights);
    if (!x || !w || x->shape.size() < 2 || w->shape.size() < 2) return;
    const Expr given = x->shape[1], taken = axis == 0 ? w->shape[0] : w->shape[1] * Expr(c_.Int("group", 1));
    Require(given, taken, "its input has " + ToString(given) + " channels, its weights take " + ToString(taken));
  }
  void Scales() {
    const ValueInfo *x = c_.In(0), *scale = c_.In(1);
    if (!x || !scale || x->shape.size() < 2 || scale->shape.size() != 1) return;
    Require(x->shape[1], scale->shape[0],
            "its input has " + ToString(x->shape[1]) + " channels, its scale " + ToString(scale->shape[0]));
  }

  void Chosen() {
    const int64_t rank = static_cast<int64_t>(c_.In(0)->shape.size()), axis = c_.Int("axis", 0);
    const Expr extent = c_.In(0)->shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
    if (ProveLe(IntExpr(1), extent) != Truth::kYes)
      Check(Bin(Op::kGe, extent, IntExpr(1)), "axis " + std::to_string(axis) + " has no element to choose from");
  }
  // What a negative pad adds.
  static Expr Removed(const Expr& pad) {
    const auto known = AsInt(pad);
    return known ? IntExpr(std::min<int64_t>(*known, 0)) : Call2("min", pad, IntExpr(0));
  }
  // Padding by elements that are not there.
  void Mirrored() {
    const std::string mode = c_.Str("mode", "constant");
    const size_t rank = c_.In(0)->shape.size();
    const auto axes = c_.In(3) ? c_.KnownInts(3) : std::nullopt, fixed = c_.Ints(c_.since() < 2 ? "paddings" : "pads");
    if (mode == "constant" || (c_.In(3) && !axes)) return;
    const size_t n = axes ? axes->size() : rank;
    auto pad = [&](size_t i) -> Expr { return !fixed ? Element(1, i) : i < fixed->size() ? IntExpr((*fixed)[i]) : Expr(); };
    for (size_t i = 0; i < n; ++i) {
      const int64_t given = axes ? (*axes)[i] : static_cast<int64_t>(i);
      const size_t axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(rank) : given);
      const Expr lo = pad(i), hi = pad(i + n), extent = axis < rank ? c_.In(0)->shape[axis] : Expr();
      if (!lo || !hi || !extent) return;
      const Expr left = mode == "wrap" ? Bin(Op::kAdd, Bin(Op::kAdd, extent, Removed(lo)), Removed(hi)) : extent;
      const Expr least = mode == "reflect" ? Bin(Op::kSub, extent, IntExpr(1)) : left;
      for (const Expr& by : {lo, hi}) {
        if (AsInt(by).value_or(1) <= 0) continue;
        const Expr needed = mode == "reflect" ? by : IntExpr(1);
        if (IsIndexExpr(needed) && ProveLe(needed, least) == Truth::kYes) continue;
        Check(Bin(Op::kOr, Bin(Op::kLe, by, IntExpr(0)), Bin(Op::kLe, needed, least)),
              "axis " + std::to_string(axis) + " of " + ToString(extent) + " elements " +
                  (mode == "reflect" ? "can't be mirrored by " + ToString(by) : "has no element to pad with"));
      }
    }
  }

  // The last part also says that they add up.
  void Split() {
    const int64_t rank = static_cast<int64_t>(c_.In(0)->shape.size()), axis = c_.Int("axis", 0);
    Expr sum = IntExpr(0);
    for (size_t i = 0; i < out_.size(); ++i) sum = Bin(Op::kAdd, sum, Element(1, i));
    const Expr whole = c_.In(0)->shape[axis < 0 ? axis + rank : axis], adds_up = Bin(Op::kEq, sum, whole);
    const std::string otherwise = "the sizes of its parts don't add up to " + ToString(whole) + ", or one is negative";
    for (size_t i = 0; i < out_.size(); ++i) {
      const Expr fits = Bin(Op::kGe, Element(1, i), IntExpr(0));
      Fill(
          i, [&](size_t) { return Element(1, i, i + 1 < out_.size() ? fits : Bin(Op::kAnd, fits, adds_up)); },
          otherwise);
    }
  }

  void Reshape() {
    if (!Open(0)) return;
    const std::vector<Expr>& in = c_.In(0)->shape;
    const bool zero_copies = c_.Int("allowzero", 0) == 0;
    std::vector<Expr> given;  // with zeros replaced; one may be -1
    Expr product = IntExpr(1);
    for (size_t d = 0; d < out_[0].shape.size(); ++d) {
      Expr e = Element(1, d);
      if (!e) return;
      if (zero_copies && d < in.size()) e = SelectExpr(Eq(e, 0), in[d], e);
      given.push_back(Let(e));
      product = Bin(Op::kMul, product, given.back());
    }
    // With a -1 among them the product is minus that of the others.
    const Expr others = UnaryExpr(Op::kNeg, product), rest = Bin(Op::kFloorDiv, Product(in), others);
    Expr open = IntExpr(0), fits = BoolExpr(true);
    for (const Expr& g : given) {
      open = Bin(Op::kAdd, open, SelectExpr(Negative(g), IntExpr(1), IntExpr(0)));
      fits = Bin(Op::kAnd, fits, Bin(Op::kGe, g, IntExpr(-1)));
    }
    fits = Bin(Op::kAnd, fits, Bin(Op::kLe, open, IntExpr(1)));
    const Expr all = SelectExpr(Eq(open, 1), Bin(Op::kMul, rest, others), product);
    fits = Bin(Op::kAnd, fits, Bin(Op::kEq, all, Product(in)));
    for (size_t d = 0; d < given.size(); ++d) {
      Name symbol = l_.emit.Unique(Identifier(c_.node->output(0), "t") + "_d" + std::to_string(d));
      Expr size = SelectExpr(Eq(given[d], -1), rest, given[d]);
      if (d == 0) size = SelectExpr(fits, size, Element(1, 0, fits));
      l_.emit.Append(Assign{symbol, size,
                            d > 0 ? ""
                                  : Complaint("its input of " + ToString(Product(in)) +
                                              " elements doesn't fit the shape that it is given")});
      out_[0].shape[d] = SymbolExpr(symbol);
    }
  }

  void Expand() {
    if (!Open(0)) return;
    const std::vector<Expr>& in = c_.In(0)->shape;
    const size_t rank = out_[0].shape.size(), n = static_cast<size_t>(AsInt(c_.In(1)->shape[0]).value_or(0));
    Fill(0, [&](size_t d) -> Expr {
      Expr old = d + in.size() >= rank ? in[d + in.size() - rank] : Expr();
      Expr given = d + n >= rank ? Size(1, d + n - rank) : Expr();
      if (!old || !given) return old ? old : given;
      return SelectExpr(Eq(given, 1), old, given);
    });
  }

  void Slice() {
    if (!Open(0) || c_.since() < 10) return;
    const std::vector<Expr>& in = c_.In(0)->shape;
    auto axes = c_.KnownInts(3);
    if (c_.In(3) && !axes) return;
    const size_t n =
        axes ? axes->size()
             : static_cast<size_t>(c_.In(1) && !c_.In(1)->shape.empty() ? AsInt(c_.In(1)->shape[0]).value_or(0) : 0);
    for (size_t i = 0; i < std::min(n, in.size()); ++i) {
      const int64_t axis =
          axes ? ((*axes)[i] < 0 ? (*axes)[i] + static_cast<int64_t>(in.size()) : (*axes)[i]) : static_cast<int64_t>(i);
      if (axis < 0 || axis >= static_cast<int64_t>(in.size()) || out_[0].shape[axis]) continue;
      const Expr& d = in[axis];
      Expr start = Element(1, i), end = Element(2, i), step = c_.In(4) ? Element(4, i) : IntExpr(1);
      if (!start || !end || !step) continue;
      if (!AsInt(step)) Check(Bin(Op::kNe, step, IntExpr(0)), "a step is zero");
      auto wrapped = [&](const Expr& e) { return SelectExpr(Negative(e), Bin(Op::kAdd, e, d), e); };
      // The upper limit counts where they cross: going back, nothing of a size of 0 is a place to begin at.
      auto clamped = [&](const Expr& e, Expr lo, Expr hi) { return Call2("min", hi, Call2("max", wrapped(e), lo)); };
      const Expr back = Negative(step), last = Bin(Op::kSub, d, IntExpr(1));
      Expr b = SelectExpr(back, clamped(start, IntExpr(0), last), clamped(start, IntExpr(0), d));
      Expr e = SelectExpr(back, clamped(end, IntExpr(-1), last), clamped(end, IntExpr(0), d));
      out_[0].shape[axis] = Let(Call2("max", IntExpr(0), CeilDiv(Bin(Op::kSub, e, b), step)));
    }
  }

  void Range() {
    if (!Open(0)) return;
    if (IsFloat(c_.In(0)->type.dtype)) {
      Expr v[3];
      for (size_t i = 0; i < 3; ++i) {
        const Val& x = c_.inputs[i];
        v[i] = CastExpr(DType::kF64, ReadExpr(l_.Materialize(x), std::vector<Expr>(x->shape.size(), IntExpr(0))));
      }
      Expr n = CallExpr("ceil", {Bin(Op::kDiv, Bin(Op::kSub, v[1], v[0]), v[2])});
      Check(Bin(Op::kAnd, Bin(Op::kNe, v[2], FloatExpr(0)), Bin(Op::kLe, n, FloatExpr(1e18))),
            "its start, limit and step give no number of elements");
      out_[0].shape[0] = Let(Call2("max", IntExpr(0), CastExpr(DType::kI64, n)));
    } else {
      // ceil((limit - start) / step) without a difference that wraps: of the quotients, and of the remainders. No names for
      // what may be negative: symbols are sizes.
      const Expr start = Element(0, 0), limit = Element(1, 0), step = Element(2, 0);
      if (!start || !limit || !step) return;
      if (!AsInt(step)) Check(Bin(Op::kNe, step, IntExpr(0)), "its step is zero");
      auto real = [](const Expr& e) { return CastExpr(DType::kF64, e); };
      Check(Bin(Op::kLe, Bin(Op::kDiv, Bin(Op::kSub, real(limit), real(start)), real(step)), FloatExpr(1e18)),
            "it has too many elements");
      const Expr quotients = Bin(Op::kSub, Bin(Op::kFloorDiv, limit, step), Bin(Op::kFloorDiv, start, step));
      const Expr from = Bin(Op::kMod, start, step), to = Bin(Op::kMod, limit, step);
      const Expr more = SelectExpr(Negative(step), Bin(Op::kLt, to, from), Bin(Op::kGt, to, from));
      const Expr empty = SelectExpr(Negative(step), Bin(Op::kGe, limit, start), Bin(Op::kLe, limit, start));
      const Expr n = Bin(Op::kAdd, quotients, SelectExpr(more, IntExpr(1), IntExpr(0)));
      out_[0].shape[0] = Let(SelectExpr(empty, IntExpr(0), n));
    }
  }

  void Pad() {
    if (!Open(0) || (c_.In(3) && !c_.KnownInts(3))) return;
    const int64_t rank = static_cast<int64_t>(c_.In(0)->shape.size());
    std::vector<int64_t> axes;
    if (c_.In(3)) axes = *c_.KnownInts(3);
    else
      for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
    std::vector<Expr> shape = c_.In(0)->shape;
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
      Expr lo = Element(1, i), hi = Element(1, i + axes.size());
      if (axis < 0 || axis >= rank || !lo || !hi) return;
      shape[axis] = Let(Bin(Op::kAdd, shape[axis], Bin(Op::kAdd, lo, hi)));
    }
    Fill(0, [&](size_t d) { return shape[d]; });
  }

  void Resize() {
    if (!Open(0)) return;
    const std::string policy = c_.Str("keep_aspect_ratio_policy", "stretch");
    const std::vector<Expr>& in = c_.In(0)->shape;
    const bool has_sizes = c_.op() == "Resize" && c_.since() > 10 && c_.In(3);
    const size_t scales = c_.op() == "Upsample" || c_.since() == 10 ? 1 : 2;
    const auto axes = c_.Ints("axes");
    const auto real = [](const Expr& e) { return e ? CastExpr(DType::kF64, e) : Expr(); };
    Expr common;  // with a policy, one scale for all axes: the smallest or the largest that a size asks for
    for (size_t i = 0; policy != "stretch" && has_sizes && i < (axes ? axes->size() : in.size()); ++i) {
      const int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
      const size_t d = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(in.size()) : axis);
      const Expr ratio = Bin(Op::kDiv, real(Element(3, i)), real(Max(in[d], IntExpr(1))));
      common = i == 0 ? ratio : Call2(policy == "not_larger" ? "min" : "max", common, ratio);
      if (!common) return;
    }
    Fill(0, [&](size_t d) -> Expr {
      size_t at = d;
      if (axes) {
        for (at = 0; at < axes->size(); ++at)
          if ((*axes)[at] == static_cast<int64_t>(d) ||
              (*axes)[at] + static_cast<int64_t>(in.size()) == static_cast<int64_t>(d))
            break;
        if (at == axes->size()) return in[d];
      }
      if (common)
        return CastExpr(DType::kI64, CallExpr("floor", {Bin(Op::kAdd, Bin(Op::kMul, common, real(in[d])), FloatExpr(0.5))}));
      if (has_sizes) return Element(3, at);
      const ValueInfo* s = c_.In(scales);
      if (!s || s->shape.size() != 1) return {};
      Expr scale = real(ReadExpr(l_.Materialize(c_.inputs[scales]), {IntExpr(static_cast<int64_t>(at))}));
      return CastExpr(DType::kI64, CallExpr("floor", {Bin(Op::kMul, real(in[d]), scale)}));
    });
  }

  void CenterCropPad() {
    auto axes = c_.Ints("axes");
    const int64_t rank = static_cast<int64_t>(c_.In(0)->shape.size());
    Fill(0, [&](size_t d) -> Expr {
      if (!axes) return Element(1, d);
      for (size_t i = 0; i < axes->size(); ++i)
        if ((*axes)[i] == static_cast<int64_t>(d) || (*axes)[i] + rank == static_cast<int64_t>(d)) return Element(1, i);
      return {};
    });
  }

  // Axes that are data, with keepdims: a dimension is 1 when an axis names it.
  void Reduce() {
    if (!Open(0) || !c_.Int("keepdims", 1) || !c_.In(1) || c_.In(1)->shape.size() != 1 || !AsInt(c_.In(1)->shape[0]))
      return;
    const std::vector<Expr>& in = c_.In(0)->shape;
    const size_t n = static_cast<size_t>(*AsInt(c_.In(1)->shape[0]));
    if (n > in.size()) return;
    Fill(0, [&](size_t d) -> Expr {
      Expr size = in[d];
      for (size_t i = 0; i < n; ++i) {
        Expr a = Element(1, i);
        if (!a) return {};
        Expr hit = Bin(Op::kOr, Eq(a, static_cast<int64_t>(d)),
                       Eq(a, static_cast<int64_t>(d) - static_cast<int64_t>(in.size())));
        size = SelectExpr(hit, IntExpr(1), size);
      }
      return size;
    });
  }

  Lowering& l_;
  NodeCall& c_;
  std::vector<Inferred>& out_;
};

void Lowering::DefineSizes(NodeCall& call, std::vector<Inferred>* out) { RuntimeSizes(*this, call, out).Run(); }

}  // namespace headrace::onnx_import
