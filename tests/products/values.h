// Programs of products with their schedules, run by the interpreter and on cpu: the values of the program without a schedule, and
// the same bits with 1 and 2 threads. Elements are small whole numbers, whose sums are exact in any order.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "ir/registry/registry.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace {

using Sizes = std::vector<std::pair<Name, int64_t>>;

inline Registry& Plugins() {
  static Registry* const registry = [] {
    auto* r = new Registry;
    std::stringstream paths(std::getenv("PLUGINS"));
    for (std::string p; paths >> p;) {
      const Status s = r->LoadPlugin(p);
      EXPECT_TRUE(s.ok()) << s.ToString();
    }
    return r;
  }();
  return *registry;
}

inline Tensor WholeNumbers(const Container& c, const Sizes& sizes, int64_t seed) {
  std::vector<int64_t> shape;
  for (Expr e : c.shape) {
    for (const auto& [name, n] : sizes) e = Substitute(e, {{name, Expr(n)}});
    shape.push_back(*AsInt(e));
  }
  Tensor t = *Tensor::Create(c.dtype, shape);
  for (int64_t i = 0; i < t.elements(); ++i) {
    const int64_t v = (i * 7 + seed * 5 + i / 13) % 7 - 3;
    if (IsFloat(c.dtype)) t.SetDouble(i, static_cast<double>(v));
    else t.SetInt(i, v);
  }
  return t;
}

inline bool SameBits(const Tensor& a, const Tensor& b) {
  return a.shape == b.shape && a.dtype == b.dtype &&
         (a.elements() == 0 || std::memcmp(a.data->data(), b.data->data(), static_cast<size_t>(a.bytes())) == 0);
}

// Numbers whose sums are rounded.
inline Tensor Fractions(const Container& c, int64_t seed) {
  std::vector<int64_t> shape;
  for (const Expr& e : c.shape) shape.push_back(*AsInt(e));
  Tensor t = *Tensor::Create(c.dtype, shape);
  for (int64_t i = 0; i < t.elements(); ++i) t.SetDouble(i, static_cast<double>((i * 7919 + seed * 31) % 10007) / 1e4 - 0.4);
  return t;
}

// A cpu with more parts of products, for many processors.
inline std::string ManyParts() {
  const std::string path = ::testing::TempDir() + "/many.txt";
  std::ofstream(path) << "like cpu\nproduct-parts 16\nproduct-part 32\n";
  return path;
}

// Devices that differ in vectors, tiles and parts: the terms of a sum are added in one order.
inline void ExpectSameBitsOnDevices(const std::string& text) {
  const Registry& r = Plugins();
  Result<Program> program = ParseProgram(text);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  std::vector<std::pair<Name, Value>> inputs;
  for (Name n : Inputs(*program, program->Entry()))
    inputs.emplace_back(n, Value(Fractions(program->Entry().Get(n), static_cast<int64_t>(inputs.size()))));
  std::vector<Tensor> results;
  std::vector<std::string> texts;
  for (const std::string& device : {std::string("cpu"), std::string("cpu_avx2"), ManyParts()}) {
    Program p = *program;
    ASSERT_TRUE(RunPipeline(r, "outline; choose-schedule{device=" + device + "}; plan-memory", p).ok());
    CompileOptions o;
    o.cache_dir = ::testing::TempDir() + "/products-cache";
    auto e = r.FindBackend("cpu")->compile(p, o, r);
    ASSERT_TRUE(e.ok()) << e.status().ToString();
    auto out = (*e)->Run(inputs, {});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    results.push_back((*out)[0].tensor);
    texts.push_back(Print(p));
  }
  EXPECT_NE(texts[0], texts[1]);
  for (size_t i = 1; i < results.size(); ++i) EXPECT_TRUE(SameBits(results[0], results[i])) << texts[0] << texts[i];
}

// Kernels with their schedules.
inline std::string Scheduled(const std::string& text) {
  Result<Program> p = ParseProgram(text);
  const Status s = p.ok() ? RunPipeline(Plugins(), "outline; choose-schedule", *p) : p.status();
  EXPECT_TRUE(s.ok()) << s.ToString();
  return s.ok() ? Print(*p) : "";
}

// Every kernel gets a schedule.
inline void ExpectSameValues(const std::string& text, const Sizes& sizes = {}, const std::string& pipeline = "outline; choose-schedule") {
  SCOPED_TRACE(text);
  const Registry& r = Plugins();
  Result<Program> program = ParseProgram(text);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  std::vector<std::pair<Name, Value>> inputs;
  for (Name n : Inputs(*program, program->Entry()))
    inputs.emplace_back(n, Value(WholeNumbers(program->Entry().Get(n), sizes, static_cast<int64_t>(inputs.size()))));
  Program after = *program;
  PipelineOptions verify;
  verify.verify = true;
  const Status s = RunPipeline(r, pipeline, after, verify);
  ASSERT_TRUE(s.ok()) << s.ToString();
  for (const auto& k : after.sdfgs) EXPECT_TRUE(!k->kernel || !k->device.empty()) << Print(after);
  const auto run = [&](const Program& p, const char* backend, int threads) {
    CompileOptions o;
    o.threads = threads;
    o.cache_dir = ::testing::TempDir() + "/products-cache";
    Program planned = p;
    EXPECT_TRUE(RunPipeline(r, "plan-memory", planned).ok());
    auto e = r.FindBackend(backend)->compile(planned, o, r);
    EXPECT_TRUE(e.ok()) << e.status().ToString() << Print(p);
    if (!e.ok()) return Tensor();
    auto out = (*e)->Run(inputs, sizes);
    EXPECT_TRUE(out.ok()) << out.status().ToString() << Print(p);
    return out.ok() ? (*out)[0].tensor : Tensor();
  };
  const Tensor want = run(*program, "interpreter", 1);
  EXPECT_TRUE(SameBits(run(after, "interpreter", 1), want)) << "interpreter" << Print(after);
  for (int threads : {1, 2}) EXPECT_TRUE(SameBits(run(after, "cpu", threads), want)) << threads << " threads" << Print(after);
}

}  // namespace headrace
