// Schedules by hand, a step at a time.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

const std::string kCall = "sdfg f(A: f32[64, 40], B: f32[40, 96], C: f32[64, 96]) { call k(a = A, b = B, c = C) }\n";

// Kernels are given by what is in them.
std::string Product(const std::string& body, const std::string& device = "") {
  return "sdfg f(A: f32[64, 40], B: f32[40, 96], inout C: f32[64, 96]) { call k(a = A, b = B, c = C) }\n"
         "kernel k(a: f32[64, 40], b: f32[40, 96], inout c: f32[64, 96])" + device + " {\n" + body + "\n}\n";
}
const std::string kPlain = Product("map i in 0:64, j in 0:96, k in 0:40 { c[i, j] += a[i, k] * b[k, j] }");

TEST(ByHand, EvenPartsCountFromTheirBegin) {
  ExpectPass(kPlain, "split-range@k:#0{index=i, by=8}",
             Product("map i_0 in 0:64:8, i in 0:8, j in 0:96, k in 0:40 { c[i + i_0, j] += a[i + i_0, k] * b[k, j] }"));
}

TEST(ByHand, OtherPartsEndWhereTheRangeEnds) {
  ExpectPass(kPlain, "split-range@k:#0{index=i, by=24}",
             Product("map i_0 in 0:64:24, i in i_0:+24, j in 0:96, k in 0:40 { c[i, j] += a[i, k] * b[k, j] }"));
}

TEST(ByHand, RangesTakeAnotherOrder) {
  ExpectPass(kPlain, "reorder-ranges@k:#0{order=j | k i}",
             Product("map j in 0:96 { map k in 0:40, i in 0:64 { c[i, j] += a[i, k] * b[k, j] } }"));
  // Maps within each other are one chain.
  ExpectPass(Product("map j in 0:96 { map k in 0:40, i in 0:64 { c[i, j] += a[i, k] * b[k, j] } }"),
             "reorder-ranges@k:#0{order=\"i j k\"}", kPlain);
}

TEST(ByHand, MapsRunWhereTheyAreTold) {
  const std::string two = Product("map i in 0:64 { map j in 0:96, k in 0:40 { c[i, j] += a[i, k] * b[k, j] } }");
  ExpectPass(two, "schedule-range@k:#0{index=i, as=parallel}",
             Product("map i in 0:64 @parallel { map j in 0:96, k in 0:40 { c[i, j] += a[i, k] * b[k, j] } }"));
  ExpectPass(two, "schedule-range@k:#0{index=i, as=parallel}; schedule-range@k:#0{index=k, as=sequential}",
             Product("map i in 0:64 @parallel { for j in 0:96, k in 0:40 { c[i, j] += a[i, k] * b[k, j] } }", " for cpu"));
}

TEST(ByHand, WhatALoopAddsToIsKeptInRegisters) {
  ExpectPass(Product("for i in 0:64:8 { for k in 0:40 { map r in 0:8 @unroll { map j in 0:96 @vector { c[i + r, j] += a[i + r, k] * b[k, j] } } } }",
                     " for cpu"),
             "keep-near@k:#0{container=c, index=k}",
             Product(R"(for i in 0:64:8 {
                          local c_near: f32[8, 96]
                          map r_in in 0:8 @unroll { map j_in in 0:96 @vector { c_near[r_in, j_in] = 0.0 } }
                          for k in 0:40 { map r in 0:8 @unroll { map j in 0:96 @vector { c_near[r, j] += a[i + r, k] * b[k, j] } } }
                          map r_out in 0:8 @unroll { map j_out in 0:96 @vector { c[i + r_out, j_out] += c_near[r_out, j_out] } }
                        })",
                     " for cpu"));
}

TEST(ByHand, WhatALoopReadsIsKeptInABuffer) {
  ExpectPass(Product("for j_0 in 0:96:40 { for i in 0:64 { for k in 0:40 { map j in j_0:+40 @vector { c[i, j] += a[i, k] * b[k, j] } } } }",
                     " for cpu"),
             "keep-near@k:#0{container=b, index=i, in=worker}",
             Product(R"(for j_0 in 0:96:40 {
                          local b_near: f32[40, 40] @worker
                          for k_in in 0:40 { map j_in in j_0:+40 @vector { b_near[k_in, j_in - j_0] = b[k_in, j_in] } }
                          for i in 0:64 { for k in 0:40 { map j in j_0:+40 @vector { c[i, j] += a[i, k] * b_near[k, j - j_0] } } }
                        })",
                     " for cpu"));
}

TEST(ByHand, SumsOfProductsRoundOnce) {
  ExpectPass(Product("map i in 0:64, j in 0:96 { for k in 0:40 { c[i, j] += a[i, k] * b[k, j] } }"), "fuse-multiply-add@k:#0{index=k}",
             Product("map i in 0:64, j in 0:96 { for k in 0:40 { c[i, j] = fma(a[i, k], b[k, j], c[i, j]) } }"));
}

TEST(ByHand, WhatDoesNotFitSaysWhy) {
  const std::pair<const char*, const char*> wrong[] = {
      {"split-range@k:#0{index=m, by=8}", "E0364"},
      {"split-range@k:#0{index=m, by=8}", "no index 'm'"},
      {"split-range@k:#0{index=i, by=0}", "by must be a whole number from 1 on, not '0'"},
      {"reorder-ranges@k:#0{order=i j}", "lacks a range"},
      {"reorder-ranges@k:#0{order=i | | j k}", "a map without an index"},
      {"reorder-ranges@k:#0{order=i j j k}", "'j' stands twice"},
      {"split-range@k:#0{index=i, by=24}; reorder-ranges@k:#0{order=i i_0 j k}", "depends on 'i_0', which must come before it"},
      {"schedule-range@k:#0{index=i, as=vectors}", "did you mean 'vector'?"},
      {"keep-near@k:#0{container=c, index=i}; keep-near@k:#0{container=x, index=i}", "no container 'x'"},
      {"split-range{index=i, by=8}@k:#0", "E0350"},
      {"schedule-range@k:#0{index=k, as=sequential}; schedule-range@k:#0{index=i, as=parallel}", "part them before, reorder-ranges{order=i | j}"},
      {"reorder-ranges@k:#0{order=i | j k}; schedule-range@k:#0{index=i, as=parallel}; schedule-range@k:#0{index=i, as=unroll}", "the map of 'i' is @parallel already"},
      {"reorder-ranges@k:#0{order=i j | k}; schedule-range@k:#0{index=i, as=parallel}; schedule-range@k:#0{index=j, as=unroll}", "the map of 'j' is @parallel already"},
      // What the verifier has to say: lanes that meet in one element.
      {"reorder-ranges@k:#0{order=i j | k}; schedule-range@k:#0{index=i, as=sequential}; schedule-range@k:#0{index=k, as=vector}", "E0261"},
  };
  for (const auto& [steps, text] : wrong) ExpectPassError(kPlain, steps, text);
  ExpectPassError(Product("for k in 0:40, i in 0:64 { map j in 0:96 @vector { c[i, j] = a[i, k] * b[k, j] } }", " for cpu"),
                  "keep-near@k:#0{container=c, index=k}", "'c' is overwritten there");
  ExpectPassError(Product("for k in 0:32 { map i in 0:64 @vector { c[i, i + k] += a[i, k] * b[k, i + 1] } }", " for cpu"),
                  "keep-near@k:#0{container=c, index=k}", "moves by");
}

}  // namespace
}  // namespace headrace::transforms
