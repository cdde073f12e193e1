#include "backends/cpu/lower.h"

#include <algorithm>
#include <cmath>

#include "ir/analysis/sets.h"
#include "ir/analysis/type_inference.h"

namespace headrace::cpu {

bool IsFn(const Expr& e, const char* name) { return e.Is(ExprKind::kCall) && e->name.view() == name; }

namespace {

Expr Typed(Expr e, DType t) { return WithType(e, t); }

Expr MakeCall(const char* fn, std::vector<Expr> args, DType t, std::string text = "") {
  ExprNode n;
  n.kind = ExprKind::kCall;
  n.name = fn;
  n.args = std::move(args);
  n.dtype = t;
  n.text = std::move(text);
  return Expr(std::move(n));
}

Expr And(const Expr& a, const Expr& b) {
  if (!a) return b;
  if (!b) return a;
  return Typed(BinaryExpr(Op::kAnd, a, b), DType::kBool);
}

// A float that is a whole number (and one as f32 too), as an index.
Expr Whole(const Expr& e) {
  if (e.Is(ExprKind::kFloat) && std::abs(e->fvalue) < 0x1p24 && e->fvalue == std::floor(e->fvalue))
    return IntExpr(static_cast<int64_t>(e->fvalue));
  if (e.Is(ExprKind::kCast) && e->dtype == DType::kF64 && IsIndexExpr(e->args[0])) return e->args[0];
  return {};
}

// Whether i64(clamp(x, lo, hi)) of floats is an index of `extent` elements, whatever x is: NaN becomes 0.
bool IsClampedInto(const Expr& extent, const Expr& index, const Assumptions& as) {
  if (!index.Is(ExprKind::kCast) || index->dtype != DType::kI64 || !IsFn(index->args[0], "clamp")) return false;
  const Expr lo = Whole(index->args[0]->args[1]), hi = Whole(index->args[0]->args[2]);
  return lo && hi && ProveLe(Expr(0), lo, as) == Truth::kYes && ProveLe(lo, hi, as) == Truth::kYes &&
         ProveLe(hi + Expr(1), extent, as) == Truth::kYes;
}

}  // namespace

Expr BadCall(std::vector<Expr> index_and_shape, const Container& c) {
  return MakeCall(kBadFn, std::move(index_and_shape), c.dtype, c.name.str());
}

Expr IndexAdd(const Expr& a, const Expr& b) {
  if (AsInt(a) == 0) return b;
  if (AsInt(b) == 0) return a;
  if (IsIndexExpr(a) && IsIndexExpr(b)) return a + b;
  return Typed(BinaryExpr(Op::kAdd, a, b), DType::kIndex);
}

Expr IndexMul(const Expr& a, const Expr& b) {
  if (AsInt(a) == 1) return b;
  if (AsInt(b) == 1) return a;
  if (AsInt(a) == 0 || AsInt(b) == 0) return IntExpr(0);
  if (IsIndexExpr(a) && IsIndexExpr(b)) return a * b;
  return Typed(BinaryExpr(Op::kMul, a, b), DType::kIndex);
}

Expr TripCount(const Range& r) {
  const Expr step = r.step ? r.step : IntExpr(1);
  const auto value = AsInt(step);
  if (!value || *value == 0 || !IsIndexExpr(r.begin) || !IsIndexExpr(r.end))
    return MakeCall(kTripFn, {r.begin, r.end, step}, DType::kIndex);
  if (*value > 0) return FloorDiv(r.end - r.begin + IntExpr(*value - 1), step);
  return FloorDiv(r.begin - r.end + IntExpr(-*value - 1), IntExpr(-*value));
}

bool IsContiguous(const Container& c) {
  if (c.row_major()) return true;
  const std::vector<Expr> dense = RowMajorStrides(c.shape), strides = StridesOf(c);
  for (size_t d = 0; d < c.shape.size(); ++d)
    if (AsInt(c.shape[d]) != 1 && ProveEq(strides[d], dense[d]) != Truth::kYes) return false;
  return true;
}

namespace {

// The numbers among which a range's index stays.
Interval ValuesOf(const Range& r, const Assumptions& as) {
  const int64_t step = r.step ? AsInt(r.step).value_or(0) : 1;
  if (step == 0) return {};  // of either sign
  const Interval begin = BoundsOf(r.begin, as), end = BoundsOf(r.end, as);
  Interval out{step > 0 ? begin.lo : end.lo, step > 0 ? end.hi : begin.hi};
  if (step > 0 && out.hi && *out.hi > INT64_MIN) --*out.hi;
  if (step < 0 && out.lo && *out.lo < INT64_MAX) ++*out.lo;
  return out;
}

}  // namespace

Expr Lowerer::BoundsCondition(const Expr& index, const Expr& extent) {
  if (proven_) return {};
  bool lower = true, upper = true;
  if (IsClampedInto(extent, index, s_.assumptions)) return {};
  if (IsIndexExpr(index)) {
    // Only the ranges that matter for this index: its symbols', and those their bounds mention.
    std::vector<Name> wanted = FreeSymbols(index);
    std::vector<Range> relevant;
    Assumptions as = s_.assumptions;
    for (size_t i = ranges_.size(); i-- > 0;) {
      const Range& r = ranges_[i];
      if (std::find(wanted.begin(), wanted.end(), r.index) == wanted.end()) continue;
      relevant.insert(relevant.begin(), r);
      for (const Expr& bound : {r.begin, r.end})
        for (Name n : FreeSymbols(bound)) wanted.push_back(n);
      as.bounds.insert(as.bounds.begin(), {r.index, ValuesOf(r, s_.assumptions)});
    }
    if (index.Is(ExprKind::kSymbol) && !relevant.empty()) {
      const Range& r = relevant.back();
      if (r.index == index->name && (!r.step || AsInt(r.step).value_or(-1) > 0) && AsInt(r.begin).value_or(-1) >= 0 &&
          (r.end == extent || ProveLe(r.end, extent, s_.assumptions) == Truth::kYes))
        return {};
    }
    if (WithinBounds(relevant, {index}, {extent}, s_.assumptions) == Truth::kYes) return {};
    const Interval b = BoundsOf(index, as);
    lower = !(b.lo && *b.lo >= 0);
    upper = !(b.hi && BoundsOf(extent, as).lo && *b.hi < *BoundsOf(extent, as).lo);
    if (!lower && !upper) return {};
  }
  Expr c;
  if (lower) c = Typed(BinaryExpr(Op::kGe, index, Typed(IntExpr(0), DType::kIndex)), DType::kBool);
  if (upper) c = And(c, Typed(BinaryExpr(Op::kLt, index, extent), DType::kBool));
  return c;
}

Result<Address> Lowerer::AddressOf(Name container, std::vector<Expr> index, bool flat) {
  const Container* c = s_.Find(container);
  HR_CHECK(c != nullptr, container.str());
  if (c->kind == ContainerKind::kSequence || c->dtype == DType::kString)
    return UnsupportedError("E0682",
                            "the cpu backend does not compute on strings or sequences (container '" + container.str() +
                            "')");
  Address out;
  if (flat) out.condition = BoundsCondition(index[0], NumElements(*c));
  else
    for (size_t d = 0; d < index.size(); ++d)
      out.condition = And(out.condition, BoundsCondition(index[d], c->shape[d]));
  if (c->optional) out.condition = And(MakeCall(kPresentFn, {}, DType::kBool, container.str()), out.condition);
  Expr linear = IntExpr(0);
  const std::vector<Expr> dense = RowMajorStrides(c->shape);
  if (flat && !IsContiguous(*c)) {  // flat element number of a strided container → coordinates
    std::vector<Expr> coordinates;
    for (size_t d = 0; d < c->shape.size(); ++d) {
      Expr q = index[0];
      if (IsIndexExpr(q)) {
        q = FloorDiv(q, dense[d]);
        if (d > 0) q = Mod(q, c->shape[d]);
      } else {
        q = Typed(BinaryExpr(Op::kFloorDiv, q, dense[d]), DType::kIndex);
        if (d > 0) q = Typed(BinaryExpr(Op::kMod, q, c->shape[d]), DType::kIndex);
      }
      coordinates.push_back(q);
    }
    index = coordinates;
    flat = false;
  }
  if (flat) {
    linear = index[0];
  } else {
    const std::vector<Expr> strides = StridesOf(*c);
    for (size_t d = 0; d < index.size(); ++d) linear = IndexAdd(linear, IndexMul(index[d], strides[d]));
  }
  // A view counts in its base's own memory, whatever the base's strides are.
  for (; c->kind == ContainerKind::kView; c = s_.Find(container)) {
    if (c->offset) linear = IndexAdd(c->offset, linear);
    container = c->base;
  }
  out.base = container;
  out.linear = linear;
  return out;
}

Address Lowerer::Narrowed(Name container, const std::vector<Expr>& index) {
  const Container& c = s_.Get(container);
  Address out;
  std::vector<Expr> args = index;
  for (size_t d = 0; d < index.size(); ++d) {
    out.condition = And(out.condition, BoundsCondition(index[d], c.shape[d]));
    args.push_back(c.shape[d]);
  }
  if (out.condition) out.report = MakeCall(kBadFn, args, c.dtype, container.str());
  return out;
}

Result<Expr> Lowerer::Lower(const Expr& typed) {
  Status failed;
  auto fail = [&](Status st) {
    if (failed.ok()) failed = std::move(st);
  };
  Expr out = Transform(typed, [&](const Expr& e) -> Expr {
    if (!e.Is(ExprKind::kRead) || !failed.ok()) return e;
    std::vector<Expr> index = e->args;
    Expr fallback;
    if (e->has_default) {
      fallback = index.back();
      index.pop_back();
    }
    const DType type = s_.Get(e->name).dtype;
    auto address = AddressOf(e->name, index, e->flat);
    if (!address.ok()) return fail(address.status()), e;
    Expr read = Typed(ReadExpr(address->base, {address->linear}, {}, /*flat=*/true), type);
    if (!address->condition) return read;
    if (!fallback) {
      std::vector<Expr> args = index;
      if (e->flat) args.push_back(NumElements(s_.Get(e->name)));
      else args.insert(args.end(), s_.Get(e->name).shape.begin(), s_.Get(e->name).shape.end());
      fallback = MakeCall(kBadFn, args, type, e->name.str());
    }
    return MakeCall(kGuardFn, {address->condition, read, fallback}, e->dtype);
  });
  if (!failed.ok()) return failed;
  return out;
}

Result<LoweredStmt> Lowerer::Lower(const Tasklet& t) {
  const Container& target = s_.Get(t.target);
  LoweredStmt out;
  out.dtype = target.dtype;
  out.op = t.op;
  HR_ASSIGN_OR_RETURN(Expr typed, TypedValue(s_, t));
  // Sums into small floats are kept wide: the conversion that assignment implies comes at the end, not per term.
  if (t.op != WriteOp::kAssign && typed.Is(ExprKind::kCast) && !t.value.Is(ExprKind::kCast) && IsFloat(typed->dtype) &&
      IsFloat(typed->args[0]->dtype) && ComputeType(typed->dtype) != typed->dtype)
    typed = typed->args[0];
  HR_ASSIGN_OR_RETURN(out.value, Lower(typed));
  std::vector<Expr> index;
  for (const Expr& i : t.index) {
    HR_ASSIGN_OR_RETURN(Expr ti, InferTypes(s_, i, DType::kIndex));
    HR_ASSIGN_OR_RETURN(Expr li, Lower(ti));
    index.push_back(li);
  }
  HR_ASSIGN_OR_RETURN(Address a, AddressOf(t.target, index, t.flat));
  out.target = t.target;
  out.index = index;
  out.base = a.base;
  out.linear = a.linear;
  out.condition = a.condition;
  if (a.condition && !t.guarded) {
    std::vector<Expr> args = index;
    if (t.flat) args.push_back(NumElements(target));
    else args.insert(args.end(), target.shape.begin(), target.shape.end());
    out.report = MakeCall(kBadFn, args, target.dtype, t.target.str());
  }
  return out;
}

}  // namespace headrace::cpu
