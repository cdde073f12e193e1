// The expressions of a loop, a choice or a size itself: what is in it are blocks of their own.
#pragma once
#include "ir/graph/graph.h"

namespace headrace::transforms {

template <typename Fn>
void ForEachControlExpr(const Control& c, Fn&& fn) {
  if (const auto* loop = std::get_if<Loop>(&c))
    for (const Expr* e : {&loop->init, &loop->condition, &loop->update}) fn(*e);
  if (const auto* choice = std::get_if<Conditional>(&c))
    for (const Branch& b : choice->branches) fn(b.condition);
  if (const auto* let = std::get_if<Assign>(&c)) fn(let->value);
}

}  // namespace headrace::transforms
