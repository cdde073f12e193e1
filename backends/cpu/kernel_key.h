// A cheap fingerprint of a statement: equal keys give equal kernels, so that the thousandth Relu costs a look-up.
#pragma once
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::cpu {

struct KernelKey {
  std::string text;              // structure, types, shapes; containers and map indices by number
  std::vector<Name> containers;  // by number
};
KernelKey KeyOf(const Sdfg& s, NodeId n);

}  // namespace headrace::cpu
