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

// Lowering takes containers away and gives none a size of other symbols: whether there will be an answer is seen before.
bool SizesAreGiven(const Sdfg& s, const std::vector<std::pair<Name, int64_t>>& given) {
  Sizes sizes(s, given);
  for (Name n : s.order)
    if (MayLieInArena(s.Get(n))) sizes.Of(BytesOf(s.Get(n)));
  return sizes.guessed().empty();
}

}  // namespace

std::optional<int64_t> PredictedArena(Program p, const std::vector<std::pair<Name, int64_t>>& given, const Registry& r) {
  if (!SizesAreGiven(p.Entry(), given)) return std::nullopt;
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
