// What becomes of ops in mixed precision, one table, and which ports of a node share a type.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/registry/registry.h"

namespace headrace::transforms {

enum class Precision {
  kFollow,  // has the type that its operands come in
  kNarrow,  // takes and gives the narrow type
  kWide,    // f32
  kExact,   // f32, and so is what takes its results: dequantised numbers
};

class Precisions {
 public:
  explicit Precisions(const Registry& r);
  // Of nodes with graphs or an implementation that was asked for, and of ops without a pure form that the table lacks: kWide.
  Precision Of(const Library& l) const;

 private:
  std::unordered_map<std::string, Precision> ops_;
};

// Ports of one type variable ("T") or family ("float"); outputs that are declared to have an input's type are with it.
struct TypeGroup {
  std::string type;
  bool narrows = false;  // the op takes f16, in this or another version
  std::vector<size_t> inputs, outputs;  // of the node
};
std::vector<TypeGroup> TypeGroups(const Registry& r, const Library& l);

}  // namespace headrace::transforms
