#include "backends/cpu/exact.h"

#include <algorithm>

#include "backends/cpu/lower.h"
#include "runtime/headrace_runtime.h"
#include "runtime/hr_float.h"

namespace headrace::cpu {
namespace {

bool IsBf16(float v) { return v == hr_bf16_to_f32(hr_f32_to_bf16(v)); }

}  // namespace

bool IsExactBf16(const Expr& e) {
  const auto all = [&](size_t from) { return std::all_of(e->args.begin() + static_cast<long>(from), e->args.end(), IsExactBf16); };
  switch (e->kind) {
    case ExprKind::kInt: return IsBf16(static_cast<float>(e->ivalue));
    case ExprKind::kFloat: return IsBf16(static_cast<float>(e->fvalue));
    case ExprKind::kRead: return e->dtype == DType::kBF16;
    case ExprKind::kCast: return e->dtype == DType::kBF16 || (e->dtype == DType::kF32 && IsExactBf16(e->args[0]));
    default: break;
  }
  if (e->dtype != DType::kBF16 && e->dtype != DType::kF32) return false;
  if (e.Is(ExprKind::kSelect) || IsFn(e, kGuardFn)) return all(1);
  if (e.Is(ExprKind::kUnary)) return e->op == Op::kNeg && all(0);
  for (const char* fn : {"min", "max", "clamp", "abs", "hold"})
    if (IsFn(e, fn)) return all(0);
  return false;
}

}  // namespace headrace::cpu
