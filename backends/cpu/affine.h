// Offsets as affine functions of one index, and dimensions that walk memory as one.
#pragma once
#include <optional>
#include <vector>

#include "backends/cpu/lower.h"

namespace headrace::cpu {

// c such that e = e(index = 0) + c * index, c free of `index`; nullopt when e is not of that form.
std::optional<Expr> Coefficient(const Expr& e, Name index);
bool Mentions(const Expr& e, Name index);

// The statement with dimensions `a` (outer, any extent) and `b` (inner, of extent `extent_b`) walked as one index, called
// `a`; nullopt when some access or condition tells them apart.
std::optional<LoweredStmt> Collapse(const LoweredStmt& s, Name a, Name b, const Expr& extent_b);

// Bounds of the indices used to drop // and % that do nothing: o // 64 for o in 0:64 is 0.
struct IndexExtent {
  Name index;
  int64_t extent;
};
Expr SimplifyInRange(const Expr& e, const std::vector<IndexExtent>& extents, const Assumptions& as);
LoweredStmt SimplifyInRange(LoweredStmt s, const std::vector<IndexExtent>& extents, const Assumptions& as);
LoweredStmt SubstituteIndex(LoweredStmt s, Name index, const Expr& by);
// A divisor c such that `index // c` or `index % c` occurs, 0 if none: the index is better split in two.
int64_t SplitDivisor(const LoweredStmt& s, Name index);

// Every linear offset in the statement: the target's first, then the reads'.
std::vector<Expr> Offsets(const LoweredStmt& s);

}  // namespace headrace::cpu
