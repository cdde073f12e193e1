#include "transforms/schedule/choose_schedule.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// One walk through memory, in parts worth a thread's while.
TEST(ChooseSchedule, Elementwise) {
  ExpectPass(R"(
kernel k(p0: f32[n0, n1], p1: f32[n0, n1], n0: symbol, n1: symbol) {
  map i0 in 0:n0, i1 in 0:n1 { p0[i0, i1] = p1[i0, i1] * 2 }
})",
             "choose-schedule", R"(
kernel k(p0: f32[n0, n1], p1: f32[n0, n1], n0: symbol, n1: symbol) for cpu {
  view v: f32[n0 * n1] of p1
  view v_1: f32[n0 * n1] of p0
  map i0_0 in 0:n0 * n1:20480 @parallel {
    map i0 in i0_0:+20480 @vector { v_1[i0] = v[i0] * 2 }
  }
})");
}

// Terms that lie side by side have partial results, combined by halves; results that lie side by side are summed together.
TEST(ChooseSchedule, Sums) {
  ExpectPass(R"(
kernel rows(inout p0: f32[n0], p1: f32[n0, n1], n0: symbol, n1: symbol) {
  map i0 in 0:n0, i1 in 0:n1 { p0[i0] += p1[i0, i1] }
}
kernel columns(inout p0: f32[n1], p1: f32[n0, n1], n0: symbol, n1: symbol) {
  map i0 in 0:n0, i1 in 0:n1 { p0[i1] max= p1[i0, i1] }
})",
             "choose-schedule", R"(
kernel rows(inout p0: f32[n0], p1: f32[n0, n1], n0: symbol, n1: symbol) for cpu {
  map i0_0 in 0:n0:max(65536 // max(2 * n1, 1), 1) @parallel {
    for i0 in i0_0:+max(65536 // max(2 * n1, 1), 1) {
      local sum: f32
      sum = 0.0
      local partial: f32[32]
      map u in 0:32 @vector { partial[u] = 0.0 }
      for i1_0 in 0:32 * (n1 // 32):32 {
        map u in 0:32 @vector { partial[u] += p1[i0, i1_0 + u] }
      }
      map i1 in 32 * (n1 // 32):n1 @vector { partial[i1 - 32 * (n1 // 32)] += p1[i0, i1] }
      map u in 0:32 @halves { sum += partial[u] }
      p0[i0] += sum
    }
  }
}
kernel columns(inout p0: f32[n1], p1: f32[n0, n1], n0: symbol, n1: symbol) for cpu {
  map i1_0_0 in 0:n1:256 * max(65536 // max(2 * n0 * min(n1, 256), 1), 1) @parallel {
    for i1_0 in i1_0_0:+256 * max(65536 // max(2 * n0 * min(n1, 256), 1), 1):256 {
      local sums: f32[256]
      map i1 in i1_0:+256 @vector { sums[i1 - i1_0] = -inf }
      for i0 in 0:n0 {
        map i1 in i1_0:+256 @vector { sums[i1 - i1_0] max= p1[i0, i1] }
      }
      map i1 in i1_0:+256 @vector { p0[i1] max= sums[i1 - i1_0] }
    }
  }
})");
}

