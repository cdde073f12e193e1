// `headrace ops --test` and `headrace ops OP MODEL`.
#pragma once
#include <string>

#include "driver/commands/commands.h"

namespace headrace {

// "Conv", "onnx.Conv" or "Reduce*".
bool MatchesOp(const std::string& pattern, const std::string& domain, const std::string& op);

// The samples of the ops that match: each implementation against the pure form, each gradient against differences; one line
// each. kExitMismatch when one is wrong.
int TestOps(const Registry& r, const std::string& pattern, const Common& c);

// The nodes of `model` whose op matches: which implementation each gets, and why not the others.
int ExplainChoice(const Registry& r, const std::string& pattern, const ModelFlags& model, const Common& c);

}  // namespace headrace
