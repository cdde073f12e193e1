#include "transforms/loop_privates.h"

#include <algorithm>
#include <functional>

#include "transforms/inline.h"
#include "transforms/set_first.h"
#include "transforms/uses.h"

namespace headrace::transforms {
namespace {

constexpr int64_t kSmall = 64 << 10;  // bytes that are never too many
constexpr int64_t kTimes = 4;         // as much as the largest array that the loop works on

bool Mentions(const Expr& e, Name symbol) {
  bool found = false;
  Visit(e, [&](const Expr& x) {
    found |= x.Is(ExprKind::kSymbol) && x->name == symbol;
    return !found;
  });
  return found;
}
bool Reads(const Expr& e, const Sdfg& s, Name root) {
  const std::vector<Name> all = ReadContainers(e);
  return std::any_of(all.begin(), all.end(), [&](Name n) { return RootOf(s, n) == root; });
}

void ForEachLeaf(const Sdfg& s, NodeId n, const std::function<void(NodeId, const Tasklet&)>& fn) {
  const Body body = s.nodes[n].body;
  if (const auto* t = std::get_if<Tasklet>(&body)) fn(n, *t);
  if (const auto* m = std::get_if<Map>(&body))
    for (NodeId inner : m->body) ForEachLeaf(s, inner, fn);
}

Expr Bytes(const Container& c) { return NumElements(c) * Expr(ByteSize(c.dtype)); }

bool HasFlatAccess(const Sdfg& s, Name n, const std::vector<NodeId>& statements) {
  bool found = false;
  auto look = [&](const Expr& e) {
    Visit(e, [&](const Expr& x) {
      found |= x.Is(ExprKind::kRead) && x->flat && x->name == n;
      return !found;
    });
  };
  for (NodeId id : statements)
    ForEachLeaf(s, id, [&](NodeId, const Tasklet& t) {
      found |= t.flat && t.target == n;
      look(t.value);
      for (const Expr& e : t.index) look(e);
    });
  return found;
}

// Is it the same wherever in the program it stands: of sizes that are bound outside?
bool IsSettled(const Expr& e, const std::vector<Name>& sizes) {
  const std::vector<Name> free = FreeSymbols(e);
  return std::all_of(free.begin(), free.end(), [&](Name n) { return std::find(sizes.begin(), sizes.end(), n) != sizes.end(); });
}

// With sizes that are all alike: for weighing, not for proofs.
int64_t WhereSizesAre(int64_t size, const Expr& e) {
  NameMap values;
  for (Name n : FreeSymbols(e)) values.push_back({n, Expr(size)});
  return AsInt(Simplify(Substitute(e, values))).value_or(INT64_MAX);
}

bool FitsBeside(const Sdfg& s, const Container& c, const Expr& count, const std::vector<Name>& others) {
  const Expr bytes = Bytes(c) * count;
  if (const auto known = AsInt(bytes); known && *known <= kSmall) return true;
  return std::any_of(others.begin(), others.end(), [&](Name n) {
    const Expr there = Bytes(s.Get(n)) * Expr(kTimes);
    const auto fits = [&](int64_t size) { return WhereSizesAre(size, bytes) <= WhereSizesAre(size, there); };
    return fits(16) && fits(4096);
  });
}

// What is always added to index k of a map where it finds elements, such as i + 1 of A[k + i + 1, i] * B[k + i + 1, j].
std::optional<Expr> OffsetOf(const Sdfg& s, NodeId map, Name k, Name loop_variable) {
  std::optional<Expr> offset;
  bool same = true;
  auto index = [&](const Expr& e) {
    if (!Mentions(e, k)) return;
    if (!IsIndexExpr(e)) return void(same = false);
    const Expr rest = Simplify(e - SymbolExpr(k));
    same &= !Mentions(rest, k) && (!offset || *offset == rest);
    offset = rest;
  };
  auto reads = [&](const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead))
        for (const Expr& a : x->args) index(a);
      return true;
    });
  };
  ForEachLeaf(s, map, [&](NodeId, const Tasklet& t) {
    reads(t.value);
    for (const Expr& e : t.index) index(e), reads(e);
  });
  if (!same || !offset || !Mentions(*offset, loop_variable)) return std::nullopt;
  return offset;
}

// Triangles with bounds that move instead of elements: `k in 0:N - i - 1 { … B[k + i + 1] }` is `k in i + 1:N { … B[k] }`, so that
// adjoints and sums see which indices a product has.
void TakeOffsets(Sdfg* s, NodeId map, Name loop_variable) {
  const std::vector<Range> ranges = std::get<Map>(s->nodes[map].body).ranges;
  for (size_t r = 0; r < ranges.size(); ++r) {
    const Name k = ranges[r].index;
    if (k == loop_variable) continue;
    const std::optional<Expr> offset = OffsetOf(*s, map, k, loop_variable);
    const auto used = [&](const Range& other) { return Mentions(other.begin, k) || Mentions(other.end, k); };
    if (!offset || std::any_of(ranges.begin(), ranges.end(), used)) continue;
    const NameMap moved = {{k, SymbolExpr(k) - *offset}};
    ForEachLeaf(*s, map, [&](NodeId leaf, const Tasklet&) {
      Tasklet& t = std::get<Tasklet>(s->nodes.Mutable(leaf).body);
      t.value = Substitute(t.value, moved);
      for (Expr& e : t.index) e = Substitute(e, moved);
    });
    Range& range = std::get<Map>(s->nodes.Mutable(map).body).ranges[r];
    range.begin = Simplify(range.begin + *offset), range.end = Simplify(range.end + *offset);
  }
}