// Borders are peeled off; a window's sum that starts at a value needs no pass of its own for it.
TEST(ChooseSchedule, BordersAndWindows) {
  ExpectPass(R"(
kernel shift(p0: f32[100], p1: f32[100]) {
  map i0 in 0:100 { p0[i0] = p1[i0 - 1] ?? 0 }
}
kernel pool(p0: f32[8, 64], p1: f32[16, 128]) {
  map i0 in 0:8, i1 in 0:64 {
    p0[i0, i1] = -inf
    map i2 in 0:3, i3 in 0:3 { p0[i0, i1] max= p1[2 * i0 + i2 - 1, 2 * i1 + i3 - 1] ?? -inf }
  }
})",
             "choose-schedule", R"(
kernel shift(p0: f32[100], p1: f32[100]) for cpu {
  for i0 in 0:1 { p0[i0] = i0 - 1 >= 0 ? p1[i0 - 1] : 0 }
  map i0 in 1:100 @vector { p0[i0] = p1[i0 - 1] }
}
kernel pool(p0: f32[8, 64], p1: f32[16, 128]) for cpu {
  for i0 in 0:8 {
    local sums: f32[64]
    map i1 in 0:64 @vector { sums[i1] = -inf }
    for i2 in 0:3, i3 in 0:3 {
      for i1 in 0:min(max(-i3 // 2 + 1, 0), 64) {
        sums[i1] max= 2 * i0 + i2 - 1 >= 0 && 2 * i1 + i3 - 1 >= 0 ? p1[2 * i0 + i2 - 1, 2 * i1 + i3 - 1] : -inf
      }
      map i1 in max(-i3 // 2 + 1, 0):64 @vector {
        sums[i1] max= 2 * i0 + i2 - 1 >= 0 ? p1[2 * i0 + i2 - 1, 2 * i1 + i3 - 1] : -inf
      }
    }
    map i1 in 0:64 @vector { p0[i0, i1] = sums[i1] }
  }
})");
}

// Mirrored at both ends, as it stands between them.
TEST(ChooseSchedule, MirroredBorders) {
  ExpectPass(R"(
kernel pad(p0: f32[100, 260], p1: f32[100, 256]) {
  map i0 in 0:100, i1 in 0:260 { p0[i0, i1] = p1[i0, reflect(i1 - 2, 256)] }
}
kernel hold(p0: f32[100, 260], p1: f32[100, 256]) {
  map i0 in 0:100, i1 in 0:260 { p0[i0, i1] = p1[i0, clamp(i1 - 2, 0, 255)] }
})",
             "choose-schedule", R"(
kernel pad(p0: f32[100, 260], p1: f32[100, 256]) for cpu {
  for i0 in 0:100 {
    for i1 in 0:2 { p0[i0, i1] = p1[i0, reflect(i1 - 2, 256)] }
    map i1 in 2:258 @vector { p0[i0, i1] = p1[i0, i1 - 2] }
    for i1 in 258:260 { p0[i0, i1] = p1[i0, reflect(i1 - 2, 256)] }
  }
}

kernel hold(p0: f32[100, 260], p1: f32[100, 256]) for cpu {
  for i0 in 0:100 {
    for i1 in 0:2 { p0[i0, i1] = p1[i0, clamp(i1 - 2, 0, 255)] }
    map i1 in 2:258 @vector { p0[i0, i1] = p1[i0, i1 - 2] }
    for i1 in 258:260 { p0[i0, i1] = p1[i0, clamp(i1 - 2, 0, 255)] }
  }
})");
}

// A range that begins elsewhere begins at 0, once: also where another strategy was tried before.
TEST(ChooseSchedule, WindowsAroundAPoint) {
  ExpectPass(R"(
kernel k(p0: f64[3], p1: f64[9]) {
  map i0 in 0:3 {
    p0[i0] = 0
    map i1 in -2:3 { p0[i0] += p1[i0 + i1 + 2] * 2 }
  }
})",
             "choose-schedule", R"(
kernel k(p0: f64[3], p1: f64[9]) for cpu {
  for i0 in 0:3 {
    p0[i0] = 0
    local sum: f64
    sum = 0.0
    for i1 in 0:5 { sum += p1[i0 + i1] * 2 }
    p0[i0] += sum
  }
})");
}

// Where no other strategy fits: loops as they are written, checks before what may be outside, conditions around what may be dropped.
TEST(ChooseSchedule, PlainLoops) {
  ExpectPass(R"(
kernel k(inout p0: f32[m], p1: i64[n], p2: f32[n], n: symbol, m: symbol) {
  map i in 0:n { p0[p1[i] - 1] ?? += p2[i] }
})",
             "choose-schedule", R"(
kernel k(inout p0: f32[m], p1: i64[n], p2: f32[n], n: symbol, m: symbol) for cpu {
  for i in 0:n {
    if p1[i] - 1 >= 0 && p1[i] - 1 < m { p0[p1[i] - 1] += p2[i] }
  }
})");
  ExpectPass(R"(
kernel k(p0: f32[n, 9], p1: i64[n], p2: f32[n, 9], n: symbol) {
  map i in 0:n, j in 0:9 { p0[i, j] = p1[i] > 50 ? p2[2 * i, j] : 7 }
})",
             "choose-schedule", R"(
