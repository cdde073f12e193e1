// What lives in a body has no value at first: what is read there was written there, all of it.
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

std::string Found(const std::string& body) {
  const Result<Program> p = ParseProgram(
      "kernel k(X: f32[N, 16], Y: f32[N, 16], I: i64[N], N: symbol) for cpu {\n  map i in 0:N @parallel {\n" + body + "\n  }\n}\n");
  if (!p.ok()) return p.status().ToString();
  const Status status = Verify(*p);
  return status.ok() ? "" : status.diagnostics()[0].code + " " + status.diagnostics()[0].message;
}

const char kStore[] = "\n    map u in 0:16 @vector { Y[i, u] = t[u] }";

TEST(VerifyValues, ElementsThatNothingWrites) {
  const std::string local = "    local t: f32[16]\n";
  EXPECT_EQ(Found(local + "    map u in 0:16 @vector { t[u] = X[i, u] }" + kStore), "");
  EXPECT_EQ(Found(local + "    map u in 0:8 @vector { t[u] = X[i, u] }" + kStore),
            "E0230 't' is read where nothing was written before: dimension 0 was, in 0:8");
  EXPECT_EQ(Found(local + "    map u in 0:8 @vector { t[u] = X[i, u] }\n    map u in 8:16 @vector { t[u] = X[i, u] }" + kStore), "");
  EXPECT_EQ(Found(local + "    map u in 0:8 @vector { t[u] = 0 }\n    map u in 0:16 @vector { t[u] += X[i, u] }" + kStore),
            "E0230 't' is read where nothing was written before: dimension 0 was, in 0:8");
  EXPECT_EQ(Found(local + "    map u in 1:16 @vector { t[u - 1] = 0 }" + kStore),
            "E0230 't' is read where nothing was written before: dimension 0 was, in 0:15");
  EXPECT_EQ(Found(local + "    map u in 9:3 @vector { t[u] = 0 }" + kStore).substr(0, 5), "E0230");  // no iteration
}

TEST(VerifyValues, ElementsOfResults) {
  const std::string most = "    map u in 8:16 @vector { Y[i, u] = X[i, u] }\n", all = "    map u in 0:16 @vector { Y[i, u] = Y[i, u] * 2 }";
  EXPECT_EQ(Found(most + all), "E0230 'Y' is read where nothing was written before: dimension 1 was, in 8:16");
  EXPECT_EQ(Found("    map u in 0:8 @vector { Y[i, u] = 0 }\n" + most + all), "");
  EXPECT_EQ(Found(most + "    map u in 0:16 @vector { Y[i, u] = X[i, u] }"), "");
  EXPECT_EQ(Found(most), "");  // what it leaves out is for its callers
}

TEST(VerifyValues, WhatIsWrittenSomewhere) {
  // Which elements these are shows when it runs.
  EXPECT_EQ(Found("    local t: f32[16] @worker\n    check t[I[i]]\n    t[I[i]] = 0" + std::string(kStore)), "");
  // Parts of what a range has left.
  EXPECT_EQ(Found("    for j0 in 0:16:5 {\n      local t: f32[5]\n      for j in j0:+5 { t[j - j0] = X[i, j] }\n"
                  "      for j in j0:+5 { Y[i, j] = t[j - j0] }\n    }"),
            "");
  // Points that steps pass over are none.
  EXPECT_EQ(Found("    local t: f32[15]\n    for u in 0:15 { t[u] = 0 }\n    for u in 0:14:5, v in 0:5 { Y[i, u + v] = t[u + v] }"),
            "");
  // Rounds before wrote it.
  EXPECT_EQ(Found("    local t: f32[16]\n    t[0] = 0\n    for u in 0:15 {\n      t[u + 1] = X[i, u] + t[u]\n    }" + std::string(kStore)), "");
}

TEST(VerifyValues, ChoicesThatLeaveItOut) {
  const std::string local = "    local t: f32\n", store = "    for u in 0:16 { Y[i, u] = t }";
  EXPECT_EQ(Found(local + "    if X[i, 0] > 0 { t = 1 }\n" + store), "E0230 't' is read where it may have no value: it is written under a condition");
  EXPECT_EQ(Found(local + "    if X[i, 0] > 0 { t = 1 } else { t = 2 }\n" + store), "");
  EXPECT_EQ(Found(local + "    t = 2\n    if X[i, 0] > 0 { t = 1 }\n" + store), "");
  EXPECT_EQ(Found("    if X[i, 0] > 0 {\n" + local + "      t = 1\n" + store + "\n    }"), "");
  // The first round writes it, where rounds share it.
  const std::string rounds = local + "    for u in 0:16 {\n      if u == 0 { t = 0 }\n      t += X[i, u]\n      Y[i, u] = t\n    }";
  EXPECT_EQ(Found(rounds + "\n    Y[i, 0] = t"), "");
  EXPECT_EQ(Found(rounds), "E0230 't' is read where it may have no value: it is written under a condition");
}

}  // namespace
}  // namespace headrace
