#include "training/schedule.h"

#include <algorithm>
#include <cmath>

#include "ir/base/closest_word.h"

namespace headrace::training {

Status CheckSchedule(const Schedule& s) {
  if (s.kind != "constant" && s.kind != "cosine" && s.kind != "step") {
    const std::string close = ClosestWord(s.kind, {"constant", "cosine", "step"});
    return UsageError("E0941", "unknown schedule '" + s.kind + "'",
                      close.empty() ? "constant, cosine or step" : "did you mean '" + close + "'?");
  }
  if (s.epochs < 1) return UsageError("E0942", "--step-epochs must be 1 or more");
  if (!(s.gamma > 0) || !std::isfinite(s.gamma)) return UsageError("E0942", "--gamma must be a positive number");
  if (s.warmup < 0) return UsageError("E0942", "--warmup must not be negative");
  return {};
}

double RateAt(const Schedule& s, double base, int64_t step, int64_t total, int64_t per_epoch) {
  if (step <= s.warmup) return base * static_cast<double>(step) / static_cast<double>(s.warmup);
  if (s.kind == "step") return base * std::pow(s.gamma, static_cast<double>((step - 1) / per_epoch / s.epochs));
  if (s.kind == "cosine") {
    const double done = static_cast<double>(step - 1 - s.warmup);
    const double all = static_cast<double>(std::max<int64_t>(1, total - s.warmup));
    return base * 0.5 * (1 + std::cos(M_PI * done / all));
  }
  return base;
}

}  // namespace headrace::training
