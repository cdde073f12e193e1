// The learning rate over a run.
#pragma once
#include <cstdint>
#include <string>

#include "ir/base/status.h"

namespace headrace::training {

struct Schedule {
  std::string kind = "constant";  // constant, cosine (to 0 over all steps), step (times `gamma` every `epochs` epochs)
  double gamma = 0.1;
  int64_t epochs = 10;
  int64_t warmup = 0;  // steps of linear growth from rate / warmup, before what the schedule says
};

Status CheckSchedule(const Schedule& s);

// Learning rate of step `step` (from 1) of `total`, `per_epoch` steps each.
double RateAt(const Schedule& s, double base, int64_t step, int64_t total, int64_t per_epoch);

}  // namespace headrace::training
