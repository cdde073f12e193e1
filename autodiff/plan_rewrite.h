// Carries a schedule out: statements that run again get their own copies of what they write, and readers read those.
#pragma once
#include "autodiff/plan_model.h"

namespace headrace::autodiff {

// Moves fills with constants of the backward part to right before their first reader, so that adjoints live no longer than
// they must.
void SinkFills(Combined* c);
void ApplySchedule(const PlanModel& m, const Schedule& s, const Timeline& t, Combined* c);

}  // namespace headrace::autodiff
