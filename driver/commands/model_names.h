// Names of a model's inputs and outputs in what is compiled from it: a parameter `x_1: f32[N] from "x" by "model"` is called
// "x" in the model. An artifact has no other place for them.
#pragma once
#include "ir/registry/registry.h"

namespace headrace {

void WriteModelNames(const ImportedModel& m, Program* p);
void ReadModelNames(ImportedModel* m);

}  // namespace headrace
