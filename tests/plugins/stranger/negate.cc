// A pass of a third party, written from docs/plugins.md: every constant changes its sign.
#include "ir/plugin.h"

namespace {

using namespace headrace;

Result<bool> Negate(Program& p, const PassOptions&, const Registry&) {
  bool changed = false;
  Sdfg& s = p.MutableEntry();
  for (Name n : std::vector<Name>(s.order)) {
    if (s.Get(n).kind != ContainerKind::kConstant || !IsFloat(s.Get(n).dtype)) continue;
    Tensor t = *Tensor::Create(s.Get(n).dtype, s.Get(n).data.shape);
    for (int64_t i = 0; i < t.elements(); ++i) t.SetDouble(i, -s.Get(n).data.GetDouble(i));
    s.Mutable(n).data = t;
    changed = true;
  }
  return changed;
}

Status Register(Registry& r) {
  Pass pass;
  pass.name = "acme-negate";
  pass.doc = "Every constant with the other sign.";
  pass.run = Negate;
  return r.Add(pass);
}

}  // namespace

HEADRACE_TIER2_PLUGIN("acme_negate", Register)
