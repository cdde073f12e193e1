// Checkpointed loops. A loop that fills tapes, one slot per iteration, is cut into segments: the forward part keeps what each
// segment starts from and fills no tape; the backward part starts each segment over, now filling tapes of one segment's length,
// and goes back over it.
//
//   for t in 0:T { tape[t] = x; x = f(x) }           for s in 0:S { start[s] = x; for t in s*B:min(T, s*B + B) { x = f(x) } }
//   for t in T-1:-1:-1 { x = tape[t]; … }        →   for s in S-1:-1:-1 { x = start[s]
//                                                      for t in s*B:min(T, s*B + B) { tape[t - s*B] = x; x = f(x) }
//                                                      for t in …:s*B-1:-1 { x = tape[t - s*B]; … } }
#pragma once
#include <vector>

#include "autodiff/plan.h"
#include "autodiff/plan_cost.h"

namespace headrace::autodiff {

struct TapedLoop {
  BlockId forward, backward;  // blocks of the entry's body
  Range range;
  Expr iteration;  // first index of every access of the tapes
  std::vector<Name> tapes;
  std::vector<Name> starts;   // what a segment must find as it was
  std::vector<Name> outputs;  // parameters that are written: running again must not change them
  int64_t trips = 0;          // for the sizes given
  int64_t tape_bytes = 0;     // per iteration
  int64_t start_bytes = 0;    // per segment
};

// Loops of which it is certain that running a segment again does the same as the first time.
std::vector<TapedLoop> FindTapedLoops(const Combined& c, const Options& o);
// The number of iterations per segment that takes the least memory.
int64_t BestSegment(const TapedLoop& l);
void CheckpointLoop(Combined* c, const TapedLoop& l, int64_t segment);

}  // namespace headrace::autodiff
