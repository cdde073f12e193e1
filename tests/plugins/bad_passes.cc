// Passes that are wrong, each in one way (plugins_test.py).
#include <stdexcept>

#include "ir/plugin.h"
#include "ir/registry/transformation.h"

namespace {

using namespace headrace;

Result<bool> Throw(Program&, const PassOptions&, const Registry&, const Ask&) { throw std::runtime_error("out of coffee"); }

// Shorter constants, and "nothing has changed".
Result<bool> Shorten(Program& p, const PassOptions&, const Registry&, const Ask& ask) {
  Sdfg& s = p.MutableEntry();
  Match match;
  match.sdfg = s.name;
  if (!ask(match)) return false;
  for (Name n : std::vector<Name>(s.order))
    if (s.Get(n).kind == ContainerKind::kConstant) s.Mutable(n).data = *Tensor::Create(s.Get(n).dtype, {1});
  return false;
}

Status Register(Registry& r) {
  HR_RETURN_IF_ERROR(r.Add(FromSteps("bad-throw", "Throws.", {}, Throw)));
  return r.Add(FromSteps("bad-shorten", "Breaks the program.", {}, Shorten));
}

}  // namespace

HEADRACE_TIER2_PLUGIN("bad_passes", Register)
