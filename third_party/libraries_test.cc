// Each library compiles, links and is the version that the code counts on.

#include <string>

#include "CLI/CLI.hpp"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "interfaces/highs_c_api.h"
#include "isl/ctx.h"
#include "isl/set.h"
#include "minizip/unzip.h"
#include "minizip/zip.h"
#include "nlohmann/json.hpp"
#include "onnx/checker.h"
#include "onnx/defs/parser.h"
#include "onnx/defs/schema.h"
#include "sodium.h"

namespace {

TEST(Libraries, Abseil) {
  absl::flat_hash_map<std::string, int> map{{absl::StrCat("a", 1), 2}};
  EXPECT_THAT(map, testing::ElementsAre(testing::Pair("a1", 2)));
}

TEST(Libraries, Isl) {
  isl_ctx* ctx = isl_ctx_alloc();
  isl_set* set = isl_set_read_from_str(ctx, "[N] -> { [i] : 0 <= i < N and N < 0 }");
  EXPECT_EQ(isl_set_is_empty(set), isl_bool_true);
  isl_set_free(set);
  isl_ctx_free(ctx);
}

TEST(Libraries, Cli11) {
  CLI::App app;
  int n = 0;
  app.add_option("-n", n);
  app.parse("-n 3");
  EXPECT_EQ(n, 3);
}

TEST(Libraries, Json) { EXPECT_EQ(nlohmann::json::parse("[1, 2]").size(), 2u); }

TEST(Libraries, SodiumHasBlake2b) {
  ASSERT_GE(sodium_init(), 0);
  unsigned char hash[crypto_generichash_BYTES];
  EXPECT_EQ(crypto_generichash(hash, sizeof hash, nullptr, 0, nullptr, 0), 0);
  EXPECT_EQ(hash[0], 0x0e);  // BLAKE2b-256 of nothing is 0e57…
}

TEST(Libraries, MinizipReadsWhatItWrites) {
  const std::string path = testing::TempDir() + "/a.zip";
  zipFile made = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  zip_fileinfo info = {};
  ASSERT_EQ(zipOpenNewFileInZip(made, "a", &info, nullptr, 0, nullptr, 0, nullptr, Z_DEFLATED, 6), ZIP_OK);
  ASSERT_EQ(zipWriteInFileInZip(made, "text", 4), ZIP_OK);
  ASSERT_EQ(zipClose(made, nullptr), ZIP_OK);
  unzFile zip = unzOpen64(path.c_str());
  ASSERT_EQ(unzLocateFile(zip, "a", 1), UNZ_OK);
  ASSERT_EQ(unzOpenCurrentFile(zip), UNZ_OK);
  char text[8];
  EXPECT_EQ(std::string(text, unzReadCurrentFile(zip, text, sizeof text)), "text");
  EXPECT_EQ(unzCloseCurrentFile(zip), UNZ_OK);
  unzClose(zip);
}

TEST(Libraries, HighsSolvesAnIntegerProblem) {
  // Of two items of weight 2 and values 3 and 2, a sack of 3 holds the better one.
  const double values[] = {3, 2}, low[] = {0, 0}, high[] = {1, 1}, weights[] = {2, 2};
  const double row_low[] = {0}, row_high[] = {3};
  const HighsInt start[] = {0}, index[] = {0, 1}, integral[] = {1, 1};
  void* highs = Highs_create();
  Highs_setBoolOptionValue(highs, "output_flag", 0);
  ASSERT_EQ(Highs_passMip(highs, 2, 1, 2, kHighsMatrixFormatRowwise, kHighsObjSenseMaximize, 0, values, low, high,
                          row_low, row_high, start, index, weights, integral),
            kHighsStatusOk);
  EXPECT_EQ(Highs_run(highs), kHighsStatusOk);
  EXPECT_EQ(Highs_getModelStatus(highs), kHighsModelStatusOptimal);
  EXPECT_EQ(Highs_getObjectiveValue(highs), 3);
  Highs_destroy(highs);
}

TEST(Libraries, OnnxHasOpset28) {
  EXPECT_EQ(onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second, 28);
  onnx::ModelProto model;
  onnx::OnnxParser parser(R"(<ir_version: 10, opset_import: ["": 22]>
      f (float[N] x) => (float[N] y) { y = Softplus(x) })");
  ASSERT_TRUE(parser.Parse(model).IsOK());
  EXPECT_NO_THROW(onnx::checker::check_model(model));
}

}  // namespace