kernel k(p0: f32[n, 9], p1: i64[n], p2: f32[n, 9], n: symbol) for cpu {
  map i_0 in 0:n:1820 @parallel {
    for i in i_0:+1820, j in 0:9 {
      if p1[i] > 50 { check p2[2 * i, j] }
      p0[i, j] = p1[i] > 50 ? p2[2 * i, j] : 7
    }
  }
})");
}

// The largest of small floats is one of them, so nothing of it is in a larger type until its end.
TEST(ChooseSchedule, PlainLoopsOverSmallFloats) {
  ExpectPass(R"(
kernel k(p0: f16[n, 2], p1: f16[2, 3], n: symbol, m: symbol) {
  map i in 0:2 {
    local r0: f16
    r0 = -inf
    map j in 0:3 { r0 max= p1[i, j] }
    p0[m, i] = r0
  }
})",
             "choose-schedule", R"(
kernel k(p0: f16[n, 2], p1: f16[2, 3], n: symbol, m: symbol) for cpu {
  for i in 0:2 {
    local r0: f16
    r0 = -inf
    for j in 0:3 { r0 max= p1[i, j] }
    check p0[m, i]
    p0[m, i] = r0
  }
})");
}

// Groups of channels: images behind each other are one line, also beside numbers that are kept for each group, and loops go as memory does.
TEST(ChooseSchedule, LinesOfGroups) {
  ExpectPass(R"(
kernel k(p0: f32[6, 8, 7, 7], p1: f32[6, 8, 7, 7]) {
  map i0 in 0:6 {
    local r0: f32[2]
    map i1 in 0:2 {
      r0[i1] = 0
      map i2 in 0:4, i3 in 0:7, i4 in 0:7 { r0[i1] += p1[i0, 4 * i1 + i2, i3, i4] }
    }
    map i1 in 0:4, i2 in 0:2, i3 in 0:7, i4 in 0:7 { p0[i0, i1 + 4 * i2, i3, i4] = p1[i0, i1 + 4 * i2, i3, i4] - r0[i2] }
  }
})",
             "choose-schedule", R"(
kernel k(p0: f32[6, 8, 7, 7], p1: f32[6, 8, 7, 7]) for cpu {
  view v: f32[6, 56, 7] of p1
  view v_1: f32[6, 392] of v
  view v_2: f32[6, 8, 49] of p1
  view v_3: f32[6, 8, 49] of p0
  for i0 in 0:6 {
    local r0: f32[2]
    for i1 in 0:2 {
      r0[i1] = 0
      local sum: f32
      sum = 0.0
      local partial: f32[16]
      map u in 0:16 @vector { partial[u] = 0.0 }
      for i2_0 in 0:192:16 {
        map u in 0:16 @vector { partial[u] += v_1[i0, 196 * i1 + i2_0 + u] }
      }
      map i2 in 192:196 @vector { partial[i2 - 192] += v_1[i0, 196 * i1 + i2] }
      map u in 0:16 @halves { sum += partial[u] }
      r0[i1] += sum
    }
    for i2 in 0:2, i1 in 0:4 {
      map i3 in 0:49 @vector { v_3[i0, i1 + 4 * i2, i3] = v_2[i0, i1 + 4 * i2, i3] - r0[i2] }
    }
  }
})");
}

