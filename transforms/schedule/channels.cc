#include "transforms/schedule/channels.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/schedule/borders.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

// The same wherever it stands.
bool IsOneValue(const Expr& e) {
  return e.Is(ExprKind::kInt) || e.Is(ExprKind::kFloat) || (e.Is(ExprKind::kRead) && e->args.empty());
}

std::vector<Expr> IndexOf(const Expr& read) { return {read->args.begin(), read->args.end() - read->has_default}; }

bool Computes(const Sdfg& s, const Tasklet& t, DType type) {
  const Result<Expr> typed = InferTypes(s, t.value, s.Get(t.target).dtype);
  if (!typed.ok() || ComputeType((*typed)->dtype) != type) return false;
  return std::all_of((*typed)->args.begin(), (*typed)->args.end(), [&](const Expr& e) { return ComputeType(e->dtype) == type; });
}

}  // namespace

int64_t StepOf(const Sdfg& s, Name container, const std::vector<Expr>& index, bool flat, Name of) {
  const Offset at = OffsetOf(s, container, index, flat);
  const Expr stride = at.elements ? StrideOf(at.elements, of) : Expr();
  return stride ? std::abs(AsInt(stride).value_or(INT32_MAX)) : INT32_MAX;
}

bool IsPlainSum(const Sdfg& s, const Tasklet& t) {
  if (t.op == WriteOp::kAssign || t.flat || t.guarded) return false;
  for (Name r : ReadContainers(t.value))
    if (RootOf(s, r) == RootOf(s, t.target)) return false;
  return std::all_of(t.index.begin(), t.index.end(), IsIndexExpr);
}

void Order(const Sdfg& s, Name container, const std::vector<Expr>& index, std::vector<Range>* ranges) {
  std::stable_sort(ranges->begin(), ranges->end(), [&](const Range& x, const Range& y) {
    return StepOf(s, container, index, false, x.index) > StepOf(s, container, index, false, y.index);
  });
}

bool HasWindow(const std::vector<Expr>& index, const std::vector<Range>& points, const std::vector<Range>& terms) {
  const auto mentions = [](const Expr& e, const std::vector<Range>& list) {
    return std::any_of(list.begin(), list.end(), [&](const Range& r) { return Mentions(e, r.index); });
  };
  return std::any_of(index.begin(), index.end(), [&](const Expr& e) { return mentions(e, points) && mentions(e, terms); });
}

int64_t LengthOf(const Range& r) { return AsInt(r.end).value_or(-1); }

int64_t StrideIn(const Sdfg& s, Name container, size_t dimension) {
  const Container& c = s.Get(container);
  const std::vector<Expr> strides = StridesOf(c);
  return AsInt(strides[dimension]).value_or(INT32_MAX);
}

std::optional<WindowRead> WindowReadOf(const Sdfg& s, const Expr& e) {
  WindowRead out;
  std::vector<Expr> conditions;
  Expr read = e;
  if (read.Is(ExprKind::kBinary) && read->op == Op::kAdd && read->args[0].Is(ExprKind::kCast) && AsInt(read->args[1]))
    out.more = *AsInt(read->args[1]), read = read->args[0];
  if (read.Is(ExprKind::kCast) && !read->saturate) out.cast = read->dtype, read = read->args[0];
  if (read.Is(ExprKind::kSelect)) {
    const Expr choice = read;
    if (!IsOneValue(choice->args[2])) return std::nullopt;
    Conjuncts(choice->args[0], &conditions);
    read = choice->args[1], out.outside = choice->args[2];
  }
  if (!read.Is(ExprKind::kRead) || read->flat || read->has_default) return std::nullopt;
  out.container = read->name;
  out.index = IndexOf(read);
  if (!std::all_of(out.index.begin(), out.index.end(), IsIndexExpr)) return std::nullopt;
  const Container& c = s.Get(out.container);
  out.below.resize(out.index.size()), out.above.resize(out.index.size());
  for (const Expr& condition : conditions) {
    bool known = false;
    for (size_t d = 0; d < out.index.size(); ++d) {
      if (condition == BinaryExpr(Op::kGe, out.index[d], Expr(0))) out.below[d] = known = true;
      if (condition == BinaryExpr(Op::kLt, out.index[d], c.shape[d])) out.above[d] = known = true;
    }
    if (!known) return std::nullopt;
  }
  return out;
}

