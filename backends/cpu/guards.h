// Guards that hold on a range of the innermost index: `X[i - 1] ?? 0` is X[i - 1] for all but the first i.
#pragma once
#include <optional>
#include <vector>

#include "backends/cpu/lower.h"

namespace headrace::cpu {

struct GuardSplit {
  Expr inside;              // the value without those guards
  std::vector<Expr> from;   // it holds for index >= every one of these …
  std::vector<Expr> below;  // … and < every one of these …
  Expr when;                // … if this holds, which does not mention the index (null: always)
};
// Nothing when no guard of the value depends on `index`, or one does in another way than linearly. Addresses that are
// mirrored or clamped at borders count as guarded. Without `always`, also nothing where a mask is as fast: reads by one.
std::optional<GuardSplit> SplitGuards(const Expr& value, Name index, bool always = false);

}  // namespace headrace::cpu
