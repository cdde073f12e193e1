// What the SDFGs that statements call do with their parameters.
#pragma once
#include <unordered_map>

#include "ir/graph/graph.h"

namespace headrace {

// What callees do with their parameters, each found out once: for who asks about many statements, and changes no callee meanwhile.
class Callees {
 public:
  explicit Callees(const Program& p) : p_(p) {}
  Direction Of(Name callee, Name port);  // kInOut: nobody knows

 private:
  const Program& p_;
  std::unordered_map<Name, std::unordered_map<Name, Direction>> known_;
};

}  // namespace headrace
