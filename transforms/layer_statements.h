// Statements as share-layers compares them.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/analysis/dataflow.h"
#include "ir/registry/registry.h"
#include "transforms/repeats.h"

namespace headrace::transforms {

struct LayerStatement {
  NodeId id;
  uint32_t key = 0;              // equal for statements that are equal but for their containers; 0: it can't be shared
  std::vector<Name> containers;  // in the order of their first use; of equal statements one is for the other
  std::vector<Touched> touched;  // once it is asked for
  bool contraction = false;  // a sum of products: what is around it may go into its kernel, but no other such sum
};

class LayerStatements {
 public:
  LayerStatements(const Program& p, const Sdfg& s, const Registry& r) : s_(s), callees_(p), r_(r) {}
  std::vector<LayerStatement> Of(const std::vector<NodeId>& line);
  void FindTouched(std::vector<LayerStatement>* statements, size_t from, size_t to);

 private:
  LayerStatement One(NodeId n);
  bool CanBeShared(NodeId n);
  // What the name of an op says, and the registry.
  struct OpKind {
    bool contraction = false;  // a sum of products
    bool over_images = false;
    bool only_pure = true;  // its implementations are statements, not functions of plugins
  };
  const OpKind& KindOf(const Library& l);
  const Sdfg& s_;
  Callees callees_;
  const Registry& r_;
  std::unordered_map<std::string, uint32_t> keys_;
  std::unordered_map<uint64_t, OpKind> kinds_;  // by domain and op
};

// A constant that every layer has by value, as sizes and axes are.
bool IsByValue(const Container& c);

// How many statements from the repeat's first on `Placed` asks for what they touch.
size_t AskedByPlaced(const Repeat& r);
// The repeat with its parts begun where no part hands the next what this could take into a kernel of its own: a part less where
// only that helps; `count` 0 where nothing does.
Repeat Placed(const std::vector<LayerStatement>& statements, const Repeat& r);

}  // namespace headrace::transforms
