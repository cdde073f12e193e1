// Random valid IR programs, with inputs for them, from a seed.
//
// Two engines may round differently, so a program is made such that this can't change what it does: every float expression
// carries a bound, a number of fractional bits and whether it is exact in its type. Only exact values are compared, rounded
// or turned into integers; outputs that were exact throughout must be equal bit by bit, others nearly.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/value.h"

namespace headrace::testing {

struct GeneratorOptions {
  int statements = 12;  // at the top level; the first k of them are the same for every larger number (for shrinking)
  bool loops = true, calls = true, scatter = true, views = true, small_floats = true, sizes_from_data = true;
};

struct RandomOutput {
  std::string name;
  bool exact;
};
struct RandomProgram {
  std::string text;
  std::vector<RandomOutput> outputs;  // in parameter order
  struct Input {
    std::string name;
    DType dtype;
    std::vector<std::string> shape;
    int64_t below;
  };  // below > 0: indices in [0, below)
  std::vector<Input> inputs;
};
RandomProgram Generate(uint64_t seed, const GeneratorOptions& o);

// Values for the inputs with sizes N and M, by name.
std::vector<std::pair<std::string, Tensor>> MakeInputs(const RandomProgram& p, uint64_t seed, int64_t n, int64_t m);

}  // namespace headrace::testing
