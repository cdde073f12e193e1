// Samples from a NumPy archive (.npz, plain or compressed), the order of an epoch, and batches.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "ir/base/value.h"
#include "ir/graph/graph.h"

namespace headrace::training {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// The arrays of an archive by their names, in its order. Errors name the file, and the array within it.
Result<NamedTensors> ReadNpz(const std::string& path);

// The order of the samples in epoch `epoch` (from 0): a permutation of 0..count-1, a pure function of its arguments.
// Fisher–Yates on numbers of a counter-based generator (SplitMix64: https://doi.org/10.1145/2714064.2660195).
std::vector<int64_t> SampleOrder(uint64_t seed, int64_t epoch, int64_t count);

// One column of the data: samples along dimension 0 of `data` go along dimension `batch_dim` of the parameter.
struct Column {
  Name parameter;
  std::string name;  // of the array
  Tensor data;
  int batch_dim = 0;
};
// Shape of a batch of `count` samples.
std::vector<int64_t> BatchShape(const Column& c, int64_t count);
// Copies samples order[begin, begin + size of out's batch dimension) into `out`, which has a batch's shape.
void Gather(const Column& c, const std::vector<int64_t>& order, int64_t begin, const Tensor& out);

}  // namespace headrace::training
