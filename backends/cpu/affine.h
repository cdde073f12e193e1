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

// Every linear offset in the statement: the target's first, then the reads'.
std::vector<Expr> Offsets(const LoweredStmt& s);

}  // namespace headrace::cpu
