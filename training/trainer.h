// The training loop: epochs of batches, schedule, validation, checkpoints, curves. Everything that happens is a pure function
// of model, data and options, bit for bit: a run that was killed and resumed ends as one that was not.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "training/schedule.h"
#include "training/step.h"

namespace headrace::training {

struct TrainOptions {
  std::string model, data, validation;  // files; validation may be empty
  StepSpec step;
  double rate = 0;
  Schedule schedule;
  int64_t epochs = 1, batch = 32, every = 0;  // every: steps between checkpoints, 0 = at the end of each epoch
  uint64_t seed = 0;
  bool shuffle = true;
  std::string checkpoints, out;  // folder; model file
  bool resume = false;           // go on after the folder's newest checkpoint; start anew when there is none at all
  std::vector<std::pair<std::string, int64_t>> dims;
  CompileRequest compile;
};

struct Progress {  // after each step
  int64_t step = 0, steps = 0, epoch = 0, epochs = 0, samples = 0;
  double loss = 0, rate = 0;
};
struct EpochResult {
  int64_t epoch = 0, step = 0;
  double loss = 0;  // mean of the epoch's steps, weighted by samples
  std::optional<double> validation_loss, validation_accuracy;
};
struct Events {
  std::function<void(const Progress&)> step;
  std::function<void(const EpochResult&)> epoch;
  std::function<void(const std::string&)> note;
  std::function<bool()> interrupted;
};
struct TrainResult {
  int64_t steps = 0, resumed_at = 0;
  double compile_seconds = 0, train_seconds = 0, samples_per_second = 0;
  int64_t parameters = 0;  // elements that are trained
  double loss = 0;         // of the last step
  std::vector<EpochResult> epochs;
};

// Trains and writes options.out. An interruption is an error of that kind, after a last checkpoint.
Result<TrainResult> Train(const TrainOptions& o, const Registry& r, const Events& events);

}  // namespace headrace::training
