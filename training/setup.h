// Model and data of a run, read and checked against each other before anything is compiled.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "training/columns.h"
#include "training/step.h"
#include "training/trainer.h"

namespace headrace::training {

struct Setup {
  Layout layout;
  StepProgram first;                        // for full batches
  std::vector<Column> columns, validation;  // by input of the model, then the target; validation may be empty
  int64_t samples = 0;
  int64_t batch = 0;                 // samples of a full batch: --batch, or all there are
  int64_t per_epoch = 0, total = 0;  // steps
};
Result<Setup> ReadSetup(const TrainOptions& o, const Registry& r, const std::function<void(const std::string&)>& note);

// The model for batches of this size, or, where its batch dimension has no name, for any.
Result<ImportedModel> ImportSized(const TrainOptions& o, const Registry& r, const Layout& layout, int64_t batch,
                                  bool inference);

}  // namespace headrace::training
