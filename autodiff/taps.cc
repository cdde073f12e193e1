#include "autodiff/taps.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/type_inference.h"

namespace headrace::autodiff {
namespace {

constexpr int kMaxNodes = 400;  // of a value whose registers have been put in

using Registers = std::unordered_map<Name, Expr>;  // their values

int Size(const Expr& e) {
  int n = 0;
  Visit(e, [&](const Expr&) { return ++n < kMaxNodes; });
  return n;
}

// Whether it speaks of an index of theirs.
bool Moves(const std::vector<Range>& ranges, const Expr& e) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    found |= x.Is(ExprKind::kSymbol) && std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) { return r.index == x->name; });
    return !found;
  });
  return found;
}

Expr Inlined(const Expr& e, const Registers& registers) {
  return Transform(e, [&](const Expr& x) -> Expr {
    if (!x.Is(ExprKind::kRead) || !x->args.empty()) return x;
    auto it = registers.find(x->name);
    return it == registers.end() ? x : it->second;
  });
}

// One that is assigned once, or set to 0 and added to once.
bool PutIn(const Sdfg& s, const Tasklet& t, Registers* registers) {
  const Container& c = s.Get(t.target);
  const auto known = registers->find(t.target);
  const bool sums = known != registers->end() && t.op == WriteOp::kAdd && IsZero(known->second);
  if (!c.shape.empty() || (!sums && (t.op != WriteOp::kAssign || known != registers->end()))) return false;
  Result<Expr> typed = InferTypes(s, t.value, c.dtype);
  if (!typed.ok() || (*typed)->dtype != c.dtype || ComputeType(c.dtype) != c.dtype) return false;
  Expr value = Inlined(t.value, *registers);
  if (Size(value) >= kMaxNodes) return false;
  (*registers)[t.target] = std::move(value);
  return true;
}

std::optional<Tap> TapOf(const Sdfg& s, const Tasklet& write, const std::vector<Range>& ranges, const Registers& registers) {
  if (!IsFloat(s.Get(write.target).dtype)) return std::nullopt;
  Tap t;
  t.ranges = ranges;
  t.target = write.target;
  t.op = write.op;
  t.value = Inlined(write.value, registers);
  if (Size(t.value) >= kMaxNodes) return std::nullopt;
  std::unordered_set<Name> placed;
  for (const Expr& written : write.index) {
    const Expr e = Inlined(written, registers);
    if (!IsIndexExpr(e)) return std::nullopt;
    t.index.push_back(e);
    t.fixed.push_back(Moves(ranges, e) ? Expr() : e);
    if (t.fixed.back()) continue;
    const auto moved = std::find_if(ranges.begin(), ranges.end(), [&](const Range& r) { return !Moves(ranges, e - Expr(r.index)); });
    if (moved == ranges.end() || !placed.insert(moved->index).second) return std::nullopt;
    const Expr d = e - Expr(moved->index);
    t.box.push_back({moved->index, moved->begin + d, moved->end + d, Expr(1)});
    t.distance.push_back(d);
  }
  if (placed.size() != ranges.size()) return std::nullopt;
  for (Name n : ReadContainers(t.value))
    if (s.Get(n).storage == Storage::kRegister) return std::nullopt;  // of a map around, or never set
  return t;
}

}  // namespace

bool IsZero(const Expr& e) {
  if (e.Is(ExprKind::kUnary) && e->op == Op::kNeg) return IsZero(e->args[0]);
  return (e.Is(ExprKind::kFloat) && e->fvalue == 0) || (e.Is(ExprKind::kInt) && e->ivalue == 0);
}

std::optional<std::vector<Tap>> TapsOf(const Sdfg& s, NodeId id) {
  std::vector<Range> ranges;
  const Map* m = std::get_if<Map>(&s.nodes[id].body);
  if (!m) return std::nullopt;
  for (;;) {
    ranges.insert(ranges.end(), m->ranges.begin(), m->ranges.end());
    const Map* inner = m->body.size() == 1 ? std::get_if<Map>(&s.nodes[m->body[0]].body) : nullptr;
    if (!inner) break;
    m = inner;
  }
  for (const Range& r : ranges)
    if ((r.step && AsInt(r.step) != 1) || Moves(ranges, r.begin) || Moves(ranges, r.end)) return std::nullopt;
  std::vector<Tap> taps;
  Registers registers;  // are put in where they are read
  size_t writes = 0;
  for (NodeId n : m->body) {
    auto* t = std::get_if<Tasklet>(&s.nodes[n].body);
    if (!t || t->guarded || t->flat) return std::nullopt;
    if (s.Get(t->target).storage == Storage::kRegister) {
      if (!PutIn(s, *t, &registers)) return std::nullopt;
      continue;
    }
    ++writes;
    std::optional<Tap> tap = TapOf(s, *t, ranges, registers);
    if (!tap) return std::nullopt;
    tap->node = id;
    taps.push_back(std::move(*tap));
  }
  if (taps.empty()) return std::nullopt;
  for (Tap& t : taps) t.alone = writes == 1;
  return taps;
}

std::optional<Tap> TapOf(const Sdfg& s, NodeId id) {
  std::optional<std::vector<Tap>> all = TapsOf(s, id);
  return all && all->size() == 1 && (*all)[0].alone ? std::optional<Tap>(std::move((*all)[0])) : std::nullopt;
}

}  // namespace headrace::autodiff
