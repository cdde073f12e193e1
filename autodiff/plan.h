// Store or recompute: which of the values that the backward part reads are kept from the forward part, and which are
// computed again, so that tape and workspace stay within a limit at the least extra work.
#pragma once
#include "autodiff/backward.h"

namespace headrace::autodiff {

struct KnownCosts;

// A combined program as the reversal leaves it: the entry's body is forward blocks, then backward blocks.
struct Combined {
  Program program;
  size_t forward_blocks = 0;  // number of top-level blocks of the entry that belong to the forward part
  std::vector<Name> tapes;    // containers that hold overwritten values (recomputed only through checkpoints)
  std::shared_ptr<KnownCosts> costs = nullptr;  // of nodes, found so far; null: nothing is shared
};

Status LimitTooSmall(int64_t limit, int64_t minimum);  // E0815

// Rewrites `c` in place: cheap elementwise values are recomputed by default; under `memory_limit` one 0/1 problem (HiGHS)
// decides for the rest. Fills the report. An error prints the minimum when the limit is below it.
Status PlanMemory(Combined* c, const Options& o, const Registry& r, Report* report);

}  // namespace headrace::autodiff
