// Runs by position (ir/registry/call.h): a caller's arrays become what a compiled program takes. What matching shapes found is kept
// for the next call with the same ones.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/registry/call.h"
#include "runtime/headrace_runtime.h"

namespace headrace::cpu {

// What of a program every call needs.
class CallPlan {
 public:
  CallPlan(const Program* signature, const headrace_program_info_t* info);

  std::vector<Name> by_name() const { return by_name_; }  // sizes that a call gives by number
  int32_t inputs() const { return static_cast<int32_t>(inputs_.size()); }
  int32_t outputs() const { return static_cast<int32_t>(outputs_.size()); }
  // Of input k and of the k-th parameter of direction out.
  const hr_parameter& input(int32_t k) const { return info_->parameters[inputs_[static_cast<size_t>(k)]]; }
  const hr_parameter& output(int32_t k) const { return info_->parameters[outputs_[static_cast<size_t>(k)]]; }
  // By run output (parameters of direction out and inout, in order): the input that it updates, or ~k for output k.
  const std::vector<int32_t>& targets() const { return targets_; }
  // Where the shape of a run output begins among all of theirs; of the number of run outputs: their total length.
  int32_t shape_at(int32_t k) const { return shape_at_[static_cast<size_t>(k)]; }
  // Why this program can't be called by position, or OK.
  Status Callable() const;
  // The sizes that these inputs mean, in the program's order; errors as BindArguments'.
  Result<std::shared_ptr<const std::vector<int64_t>>> Sizes(const CallFrame& frame);

 private:
  struct Form {  // of a call whose sizes are known
    std::vector<int64_t> key, sizes;
  };
  Result<std::vector<int64_t>> Bind(const CallFrame& frame) const;

  const Program* signature_;
  const headrace_program_info_t* info_;
  std::vector<int32_t> inputs_, outputs_, targets_, shape_at_ = {0};
  std::vector<Name> names_, by_name_;  // of the inputs; of the sizes
  std::mutex mutex_;
  std::shared_ptr<const Form> last_;
};

// One call: lives as long as it runs.
class PositionalCall {
 public:
  PositionalCall(CallPlan* plan, CallFrame* frame) : plan_(plan), frame_(frame) {}
  // Checks the arguments and fills in all of `run` but threads and cancel.
  Status Prepare(hr_run* run);
  // After a successful run: copies to where results could not be written directly.
  void Finish();
  const std::string& error() const { return error_; }
  bool misfit() const { return misfit_; }  // the error is that an output's array has another type or shape

 private:
  struct CopyBack {
    const hr_array* to;
    const void* from;
  };
  Status PrepareInput(int32_t k);
  Status CheckOverlap() const;
  void* Dense(int64_t bytes);
  void* Target(int32_t target, int32_t dtype, int32_t rank, const int64_t* shape);
  void* OutputMemory(int32_t k, int32_t dtype, int32_t rank, const int64_t* shape);
  bool Overlaps(const hr_array& a) const;
  void SetError(std::string message);
  static int32_t Allocate(hr_run* run, int32_t output, int32_t dtype, int32_t rank, const int64_t* shape);
  static int32_t SetStrings(hr_run* run, int32_t output, const hr_string* strings, int64_t count);
  static int32_t Append(hr_run* run, int32_t output, const hr_value* item);
  static void Fail(hr_run* run, const char* message);

  CallPlan* plan_;
  CallFrame* frame_;
  std::vector<hr_value> in_, out_;
  std::vector<int64_t> shapes_;  // of the run's outputs
  std::shared_ptr<const std::vector<int64_t>> sizes_;
  std::vector<std::unique_ptr<char[]>> dense_;
  std::vector<CopyBack> back_;
  std::mutex mutex_;
  std::string error_;
  bool misfit_ = false;
};

}  // namespace headrace::cpu
