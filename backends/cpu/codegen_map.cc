#include "backends/cpu/codegen_map.h"

#include <algorithm>

#include "backends/cpu/codegen_map_internal.h"
#include "backends/cpu/contraction.h"
#include "backends/cpu/guards.h"

namespace headrace::cpu {

std::string KernelEnv::Symbol(Name n) {
  if (auto it = indices_.find(n); it != indices_.end()) return it->second;
  auto [it, fresh] = symbol_.emplace(n, "n" + std::to_string(symbols.size()));
  if (fresh) symbols.push_back(n);
  return it->second;
}

std::string KernelEnv::Pointer(Name base) {
  auto [it, fresh] = pointer_.emplace(base, "p" + std::to_string(pointers.size()));
  if (fresh) pointers.push_back(base);
  return it->second;
}

std::string KernelEnv::Element(Name base, const std::string& index) {
  auto it = registers_.find(base);
  if (it == registers_.end()) return Pointer(base) + "[" + index + "]";
  return s_.Get(base).shape.empty() ? it->second : it->second + "[" + index + "]";
}

std::string KernelEnv::OpenIndex(Name index) { return indices_[index] = "i" + std::to_string(next_index_++); }

std::string KernelEnv::OpenRegister(const Container& c) {
  const std::string name = "r" + std::to_string(registers_.size());
  registers_[c.name] = c.shape.empty() && c.storage == Storage::kWorker ? "(*" + name + ")" : name;
  return name;
}

void KernelEnv::DeclareRegister(const Container& c, Writer& w) {
  const std::string name = OpenRegister(c);
  if (c.shape.empty()) return w.Line(std::string(StorageType(c.dtype)) + " " + name + ";");
  int64_t count = 1;
  for (const Expr& d : c.shape) count *= std::max<int64_t>(1, AsInt(d).value_or(1));
  w.Line(std::string(StorageType(c.dtype)) + " " + name + "[" + std::to_string(count) + "];");
}

bool IsKernel(const Sdfg& s, NodeId n) {
  const auto& body = s.nodes[n].body;
  if (const auto* m = std::get_if<Map>(&body))
    return std::all_of(m->body.begin(), m->body.end(), [&](NodeId c) { return IsKernel(s, c); });
  return std::holds_alternative<Tasklet>(body) || std::holds_alternative<std::monostate>(body);
}

std::string Grain(NestGen& gen, const std::vector<LoopDim>& inner, int64_t cost, int64_t tile, Writer& prologue) {
  int64_t known = cost * tile;
  std::vector<std::string> factors;
  for (const LoopDim& d : inner) {
    if (auto n = AsInt(d.trip)) known = std::min(int64_t{1} << 40, Times(known, std::max<int64_t>(*n, 1)));
    else if (IsIndexExpr(d.trip)) {
      bool ok = true;
      for (Name n : FreeSymbols(d.trip))
        for (const LoopDim& o : inner) ok &= n != o.index;
      if (ok) factors.push_back(gen.IndexText(d.trip, prologue));
    }
  }
  if (factors.empty()) return std::to_string(std::max<int64_t>(1, kChunkWork / known));
  return "hr_grain(" + std::to_string(known) + " * " + Product(factors) + ")";
}

void DecodeUnits(NestGen& gen, const std::vector<LoopDim>& dims, const std::string& tiles, Writer& w) {
  const bool single = dims.size() + (tiles.empty() ? 0 : 1) == 1;
  w.Open("for (int64_t q = begin; q < end; ++q) {");
  std::string rest = "q";
  if (!tiles.empty()) {
    if (!single) {
      w.Line("const int64_t tile = q % " + tiles + ";");
      w.Line("int64_t rest = q / " + tiles + ";");
      rest = "rest";
    } else {
      w.Line("const int64_t tile = q;");
    }
  } else if (!single) {
    w.Line("int64_t rest = q;");
    rest = "rest";
  }
  for (size_t i = dims.size(); i-- > 0;) {
    const LoopDim& d = dims[i];
    std::string value = rest;
    std::string trip;
    if (i > 0) {
      trip = gen.IndexText(d.trip, w);
      if (trip.find(' ') != std::string::npos && trip[0] != '(') trip = "(" + trip + ")";
      value = rest + " % " + trip;
    }
    if (!d.simple) value = gen.IndexText(d.begin, w) + " + " + gen.IndexText(d.step, w) + " * (" + value + ")";
    w.Line("const int64_t " + gen.nest_env().OpenIndex(d.index) + " = " + value + ";");
    if (i > 0) w.Line("rest /= " + trip + ";");
  }
}

std::string UnitCount(NestGen& gen, const std::vector<LoopDim>& dims, Writer& prologue) {
  std::vector<std::string> factors;
  for (const LoopDim& d : dims) {
    const std::string t = gen.IndexText(d.trip, prologue);
    factors.push_back(AsInt(d.trip) ? t : "hr_most(0, " + t + ")");
  }
  return Product(factors);
}

std::vector<LoopDim> TakeParallel(std::vector<LoopDim>* dims) {
  std::vector<LoopDim> out;
  int64_t units = 1;
  while (!dims->empty() && dims->front().disjoint && units < 256) {
    out.push_back(dims->front());
    units = Times(units, AsInt(dims->front().trip).value_or(1));
    dims->erase(dims->begin());
  }
  return out;
}

namespace {

// Some indices carry values from one iteration to the next: they keep their order, innermost but for lanes over an index
// that walks memory; the others run at once.
std::optional<Kernel> Recurrence(NestGen& gen, const KernelText& text, const PerfectNest& p) {
  constexpr int64_t kTile = 256;
  if (p.stmt.op != WriteOp::kAssign) return std::nullopt;
  std::vector<LoopDim> free, kept;
  std::optional<LoopDim> lanes;
  for (const LoopDim& d : p.dims) {
    for (const LoopDim& o : p.dims)
      if (Mentions(d.begin, o.index) || Mentions(d.end, o.index)) return std::nullopt;
    const auto along = Coefficient(p.stmt.linear, d.index);
    if (!d.disjoint) kept.push_back(d);
    else if (along && AsInt(*along) == 1 && d.simple && AsInt(d.end).value_or(kTile) >= 8) lanes = d;
    else free.push_back(d);
  }
  if (kept.empty() || kept.size() == p.dims.size()) return std::nullopt;
  Writer w(1), prologue(1);
  const std::vector<LoopDim> outer = TakeParallel(&free);
  std::string total = UnitCount(gen, outer, prologue), tiles;
  const bool tiled = lanes && AsInt(lanes->end).value_or(kTile + 1) > kTile;
  if (tiled) {
    const std::string count =
        "(" + gen.IndexText(lanes->end, prologue) + " + " + std::to_string(kTile - 1) + ") / " + std::to_string(kTile);
    prologue.Line("const int64_t tiles = hr_most(0, " + count + ");");
    w.Line("const int64_t tiles = " + count + ";");
    total = outer.empty() ? "tiles" : total + " * tiles";
    tiles = "tiles";
  }
  std::vector<LoopDim> inner = free;
  inner.insert(inner.end(), kept.begin(), kept.end());
  const int64_t width = !lanes ? 1 : tiled ? kTile : std::max<int64_t>(1, AsInt(lanes->end).value_or(kTile));
  const std::string grain = Grain(gen, inner, gen.Cost(p.stmt), width, prologue);
  if (outer.empty() && !tiled) w.Open("{");
  else DecodeUnits(gen, outer, tiles, w);
  if (lanes) {
    const std::string n = gen.IndexText(lanes->end, w);
    w.Line("const int64_t first = " + std::string(tiled ? "tile * " + std::to_string(kTile) : "0") +
           ", last = " + (tiled ? "hr_least(" + n + ", first + " + std::to_string(kTile) + ")" : n) + ";");
  }
  // Guards that hold from some step on (`Y[t - 1] ?? 0`) leave the loop, so that what is carried stays in a register.
  auto split = lanes || !kept.back().simple ? std::nullopt : SplitGuards(p.stmt.value, kept.back().index, true);
  if (split && (split->when || !split->below.empty())) split.reset();
  if (split) inner.pop_back();
  for (const LoopDim& d : inner) gen.OpenLoop(d, w);
  LoweredStmt s = p.stmt;
  auto store = [&](const Expr& value) {
    s.value = value;
    gen.Store(s, w);
  };
  if (lanes) {
    gen.SplitLoop(*lanes, "first", "last", s.value, gen.Vectorisable(s), w,
                  [&](const Expr& value, const std::string&) { store(value); });
  } else if (split) {
    LoopDim before = kept.back(), after = before;
    const std::string end = gen.IndexText(before.end, w);
    w.Line("int64_t from = 0;");
    for (const Expr& e : split->from) w.Line("from = hr_most(from, " + gen.IndexText(e, w) + ");");
    before.end = LocalExpr("hr_least(from, " + end + ")", DType::kIndex);
    after.begin = LocalExpr("from", DType::kIndex);
    for (const auto& [dim, value] : {std::pair(before, p.stmt.value), std::pair(after, split->inside)}) {
      gen.OpenLoop(dim, w);
      store(value);
      gen.CloseLoop(dim, w);
    }
  } else {
    store(s.value);
  }
  for (size_t k = inner.size(); k-- > 0;) gen.CloseLoop(inner[k], w);
  w.Close();
  if (outer.empty() && !tiled) return text.Sequential(w.text());
  return text.Parallel(w.text(), prologue.text(), total, grain);
}

// Several statements per iteration, the last index in lanes cut into tiles: whatever keeps its order stands outside them.
Result<Kernel> Together(NestGen& gen, const KernelText& text, const NestGen::Flat& f, std::vector<LoopDim> dims) {
  constexpr int64_t kTile = 256;
  LoopDim lanes = dims.back();
  dims.pop_back();
  std::stable_partition(dims.begin(), dims.end(), [](const LoopDim& d) { return d.disjoint; });
  Writer w(1), prologue(1);
  const std::vector<LoopDim> outer = TakeParallel(&dims);
  const std::string tiles = " + " + std::to_string(kTile - 1) + ") / " + std::to_string(kTile);
  prologue.Line("const int64_t tiles = (hr_most(0, " + gen.IndexText(lanes.end, prologue) + ")" + tiles + ";");
  w.Line("const int64_t tiles = (" + gen.IndexText(lanes.end, w) + tiles + ";");
  const std::string total = outer.empty() ? "tiles" : UnitCount(gen, outer, prologue) + " * tiles",
                    grain = Grain(gen, dims, 8 * static_cast<int64_t>(f.body.size()),
                                  std::min<int64_t>(kTile, AsInt(lanes.end).value_or(kTile)), prologue);
  DecodeUnits(gen, outer, "tiles", w);
  w.Line("const int64_t first = tile * " + std::to_string(kTile) + ", last = hr_least(" + gen.IndexText(lanes.end, w) +
         ", first + " + std::to_string(kTile) + ");");
  lanes.begin = LocalExpr("first", DType::kIndex);
  lanes.end = LocalExpr("last", DType::kIndex);
  for (const LoopDim& d : dims) gen.OpenLoop(d, w);
  gen.OpenLoop(lanes, w, "#pragma omp simd");
  HR_RETURN_IF_ERROR(gen.Body(f.body, f.owner, w));
  gen.CloseLoop(lanes, w);
  for (size_t i = dims.size(); i-- > 0;) gen.CloseLoop(dims[i], w);
  w.Close();
  return text.Parallel(w.text(), prologue.text(), total, grain);
}

Result<Kernel> PerfectKernel(NestGen& gen, KernelEnv& env, const KernelText& text, PerfectNest p) {
  if (!p.stmt.initial) gen.CollapseDims(&p);
  Writer w(1), prologue(1);
  if (p.ordered)
    if (auto kernel = Recurrence(gen, text, p)) return *kernel;
  if (p.ordered || p.dims.empty()) {
    gen.Loops(p, w);
    return text.Sequential(w.text());
  }
  if (const auto c = MatchContraction(p)) {
    const ContractionCode code = EmitContraction(gen, *c, prologue);
    env.may_fail = true;
    return text.Parallel(code.body, prologue.text(), code.total, code.grain);
  }
  const int v = gen.VectorDim(p);
  const LoopDim vector = p.dims[v];
  std::vector<LoopDim> free, reduced;
  for (int i = 0; i < static_cast<int>(p.dims.size()); ++i)
    if (i != v) (p.dims[i].disjoint ? free : reduced).push_back(p.dims[i]);
  const int64_t cost = gen.Cost(p.stmt);
  if ((p.stmt.condition || p.Scatters()) && vector.disjoint && vector.simple && !reduced.empty())
    return Scatter(gen, text, p, vector, free, reduced);
  if ((p.stmt.condition || p.Scatters()) &&
      (!reduced.empty() || !vector.disjoint)) {  // dropped or scattered: plain loops
    PerfectNest inner = p;
    std::vector<LoopDim> all = p.dims;
    std::stable_partition(all.begin(), all.end(), [](const LoopDim& d) { return d.disjoint; });
    const std::vector<LoopDim> outer = TakeParallel(&all);
    inner.dims = all;
    const std::string total = UnitCount(gen, outer, prologue), grain = Grain(gen, all, cost, 1, prologue);
    DecodeUnits(gen, outer, "", w);
    gen.Loops(inner, w);
    w.Close();
    return text.Parallel(w.text(), prologue.text(), total, grain);
  }
  if (!vector.disjoint) {  // a reduction along the vector index
    reduced.push_back(vector);
    int64_t free_count = 1, reduced_count = 1;
    bool known = true;
    for (const LoopDim& d : free)
      known &= AsInt(d.trip).has_value(),
          free_count = Times(free_count, std::max<int64_t>(0, AsInt(d.trip).value_or(0)));
    for (const LoopDim& d : reduced) reduced_count = Times(reduced_count, AsInt(d.trip).value_or(1 << 20));
    if (known && free_count > 0 && free_count < 8 && Times(reduced_count, cost) >= 4 * kChunkWork &&
        reduced.front().simple)
      return TwoPhase(gen, env, text, p, free, reduced, free_count);
    PerfectNest inner = p;
    const std::vector<LoopDim> outer = TakeParallel(&free);
    inner.dims = free;
    inner.dims.insert(inner.dims.end(), reduced.begin(), reduced.end());
    if (outer.empty()) {
      gen.Loops(inner, w);
      return text.Sequential(w.text());
    }
    const std::string total = UnitCount(gen, outer, prologue), grain = Grain(gen, inner.dims, cost, 1, prologue);
    DecodeUnits(gen, outer, "", w);
    gen.Loops(inner, w);
    w.Close();
    return text.Parallel(w.text(), prologue.text(), total, grain);
  }
  // Lanes over a free dimension, cut into tiles.
  const bool sums = !reduced.empty();
  if (!vector.simple) {
    PerfectNest inner = p;
    std::vector<LoopDim> outer = TakeParallel(&free);
    inner.dims = free;
    inner.dims.insert(inner.dims.end(), reduced.begin(), reduced.end());
    inner.dims.push_back(vector);
    const std::string total = UnitCount(gen, outer, prologue), grain = Grain(gen, inner.dims, cost, 1, prologue);
    if (outer.empty()) w.Open("{");
    else DecodeUnits(gen, outer, "", w);
    gen.Loops(inner, w);
    w.Close();
    return outer.empty() ? text.Sequential(w.text()) : text.Parallel(w.text(), prologue.text(), total, grain);
  }
  // A transposition: short tiles across, so that lines read along another index are used whole before they are evicted.
  std::optional<LoopDim> across;
  if (!sums && p.dims.size() > 1) {
    const std::vector<Expr> offsets = Offsets(p.stmt);
    for (size_t k = 0; k < offsets.size() && !across; ++k) {
      const auto along = Coefficient(offsets[k], vector.index);
      if (along && (AsInt(*along) == 1 || AsInt(*along) == 0)) continue;
      for (size_t i = 0; i < free.size(); ++i) {
        const auto other = Coefficient(offsets[k], free[i].index);
        if (!other || AsInt(*other) != 1 || AsInt(free[i].trip).value_or(64) < 8) continue;
        across = free[i];
        free.erase(free.begin() + static_cast<long>(i));
        break;
      }
    }
  }
  if (sums && reduced.front().simple && AsInt(vector.end)) {  // few elements, long sums
    int64_t count = *AsInt(vector.end), terms = 1;
    bool known = true;
    for (const LoopDim& d : free)
      known &= AsInt(d.trip).has_value(), count = Times(count, std::max<int64_t>(0, AsInt(d.trip).value_or(0)));
    for (const LoopDim& d : reduced) terms = Times(terms, AsInt(d.trip).value_or(1 << 16));
    if (known && count > 0 && count < 2048 && Times(terms, cost * count) >= 8 * kChunkWork && terms >= 4 * count)
      return TwoPhaseLanes(gen, env, text, p, vector, free, reduced, count);
  }
  const int64_t tile = sums ? 256 : across ? 16 : 4096;
  const auto length = AsInt(vector.end);
  const bool tiled = !length || *length > tile;
  const std::vector<LoopDim> outer = TakeParallel(&free);
  if (across) free.push_back(*across);
  const std::string n = gen.IndexText(vector.end, prologue);
  std::string total = UnitCount(gen, outer, prologue), tiles;
  if (tiled) {
    prologue.Line("const int64_t tiles = (hr_most(0, " + n + ") + " + std::to_string(tile - 1) + ") / " +
                  std::to_string(tile) + ";");
    total = outer.empty() ? "tiles" : total + " * tiles";
    tiles = "tiles";
    w.Line("const int64_t tiles = (" + gen.IndexText(vector.end, w) + " + " + std::to_string(tile - 1) + ") / " +
           std::to_string(tile) + ";");
  }
  std::vector<LoopDim> inner = free;
  inner.insert(inner.end(), reduced.begin(), reduced.end());
  const std::string grain = Grain(gen, inner, cost, tiled ? tile : std::max<int64_t>(1, length.value_or(1)), prologue);
  if (outer.empty() && !tiled) w.Open("{");
  else DecodeUnits(gen, outer, tiles, w);
  const std::string last = gen.IndexText(vector.end, w);
  w.Line("const int64_t first = " + std::string(tiled ? "tile * " + std::to_string(tile) : "0") + ";");
  w.Line("const int64_t count = " + (tiled ? "hr_least(" + std::to_string(tile) + ", " + last + " - first)" : last) +
         ";");
  for (const LoopDim& d : free) gen.OpenLoop(d, w);
  if (sums) {
    gen.ReduceTile(p.stmt, reduced, vector, "first", "count", tiled ? tile : std::max<int64_t>(1, *length), w);
  } else {
    LoweredStmt s = p.stmt;
    const int checks = gen.OpenChecks(&s, vector, AsInt(vector.trip).value_or(0) > 0 ? "" : "count > 0", w);
    gen.SplitLoop(
        vector, "first", "first + count", s.value, gen.Vectorisable(s), w,
        [&](const Expr& value, const std::string&) {
          s.value = value;
          gen.Store(s, w);
        },
        /*always=*/true);
    for (int c = 0; c < checks; ++c) w.Close();
  }
  for (size_t k = free.size(); k-- > 0;) gen.CloseLoop(free[k], w);
  w.Close();
  if (outer.empty() && !tiled) return text.Sequential(w.text());
  return text.Parallel(w.text(), prologue.text(), total, grain);
}

// `Y[o] = a` and a map that accumulates into Y[o], under common ranges: one sum that starts at `a`, when its lanes lie along
// the common ranges (windows of a pooling). Nothing when the loops are better as they stand. Pushes what it needs.
std::optional<PerfectNest> InitialisedSum(const Sdfg& s, NestGen& gen, Lowerer& lowerer, const NestGen::Flat& f) {
  if (f.body.size() != 2 || gen.HasHome(f.owner)) return std::nullopt;
  const auto* init = std::get_if<Tasklet>(&s.nodes[f.body[0]].body);
  if (!init || init->op != WriteOp::kAssign || !std::holds_alternative<Map>(s.nodes[f.body[1]].body))
    return std::nullopt;
  NestGen::Flat inner = gen.Flatten(f.body[1]);
  const auto* sum = inner.body.size() == 1 && !gen.HasHome(inner.owner)
                        ? std::get_if<Tasklet>(&s.nodes[inner.body[0]].body)
                        : nullptr;
  if (!sum || sum->op == WriteOp::kAssign || sum->target != init->target || sum->index != init->index ||
      sum->flat != init->flat)
    return std::nullopt;
  for (const RawAccess& a : AccessesOf(s, f.body[0]))
    if (!a.write && BaseOf(s, a.container) == BaseOf(s, sum->target)) return std::nullopt;
  for (const Range& r : inner.ranges) lowerer.Push(r);
  inner.ranges.insert(inner.ranges.begin(), f.ranges.begin(), f.ranges.end());
  auto p = gen.Perfect(inner);
  const auto start = lowerer.Lower(*init);
  if (!p.ok() || !start.ok() || p->ordered || p->stmt.condition || start->condition || HasReport(p->stmt) ||
      HasReport(*start))
    return std::nullopt;
  if (p->dims.size() != inner.ranges.size() || MatchContraction(*p)) return std::nullopt;
  const int v = gen.VectorDim(*p);
  if (v < 0 || !p->dims[v].disjoint || !p->dims[v].simple) return std::nullopt;
  for (size_t i = 0; i < p->dims.size(); ++i)
    if (p->dims[i].disjoint != (i < f.ranges.size())) return std::nullopt;
  p->stmt.initial = start->value;
  return *p;
}

}  // namespace

Result<Kernel> GenerateKernel(const Sdfg& s, NodeId n, Lowerer& lowerer, const KernelOptions& o) {
  KernelEnv env(s);
  KernelText text(s, n, env, o);
  NestGen gen(s, lowerer, env, n);
  gen.pointers_may_alias = !o.restrict_pointers;
  const auto* m = std::get_if<Map>(&s.nodes[n].body);
  if (!m) {
    Writer w(1);
    gen.DeclareRegisters(n, w);
    HR_RETURN_IF_ERROR(gen.Statement(n, w));
    return text.Sequential(w.text());
  }
  const NestGen::Flat f = gen.Flatten(n);
  const size_t depth = lowerer.depth();
  for (const Range& r : f.ranges) lowerer.Push(r);
  auto generate = [&]() -> Result<Kernel> {
    const bool single =
        f.body.size() == 1 && std::holds_alternative<Tasklet>(s.nodes[f.body[0]].body) && !gen.HasHome(f.owner);
    if (single) {
      HR_ASSIGN_OR_RETURN(PerfectNest p, gen.Perfect(f));
      return PerfectKernel(gen, env, text, p);
    }
    if (m->schedule != Schedule::kSequential)
      if (const auto p = InitialisedSum(s, gen, lowerer, f)) return PerfectKernel(gen, env, text, *p);
    lowerer.Pop(lowerer.depth() - depth - f.ranges.size());
    Writer w(1), prologue(1);
    std::vector<LoopDim> dims = gen.Dims(f);
    bool dependent = m->schedule == Schedule::kSequential;
    for (const LoopDim& d : dims)
      for (const LoopDim& outer : dims) dependent |= Mentions(d.begin, outer.index) || Mentions(d.end, outer.index);
    if (!dependent && gen.TakesLanes(f.body, dims.back())) return Together(gen, text, f, dims);
    // Sums over the outer dimensions (a bias's gradient over the samples) leave the others to run at once.
    if (!dependent) std::stable_partition(dims.begin(), dims.end(), [](const LoopDim& d) { return d.disjoint; });
    const std::vector<LoopDim> outer = dependent ? std::vector<LoopDim>() : TakeParallel(&dims);
    if (outer.empty()) {
      HR_RETURN_IF_ERROR(gen.Statement(n, w));
      return text.Sequential(w.text());
    }
    int64_t cost = 0;
    for (NodeId c : f.body) {  // inner maps count with what is known of their sizes
      std::function<int64_t(NodeId)> work = [&](NodeId b) -> int64_t {
        const auto* inner = std::get_if<Map>(&s.nodes[b].body);
        if (!inner) return 8;
        int64_t sum = 0, times = 1;
        for (NodeId x : inner->body) sum += work(x);
        for (const Range& r : inner->ranges)
          times = std::min<int64_t>(1 << 24, times * std::max<int64_t>(1, AsInt(TripCount(r)).value_or(64)));
        return std::min<int64_t>(int64_t{1} << 40, sum * times);
      };
      cost += work(c);
    }
    const std::string total = UnitCount(gen, outer, prologue),
                      grain = Grain(gen, dims, std::max<int64_t>(1, cost), 1, prologue);
    DecodeUnits(gen, outer, "", w);
    for (const LoopDim& d : dims) gen.OpenLoop(d, w);
    HR_RETURN_IF_ERROR(gen.Body(f.body, f.owner, w));
    for (size_t i = dims.size(); i-- > 0;) gen.CloseLoop(dims[i], w);
    w.Close();
    return text.Parallel(w.text(), prologue.text(), total, grain);
  };
  auto k = generate();
  lowerer.Pop(lowerer.depth() - depth);
  return k;
}

}  // namespace headrace::cpu
