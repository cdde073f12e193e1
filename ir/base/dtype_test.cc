#include "ir/base/dtype.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace headrace {
namespace {

constexpr DType kSmallFloats[] = {DType::kF4E2M1,     DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2,
                                  DType::kF8E5M2FNUZ, DType::kF8E8M0,   DType::kF16,        DType::kBF16};
const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(DType, NamesParseBack) {
  for (int i = 1; i <= static_cast<int>(DType::kReal); ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(ParseDType(DTypeName(t)), t) << DTypeName(t);
  }
  EXPECT_EQ(ParseDType("float"), std::nullopt);
}

TEST(DType, IntegerRanges) {
  EXPECT_EQ(LowestInt(DType::kI8), -128);
  EXPECT_EQ(HighestInt(DType::kI8), 127u);
  EXPECT_EQ(LowestInt(DType::kI2), -2);
  EXPECT_EQ(HighestInt(DType::kU4), 15u);
  EXPECT_EQ(LowestInt(DType::kI64), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(HighestInt(DType::kU64), std::numeric_limits<uint64_t>::max());
}

TEST(DType, LargestFloats) {
  EXPECT_EQ(HighestFloat(DType::kF4E2M1), 6);
  EXPECT_EQ(HighestFloat(DType::kF8E4M3FN), 448);
  EXPECT_EQ(HighestFloat(DType::kF8E4M3FNUZ), 240);
  EXPECT_EQ(HighestFloat(DType::kF8E5M2), 57344);
  EXPECT_EQ(HighestFloat(DType::kF8E5M2FNUZ), 57344);
  EXPECT_EQ(HighestFloat(DType::kF16), 65504);
  EXPECT_EQ(HighestFloat(DType::kBF16), std::ldexp(255.0, 120));
}

TEST(SmallFloat, EveryBitPatternDecodesAndEncodesBack) {
  for (DType t : kSmallFloats) {
    for (uint32_t bits = 0; bits < 1u << BitWidth(t); ++bits) {
      const double v = DecodeFloat(t, bits);
      if (std::isnan(v)) EXPECT_TRUE(std::isnan(DecodeFloat(t, EncodeFloat(t, v)))) << DTypeName(t) << " " << bits;
      else EXPECT_EQ(EncodeFloat(t, v), bits) << DTypeName(t) << " " << v;
    }
  }
}

// Between any two neighbours the middle goes to the even one, and anything beside the middle to the
// nearer one.
TEST(SmallFloat, RoundsHalfToEven) {
  for (DType t : kSmallFloats) {
    if (t == DType::kF8E8M0) continue;
    const uint32_t last = EncodeFloat(t, HighestFloat(t));
    for (uint32_t bits = 0; bits < last; ++bits) {
      const double a = DecodeFloat(t, bits), b = DecodeFloat(t, bits + 1), middle = (a + b) / 2;
      ASSERT_EQ(EncodeFloat(t, middle), bits % 2 == 0 ? bits : bits + 1) << DTypeName(t) << " " << bits;
      ASSERT_EQ(EncodeFloat(t, std::nextafter(middle, -kInf)), bits) << DTypeName(t) << " " << bits;
      ASSERT_EQ(EncodeFloat(t, std::nextafter(middle, kInf)), bits + 1) << DTypeName(t) << " " << bits;
    }
  }
}

TEST(SmallFloat, OverflowFollowsTheFormat) {
  EXPECT_EQ(EncodeFloat(DType::kF16, 65519.9), 0x7BFFu);  // below the middle of 65504 and 65536
  EXPECT_EQ(EncodeFloat(DType::kF16, 65520), 0x7C00u);
  EXPECT_EQ(EncodeFloat(DType::kF16, -1e10), 0xFC00u);
  EXPECT_EQ(EncodeFloat(DType::kF16, 1e10, /*saturate=*/true), 0x7BFFu);
  EXPECT_EQ(EncodeFloat(DType::kBF16, 3.4e38), 0x7F80u);
  EXPECT_EQ(EncodeFloat(DType::kF8E5M2, kInf), 0x7Cu);
  EXPECT_EQ(EncodeFloat(DType::kF8E4M3FN, 464),
            0x7Eu);                                      // the middle of 448 and 480 goes to the even 448
  EXPECT_EQ(EncodeFloat(DType::kF8E4M3FN, 465), 0x7Fu);  // there is no infinity
  EXPECT_EQ(EncodeFloat(DType::kF8E4M3FN, kInf, true), 0x7Eu);
  EXPECT_EQ(EncodeFloat(DType::kF8E4M3FNUZ, -1e3), 0x80u);
  EXPECT_EQ(EncodeFloat(DType::kF8E4M3FNUZ, -0.0), 0x00u);  // there is no -0
  EXPECT_EQ(EncodeFloat(DType::kF8E4M3FNUZ, -1e-9), 0x00u);
  EXPECT_EQ(EncodeFloat(DType::kF4E2M1, 1e3), 0x7u);
  EXPECT_EQ(EncodeFloat(DType::kF4E2M1, -kInf), 0xFu);
  EXPECT_EQ(EncodeFloat(DType::kF4E2M1, kNan), 0x8u);  // -0, as ml_dtypes has it
}

TEST(SmallFloat, NanStaysNanWhereThereIsOne) {
  for (DType t : kSmallFloats) {
    if (t == DType::kF4E2M1) continue;
    EXPECT_TRUE(std::isnan(DecodeFloat(t, EncodeFloat(t, kNan)))) << DTypeName(t);
    EXPECT_TRUE(std::isnan(DecodeFloat(t, EncodeFloat(t, kNan, /*saturate=*/true)))) << DTypeName(t);
  }
}

TEST(SmallFloat, ScalesArePowersOfTwo) {
  EXPECT_EQ(DecodeFloat(DType::kF8E8M0, 127), 1);
  EXPECT_EQ(EncodeFloat(DType::kF8E8M0, 2.9), 128u);
  EXPECT_EQ(EncodeFloat(DType::kF8E8M0, 3), 129u);
  EXPECT_EQ(EncodeFloat(DType::kF8E8M0, 0), 0u);
  EXPECT_EQ(EncodeFloat(DType::kF8E8M0, 1e300), 0xFFu);
  EXPECT_EQ(EncodeFloat(DType::kF8E8M0, 1e300, true), 0xFEu);
  EXPECT_TRUE(std::isnan(DecodeFloat(DType::kF8E8M0, EncodeFloat(DType::kF8E8M0, -1))));
}

// A double goes to f16 in one rounding: by way of f32 this value would be rounded twice, and up.
TEST(SmallFloat, RoundsOnce) {
  const double v = 1 + std::ldexp(1.0, -11) - std::ldexp(1.0, -40);
  EXPECT_EQ(EncodeFloat(DType::kF16, v), EncodeFloat(DType::kF16, 1));
}

}  // namespace
}  // namespace headrace
