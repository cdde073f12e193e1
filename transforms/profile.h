// Makes a program measure itself: how often each of its statements runs, for how long, on how much.
//
//   Y[i] = X[i] * 2 from "mul"     →     state {
//                                          call.headrace_clock() -> (T = profile_begin)
//                                          Y[i] = X[i] * 2 from "mul"
//                                          call.headrace_clock() -> (T = profile_end)
//                                          profile[0, 0] += 1 from "mul" by "profile"
//                                          profile[0, 1] += f64(profile_end - profile_begin)
//                                          profile[0, 2] += f64(N)
//                                          profile[0, 3] += f64(8 * N)
//                                        }
//
// The entry has one more parameter, `profile: inout f64[statements, 4]`: times run, nanoseconds, operations on floats and bytes
// of memory traffic (ir/analysis/cost.h; NaN where they are not known). Which statement a row is of, its first line says: that
// has the statement's origin. Statements of programs that are called outside of maps have rows of their own, whatever calls them.
#pragma once
#include "ir/registry/registry.h"

namespace headrace {

Result<bool> Profile(Program& p);
// call.headrace_clock() -> (T: i64): nanoseconds since some moment.
Status AddClock(Registry& r);

}  // namespace headrace
