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
#include <utility>
#include <vector>

#include "ir/registry/differentiator.h"
#include "ir/registry/registry.h"

namespace headrace::autodiff {

using Options = GradientOptions;
using Report = GradientReport;

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
