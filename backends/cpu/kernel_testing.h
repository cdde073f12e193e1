// Kernels as text, run on cpu and by the interpreter.
#pragma once
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "backends/cpu/codegen_program.h"
#include "backends/cpu/testing.h"
#include "backends/interpreter/interpreter.h"

namespace headrace::cpu {

using ::testing::HasSubstr;
using ::testing::Not;
using Symbols = std::vector<std::pair<Name, int64_t>>;

// Small whole numbers: their sums and products are exact in any order.
inline std::vector<double> Whole(int64_t n, int64_t seed = 1) {
  std::vector<double> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<double>((i * 7 + seed * 3) % 11 - 5));
  return out;
}

inline bool SameBits(const Value& a, const Value& b) {
  return a.tensor.shape == b.tensor.shape && a.tensor.dtype == b.tensor.dtype &&
         (a.tensor.elements() == 0 ||
          std::memcmp(a.tensor.data->data(), b.tensor.data->data(), static_cast<size_t>(a.tensor.bytes())) == 0);
}

// On cpu with 1 and 2 threads: the same bits; within `tolerance` of what the interpreter says.
inline std::vector<Value> ExpectAsInterpreted(const std::string& text, const Arguments& inputs, const Symbols& symbols = {},
                                       double tolerance = 0) {
  Registry r;
  auto p = ParseProgram(text);
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  if (!p.ok()) return {};
  auto reference = interpreter::CompileProgram(*p, {}, r);
  EXPECT_TRUE(reference.ok()) << reference.status().ToString();
  if (!reference.ok()) return {};
  auto want = (*reference)->Run(inputs, symbols);
  EXPECT_TRUE(want.ok()) << want.status().ToString();
  std::vector<std::vector<Value>> got;
  for (int threads : {1, 2}) {
    CompileOptions o = TestOptions();
    o.threads = threads;
    auto e = CompileText(text, r, o);
    if (!e || !want.ok()) return {};
    auto out = e->Run(inputs, symbols);
    EXPECT_TRUE(out.ok()) << out.status().ToString() << e->Source();
    if (!out.ok()) return {};
    got.push_back(*out);
  }
  for (size_t i = 0; i < want->size(); ++i) {
    EXPECT_TRUE(SameBits(got[0][i], got[1][i])) << "result " << i << " of 1 and 2 threads";
    const std::vector<double> a = Doubles(got[0][i]), b = Doubles((*want)[i]);
    EXPECT_EQ(a.size(), b.size());
    for (size_t k = 0; k < a.size() && k < b.size(); ++k)
      if (!(std::abs(a[k] - b[k]) <= tolerance * std::abs(b[k])))
        return ADD_FAILURE() << "result " << i << ", element " << k << ": " << a[k] << ", not " << b[k], got[0];
  }
  return got[0];
}

inline std::string SourceOf(const std::string& text) {
  Registry r;
  auto p = ParseProgram(text);
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  auto g = GenerateProgram(WithArenas(*p), r);
  EXPECT_TRUE(g.ok()) << g.status().ToString();
  const std::string all = g->Text();
  return all.substr(all.find("struct F_"));
}

inline std::string ErrorOf(const std::string& text) {
  Registry r;
  auto p = ParseProgram(text);
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  auto g = GenerateProgram(WithArenas(*p), r);
  EXPECT_FALSE(g.ok());
  return g.ok() ? "" : g.status().ToString();
}

}  // namespace headrace::cpu
