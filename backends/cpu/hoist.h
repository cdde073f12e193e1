// Expressions made cheaper before they become code: what a loop does not change is computed before it; two branches of a
// select that call the same function share one call.
#pragma once
#include <functional>
#include <set>
#include <string>

#include "backends/cpu/codegen_expr.h"
#include "ir/graph/graph.h"

namespace headrace::cpu {

// A C++ name or expression of type `t`, as a node of an expression.
Expr LocalExpr(const std::string& text, DType t);

// Writes a local for each largest part of `value` that costs something and that no iteration over `index` changes, and puts
// the local in its place. `written`: containers that the loop writes. `nonempty`: C++ condition under which the loop runs at
// all (only then are reads known to be in bounds); "" when it always does. `is_register`: containers that are C++ variables.
Expr HoistInvariants(const Expr& value, Name index, const std::set<Name>& written, const std::string& nonempty,
                     const std::function<bool(Name)>& is_register, Env& env, Writer& w);

// A read that reports an error when `condition` fails, evaluated whenever `value` is, whose condition no iteration over
// `index` changes; null if there is none.
Expr FindInvariantCheck(const Expr& value, Name index);
Expr Replace(const Expr& e, const Expr& what, const Expr& by);

// c ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x))   →   (c ? m : 1) / (1 + m) with m = exp(c ? x : -x): the same values for
// half the work, as both sides of a select in a vector loop are computed. pow(x, 2)   →   x * x.
Expr CheaperCalls(const Expr& value);

}  // namespace headrace::cpu
