// Passes that change one SDFG after the other.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "ir/graph/graph.h"

namespace headrace::transforms {

// Gives `change` a copy of each SDFG of `p` that is no kernel; a copy that it changed, for which it says true, takes the SDFG's place.
// Says whether there was one. What `change` adds to `p` is not visited.
template <typename Change>
Result<bool> TryChangeEach(Program& p, const Change& change) {
  bool changed = false;
  for (const std::shared_ptr<Sdfg>& shared : std::vector<std::shared_ptr<Sdfg>>(p.sdfgs)) {
    if (shared->kernel) continue;
    Sdfg copy = *shared;
    HR_ASSIGN_OR_RETURN(const bool any, change(&copy));
    if (!any) continue;
    p.Mutable(shared->name) = std::move(copy);
    changed = true;
  }
  return changed;
}

// The same where nothing fails.
template <typename Change>
bool ChangeEach(Program& p, const Change& change) {
  return *TryChangeEach(p, [&](Sdfg* s) -> Result<bool> { return change(s); });
}

}  // namespace headrace::transforms