bool HasMapsInside(const Sdfg& s, const Map& m) {
  return std::any_of(m.body.begin(), m.body.end(), [&](NodeId n) { return std::holds_alternative<Map>(s.nodes[n].body); });
}

}  // namespace

bool IsElementwiseNest(const Sdfg& s, NodeId n, Name loop_variable) {
  const Body& body = s.nodes[n].body;
  if (const auto* t = std::get_if<Tasklet>(&body)) {
    const Container* c = s.Find(t->target);
    return c && c->kind != ContainerKind::kSequence && c->dtype != DType::kString;
  }
  const auto* m = std::get_if<Map>(&body);
  if (!m || m->schedule != Schedule::kDefault) return false;
  for (const Range& r : m->ranges)
    if (r.index == loop_variable || !IsIndexExpr(r.begin) || !IsIndexExpr(r.end) || (r.step && !IsIndexExpr(r.step))) return false;
  return std::all_of(m->body.begin(), m->body.end(), [&](NodeId inner) { return IsElementwiseNest(s, inner, loop_variable); });
}

std::optional<Expr> AddedInPlace(const Sdfg& s, const Tasklet& t) {
  const Container& c = s.Get(t.target);
  if (c.storage == Storage::kRegister || !(c.dtype == DType::kF32 || c.dtype == DType::kF64 || IsComplex(c.dtype))) return std::nullopt;
  if (t.op != WriteOp::kAssign || t.guarded || t.flat || !t.value.Is(ExprKind::kBinary)) return std::nullopt;
  const Expr self = ReadExpr(t.target, t.index);
  const Expr &a = t.value->args[0], &b = t.value->args[1];
  Expr rest;
  if (t.value->op == Op::kAdd) rest = a == self ? b : b == self ? a : Expr();
  if (t.value->op == Op::kSub && a == self) rest = UnaryExpr(Op::kNeg, b);
  const Name root = RootOf(s, t.target);
  if (!rest || Reads(rest, s, root)) return std::nullopt;
  for (const Expr& e : t.index)
    if (Reads(e, s, root)) return std::nullopt;
  return rest;
}

void AccumulateOver(Sdfg* s, Name loop_variable, const std::vector<NodeId>& statements) {
  for (NodeId n : statements)
    ForEachLeaf(*s, n, [&](NodeId leaf, const Tasklet& t) {
      if (std::any_of(t.index.begin(), t.index.end(), [&](const Expr& e) { return Mentions(e, loop_variable); })) return;
      const std::optional<Expr> added = AddedInPlace(*s, t);
      if (!added) return;
      Tasklet& changed = std::get<Tasklet>(s->nodes.Mutable(leaf).body);
      changed.op = WriteOp::kAdd, changed.value = *added;
    });
}

std::optional<Privates> FindPrivates(const Program& p, const Sdfg& s, const LoopNest& nest, const std::vector<NodeId>& statements) {
  Privates out;
  std::vector<Range> loops = nest.outer;
  loops.push_back(nest.range);
  const Assumptions as = WithLoops(s.assumptions, loops);
  std::vector<std::vector<Memlet>> memlets;
  for (NodeId n : statements) memlets.push_back(MemletsOf(p, s, n));
  const UseIndex uses(p, s);
  uint32_t begin = UINT32_MAX, end = 0;
  for (uint32_t k = 0; k < uses.positions().size(); ++k)
    if (std::find(statements.begin(), statements.end(), uses.positions()[k].statement) != statements.end())
      begin = std::min(begin, k), end = std::max(end, k);
  const std::vector<Name> sizes = FreeSymbols(s);
  std::vector<Name> others;
  for (const std::vector<Memlet>& of : memlets)
    for (const Memlet& m : of) {
      const Name n = RootOf(s, m.container);
      const Container& c = s.Get(n);
      if (out.names.count(n) || std::find(others.begin(), others.end(), n) != others.end()) continue;
      const Usage& u = uses.Of(n);
      const auto inside = [&](uint32_t at) { return at >= begin && at <= end; };
      const bool alone = c.kind == ContainerKind::kTransient && c.storage == Storage::kArena && c.row_major() && !u.viewed &&
                         std::all_of(u.reads.begin(), u.reads.end(), inside) && IsSettled(NumElements(c), sizes) &&
                         !HasFlatAccess(s, n, statements);
      if (!alone || !SetFirst(s, n, statements, memlets, as)) {
        others.push_back(n);
        continue;
      }
      out.names.insert(n);
      if (!std::all_of(u.writes.begin(), u.writes.end(), inside)) out.elsewhere.insert(n);
    }
  if (out.names.empty()) return out;
  const Box box = ImageBox(loops, {SymbolExpr(nest.range.index)}, {SymbolExpr(nest.range.index)}, s.assumptions);
  out.first = box.subset.dims[0].begin;
  out.count = box.subset.dims[0].end - out.first;
  if (!IsSettled(out.first, sizes) || !IsSettled(out.count, sizes)) return std::nullopt;
  if (ProveLe(Expr(0), out.count, s.assumptions) != Truth::kYes) out.count = Max(Expr(0), out.count);
  for (Name n : out.names)
    if (!FitsBeside(s, s.Get(n), out.count, others)) return std::nullopt;
  return out;
}

