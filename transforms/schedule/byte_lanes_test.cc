#include "transforms/schedule/byte_lanes.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace::schedule {
namespace {

std::string Kernel(const std::string& statements, const std::string& x = "x: u8[4, 64]") {
  return "kernel k(" + x + ", t: f32[64], inout y: u8[4, 64]) for cpu {\n  for i in 0:4 {\n" + statements + "  }\n}\n";
}

std::string Parted(const std::string& text) {
  Result<Program> p = ParseProgram(text);
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  EXPECT_TRUE(Verify(*p).ok()) << Verify(*p).ToString();
  PartByteLanes(&p->Mutable(Name("k")), 16);
  EXPECT_TRUE(Verify(*p).ok()) << Verify(*p).ToString() << Print(*p);
  return Print(*p);
}
void ExpectParted(const std::string& before, const std::string& after) {
  EXPECT_EQ(Parted(before), Print(*ParseProgram(after)));
}

TEST(ByteLanes, WhatIsReadAndWritten) {
  ExpectParted(
      Kernel(
          "    map u in 0:32 @vector {\n      local r: f32\n      r = t[u] * 2\n      y[i, u] = sat(rint(r + f32(i32(x[i, u + 3]) - 7)), u8)\n    }\n"),
      Kernel(R"(    local w: i32[32]
    local v: f32[32]
    map u in 0:32 @vector { w[u] = i32(x[i, u + 3]) }
    map u in 0:32 @vector {
      local r: f32
      r = t[u] * 2
      v[u] = r + f32(i32(w[u]) - 7)
    }
    map u in 0:32 @vector { y[i, u] = sat(rint(v[u]), u8) }
)"));
}

// Sums in registers of what is read.
TEST(ByteLanes, WhatIsReadAlone) {
  ExpectParted(
      Kernel(
          "    local s: f32[16]\n    map u in 0:16 @vector { s[u] = fma(f32(i32(x[i, u])), t[u], 1) }\n    map u in 0:16 @vector { y[i, u] = sat(s[u], u8) }\n"),
      Kernel(R"(    local s: f32[16]
    local w: i32[16]
    local q: i32[16]
    map u in 0:16 @vector { w[u] = i32(x[i, u]) }
    map u in 0:16 @vector { s[u] = fma(f32(i32(w[u])), t[u], 1) }
    map u in 0:16 @vector { q[u] = i32(sat(s[u], u8)) }
    map u in 0:16 @vector { y[i, u] = u8(q[u]) }
)"));
}

// What is rounded is held as it is before: rounding, a zero point and saturation are one step, of which processors make bytes at once.
TEST(ByteLanes, WhatIsRounded) {
  ExpectParted(Kernel("    map u in 0:32 @vector { y[i, u] = sat(rint(fma(f32(i32(x[i, u])), t[u], 1)) + f32(z), u8) }\n", "x: u8[4, 64], z: u8"),
               Kernel(R"(    local w: i32[32]
    local v: f32[32]
    map u in 0:32 @vector { w[u] = i32(x[i, u]) }
    map u in 0:32 @vector { v[u] = fma(f32(i32(w[u])), t[u], 1) }
    map u in 0:32 @vector { y[i, u] = sat(rint(v[u]) + f32(z), u8) }
)",
                      "x: u8[4, 64], z: u8"));
}

// Bytes between two statements, too, have 32 bits; lanes that fill half a vector come last.
TEST(ByteLanes, WhatIsHeldAndLeft) {
  ExpectParted(Kernel(R"(    map u in 0:24 @vector {
      local r: u8
      r = sat(rint(t[u]), u8)
      y[i, u] = sat(rint(f32(i32(r)) * 2), u8)
    }
)"),
               Kernel(R"(    local v: f32[16]
    map u in 0:16 @vector {
      local r_wide: i32
      r_wide = i32(sat(rint(t[u]), u8))
      v[u] = f32(i32(r_wide)) * 2
    }
    map u in 0:16 @vector { y[i, u] = sat(rint(v[u]), u8) }
    local q: i32[8]
    map u in 0:8 @vector {
      local r_rest_wide: i32
      r_rest_wide = i32(sat(rint(t[u + 16]), u8))
      q[u] = i32(sat(rint(f32(i32(r_rest_wide)) * 2), u8))
    }
    map u in 0:8 @vector { y[i, u + 16] = u8(q[u]) }
)"));
}

// Lanes that fill no vector, that lie apart, that are copied, or computed with bytes alone.
TEST(ByteLanes, OtherLanes) {
  for (const char* statements : {"    map u in 0:12 @vector { y[i, u] = sat(rint(t[u]), u8) }\n",
                                 "    map u in 0:16 @vector { y[i, 2 * u] = sat(rint(t[u]), u8) }\n",
                                 "    map u in 0:16 @vector { y[i, u] = x[i, u] }\n",
                                 "    map u in 0:16 @vector { y[i, u] = max(x[i, u], 3) }\n",
                                 "    map u in 0:i @vector { y[i, u] = sat(rint(t[u]), u8) }\n"})
    EXPECT_EQ(Parted(Kernel(statements)), Print(*ParseProgram(Kernel(statements))));
}

}  // namespace
}  // namespace headrace::schedule
