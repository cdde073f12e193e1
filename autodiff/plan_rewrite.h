// Carries a schedule out: statements that run again get their own copies of what they write, and readers read those.
#pragma once
#include "autodiff/plan_model.h"

namespace headrace::autodiff {

// Moves fills with constants of the backward part to right before their first reader, so that adjoints live no longer than
// they must.
void SinkFills(Combined* c);
// Labels the state that begins the backward part: passes don't merge it with the forward part, and so don't move what is
// computed again to where it was computed first.
void SetApart(Combined* c);
void ApplySchedule(const PlanModel& m, const Schedule& s, const Timeline& t, Combined* c);

}  // namespace headrace::autodiff
