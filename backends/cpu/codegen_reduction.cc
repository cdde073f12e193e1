#include "backends/cpu/codegen_map_internal.h"

namespace headrace::cpu {

Kernel TwoPhase(NestGen& gen, KernelEnv& env, const KernelText& text, const PerfectNest& p,
                const std::vector<LoopDim>& free, std::vector<LoopDim> reduced, int64_t free_count) {
  const LoweredStmt& s = p.stmt;
  const std::string type = ValueType(Computed(s.dtype));
  Writer prologue(1), w(1);
  const LoopDim outer = reduced.front();
  const std::vector<LoopDim> inner(reduced.begin() + 1, reduced.end());
  const std::string grain = Grain(gen, inner, gen.Cost(s) * free_count, 1, prologue);
  const std::string n = gen.IndexText(outer.trip, prologue);
  w.Open("for (int64_t c = begin; c < end; ++c) {");
  w.Line(type + "* out = partial + c * " + std::to_string(free_count) + ";");
  for (const LoopDim& d : free) gen.OpenLoop(d, w);
  w.Line(type + " acc = " + gen.Identity(s.op, s.dtype) + ";");
  LoopDim chunk = outer;
  chunk.begin = LocalExpr("c * grain", DType::kIndex);
  chunk.end = LocalExpr("hr_least(n, c * grain + grain)", DType::kIndex);
  chunk.trip = IndexAdd(chunk.end, IndexMul(IntExpr(-1), chunk.begin));
  chunk.simple = false;
  reduced.front() = chunk;
  gen.Reduce(s, reduced, "acc", gen.Vectorisable(s), w);
  w.Line("*out++ = acc;");
  for (size_t k = free.size(); k-- > 0;) gen.CloseLoop(free[k], w);
  w.Close();
  Writer c(1);
  c.Line("int64_t slot = 0;");
  for (const LoopDim& d : free) gen.OpenLoop(d, c);
  c.Line(type + " acc = " + gen.Identity(s.op, s.dtype) + ";");
  c.Line("for (int64_t c = 0; c < chunks; ++c) acc = " +
         gen.Combine(s.op, s.dtype, "acc", "partial[c * " + std::to_string(free_count) + " + slot]") + ";");
  ExprCode code(env, c);
  code.Use(s.linear);
  const std::string target = env.Element(s.base, Bare(code.Index(s.linear)));
  c.Line(target + " = " +
         Bare(StoreCode(s.dtype, gen.Combine(s.op, s.dtype, LoadCode(s.dtype, target), "acc"), Computed(s.dtype))) +
         ";");
  c.Line("++slot;");
  for (size_t k = free.size(); k-- > 0;) gen.CloseLoop(free[k], c);
  return text.WithPartials(w.text(), prologue.text(), c.text(), type, n, grain, std::to_string(free_count));
}

Kernel TwoPhaseLanes(NestGen& gen, KernelEnv& env, const KernelText& text, const PerfectNest& p, const LoopDim& vector,
                     const std::vector<LoopDim>& free, std::vector<LoopDim> reduced, int64_t count) {
  const LoweredStmt& s = p.stmt;
  const std::string type = ValueType(Computed(s.dtype)), lanes = std::to_string(*AsInt(vector.end)),
                    all = std::to_string(count);
  Writer prologue(1), w(1), c(1);
  const std::string n = gen.IndexText(reduced.front().trip, prologue);
  // At most 64 chunks: their results are combined by one thread.
  const std::string grain =
      "hr_most((n + 63) / 64, " +
      Grain(gen, std::vector<LoopDim>(reduced.begin() + 1, reduced.end()), gen.Cost(s) * count, 1, prologue) + ")";
  w.Open("for (int64_t c = begin; c < end; ++c) {");
  w.Line(type + "* acc = partial + c * " + all + ";");
  for (const LoopDim& d : free) gen.OpenLoop(d, w);
  w.Line("for (int64_t u = 0; u < " + lanes + "; ++u) acc[u] = " + gen.Identity(s.op, s.dtype) + ";");
  reduced.front().begin = LocalExpr("c * grain", DType::kIndex);
  reduced.front().end = LocalExpr("hr_least(n, c * grain + grain)", DType::kIndex);
  for (const LoopDim& d : reduced) gen.OpenLoop(d, w);
  gen.SplitLoop(vector, "0", lanes, s.value, gen.Vectorisable(s), w, [&](const Expr& value, const std::string& i) {
    ExprCode code(env, w);
    code.Use(value);
    const std::string v = code.Value(value, Computed(s.dtype));
    w.Line("acc[" + i + "] = " + Bare(gen.Combine(s.op, s.dtype, "acc[" + i + "]", v)) + ";");
  });
  for (size_t k = reduced.size(); k-- > 0;) gen.CloseLoop(reduced[k], w);
  w.Line("acc += " + lanes + ";");
  for (size_t k = free.size(); k-- > 0;) gen.CloseLoop(free[k], w);
  w.Close();
  c.Open("for (int64_t c = 1; c < chunks; ++c) {");  // row by row: memory is walked, not jumped through
  c.Line("#pragma omp simd");
  c.Line("for (int64_t u = 0; u < " + all +
         "; ++u) partial[u] = " + Bare(gen.Combine(s.op, s.dtype, "partial[u]", "partial[c * " + all + " + u]")) + ";");
  c.Close();
  c.Line("const " + type + "* from = partial;");
  for (const LoopDim& d : free) gen.OpenLoop(d, c);
  gen.OpenLoop(vector, c);
  c.Line("const " + type + " acc = chunks > 0 ? *from : " + gen.Identity(s.op, s.dtype) + ";");
  ExprCode code(env, c);
  code.Use(s.linear);
  if (s.initial) code.Use(s.initial);
  const std::string target = env.Element(s.base, Bare(code.Index(s.linear)));
  const std::string start = s.initial ? code.Value(s.initial, Computed(s.dtype)) : LoadCode(s.dtype, target);
  c.Line(target + " = " + Bare(StoreCode(s.dtype, gen.Combine(s.op, s.dtype, start, "acc"), Computed(s.dtype))) + ";");
  c.Line("++from;");
  gen.CloseLoop(vector, c);
  for (size_t k = free.size(); k-- > 0;) gen.CloseLoop(free[k], c);
  return text.WithPartials(w.text(), prologue.text(), c.text(), type, n, grain, all);
}

Kernel Scatter(NestGen& gen, const KernelText& text, const PerfectNest& p, const LoopDim& vector,
               std::vector<LoopDim> free, const std::vector<LoopDim>& reduced) {
  constexpr int64_t kTile = 256;
  Writer prologue(1), w(1);
  const std::vector<LoopDim> outer = TakeParallel(&free);
  const std::string n = gen.IndexText(vector.end, prologue);
  prologue.Line("const int64_t tiles = (hr_most(0, " + n + ") + " + std::to_string(kTile - 1) + ") / " +
                std::to_string(kTile) + ";");
  const std::string units = UnitCount(gen, outer, prologue), total = outer.empty() ? "tiles" : units + " * tiles";
  std::vector<LoopDim> inner = free;
  inner.insert(inner.end(), reduced.begin(), reduced.end());
  const std::string grain =
      Grain(gen, inner, gen.Cost(p.stmt), std::min<int64_t>(kTile, AsInt(vector.trip).value_or(kTile)), prologue);
  w.Line("const int64_t tiles = (" + gen.IndexText(vector.end, w) + " + " + std::to_string(kTile - 1) + ") / " +
         std::to_string(kTile) + ";");
  DecodeUnits(gen, outer, "tiles", w);
  w.Line("const int64_t first = tile * " + std::to_string(kTile) + ", last = hr_least(first + " +
         std::to_string(kTile) + ", " + gen.IndexText(vector.end, w) + ");");
  for (const LoopDim& d : inner) gen.OpenLoop(d, w);
  LoweredStmt s = p.stmt;
  const int checks = gen.OpenChecks(&s, vector, "", w);
  gen.SplitLoop(vector, "first", "last", s.value, gen.Vectorisable(s), w, [&](const Expr& value, const std::string&) {
    s.value = value;
    gen.Store(s, w);
  });
  for (int c = 0; c < checks; ++c) w.Close();
  for (size_t k = inner.size(); k-- > 0;) gen.CloseLoop(inner[k], w);
  w.Close();
  return text.Parallel(w.text(), prologue.text(), total, grain);
}

}  // namespace headrace::cpu
