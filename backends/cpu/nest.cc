#include "backends/cpu/nest.h"

#include <algorithm>
#include <set>

#include "backends/cpu/ctypes.h"

namespace headrace::cpu {

bool HasReport(const LoweredStmt& s) {
  bool found = s.report && s.condition;
  for (const Expr& e : {s.value, s.linear, s.condition})
    if (e) Visit(e, [&](const Expr& x) { return found |= IsFn(x, kBadFn), !found; });
  return found;
}

namespace {
const char* ReductionName(WriteOp op) {
  return op == WriteOp::kAdd ? "+" : op == WriteOp::kMul ? "*" : op == WriteOp::kMax ? "hr_max" : "hr_min";
}
}  // namespace

bool NestGen::HasHome(NodeId owner) const {
  return std::any_of(homes_.begin(), homes_.end(), [&](const auto& h) { return h.first == owner; });
}

void NestGen::DeclareRegisters(NodeId owner, Writer& w) {
  for (const auto& [node, name] : homes_)
    if (node == owner) env_.DeclareRegister(s_.Get(name), w);
}

NestGen::Flat NestGen::Flatten(NodeId map) const {
  const auto* m = &std::get<Map>(s_.nodes[map].body);
  Flat f{m->ranges, m->body, map};
  while (f.body.size() == 1 && !HasHome(f.owner)) {
    m = std::get_if<Map>(&s_.nodes[f.body[0]].body);
    if (!m) break;
    f.owner = f.body[0];
    f.ranges.insert(f.ranges.end(), m->ranges.begin(), m->ranges.end());
    f.body = m->body;
  }
  return f;
}

std::set<Name> NestGen::OuterRegisters(const Flat& f) const {
  std::set<uint32_t> inside = {f.owner.value};
  std::function<void(NodeId)> visit = [&](NodeId n) {
    inside.insert(n.value);
    if (const auto* m = std::get_if<Map>(&s_.nodes[n].body))
      for (NodeId c : m->body) visit(c);
  };
  for (NodeId n : f.body) visit(n);
  std::set<Name> out;
  for (const auto& [node, name] : homes_)
    if (!inside.count(node.value)) out.insert(name);
  return out;
}

std::vector<LoopDim> NestGen::Dims(const Flat& f, bool sums_apart) const {
  std::set<Name> shared = OuterRegisters(f);
  if (sums_apart) {
    std::set<Name> sums, others;
    for (NodeId n : f.body)
      for (const RawAccess& a : AccessesOf(s_, n))
        (a.op == WriteOp::kAssign ? others : sums).insert(BaseOf(s_, a.container));
    for (Name n : sums)
      if (!others.count(n)) shared.erase(n);
  }
  const std::vector<bool> disjoint = DisjointDims(s_, f.ranges, f.body, shared);
  std::vector<LoopDim> dims;
  for (size_t i = 0; i < f.ranges.size(); ++i) {
    dims.push_back(DimOf(f.ranges[i]));
    dims.back().disjoint = disjoint[i];
  }
  return dims;
}

LoopDim DimOf(const Range& r) {
  LoopDim d;
  d.index = r.index;
  d.begin = r.begin, d.end = r.end, d.step = r.step ? r.step : IntExpr(1);
  d.simple = AsInt(d.begin) == 0 && AsInt(d.step) == 1;
  d.trip = d.simple ? d.end : TripCount(r);
  return d;
}

bool PerfectNest::Scatters() const {
  return std::any_of(dims.begin(), dims.end(),
                     [&](const LoopDim& d) { return !d.disjoint && Mentions(stmt.linear, d.index); });
}

Result<PerfectNest> NestGen::Perfect(const Flat& f) {
  PerfectNest p;
  p.dims = Dims(f);
  HR_ASSIGN_OR_RETURN(p.stmt, lowerer_.Lower(std::get<Tasklet>(s_.nodes[f.body[0]].body)));
  if (p.stmt.op == WriteOp::kAssign)
    p.ordered = std::any_of(p.dims.begin(), p.dims.end(), [](const LoopDim& d) { return !d.disjoint; });
  for (const RawAccess& a : AccessesOf(s_, f.body[0]))  // a sum that reads what it writes
    if (!a.write && p.stmt.op != WriteOp::kAssign && BaseOf(s_, a.container) == p.stmt.base && a.op == WriteOp::kAssign)
      p.ordered = true;
  SplitDims(&p);
  for (const LoopDim& d : p.dims)  // bounds that depend on another index: keep the order
    for (const LoopDim& o : p.dims)
      if (Mentions(d.begin, o.index) || Mentions(d.end, o.index)) p.ordered = true;
  return p;
}

// Drops // and % that the ranges make trivial; o // 16 over o in 0:64 becomes two indices (groups of a convolution).
void NestGen::SplitDims(PerfectNest* p) const {
  auto simplify = [&] {
    std::vector<IndexExtent> extents;
    for (const LoopDim& d : p->dims)
      if (const auto n = AsInt(d.end); d.simple && n && *n > 0) extents.push_back({d.index, *n});
    p->stmt = SimplifyInRange(std::move(p->stmt), extents, s_.assumptions);
  };
  simplify();
  if (p->ordered || p->stmt.op == WriteOp::kAssign) return;
  for (size_t i = 0; i < p->dims.size(); ++i) {
    const auto n = AsInt(p->dims[i].end);
    const int64_t c = p->dims[i].simple && n ? SplitDivisor(p->stmt, p->dims[i].index) : 0;
    if (c < 2 || *n % c != 0 || *n == c) continue;
    LoopDim outer = p->dims[i], inner = outer;
    outer.index = Name(outer.index.str() + "_outer");
    inner.index = Name(inner.index.str() + "_inner");
    outer.end = outer.trip = IntExpr(*n / c);
    inner.end = inner.trip = IntExpr(c);
    const Expr by = IntExpr(c) * SymbolExpr(outer.index) + SymbolExpr(inner.index);
    p->stmt = SubstituteIndex(std::move(p->stmt), p->dims[i].index, by);
    p->dims[i] = outer;
    p->dims.insert(p->dims.begin() + static_cast<long>(i) + 1, inner);
    simplify();
  }
}

void NestGen::CollapseDims(PerfectNest* p) const {
  if (p->ordered) return;
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t a = 0; a < p->dims.size() && !changed; ++a)
      for (size_t b = 0; b < p->dims.size() && !changed; ++b) {
        LoopDim &x = p->dims[a], &y = p->dims[b];
        if (a == b || !x.simple || !y.simple || x.disjoint != y.disjoint) continue;
        auto merged = AsInt(y.end) == 1 ? Collapse(p->stmt, x.index, y.index, IntExpr(1))
                                        : Collapse(p->stmt, x.index, y.index, y.end);
        if (!merged) continue;
        p->stmt = *merged;
        x.end = x.trip = x.end * y.end;
        p->dims.erase(p->dims.begin() + b);
        changed = true;
      }
  }
}

