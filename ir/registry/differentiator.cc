#include "ir/registry/differentiator.h"

#include "ir/registry/registry.h"

namespace headrace {

Result<BackwardPrograms> Differentiate(const Program& p, const std::vector<Name>& outputs, const std::vector<Name>& inputs,
                                       const GradientOptions& o, const Registry& r) {
  if (const Differentiator* d = r.FindDifferentiator()) return d->differentiate(p, outputs, inputs, o, r);
  return UsageError("E0346", "no plugin makes gradients", "`headrace plugins` lists what is loaded");
}

}  // namespace headrace
