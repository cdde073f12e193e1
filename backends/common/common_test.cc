// The C vocabulary and the IR's agree: numbers of dtypes, float formats.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/common/external_call.h"
#include "backends/common/signature.h"
#include "ir/base/dtype.h"
#include "ir/text/parser.h"
#include "runtime/headrace_runtime.h"
#include "runtime/hr_float.h"
#include "runtime/hr_scalar.h"

namespace headrace {
namespace {

#define HR_SAME(c, d) \
  static_assert(static_cast<int>(c) == static_cast<int>(DType::d), "hr_dtype and headrace::DType differ")
HR_SAME(HR_BOOL, kBool);
HR_SAME(HR_U2, kU2);
HR_SAME(HR_I8, kI8);
HR_SAME(HR_U64, kU64);
HR_SAME(HR_I64, kI64);
HR_SAME(HR_F4E2M1, kF4E2M1);
HR_SAME(HR_F8E8M0, kF8E8M0);
HR_SAME(HR_F16, kF16);
HR_SAME(HR_BF16, kBF16);
HR_SAME(HR_F32, kF32);
HR_SAME(HR_F64, kF64);
HR_SAME(HR_C64, kC64);
HR_SAME(HR_C128, kC128);
HR_SAME(HR_STRING, kString);

struct Format {
  DType t;
  int bits;
  double (*decode)(uint32_t);
  uint32_t (*encode)(double, bool);
};
#define HR_FORMAT(name, dtype, bits, code)                                                                        \
  {                                                                                                               \
    DType::dtype, bits, [](uint32_t b) { return static_cast<double>(hr_##name##_to_f32(static_cast<code>(b))); }, \
        [](double v, bool sat) {                                                                                  \
          return static_cast<uint32_t>(sat ? hr_f64_to_##name##_sat(v) : hr_f64_to_##name(v));                    \
        }                                                                                                         \
  }

TEST(Floats, TheRuntimeAndTheIrAgreeOnEveryFormat) {
  const Format formats[] = {HR_FORMAT(f16, kF16, 16, uint16_t),         HR_FORMAT(bf16, kBF16, 16, uint16_t),
                            HR_FORMAT(f8e4m3fn, kF8E4M3FN, 8, uint8_t), HR_FORMAT(f8e4m3fnuz, kF8E4M3FNUZ, 8, uint8_t),
                            HR_FORMAT(f8e5m2, kF8E5M2, 8, uint8_t),     HR_FORMAT(f8e5m2fnuz, kF8E5M2FNUZ, 8, uint8_t),
                            HR_FORMAT(f8e8m0, kF8E8M0, 8, uint8_t),     HR_FORMAT(f4e2m1, kF4E2M1, 4, uint8_t)};
  for (const Format& f : formats) {
    for (uint32_t b = 0; b < 1u << f.bits; ++b) {
      const double ours = f.decode(b), theirs = DecodeFloat(f.t, b);
      if (std::isnan(theirs)) {
        ASSERT_TRUE(std::isnan(ours)) << DTypeName(f.t) << " " << b;
        continue;
      }
      ASSERT_EQ(ours, theirs) << DTypeName(f.t) << " " << b;
      for (double v : {ours, std::nextafter(ours, 1e300), ours * (1 + 1.0 / 32), ours * 1.5, -ours}) {
        for (bool saturate : {false, true}) {
          ASSERT_EQ(f.encode(v, saturate), EncodeFloat(f.t, v, saturate))
              << DTypeName(f.t) << " " << v << " " << saturate;
        }
      }
    }
    for (double v : {HUGE_VAL, -HUGE_VAL, std::nan(""), 1e300, -1e300, 1e-300, 0.0, -0.0}) {
      for (bool saturate : {false, true}) {
        ASSERT_EQ(f.encode(v, saturate), EncodeFloat(f.t, v, saturate))
            << DTypeName(f.t) << " " << v << " " << saturate;
      }
    }
    for (int i = 0; i < 200000; ++i) {
      const double v = hr_normal(3, i) * std::exp2(40 * hr_uniform(4, i) - 20);
      ASSERT_EQ(f.encode(v, false), EncodeFloat(f.t, v, false)) << DTypeName(f.t) << " " << v;
    }
  }
}

TEST(Sizes, EvaluatesWhatShapesCanSay) {
  auto size = [](const char* text) {
    return EvalSize(*ParseExpr(text), [](Name n) { return n == Name("N") ? std::optional<int64_t>(7) : std::nullopt; });
  };
  EXPECT_EQ(size("2*N + 1"), 15);
  EXPECT_EQ(size("(N - 3) // 2 + max(N % 4, 1)"), 5);
  EXPECT_EQ(size("N > 3 ? N : 0"), 7);
  EXPECT_EQ(size("N / 7"), 1);
  EXPECT_EQ(size("N / 2"), std::nullopt);
  EXPECT_EQ(size("M + 1"), std::nullopt);
}

}  // namespace
}  // namespace headrace