bool EachSetsItsOwn(const Sdfg& s, Name loop_variable, const std::unordered_set<Name>& own, const std::vector<NodeId>& statements) {
  bool fine = true;
  for (NodeId n : statements)
    ForEachLeaf(s, n, [&](NodeId, const Tasklet& t) {
      if (t.op != WriteOp::kAssign || own.count(t.target) || s.Get(t.target).storage == Storage::kRegister) return;
      fine &= std::any_of(t.index.begin(), t.index.end(), [&](const Expr& e) { return Mentions(e, loop_variable); });
    });
  return fine;
}

bool ShareAny(const Sdfg& s, NodeId a, NodeId b, const std::unordered_set<Name>& names) {
  std::unordered_set<Name> of_a;
  auto touched = [&](NodeId n, const std::function<void(Name)>& fn) {
    ForEachLeaf(s, n, [&](NodeId, const Tasklet& t) {
      fn(t.target);
      for (Name r : ReadContainers(t.value)) fn(r);
      for (const Expr& e : t.index)
        for (Name r : ReadContainers(e)) fn(r);
    });
  };
  touched(a, [&](Name n) { of_a.insert(n); });
  bool shared = false;
  touched(b, [&](Name n) { shared |= names.count(n) && of_a.count(n); });
  return shared;
}

void GiveEach(Sdfg* s, const Privates& own, const Range& loop, const std::vector<NodeId>& statements) {
  if (own.names.empty()) return;
  const Expr at = SymbolExpr(loop.index) - own.first;
  NameTable table(*s);
  std::unordered_set<Name> grown;
  std::vector<std::pair<Name, Name>> renamed;
  for (Name n : own.names) {
    Container c = s->Get(n);
    c.shape.insert(c.shape.begin(), own.count);
    c.MakeRowMajor();
    if (own.elsewhere.count(n)) renamed.emplace_back(n, c.name = table.Fresh(n));
    grown.insert(c.name);
    if (c.name != n) s->Add(std::move(c));
    else s->Mutable(n) = std::move(c);
  }
  auto fix = [&](const Expr& e) {
    return Transform(RenameContainers(e, renamed), [&](const Expr& x) {
      if (!x.Is(ExprKind::kRead) || !grown.count(x->name)) return x;
      std::vector<Expr> args = x->args;
      args.insert(args.begin(), at);
      return WithArgs(x, std::move(args));
    });
  };
  for (NodeId n : statements)
    ForEachLeaf(*s, n, [&](NodeId leaf, const Tasklet&) {
      Tasklet& t = std::get<Tasklet>(s->nodes.Mutable(leaf).body);
      t.value = fix(t.value);
      for (Expr& e : t.index) e = fix(e);
      for (const auto& [from, to] : renamed)
        if (t.target == from) t.target = to;
      if (grown.count(t.target)) t.index.insert(t.index.begin(), at);
    });
}

NodeId MapOver(Sdfg* s, const Range& loop, NodeId statement) {
  const Origin origin = s->nodes[statement].origin;
  const Body body = s->nodes[statement].body;
  const auto* inner = std::get_if<Map>(&body);
  if (!inner) {
    Map m;
    m.ranges = {loop}, m.body = {statement};
    return s->AddNode(std::move(m), origin);
  }
  bool summed = true, moves = false;
  ForEachLeaf(*s, statement, [&](NodeId, const Tasklet& t) {
    summed &= t.op != WriteOp::kAssign;
    for (const Expr& e : t.index) summed &= !Mentions(e, loop.index);
  });
  for (const Range& r : inner->ranges) moves |= Mentions(r.begin, loop.index) || Mentions(r.end, loop.index);
  Map m = *inner;
  m.ranges.insert(summed && !moves ? m.ranges.end() : m.ranges.begin(), loop);
  const bool flat = !HasMapsInside(*s, m);
  const NodeId map = s->AddNode(std::move(m), origin);
  if (flat) TakeOffsets(s, map, loop.index);
  return map;
}

}  // namespace headrace::transforms
