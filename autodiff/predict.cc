#include "autodiff/predict.h"

#include "autodiff/plan_cost.h"
#include "ir/analysis/arena.h"
#include "ir/analysis/packing.h"

namespace headrace::autodiff {

namespace {

bool HasLoops(const Sdfg& s) {
  bool found = false;
  ForEachBlock(s, s.body, [&](BlockId b) { found |= std::holds_alternative<Loop>(s.blocks[b].control); });
  return found;
}

}  // namespace

std::optional<int64_t> PredictedArena(Program p, const std::vector<std::pair<Name, int64_t>>& given, const Registry& r) {
  if (!r.FindPipeline("loops") || !RunPipeline(r, "loops", p).ok()) return std::nullopt;
  // What a loop that is one kernel uses is in use as long as it runs.
  if (HasLoops(p.Entry()) && !RunPipeline(r, "outline{device=host}", p).ok()) return std::nullopt;
  Sdfg& s = p.MutableEntry();
  PlaceInArena(&s);
  if (!WithoutPlace(s).empty()) return std::nullopt;
  Sizes sizes(s, given);
  int64_t bytes = 0;
  for (const Expr& slot : s.arena) bytes += Aligned(sizes.Of(slot));
  return sizes.guessed().empty() ? std::optional<int64_t>(bytes) : std::nullopt;
}

}  // namespace headrace::autodiff
