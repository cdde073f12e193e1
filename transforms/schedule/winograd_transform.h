// The transforms of Winograd's F(2 × 2, 3 × 3) as statements: M X Mᵀ for a matrix M of small numbers (winograd.h).
#pragma once
#include <functional>
#include <vector>

#include "transforms/schedule/steps.h"

namespace headrace::schedule {

constexpr int64_t kTaps = 3, kPoints = 2, kSide = 4, kProducts = kSide * kSide;  // of a window, of results and of a tile of data

using SmallMatrix = std::vector<std::vector<double>>;
extern const SmallMatrix kDataTransform;     // Bᵀ, 4 × 4
extern const SmallMatrix kWeightsTransform;  // G, 4 × 3
extern const SmallMatrix kResultsTransform;  // Aᵀ, 2 × 4
// Of gradients of weights; the last rows of the first two have both another sign than in Bᵀ and A.
extern const SmallMatrix kTurnedDataTransform;     // Bᵀ, 4 × 4
extern const SmallMatrix kGradientTransform;       // A, 4 × 2
extern const SmallMatrix kTurnedResultsTransform;  // Gᵀ, 3 × 4

using SmallRead = std::function<Expr(int64_t i, int64_t j)>;
using SmallPut = std::function<NodeId(int64_t i, int64_t j, Expr value)>;
// Registers hold what is read and what is between the two products.
std::vector<NodeId> TransformBothSides(Sdfg* s, const SmallMatrix& m, const SmallRead& read, const SmallPut& put);

// The window's element k, l where G W Gᵀ has these elements, which are numbered line by line.
Expr WeightsOf(const std::function<Expr(int64_t e)>& transformed, const Expr& k, const Expr& l);

}  // namespace headrace::schedule
