#include "autodiff/predict.h"

#include "autodiff/plan_cost.h"
#include "ir/analysis/arena.h"
#include "ir/analysis/packing.h"

namespace headrace::autodiff {

std::optional<int64_t> PredictedArena(Program p, const std::vector<std::pair<Name, int64_t>>& given, const Registry& r) {
  if (!r.FindPipeline("loops") || !RunPipeline(r, "loops", p).ok()) return std::nullopt;
  Sdfg& s = p.MutableEntry();
  PlaceInArena(&s);
  if (!WithoutPlace(s).empty()) return std::nullopt;
  Sizes sizes(s, given);
  int64_t bytes = 0;
  for (const Expr& slot : s.arena) bytes += Aligned(sizes.Of(slot));
  return sizes.guessed().empty() ? std::optional<int64_t>(bytes) : std::nullopt;
}

}  // namespace headrace::autodiff
