// What the planner knows of a combined program: its top-level statements in order, the arrays they touch, and which arrays
// could be computed again in the backward part. And what a choice costs: the order of statements with everything that is
// computed again, the bytes alive at each step, the extra work.
#pragma once
#include <string>
#include <vector>

#include "autodiff/plan.h"
#include "autodiff/plan_cost.h"
#include "ir/analysis/packing.h"

namespace headrace::autodiff {

struct PlannedArray {
  Name name;
  int64_t bytes = 0;
  bool arena = false;  // a transient; others cost nothing
  bool tape = false;
  int value = -1;  // arena arrays written by the forward part belong to one
};

// A statement at top level, or a loop, a conditional, an assignment there.
struct Unit {
  BlockId block;
  NodeId node;                     // invalid: the whole block
  std::vector<int> reads, writes;  // arrays
  double work = 0;
  int64_t workspace = 0;
  bool elementwise = false;
  bool stays = false;  // has an effect besides its arrays
};

// Arrays that are computed together: what the statements that write one of them write.
struct PlannedValue {
  std::vector<int> members;    // arrays
  std::vector<int> producers;  // units, ascending
  std::vector<int> inputs;     // values that the producers read
  std::vector<int> uses;       // units of the backward part that read a member, ascending
  bool recomputable = false;
  bool cheap = false;  // elementwise from what is there anyway
  double work = 0;
  int64_t bytes = 0;  // of the members in the arena
};

struct PlanModel {
  std::vector<PlannedArray> arrays;
  std::vector<Unit> units;
  int forward = 0;                   // units [0, forward) are the forward part
  std::vector<PlannedValue> values;  // a value comes after those it reads
  std::vector<Name> guessed;         // sizes that nobody gave
  double forward_work = 0;
};

PlanModel BuildPlanModel(const Combined& c, const Options& o, const Registry& r);

// Per value: kept, computed again once (before its first use in the backward part, then kept until the last), or computed
// again for every group of neighbouring uses.
enum class Fate : uint8_t { kKeep, kOnce, kEach };
using Choice = std::vector<Fate>;

// One copy of a recomputed value: made right before unit `start`, last used by something at unit `last`.
struct Generation {
  int start, last;
};
struct Step {
  int unit;
  int at;                          // the unit that it runs at or right before
  int value = -1, generation = 0;  // ≥ 0: `unit` runs again for this copy
};
struct Schedule {
  std::vector<Step> steps;
  std::vector<std::vector<Generation>> generations;  // by value
  int Copy(int value, int at) const;                 // the generation that unit `at` finds, -1 = the original
};
Schedule MakeSchedule(const PlanModel& m, const Choice& c);

struct Timeline {
  int64_t peak = 0;           // most bytes in use at once
  std::vector<PackedItem> items;  // what lies in the arena when: by step
  double extra_work = 0;      // what is computed again, less what the forward part needn't compute any more
  std::vector<int64_t> live;  // bytes by step
  std::vector<bool> dead;     // by step: nobody needs what it computes
};
// `without`: values (by index) whose originals and copies are not counted.
Timeline Evaluate(const PlanModel& m, const Schedule& s, const std::vector<bool>* without = nullptr);
inline Timeline Evaluate(const PlanModel& m, const Choice& c) { return Evaluate(m, MakeSchedule(m, c)); }
// The arena that a backend's planner makes of it: at least the peak.
inline int64_t ArenaOf(const Timeline& t) { return Pack(t.items).bytes; }

// Cheap values are recomputed, the rest is kept.
Choice DefaultChoice(const PlanModel& m);
Choice RecomputeAllChoice(const PlanModel& m);

struct Solution {
  Choice choice;
  Timeline timeline;
  int64_t arena = 0;
  bool feasible = false;
  int64_t minimum = 0;  // the smallest arena found
  std::string solver;
};
// The least extra work with an arena of at most `limit`.
Solution SolvePlan(const PlanModel& m, int64_t limit);

}  // namespace headrace::autodiff
