#include "transforms/schedule/prefetch.h"

namespace headrace::schedule {

std::optional<Ahead> AheadOf(int64_t width, int64_t strips, const Expr& strip) {
  if (strips > width) return std::nullopt;
  Ahead out;
  while (out.columns * strips < width && 2 * out.columns <= width) out.columns *= 2;
  out.strip = Min(strip, Expr(width / out.columns - 1));
  return out;
}

}  // namespace headrace::schedule