namespace {

// The index that walks a read by one and has its dimension for itself.
const Range* Innermost(const Sdfg& s, const Expr& read, const std::vector<Range>& ranges) {
  const auto at = WindowReadOf(s, read);
  if (!at) return nullptr;
  for (const Range& r : ranges)
    if (LengthOf(r) > 1 && StepOf(s, at->container, at->index, false, r.index) == 1 &&
        std::find(at->index.begin(), at->index.end(), SymbolExpr(r.index)) != at->index.end())
      return &r;
  return nullptr;
}

// A gradient of weights: points are the places of a window and a channel of the data, terms the places of an image.
bool Turn(const Sdfg& s, const Expr (&operands)[2], std::vector<Range> (&sides)[2], Channels* c) {
  for (const int side : {0, 1}) {
    const auto data = WindowReadOf(s, operands[side]);
    const Range *row = Innermost(s, operands[side], sides[side]), *columns = Innermost(s, operands[1 - side], sides[1 - side]);
    if (!data || !row || !columns || !HasWindow(data->index, sides[side], c->terms)) continue;
    c->data = *data;
    c->weights = operands[1 - side];
    c->columns = *columns;
    for (const Range& r : sides[side])
      if (r.index != row->index) c->points.push_back(r);
    Order(s, data->container, data->index, &c->points);
    c->points.push_back(*row);
    for (const Range& r : sides[1 - side])
      if (r.index != columns->index) c->blocks.push_back(r);
    Order(s, data->container, data->index, &c->terms);
    const auto all = c->terms;
    c->terms.clear();
    for (const Range& r : all) (HasWindow(data->index, sides[side], {r}) ? c->terms : c->around).push_back(r);
    return c->turned = true;
  }
  return false;
}

}  // namespace

std::optional<Channels> ChannelsOf(const Sdfg& s, const Nest& n, const Tasklet& sum, const std::vector<bool>& apart, DType type) {
  const Tasklet* const t = &sum;
  if (!IsPlainSum(s, sum) || t->op != WriteOp::kAdd || !t->value.Is(ExprKind::kBinary) || t->value->op != Op::kMul) return std::nullopt;
  Channels c;
  c.sum = *t;
  c.type = type;
  if ((c.type != DType::kF32 && c.type != DType::kF64 && c.type != DType::kI32) || !Computes(s, *t, c.type)) return std::nullopt;
  const Offset target = OffsetOf(s, t->target, t->index);
  std::vector<Range> sides[2];
  for (size_t i = 0; i < n.ranges.size(); ++i) {
    const Range& r = n.ranges[i];
    const bool a = Mentions(t->value->args[0], r.index), b = Mentions(t->value->args[1], r.index),
               kept = Mentions(target.elements, r.index);
    if (kept && (!apart[i] || !StrideOf(target.elements, r.index))) return std::nullopt;
    if (!a && !b) return std::nullopt;
    if (kept) (a && b ? c.outer : sides[a ? 0 : 1]).push_back(r);
    else if (a && b) c.terms.push_back(r);
    else return std::nullopt;
  }
  const auto known = [&] {
    return std::all_of(c.terms.begin(), c.terms.end(), [](const Range& r) { return LengthOf(r) > 0; }) && LengthOf(c.points.back()) > 0;
  };
  const Expr operands[2] = {t->value->args[0], t->value->args[1]};
  if (Turn(s, operands, sides, &c)) return known() ? std::optional<Channels>(c) : std::nullopt;
  const auto walks = [&](const Range& r) { return StepOf(s, t->target, t->index, false, r.index) == 1 && LengthOf(r) > 1; };
  const bool second = std::any_of(sides[0].begin(), sides[0].end(), walks);  // which operand has the columns
  if (second == std::any_of(sides[1].begin(), sides[1].end(), walks)) return std::nullopt;
  c.points = sides[second ? 1 : 0];
  c.blocks = sides[second ? 0 : 1];
  const auto columns = std::find_if(c.blocks.begin(), c.blocks.end(), walks);
  c.columns = *columns;
  c.blocks.erase(columns);
  const auto data = WindowReadOf(s, t->value->args[second ? 1 : 0]);
  c.weights = t->value->args[second ? 0 : 1];
  if (!data || c.points.empty() || c.terms.empty()) return std::nullopt;
  c.data = *data;
  if (c.points.size() == 1 && !c.data.outside && !HasWindow(c.data.index, c.points, c.terms)) return std::nullopt;
  Order(s, t->target, t->index, &c.points);
  Order(s, c.data.container, c.data.index, &c.terms);
  return known() ? std::optional<Channels>(c) : std::nullopt;
}