int NestGen::VectorDim(const PerfectNest& p) const {
  if (p.dims.empty()) return -1;
  if (p.ordered) return static_cast<int>(p.dims.size()) - 1;
  const std::vector<Expr> offsets = Offsets(p.stmt);
  int best = -1, best_score = INT32_MIN;
  for (size_t i = 0; i < p.dims.size(); ++i) {
    const LoopDim& d = p.dims[i];
    int score = 0;
    for (size_t k = 0; k < offsets.size(); ++k) {
      const auto c = Coefficient(offsets[k], d.index);
      const auto v = c ? AsInt(*c) : std::nullopt;
      if (v == 1) score += 6;
      else if (v == 0) score += k == 0 ? 3 : 4;
      else score -= 8;
    }
    const auto n = AsInt(d.trip);
    if (n && *n < 16) score -= *n < 4 ? 40 : 16;
    if (!d.simple) score -= 2;
    if (score >= best_score) best = static_cast<int>(i), best_score = score;
  }
  return best;
}

bool NestGen::TakesLanes(const std::vector<NodeId>& body, const LoopDim& d) const {
  if (!d.disjoint || !d.simple || AsInt(d.end).value_or(1 << 20) < 16) return false;
  for (NodeId n : body) {
    const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body);
    const auto l = t ? lowerer_.Lower(*t) : Result<LoweredStmt>(InternalError("no tasklet"));
    if (!l.ok() || l->condition || !Vectorisable(*l)) return false;
    if (s_.Get(l->base).storage == Storage::kRegister) continue;
    for (const Expr& offset : Offsets(*l)) {
      const auto along = Coefficient(offset, d.index);
      if (!along || !(AsInt(*along) == 0 || AsInt(*along) == 1)) return false;
    }
  }
  return true;
}

int64_t NestGen::Cost(const LoweredStmt& s) const {
  int64_t cost = 1;
  int budget = 1000;
  Visit(s.value, [&](const Expr& e) {
    if (e.Is(ExprKind::kCall) && e->name.view()[0] != '$') cost += 8;
    if (e.Is(ExprKind::kRead) || e.Is(ExprKind::kBinary)) cost += 1;
    return --budget > 0 && !e.Is(ExprKind::kRead);
  });
  return std::min<int64_t>(cost, 200);
}

