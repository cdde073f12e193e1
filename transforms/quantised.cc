#include "transforms/quantised.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"

namespace headrace::transforms {
namespace {

bool IsZero(const Expr& e) { return AsInt(e) == 0 || (e.Is(ExprKind::kFloat) && e->fvalue == 0); }

// Types that hold the difference of two small integers.
bool IsWide(DType t) { return t == DType::kI16 || t == DType::kI32 || t == DType::kI64 || t == DType::kF32 || t == DType::kF64; }

bool IsSmall(DType t) { return t == DType::kU8 || t == DType::kI8; }

std::vector<Expr> IndexOf(const Expr& read) { return {read->args.begin(), read->args.end() - read->has_default}; }

Expr Uncast(Expr e) {
  while (e.Is(ExprKind::kCast) && !e->saturate && IsWide(e->dtype)) e = e->args[0];
  return e;
}

}  // namespace

std::optional<OneTasklet> OneTaskletOf(const Sdfg& s, NodeId statement) {
  OneTasklet out;
  const Body* b = &s.nodes[statement].body;
  while (const auto* m = std::get_if<Map>(b)) {
    if (m->body.size() != 1) return std::nullopt;
    out.ranges.insert(out.ranges.end(), m->ranges.begin(), m->ranges.end());
    b = &s.nodes[m->body[0]].body;
  }
  const auto* t = std::get_if<Tasklet>(b);
  if (!t || t->flat || t->guarded) return std::nullopt;
  for (const Range& r : out.ranges) {
    if (AsInt(r.begin) != 0 || (r.step && AsInt(r.step) != 1)) return std::nullopt;
    for (const Range& other : out.ranges)
      if (Mentions(r.end, other.index)) return std::nullopt;
  }
  out.tasklet = *t;
  return out;
}

bool WritesAll(const Sdfg& s, const OneTasklet& o) {
  const Container& c = s.Get(o.tasklet.target);
  std::vector<Name> seen;
  for (size_t d = 0; d < o.tasklet.index.size(); ++d) {
    const Expr& e = o.tasklet.index[d];
    if (AsInt(e) == 0 && AsInt(c.shape[d]) == 1) continue;
    const auto r = std::find_if(o.ranges.begin(), o.ranges.end(), [&](const Range& x) { return e == SymbolExpr(x.index); });
    if (r == o.ranges.end() || std::find(seen.begin(), seen.end(), r->index) != seen.end()) return false;
    if (r->end != c.shape[d] && ProveEq(r->end, c.shape[d], s.assumptions) != Truth::kYes) return false;
    seen.push_back(r->index);
  }
  return true;
}

bool Quantisation::Keeps(const Expr& e, uint32_t from, uint32_t until) const {
  for (Name r : ReadContainers(e))
    if (uses_.Of(RootOf(s_, r)).WrittenBetween(from, until)) return false;
  return true;
}

std::optional<Quantised> Quantisation::Of(const Expr& e, uint32_t at) const {
  auto q = Parse(e, at);
  if (!q || !q->read->has_default) return q;
  return WithOutside(*q, q->read->args.back());
}

std::optional<Quantised> Quantisation::Parse(const Expr& e, uint32_t at) const {
  if (e.Is(ExprKind::kRead)) return Read(e, at);
  if (e.Is(ExprKind::kCast) && !e->saturate && IsWide(e->dtype)) {
    const Expr& inner = e->args[0];
    const bool element = inner.Is(ExprKind::kRead) && IsSmall(s_.Get(inner->name).dtype);
    return element ? Element(inner) : Parse(inner, at);
  }
  if (e.Is(ExprKind::kBinary) && e->op == Op::kSub) return Less(e, at);
  if (e.Is(ExprKind::kBinary) && e->op == Op::kMul)
    for (const size_t side : {0u, 1u})
      if (auto q = Parse(e->args[side], at)) {
        q->scales.push_back(e->args[1 - side]);
        return q;
      }
  return std::nullopt;
}

std::optional<Quantised> Quantisation::Less(const Expr& difference, uint32_t at) const {
  auto q = Parse(difference->args[0], at);
  const auto zero = Zero(difference->args[1]);
  if (!q || !zero || q->zero || !q->scales.empty()) return std::nullopt;
  if (AsInt(*zero) != 0) q->zero = *zero;
  return q;
}

// An element as it lies in memory.
std::optional<Quantised> Quantisation::Element(const Expr& read) const {
  if (read->flat) return std::nullopt;
  Quantised q;
  q.read = read, q.type = s_.Get(read->name).dtype;
  return q;
}

// What an element is by the statement that has written it, each element once; without the value for outside.
std::optional<Written> Quantisation::WrittenTo(const Expr& e, uint32_t at) const {
  const Container* c = s_.Find(e->name);
  if (!c || c->kind != ContainerKind::kTransient || !IsWide(c->dtype) || e->flat) return std::nullopt;
  const Usage& usage = uses_.Of(e->name);
  if (usage.viewed || usage.writes.size() != 1 || usage.writes[0] >= at) return std::nullopt;
  const UseIndex::Position &from = uses_.positions()[usage.writes[0]], &here = uses_.positions()[at];
  if (!from.statement.valid() || from.region != here.region) return std::nullopt;
  const auto writer = OneTaskletOf(s_, from.statement);
  if (!writer || writer->tasklet.op != WriteOp::kAssign || writer->tasklet.target != e->name || !WritesAll(s_, *writer)) return std::nullopt;
  NameMap index;
  for (size_t d = 0; d < writer->tasklet.index.size(); ++d)
    if (writer->tasklet.index[d].Is(ExprKind::kSymbol)) index.emplace_back(writer->tasklet.index[d]->name, e->args[d]);
  const Expr value = Substitute(writer->tasklet.value, index);
  if (!Keeps(value, usage.writes[0], at)) return std::nullopt;
  return Written{value, usage.writes[0]};
}

std::optional<Quantised> Quantisation::Read(const Expr& e, uint32_t at) const {
  if (depth_ == 2) return std::nullopt;  // of a long chain of products nothing is asked
  const auto written = WrittenTo(e, at);
  if (!written) return std::nullopt;
  ++depth_;
  auto q = Parse(written->value, written->at);
  --depth_;
  if (!q || !e->has_default) return q;
  if (!IsZero(e->args.back()) || q->read->has_default) return std::nullopt;
  q->read = ReadExpr(q->read->name, IndexOf(q->read), q->zero ? q->zero : Expr(0));
  return q;
}

// What is outside counts as 0 once the zero point is taken off.
std::optional<Quantised> Quantisation::WithOutside(Quantised q, const Expr& outside) const {
  const Expr zero = q.zero ? Uncast(q.zero) : Expr(0);
  const auto known = Zero(outside);
  if (!known || Uncast(*known) != zero) return std::nullopt;
  const bool cast = zero.Is(ExprKind::kRead) && s_.Get(zero->name).dtype != q.type;
  q.read = ReadExpr(q.read->name, IndexOf(q.read), cast ? CastExpr(q.type, zero) : zero);
  return q;
}

// A literal where the constant has but one value.
std::optional<Expr> Quantisation::Zero(const Expr& e) const {
  const Expr zero = Uncast(e);
  if (AsInt(zero)) return zero;
  if (IsZero(zero)) return Expr(0);
  const Container* c = zero.Is(ExprKind::kRead) || zero.Is(ExprKind::kSymbol) ? s_.Find(zero->name) : nullptr;
  if (!c || !IsSmall(c->dtype) || (zero.Is(ExprKind::kRead) && (zero->flat || zero->has_default))) return std::nullopt;
  if (c->kind == ContainerKind::kConstant && c->data.data && c->data.elements() > 0) {
    const int64_t first = c->data.GetInt(0);
    bool same = true;
    for (int64_t i = 1; same && i < c->data.elements(); ++i) same = c->data.GetInt(i) == first;
    if (same) return Expr(first);
  }
  return CastExpr(DType::kI32, zero.Is(ExprKind::kSymbol) ? ReadExpr(zero->name, {}) : zero);
}

}  // namespace headrace::transforms