// An array in registers that lives longer than a loop is written whole: what is left over of it, too.
TEST(ChooseSchedule, RegistersThatALoopFills) {
  ExpectPass(R"(
kernel k(p0: f32[3, 9], p1: f32[3, 9]) {
  map i0 in 0:3 {
    local r0: f32[100]
    local r1: f32
    r1 = 0
    map i1 in 0:100 {
      r0[i1] = p1[i0, i1 % 9] * 2
      r1 += r0[i1]
    }
    map i1 in 0:9 { p0[i0, i1] = r0[i1 + 91] / r1 }
  }
})",
             "choose-schedule", R"(
kernel k(p0: f32[3, 9], p1: f32[3, 9]) for cpu {
  for i0 in 0:3 {
    local r1: f32
    r1 = 0
    local partial: f32[16]
    map u in 0:16 @vector { partial[u] = 0.0 }
    local r0: f32[100]
    for i1_0 in 0:96:16 {
      map u in 0:16 @vector {
        r0[i1_0 + u] = p1[i0, (i1_0 + u) % 9] * 2
        partial[u] += r0[i1_0 + u]
      }
    }
    map i1 in 96:100 @vector {
      r0[i1] = p1[i0, i1 % 9] * 2
      partial[i1 - 96] += r0[i1]
    }
    map u in 0:16 @halves { r1 += partial[u] }
    map i1 in 0:9 @vector { p0[i0, i1] = r0[i1 + 91] / r1 }
  }
})");
}

using Numbers = std::vector<std::pair<const char*, int64_t schedule::Device::*>>;
// Each of them changes the schedule of some kernel.
void ExpectEachToCount(const char* text, const Numbers& numbers) {
  const Result<schedule::Device> cpu = schedule::FindDevice("cpu");
  ASSERT_TRUE(cpu.ok()) << cpu.status().ToString();
  const auto scheduled = [&](const schedule::Device& d) {
    Program p = *ParseProgram(text);
    EXPECT_TRUE(ChooseSchedule(p, d).ok());
    EXPECT_TRUE(Verify(p).ok()) << Verify(p).ToString();
    return Print(p);
  };
  const std::string usual = scheduled(*cpu);
  EXPECT_EQ(usual, scheduled(*cpu));
  for (const auto& [name, number] : numbers) {
    bool changes = false;
    for (int64_t by : {2, 64}) {
      schedule::Device other = *cpu;
      other.*number *= by;
      changes |= scheduled(other) != usual;
      other.*number = std::max<int64_t>(1, (*cpu).*number / by);
      changes |= scheduled(other) != usual;
    }
    EXPECT_TRUE(changes) << name;
  }
}