std::string NestGen::IndexText(const Expr& e, Writer& w) {
  ExprCode code(env_, w);
  code.Use(e);
  return code.Index(e);
}

bool NestGen::Vectorisable(const LoweredStmt& s) const { return !HasReport(s) && !IsComplex(s.dtype); }

void NestGen::Store(const LoweredStmt& s, Writer& w) {
  if (s.condition) {
    ExprCode code(env_, w);
    code.Use(s.condition);
    w.Open("if (" + AloneCode(Bare(code.Value(s.condition)), w) + ") {");
  }
  const Expr value = s.value;
  ExprCode code(env_, w);
  code.Use(value);
  code.Use(s.linear);
  const DType t = Computed(s.dtype);
  std::string v = s.op == WriteOp::kAssign ? code.Value(value) : code.Value(value, t);
  const std::string target = env_.Element(s.base, Bare(code.Index(s.linear)));
  if (s.op == WriteOp::kAssign) v = StoreCode(s.dtype, v, code.TypeOf(value));
  else v = StoreCode(s.dtype, Combine(s.op, t, LoadCode(s.dtype, target), v), t);
  w.Line(target + " = " + Bare(v) + ";");
  if (!s.condition) return;
  w.Close();
  if (!s.report) return;
  w.Open("else {");
  ExprCode bad(env_, w);
  bad.Use(s.report);
  w.Line("(void)" + bad.Value(s.report) + ";");
  w.Close();
}

void NestGen::Loops(const PerfectNest& p, Writer& w) {
  const int v = VectorDim(p);
  const bool simd = Vectorisable(p.stmt) && !p.ordered;
  std::vector<LoopDim> free, reduced;
  for (const LoopDim& d : p.dims)
    (p.ordered || p.stmt.op == WriteOp::kAssign || d.disjoint ? free : reduced).push_back(d);
  const bool conditional = (p.stmt.condition || p.Scatters()) && !reduced.empty();
  if (p.ordered || reduced.empty() || conditional) {
    std::vector<LoopDim> order;
    for (size_t i = 0; i < p.dims.size(); ++i)
      if (p.ordered || static_cast<int>(i) != v) order.push_back(p.dims[i]);
    if (!p.ordered && v >= 0) order.push_back(p.dims[v]);
    LoweredStmt stmt = p.stmt;
    for (size_t i = 0; i < order.size(); ++i) {
      const bool lanes = simd && !conditional && i + 1 == order.size() && order[i].disjoint;
      if (lanes) stmt.value = Hoist(stmt.value, order[i], {stmt.base}, w);
      OpenLoop(order[i], w, lanes ? "#pragma omp simd" : "");
    }
    Store(stmt, w);
    for (size_t i = order.size(); i-- > 0;) CloseLoop(order[i], w);
    return;
  }
  const LoopDim vector = p.dims[v];
  if (vector.disjoint) {  // lanes over a free dimension: a tile of accumulators
    free.erase(std::find_if(free.begin(), free.end(), [&](const LoopDim& d) { return d.index == vector.index; }));
    for (const LoopDim& d : free) OpenLoop(d, w);
    if (vector.simple) {
      constexpr int64_t kTile = 256;
      const std::string n = IndexText(vector.end, w);
      w.Open("for (int64_t u0 = 0; u0 < " + n + "; u0 += " + std::to_string(kTile) + ") {");
      w.Line("const int64_t un = hr_least(" + std::to_string(kTile) + ", " + n + " - u0);");
      ReduceTile(p.stmt, reduced, vector, "u0", "un", kTile, w);
      w.Close();
    } else {
      OpenLoop(vector, w);
      w.Line(std::string(ValueType(Computed(p.stmt.dtype))) + " acc = " + Identity(p.stmt.op, p.stmt.dtype) + ";");
      Reduce(p.stmt, reduced, "acc", false, w);
      PerfectNest store = p;
      ExprCode code(env_, w);
      code.Use(p.stmt.linear);
      const std::string target = env_.Element(p.stmt.base, Bare(code.Index(p.stmt.linear)));
      w.Line(target + " = " +
             Bare(StoreCode(p.stmt.dtype, Combine(p.stmt.op, p.stmt.dtype, LoadCode(p.stmt.dtype, target), "acc"),
                            Computed(p.stmt.dtype))) +
             ";");
      CloseLoop(vector, w);
    }
    for (size_t i = free.size(); i-- > 0;) CloseLoop(free[i], w);
    return;
  }
  std::stable_partition(reduced.begin(), reduced.end(), [&](const LoopDim& d) { return d.index != vector.index; });
  for (const LoopDim& d : free) OpenLoop(d, w);
  const bool braces = free.empty();
  if (braces) w.Open("{");
  w.Line(std::string(ValueType(Computed(p.stmt.dtype))) + " acc = " + Identity(p.stmt.op, p.stmt.dtype) + ";");
  Reduce(p.stmt, reduced, "acc", simd, w);
  ExprCode code(env_, w);
  code.Use(p.stmt.linear);
  const std::string target = env_.Element(p.stmt.base, Bare(code.Index(p.stmt.linear)));
  w.Line(target + " = " +
         Bare(StoreCode(p.stmt.dtype, Combine(p.stmt.op, p.stmt.dtype, LoadCode(p.stmt.dtype, target), "acc"),
                        Computed(p.stmt.dtype))) +
         ";");
  if (braces) w.Close();
  for (size_t i = free.size(); i-- > 0;) CloseLoop(free[i], w);
}

