// Keep or recompute as a 0/1 problem, solved with HiGHS.
//
// x_v = 1: value v is computed again. The backward part is cut where copies may begin; s_vi = 1: the copy of v has begun by
// interval i, which it has as soon as a copy that reads it has: s_vi ≥ s_wi + x_v - 1. q_vi = 1: a copy that begins later
// reads v. One row per statement says that what is alive there fits. Two things are left out: the order of copies that
// begin together, and the workspace of making them; the caller evaluates what comes out and tightens or forbids it.
#pragma once
#include <string>
#include <vector>

#include "autodiff/plan_model.h"

namespace headrace::autodiff {

class PlanProblem {
 public:
  // Cheap values are taken as recomputed wherever they are read.
  explicit PlanProblem(const PlanModel& m);
  int variables() const { return static_cast<int>(deciding_.size()); }

  struct Answer {
    bool found = false, optimal = false, infeasible = false;
    Choice choice;
    double work = 0, bytes = 0;  // what no better answer gets below, when optimal
    int64_t nodes = 0;
  };
  // Least work with at most `limit` bytes alive; limit < 0: the least bytes. `start` may be null.
  Answer Solve(int64_t limit, const Choice* start);
  double WorkOf(const Choice& c) const;  // as the problem counts it
  void Forbid(const Choice& c) { forbidden_.push_back(c); }

 private:
  double CostOf(int v) const;
  struct Var {
    double cost;
    bool integral;
  };
  struct Row {
    double lower, upper;
    std::vector<std::pair<int, double>> terms;
  };
  // A variable or a constant.
  struct Term {
    int var = -1;
    double constant = 0;
  };
  struct Item {
    bool relevant = false;
    std::vector<int> uses;     // backward units, those of cheap values that read it included
    std::vector<int> readers;  // deciding values whose copies read it
    int x = -1;
    int born = 0, last_forward = -1;
    int first = -1, last = -1;     // of uses
    int earliest = 0, latest = 0;  // intervals in which a copy may begin
    double work = 0;
  };
  void Relate();
  void Intervals();
  int Interval(int unit) const;
  int Add(double cost, bool integral);
  Term Begun(int v, int i);   // s
  Term Wanted(int v, int i);  // q
  Term Alive(int v, int i);   // of values that the backward part itself never reads
  void MemoryRows(int64_t limit);

  const PlanModel& m_;
  std::vector<Item> items_;
  std::vector<int> deciding_;
  std::vector<int> keys_;
  std::vector<int64_t> base_;  // bytes of everything else by unit
  std::vector<Var> vars_;
  std::vector<Row> rows_;
  std::vector<std::vector<int>> begun_, wanted_, alive_;
  std::vector<Choice> forbidden_;
  double unit_ = 1;  // bytes per unit of the memory rows
};

}  // namespace headrace::autodiff