// Another device has other numbers.
TEST(ChooseSchedule, EachNumberOfTheDeviceCounts) {
  const char* text = R"(
kernel a(p0: f32[n0], p1: f32[n0], n0: symbol) { map i0 in 0:n0 { p0[i0] = p1[i0] } }
kernel b(inout p0: f32[n0], p1: f32[n0, n1], n0: symbol, n1: symbol) { map i0 in 0:n0, i1 in 0:n1 { p0[i0] += p1[i0, i1] } }
kernel c(inout p0: f32[n1], p1: f32[n0, n1], n0: symbol, n1: symbol) { map i0 in 0:n0, i1 in 0:n1 { p0[i1] += p1[i0, i1] } }
kernel d(inout p0: f32[n0], p1: f32[n0, 40], n0: symbol) { map i0 in 0:n0, i1 in 0:40 { p0[i0] += p1[i0, i1] } }
kernel e(p0: f32[n1, n0], p1: f32[n0, n1], n0: symbol, n1: symbol) { map i0 in 0:n1, i1 in 0:n0 { p0[i0, i1] = p1[i1, i0] } }
kernel f(inout p0: f32[24], p1: f32[10, 24]) { map i0 in 0:10, i1 in 0:24 { p0[i1] += p1[i0, i1] } }
kernel m(inout p0: f32[512, 512], p1: f32[512, 512], p2: f32[512, 512]) {
  map i0 in 0:512, i1 in 0:512, i2 in 0:512 { p0[i0, i1] += p1[i0, i2] * p2[i2, i1] }
}
kernel turned(inout p0: f32[512, 512], p1: f32[512, 512], p2: f32[512, 512]) {
  map i0 in 0:512, i1 in 0:512, i2 in 0:512 { p0[i0, i1] += p1[i0, i2] * p2[i1, i2] }
}
kernel packed(inout p0: f32[512, 2048], p1: f32[1024, 512], p2: f32[1024, 2048]) {
  map i0 in 0:512, i1 in 0:2048, i2 in 0:1024 { p0[i0, i1] += p1[i2, i0] * p2[i2, i1] }
}
kernel w(inout p0: f32[n0, n1], p1: f32[n0, n2], p2: f32[n2, n1], n0: symbol, n1: symbol, n2: symbol) {
  map i0 in 0:n0, i1 in 0:n1, i2 in 0:n2 { p0[i0, i1] += p1[i0, i2] * p2[i2, i1] }
}
kernel g(inout p0: f32[4], p1: f32[4, 20]) { map i0 in 0:4, i1 in 0:20 { p0[i0] += p1[i0, i1] } }
kernel i(inout p0: f32[4], p1: f32[4, 100]) { map i0 in 0:4, i1 in 0:100 { p0[i0] += p1[i0, i1] } }
kernel j(p0: f32[24], p1: f32[12], p2: f32[8], p3: f32[4]) {
  map i0 in 0:24 { p0[i0] = i0 < 12 ? p1[i0] : i0 < 20 ? p2[i0 - 12] : p3[i0 - 20] }
}
kernel terms(inout p0: f32[32, 40], p1: f32[8192, 32], p2: f32[8192, 40]) {
  map i0 in 0:32, i1 in 0:40, i2 in 0:8192 { p0[i0, i1] += p1[i2, i0] * p2[i2, i1] }
}
kernel few(inout p0: f32[512, 6], p1: f32[512, 40], p2: f32[40, 6]) {
  map i0 in 0:512, i1 in 0:6, i2 in 0:40 { p0[i0, i1] += p1[i0, i2] * p2[i2, i1] }
}
kernel ahead(inout p0: f32[64, 700], p1: f32[64, 600], p2: f32[700, 600]) {
  map i0 in 0:64, i1 in 0:700, i2 in 0:600 { p0[i0, i1] += p1[i0, i2] * p2[i1, i2] }
}
kernel along(inout p0: f32[64, 64], p1: f32[9, 64, 500], p2: f32[9, 64, 500]) {
  map i0 in 0:64, i1 in 0:64, i2 in 0:9, i3 in 0:500 { p0[i0, i1] += p1[i2, i0, i3] * p2[i2, i1, i3] }
}
kernel lines(inout p0: f32[64, 28, 28], p1: f32[100, 30, 30], p2: f32[100, 3, 64, 3]) {
  map i0 in 0:64, i1 in 0:28, i2 in 0:28, i3 in 0:100, i4 in 0:3, i5 in 0:3 { p0[i0, i1, i2] += p2[i3, i4, i0, i5] * p1[i3, i1 + i4, i2 + i5] }
}
kernel square(p0: f32[160, 96], p1: f32[96, 160]) { map i0 in 0:160, i1 in 0:96 { p0[i0, i1] = p1[i1, i0] } }
kernel h(inout p0: f32[64], p1: f32[100000, 64]) { map i0 in 0:100000, i1 in 0:64 { p0[i1] += p1[i0, i1] } }
)";
  ExpectEachToCount(text, {
      {"vector-bytes", &schedule::Device::vector_bytes},
      {"chunk-operations", &schedule::Device::chunk_operations},
      {"row-elements", &schedule::Device::row_elements},
      {"sum-elements", &schedule::Device::sum_elements},
      {"short-row", &schedule::Device::short_row},
      {"short-sum", &schedule::Device::short_sum},
      {"short-partial-bytes", &schedule::Device::short_partial_bytes},
      {"middle-sum", &schedule::Device::middle_sum},
      {"partial-bytes", &schedule::Device::partial_bytes},
      {"long-partial-bytes", &schedule::Device::long_partial_bytes},
      {"long-sum", &schedule::Device::long_sum},
      {"transpose-elements", &schedule::Device::transpose_elements},
      {"tile-rows", &schedule::Device::tile_rows},
      {"tile-vectors", &schedule::Device::tile_vectors},
      {"tile-sums", &schedule::Device::tile_sums},
      {"block-rows", &schedule::Device::block_rows},
      {"block-rows-turned", &schedule::Device::block_rows_turned},
      {"block-columns", &schedule::Device::block_columns},
      {"block-depth", &schedule::Device::block_depth},
      {"block-columns-packed", &schedule::Device::block_columns_packed},
      {"block-depth-packed", &schedule::Device::block_depth_packed},
      {"block-depth-lines", &schedule::Device::block_depth_lines},
      {"packed-rows", &schedule::Device::packed_rows},
      {"register-square", &schedule::Device::register_square},
      {"prefetch-elements", &schedule::Device::prefetch_elements},
      {"product-parts", &schedule::Device::product_parts},
      {"product-part", &schedule::Device::product_part},
      {"term-results", &schedule::Device::term_results},
      {"term-parts", &schedule::Device::term_parts},
      {"term-part", &schedule::Device::term_part},
      {"few-columns", &schedule::Device::few_columns},
      {"along-results", &schedule::Device::along_results},
      {"cache-stride", &schedule::Device::cache_stride},
      {"square-elements", &schedule::Device::square_elements},
      {"most-choices", &schedule::Device::most_choices},
      {"few-results", &schedule::Device::few_results},
      {"most-parts", &schedule::Device::most_parts},
  });
}

