#include "transforms/denormals.h"

#include "ir/analysis/denormals.h"

namespace headrace {

Result<bool> MarkDenormals(Program& p, bool keep) {
  const Sdfg& entry = p.Entry();
  const bool entry_flushes = !keep && HasFloats(entry) && !NeedsDenormals(entry);
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    const Sdfg& s = *p.sdfgs[i];
    const bool flush = !keep && !NeedsDenormals(s) && (HasFloats(s) || entry_flushes);
    if (s.flush == flush) continue;
    p.Mutable(s.name).flush = flush;
    changed = true;
  }
  return changed;
}

}  // namespace headrace
