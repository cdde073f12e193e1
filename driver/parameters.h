// What a model can be differentiated with respect to: its float inputs, and its constants, which become inputs for that.
#pragma once
#include <string>
#include <vector>

#include "ir/registry/registry.h"

namespace headrace {

struct Parameter {
  Name container;
  std::string original;
  bool constant = false;
};

// Float inputs and constants of the entry, inputs first. Of imported models only initializers count as constants.
std::vector<Parameter> Differentiable(const ImportedModel& m, bool from_text);

// Some use of the constant is one that a gradient can flow through (scales of Resize are not).
bool GradientCanFlow(const Registry& r, const Program& p, Name constant);

// The constant becomes the last parameter, its value is given back. Uses that must see a constant see a copy.
Result<Tensor> MakeInput(const Registry& r, Program& p, const Parameter& constant);

}  // namespace headrace
