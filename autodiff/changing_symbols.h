// Symbols that `let` and library nodes define more than once, or that are used where their definition need not have run; sizes
// of containers that a loop defines.
#pragma once
#include <set>

#include "ir/graph/graph.h"

namespace headrace::autodiff {

class ChangingSymbols {
 public:
  explicit ChangingSymbols(const Sdfg& s);
  const std::set<Name>& all() const { return symbols_; }
  bool InLayout(const Container& c) const;  // of its own; not of a view's base

 private:
  std::set<Name> symbols_;
};

}  // namespace headrace::autodiff
