// A compiled program for batches of one size, its arguments bound once: a run gathers samples into them and allocates nothing.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "training/data.h"
#include "training/step.h"

namespace headrace::training {

// What training changes, and the numbers that each step gets; the programs of all batch sizes share the memory.
struct State {
  std::vector<Variable> variables;  // `initial` is the current value
  Tensor rate, step, seed;          // f64, i64, i64
  static Result<State> Make(const std::vector<Variable>& initial, uint64_t seed);
  const Variable* Find(const std::string& original) const;
};

class Batch {
 public:
  struct Ports {  // of the program
    std::vector<Variable> variables;
    Name rate, step, seed, loss, hits;  // empty: there is none
  };
  // `columns` must outlive it.
  static Result<Batch> Compile(const Registry& r, Program program, const CompileRequest& request, const Ports& ports,
                               const State& state, const std::vector<Column>& columns, int64_t size);
  // Samples order[begin, begin + size); `train`: the state's variables are updated where they are.
  Status Run(const std::vector<int64_t>& order, int64_t begin, bool train);

  bool counts_hits() const { return hits_at_ != ~size_t{0}; }

  int64_t size = 0;
  double loss = 0;  // of the last run
  int64_t hits = 0;

 private:
  std::unique_ptr<Executable> executable_;
  NamedValues arguments_;
  struct Slot {
    const Column* column;
    Tensor batch;
  };
  std::vector<Slot> slots_;
  size_t loss_at_ = 0, hits_at_ = ~size_t{0};
};

}  // namespace headrace::training
