// Accesses whose ranges don't show them to be inside: what must hold for each, and reads with a value for outside as choices.
#pragma once
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::schedule {

class AccessResolver {
 public:
  explicit AccessResolver(Sdfg* s) : s_(*s), ranges_(s->given), owners_(s->given.size()) {}
  virtual ~AccessResolver() = default;

 protected:
  // An access that nobody guards, where `known_` holds.
  virtual void Inside(Name container, std::vector<Expr> index, bool flat) = 0;

  // What must hold for the access to be inside, as far as it isn't proven or known where it stands; null: nothing. Indices that
  // are null are left out.
  Expr Outside(Name container, const std::vector<Expr>& index, bool flat) const;
  // X[i] ?? v  →  i >= 0 && i < n ? X[i] : v
  Expr Resolved(const Expr& e);

  Sdfg& s_;
  std::vector<Range> ranges_;
  std::vector<NodeId> owners_;  // the map that each is of; invalid: what loops around calls say
  std::vector<Expr> known_;     // what holds where an expression is evaluated
};

}  // namespace headrace::schedule
