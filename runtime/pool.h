// Helpers: threads of the process that join parallel regions when they run. Nothing waits for one; without any, callers do
// all the work.
#pragma once
#include "runtime/region.h"

namespace headrace::runtime {

constexpr int kMostThreads = 1024;  // in one region

// A region of the pool's, taken for the caller, or null: more callers at once than there are regions.
Region* TakeRegion();
// Regions are open: makes threads until there are `helpers`, once, and wakes as many as sleep and are needed.
void CallHelpers(int helpers);

bool OnHelper();       // this thread is one
void ForgetHelpers();  // in a forked child, which has none: what they held is free, and they are made again when needed

// ---- for tests: helpers are held back as on a machine that is busy with something else ----
enum class Hold { kNot, kBeforeJoin, kBeforeClaim };
void HoldHelpers(Hold where, int milliseconds);
void HoldHelper(Hold here);

}  // namespace headrace::runtime