Status NestGen::Body(const std::vector<NodeId>& body, NodeId owner, Writer& w) {
  DeclareRegisters(owner, w);
  for (NodeId n : body) HR_RETURN_IF_ERROR(Statement(n, w));
  return {};
}

Status NestGen::Statement(NodeId n, Writer& w) {
  const auto& body = s_.nodes[n].body;
  if (std::holds_alternative<std::monostate>(body)) return {};
  if (const auto* t = std::get_if<Tasklet>(&body)) {
    const auto ready = prepared_.find(n.value);
    HR_ASSIGN_OR_RETURN(LoweredStmt s,
                        ready != prepared_.end() ? Result<LoweredStmt>(ready->second) : lowerer_.Lower(*t));
    w.Open("{");
    Store(s, w);
    w.Close();
    return {};
  }
  if (!std::holds_alternative<Map>(body)) {
    HR_CHECK(call != nullptr, "a call inside a kernel");
    return call(n, w);
  }
  const Flat f = Flatten(n);
  for (const Range& r : f.ranges) lowerer_.Push(r);
  Status status;
  if (f.body.size() == 1 && std::holds_alternative<Tasklet>(s_.nodes[f.body[0]].body) && !HasHome(f.owner)) {
    auto p = Perfect(f);
    status = p.status();
    if (p.ok()) {
      CollapseDims(&*p);
      Loops(*p, w);
    }
  } else {
    const std::vector<LoopDim> dims = Dims(f, /*sums_apart=*/true);
    bool simd = dims.back().disjoint;
    std::set<std::string>
        sums;  // private scalars of an outer map that this one accumulates into: reductions of its lanes
    for (NodeId c : f.body) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[c].body);
      if (!t) {
        simd = false;
        continue;
      }
      auto l = lowerer_.Lower(*t);
      if (!l.ok() || !Vectorisable(*l)) simd = false;
      const Container* target = s_.Find(t->target);
      if (t->op == WriteOp::kAssign || !target || target->storage != Storage::kRegister) continue;
      if (std::any_of(homes_.begin(), homes_.end(),
                      [&](const auto& h) { return h.first == f.owner && h.second == t->target; }))
        continue;
      const bool builtin = t->op == WriteOp::kAdd || t->op == WriteOp::kMul;
      const DType type = target->dtype;
      if (!target->shape.empty() ||
          !(type == DType::kF32 || type == DType::kF64 || (builtin && IsInteger(type) && ByteSize(type) >= 4)))
        simd = false;
      else sums.insert(std::string(ReductionName(t->op)) + ":" + env_.Element(t->target, "0"));
      for (NodeId other : f.body)  // a running sum, read as it grows, keeps its order
        for (const RawAccess& a : AccessesOf(s_, other))
          if (!a.write && a.op == WriteOp::kAssign && a.container == t->target) simd = false;
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      std::string pragma = simd && i + 1 == dims.size() ? "#pragma omp simd" : "";
      if (!pragma.empty()) {
        for (const std::string& r : sums) pragma += " reduction(" + r + ")";
        std::set<Name> written;
        for (const RawAccess& a : AccessesOf(s_, n))
          if (a.write) written.insert(BaseOf(s_, a.container));
        for (NodeId c : f.body) {
          auto l = lowerer_.Lower(std::get<Tasklet>(s_.nodes[c].body));
          if (!l.ok()) continue;
          l->value = Hoist(l->value, dims[i], written, w);
          prepared_.insert_or_assign(c.value, std::move(*l));
        }
      }
      OpenLoop(dims[i], w, pragma);
    }
    status = Body(f.body, f.owner, w);
    for (NodeId c : f.body) prepared_.erase(c.value);
    for (size_t i = dims.size(); i-- > 0;) CloseLoop(dims[i], w);
  }
  lowerer_.Pop(f.ranges.size());
  return status;
}

}  // namespace headrace::cpu
