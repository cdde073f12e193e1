// What a statement computes, whatever its containers and sizes are called: statements with equal keys can be one kernel.
#pragma once
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::transforms {

struct StatementKey {
  std::string text;
  std::vector<Name> containers;  // in the order of their first use: parameters (roots), views, registers
  std::vector<Name> symbols;     // sizes and loop variables
};
// `given`: ranges of the loops around it. `written`: roots that hold values before it runs.
StatementKey KeyOf(const Sdfg& s, NodeId statement, const std::vector<Range>& given,
                   const std::unordered_set<Name>& written);
// An attribute's type and value, for keys; tensors by identity.
void AppendAttribute(const Attribute& a, std::string* key);

}  // namespace headrace::transforms
