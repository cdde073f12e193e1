#include "ir/analysis/callees.h"

#include <vector>

namespace headrace {

Direction Callees::Of(Name callee, Name port) {
  const auto [of, fresh] = known_.try_emplace(callee);
  if (const Sdfg* s = fresh ? p_.Find(callee) : nullptr) {
    const std::vector<Direction> all = Directions(p_, *s);
    for (size_t k = 0; k < all.size(); ++k) of->second.emplace(s->parameters[k], all[k]);
  }
  const auto it = of->second.find(port);
  return it == of->second.end() ? Direction::kInOut : it->second;
}

}  // namespace headrace