namespace {

// Weights that are panels of this lane already, in groups: packed.h.
bool IsPackedFor(const Sdfg& s, const Expr& e, Name lane) {
  const size_t n = e->args.size();
  if (e->has_default || n < 4) return false;
  const Expr width = s.Get(e->name).shape[n - 2];
  return e->args[0] == FloorDiv(SymbolExpr(lane), width) && e->args[n - 2] == Mod(SymbolExpr(lane), width);
}

}  // namespace

std::optional<Windows> WindowsOf(const Sdfg& s, const Nest& n, const Tasklet& sum, const std::vector<bool>& apart, DType type) {
  const Tasklet* const t = &sum;
  if (!IsPlainSum(s, sum)) return std::nullopt;
  Windows w;
  w.sum = *t;
  w.type = type;
  if ((!IsFloat(w.type) && w.type != DType::kI32) || IsComplex(w.type) || !IdentityOf(t->op, w.type)) return std::nullopt;
  const Offset target = OffsetOf(s, t->target, t->index);
  int lane = -1;
  for (size_t i = 0; i < n.ranges.size(); ++i) {
    const Range& r = n.ranges[i];
    const bool kept = Mentions(target.elements, r.index);
    if (kept && (!apart[i] || !StrideOf(target.elements, r.index))) return std::nullopt;
    if (kept && lane < 0 && LengthOf(r) > 1 && StepOf(s, t->target, t->index, false, r.index) == 1) lane = static_cast<int>(i);
    else (kept ? w.points : w.terms).push_back(r);
  }
  if (lane < 0 || w.points.empty() || w.terms.empty()) return std::nullopt;
  w.lane = n.ranges[static_cast<size_t>(lane)];
  bool fine = true, window = false;
  Visit(t->value, [&](const Expr& e) {
    if (e.Is(ExprKind::kSelect)) fine = fine && WindowReadOf(s, e) && !Mentions(e->args[0], w.lane.index);
    if (!e.Is(ExprKind::kRead)) return fine;
    if (IsPackedFor(s, e, w.lane.index)) return false;
    const auto read = WindowReadOf(s, e);
    const int64_t step = read ? StepOf(s, e->name, read->index, false, w.lane.index) : INT32_MAX;
    fine = fine && step <= 1;
    for (size_t d = 0; fine && d < read->index.size(); ++d)  // no window of the lane itself: those are rows of an image
      fine = !Mentions(read->index[d], w.lane.index) || read->index[d] == SymbolExpr(w.lane.index);
    window |= fine && HasWindow(read->index, w.points, w.terms);
    return false;
  });
  if (!fine || !window) return std::nullopt;
  Order(s, t->target, t->index, &w.points);
  for (const auto* list : {&w.points, &w.terms})
    for (const Range& r : *list)
      if (LengthOf(r) < 1 && (list == &w.terms || &r == &list->back())) return std::nullopt;
  return w;
}

}  // namespace headrace::schedule