TEST(ChooseSchedule, EachNumberForWindowsCounts) {
  const char* text = R"(
kernel points(p0: f16[60, 64, 300], p1: f16[60, 64, 300], p2: f16[3, 3, 300, 300]) {
  map i0 in 0:60, i1 in 0:64, i2 in 0:300 {
    p0[i0, i1, i2] = 0
    map i3 in 0:3, i4 in 0:3, i5 in 0:300 { p0[i0, i1, i2] += (p1[i0 + i3 - 1, i1 + i4 - 1, i5] ?? 0) * p2[i3, i4, i5, i2] }
  }
}
kernel terms(inout p0: f32[60, 64, 16], p1: f32[62, 66, 300], p2: f32[3, 3, 300, 16]) {
  map i0 in 0:60, i1 in 0:64, i2 in 0:16, i3 in 0:3, i4 in 0:3, i5 in 0:300 {
    p0[i0, i1, i2] += p1[i0 + i3, i1 + i4, i5] * p2[i3, i4, i5, i2]
  }
}
kernel products(inout p0: f32[8, 64, 64, 64], p1: f32[8, 64, 64, 64], p2: f32[3, 3, 64, 64]) {
  map i0 in 0:8, i1 in 0:64, i2 in 0:64, i3 in 0:64, i4 in 0:3, i5 in 0:3, i6 in 0:64 {
    p0[i0, i1, i2, i3] += (p1[i0, i1 + i4 - 1, i2 + i5 - 1, i6] ?? 0) * p2[i4, i5, i6, i3]
  }
}
kernel gradients(inout p0: f32[64, 64, 3, 3], p1: f32[8, 64, 64, 64], p2: f32[8, 64, 64, 64]) {
  map i0 in 0:64, i1 in 0:64, i2 in 0:3, i3 in 0:3, i4 in 0:8, i5 in 0:64, i6 in 0:64 {
    p0[i0, i1, i2, i3] += (p1[i4, i5 + i2 - 1, i6 + i3 - 1, i1] ?? 0) * p2[i4, i5, i6, i0]
  }
}
kernel windows(inout p0: f32[60, 64, 300], p1: f32[60, 64, 300]) {
  map i0 in 0:60, i1 in 0:64, i2 in 0:300, i3 in 0:3, i4 in 0:3 { p0[i0, i1, i2] += p1[i0 + i3 - 1, i1 + i4 - 1, i2] ?? 0 }
}
kernel askew(inout p0: f32[60, 64, 300], p1: f32[60, 64, 300]) {
  map i0 in 0:60, i1 in 0:64, i2 in 0:300, i3 in 0:3, i4 in 0:3 { p0[i0, i1, i2] += p1[i0 + i3 - 1, i1 + i3 + i4 - 2, i2] ?? 0 }
}
)";
  ExpectEachToCount(text, {
      {"point-rows", &schedule::Device::point_rows},
      {"columns-span", &schedule::Device::columns_span},
      {"point-terms", &schedule::Device::point_terms},
      {"panel-elements", &schedule::Device::panel_elements},
      {"strip-elements", &schedule::Device::strip_elements},
      {"strip-points", &schedule::Device::strip_points},
      {"winograd-channels", &schedule::Device::winograd_channels},
      {"winograd-gain", &schedule::Device::winograd_gain},
      {"winograd-elements", &schedule::Device::winograd_elements},
      {"winograd-tiles", &schedule::Device::winograd_tiles},
      {"winograd-span", &schedule::Device::winograd_span},
      {"window-rows", &schedule::Device::window_rows},
      {"window-vectors", &schedule::Device::window_vectors},
      {"window-border-vectors", &schedule::Device::window_border_vectors},
      {"window-terms", &schedule::Device::window_terms},
  });
}

