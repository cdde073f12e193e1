// Names of containers in statements and blocks: collecting, copying, renaming.
#pragma once
#include <map>
#include <set>

#include "ir/graph/graph.h"

namespace headrace::autodiff {

using Renames = std::map<Name, Name>;

class ContainerNames {
 public:
  explicit ContainerNames(Sdfg* s) : s_(*s) {}
  void Collect(NodeId n, std::set<Name>* out) const;
  void Collect(BlockId b, std::set<Name>* out) const;
  NodeId Copy(NodeId n);  // and all it owns; names stay
  BlockId Copy(BlockId b);
  void Rename(NodeId n, const Renames& names);
  void Rename(BlockId b, const Renames& names);

 private:
  void Collect(const Expr& e, std::set<Name>* out) const;
  void Fix(Expr* e, const Renames& names) const;
  Sdfg& s_;
};

}  // namespace headrace::autodiff
