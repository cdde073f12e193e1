// How the arrays of a data file fit a model: which feeds which input, where the batch stands, which sizes follow, and what is
// converted. Everything that can be wrong with data is found here, before anything is compiled.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/registry/registry.h"
#include "training/data.h"

namespace headrace::training {

struct Layout {
  std::vector<int> batch_dims;                  // by input of the model
  std::vector<Name> batch;                      // symbols for the batch size
  std::optional<int64_t> fixed;                 // the batch size that the model was exported with
  std::vector<std::pair<Name, int64_t>> sizes;  // the other symbols
  int64_t samples = 0;
};
// The batch is the symbol that all inputs have in common ([T, N, C] as well; arrays are samples first all the same). Where
// several are, one that is called so ("batch", "N") or else the leading one; where none is, the leading dimensions.
Result<Layout> FitData(const ImportedModel& m, const NamedTensors& data, const std::string& file);

// The array `name` for parameter `c` of a program for `batch` samples, in the parameter's type: floats narrow and integers
// widen to floats with a note, integers are converted when they fit. `batch_dim`: where samples go; a target's place is found.
Result<Column> MakeColumn(const NamedTensors& data, const std::string& file, const std::string& name,
                          const Container& c, std::optional<int> batch_dim, int64_t batch, int first_batch_dim,
                          std::vector<std::string>* notes);

// All columns have the same number of samples.
Status CheckCounts(const std::vector<Column>& columns, const std::string& file);

// Class numbers in [0, classes); the error names the first that is not.
Status CheckLabels(const Column& target, int64_t classes, const std::string& file);

// The first element that is not finite.
std::optional<int64_t> FirstNonFinite(const Tensor& t);

}  // namespace headrace::training