TEST(Device, OfManyProcessors) {
  const schedule::Device cpu = *schedule::FindDevice("cpu"), two = schedule::ForProcessors(cpu, 2), many = schedule::ForProcessors(cpu, 16);
  EXPECT_EQ(two.product_parts, cpu.product_parts);
  EXPECT_EQ(two.product_part, cpu.product_part);
  EXPECT_EQ(many.product_parts, 16);
  EXPECT_LT(many.product_part, cpu.product_part);
}

TEST(Device, WrongDescriptionsSayWhatIsWrong) {
  const auto error = [](const char* text) { return schedule::ParseDevice("mine", text).status().ToString(); };
  EXPECT_NE(error("vector-byte 64").find("did you mean 'vector-bytes'?"), std::string::npos) << error("vector-byte 64");
  EXPECT_NE(error("vector-bytes 64\nvector-bytes 32").find("twice"), std::string::npos);
  EXPECT_NE(error("vector-bytes none").find("no number"), std::string::npos);
  EXPECT_NE(error("vector-bytes 64").find("there is no 'chunk-operations'"), std::string::npos);
  EXPECT_NE(error("like abacus").find("there is no 'abacus' to be like"), std::string::npos);
  EXPECT_EQ(schedule::ParseDevice("mine", "like cpu\ntile-rows 5")->tile_rows, 5);
  EXPECT_NE(schedule::FindDevice("abacus").status().ToString().find("E0369"), std::string::npos);
}

std::string KeyOf(const std::string& program, const std::string& kernel) {
  const Result<Program> p = ParseProgram(program);
  HR_CHECK(p.ok() && p->Find(Name(kernel)), kernel);
  return KernelKey(*p->Find(Name(kernel)));
}

// A plan gives the kernels that it names other numbers; the others are scheduled as ever (docs/tuning.md).
TEST(ChooseSchedule, NumbersOfAPlan) {
  const std::string before = R"(
kernel twice(p0: f32[n0], p1: f32[n0], n0: symbol) {
  map i0 in 0:n0 { p0[i0] = p1[i0] * 2 }
}
kernel thrice(p0: f32[n0], p1: f32[n0], n0: symbol) {
  map i0 in 0:n0 { p0[i0] = p1[i0] * 3 }
})";
  ExpectPass(before,
             "choose-schedule{device=cpu, plan=\"kernel 0123456789abcdef: row-elements 1\nkernel " + KeyOf(before, "twice") +
                 ": chunk-operations 3000\"}",
             R"(
kernel twice(p0: f32[n0], p1: f32[n0], n0: symbol) for cpu {
  map i0_0 in 0:n0:4096 @parallel {
    map i0 in i0_0:+4096 @vector { p0[i0] = p1[i0] * 2 }
  }
}
kernel thrice(p0: f32[n0], p1: f32[n0], n0: symbol) for cpu {
  map i0_0 in 0:n0:20480 @parallel {
    map i0 in i0_0:+20480 @vector { p0[i0] = p1[i0] * 3 }
  }
})");
}

TEST(ChooseSchedule, PlansThatAreWrong) {
  const std::string kernel = "kernel k(p0: f32[8], p1: f32[8]) { map i0 in 0:8 { p0[i0] = p1[i0] } }";
  ExpectPassError(kernel, "choose-schedule{plan=\"kernel 0123456789abcdef: tile-row 1\"}", "did you mean 'tile-rows'?");
  ExpectPassError(kernel, "choose-schedule{plan=\"kernel 0123456789abcdef tile-rows 1\"}", "E0385");
  ExpectPassError(kernel, "choose-schedule{plan=absent.txt}", "neither a plan's text nor a file");
}

}  // namespace
}  // namespace headrace::transforms
