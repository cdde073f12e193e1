// Reverse mode: a program in, a program with gradients out. Everything is IR: what comes out can be printed, optimised,
// run by any backend and differentiated again.
//
//   sdfg f(X: f64[N], L: f64) {            sdfg f(X: f64[N], L: f64, grad_X: f64[N]) {
//     L = 0                                  …the forward…
//     map i in 0:N { L += X[i] * X[i] }  →   grad_L = 1
//   }                                        map i in 0:N { grad_X[i] += grad_L * X[i] + grad_L * X[i] }
//                                          }
//
// How it works, what is differentiated how, kinks and limits: docs/autodiff.md. Own rules: docs/backward_rules.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/registry.h"

namespace headrace::autodiff {

enum class Keep { kSolve, kStoreAll, kRecomputeAll };

struct Options {
  // Outputs whose gradient the caller passes in (parameter `grad_NAME`). The others get ones (their sum is differentiated).
  std::vector<Name> given_gradients;
  bool all_given = false;  // every output's gradient is passed in
  // Combined program: the forward outputs stay outputs. False: only gradients are asked for and the dead forward goes.
  bool keep_outputs = true;
  // Two programs: the forward one gives what the backward one needs as extra outputs.
  bool separate = false;
  bool fuse = true;  // elementwise operators are expanded and fused before they are differentiated
  Keep keep = Keep::kSolve;
  std::optional<int64_t>
      memory_limit;  // bytes of tape and workspace, without parameters, inputs, outputs and gradients
  std::vector<Name> store, recompute;  // arrays whose fate the caller decides, whatever `keep` says of the others
  std::vector<std::pair<Name, int64_t>> sizes;  // values of symbols that the planner may assume when it weighs bytes
};

// What was kept and why, for people.
struct Report {
  struct Item {
    Name container;
    std::string why;
    int64_t bytes = 0;
    bool recomputed = false;
  };
  std::vector<Item> items;
  int64_t predicted_peak = 0;  // bytes; 0 when sizes are unknown
  int64_t minimum_peak = 0;
  double recompute_work = 0;  // extra work relative to the forward, as the planner counts it
  std::string solver;         // "none needed", "HiGHS: optimal, 12 nodes", …
};

struct BackwardPrograms {
  Program program;                                     // combined, or the backward one when `separate`
  Program forward;                                     // only when `separate`
  std::vector<std::pair<Name, Name>> input_gradients;  // input → parameter that receives its gradient
  std::vector<std::pair<Name, Name>>
      output_gradients;    // output → parameter that its gradient is passed in; implicit ones are left out
  std::vector<Name> kept;  // separate: outputs of `forward` that `program` takes
  Report report;
};

// d(Σ outputs·their gradients) / d inputs of the entry SDFG. Errors name statement, place and what to do: a construct without
// a rule is never passed over. An input that does not reach any output gets zeros.
Result<BackwardPrograms> Backward(const Program& p, const std::vector<Name>& outputs, const std::vector<Name>& inputs,
                                  const Options& o, const Registry& r);

// DaCeML's entry points by name.
// Adds the backward pass to `p` itself; gives (input, gradient parameter).
Result<std::vector<std::pair<Name, Name>>> AddBackwardPass(Program& p, const std::vector<Name>& outputs,
                                                           const std::vector<Name>& inputs, const Registry& r,
                                                           const Options& o = {});
// Forward and backward as two programs, every output gradient passed in.
Result<BackwardPrograms> MakeBackwardFunction(const Program& p, const std::vector<Name>& inputs, const Registry& r,
                                              Options o = {});

}  // namespace headrace::autodiff
