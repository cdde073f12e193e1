// Equal layers are reversed once. Before normal form, runs of statements that are equal up to names become calls of one SDFG
// (pass share-layers); the forward sweep calls one that also gives out what its reverse reads, and the backward sweep another,
// made once for all calls, with adjoints as arguments:
//
//   call layer(x = X, w = W0, y = H)          call layer_forward(x = X, w = W0, y = H, tape = T0)
//   call layer(x = H, w = W1, y = Y)     →    call layer_forward(x = H, w = W1, y = Y, tape = T1)
//                                             call layer_backward(w = W1, tape = T1, grad_y = grad_Y, grad_x = grad_H, grad_w = grad_W1)
//                                             call layer_backward(w = W0, tape = T0, grad_y = grad_H, grad_x = grad_X, grad_w = grad_W0)
//
// Sums of adjoints keep their order: where something after a call gives to an adjoint, the reverse adds to what is there.
#pragma once
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "autodiff/backward.h"
#include "autodiff/plan_cost.h"

namespace headrace::autodiff {

// How the calls of an SDFG that gives out its tape are reversed. The parameters of `backward` that are no gradients are called
// as those of the forward SDFG.
struct ReversedLayer {
  Name backward;
  std::vector<std::pair<Name, Name>> given;     // output → parameter with its gradient
  std::vector<std::pair<Name, Name>> required;  // input → parameter that its gradient is written to, or added to:
  std::unordered_set<Name> added;               // inputs
};
using ReversedLayers = std::unordered_map<Name, ReversedLayer>;  // by the forward SDFG

// Not under a memory limit or where arrays are named: what is stored is decided for single statements. Sums in half precision are
// widened statement by statement, too.
bool MayShareLayers(const Program& p, const Options& o, const Registry& r);

// The SDFGs that equal layers of the entry have become; none where there are no layers.
Result<std::vector<Name>> ShareLayers(Program* p, const Registry& r);

// Puts the SDFGs with tapes in the place of `layers`, whose calls normal form has left. Nothing where one of them can't be
// reversed on its own: it updates an argument, takes one array twice, or its tapes have sizes of their own.
Result<std::optional<ReversedLayers>> ReverseLayers(Program* p, const std::vector<Name>& layers,
                                                    const std::vector<Name>& outputs, const std::vector<Name>& inputs,
                                                    const Options& o, const std::shared_ptr<KnownCosts>& costs,
                                                    const Registry& r);

// Forward and backward part of one layer: every output's gradient is given, those of `added` are added to.
Result<BackwardPrograms> BackwardOfLayer(Program layer, const std::vector<Name>& outputs,
                                         const std::vector<Name>& inputs, const std::unordered_set<Name>& added,
                                         const Options& o, const std::shared_ptr<KnownCosts>& costs,
                                         const Registry& r);

}  // namespace headrace::autodiff
