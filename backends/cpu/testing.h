// Programs in IR text, compiled and run.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/executable.h"
#include "ir/analysis/arena.h"
#include "ir/text/parser.h"
#include "ir/verify/verify.h"

namespace headrace::cpu {

template <typename T>
Tensor Make(DType t, std::vector<int64_t> shape, const std::vector<T>& values) {
  Tensor out = *Tensor::Create(t, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsFloat(t)) out.SetDouble(static_cast<int64_t>(i), static_cast<double>(values[i]));
    else out.SetInt(static_cast<int64_t>(i), static_cast<int64_t>(values[i]));
  }
  return out;
}
inline Tensor F32(std::vector<int64_t> shape, const std::vector<double>& values) {
  return Make(DType::kF32, std::move(shape), values);
}
inline Tensor I64(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  return Make(DType::kI64, std::move(shape), values);
}

inline std::vector<double> Doubles(const Value& v) {
  std::vector<double> out;
  for (int64_t i = 0; i < v.tensor.elements(); ++i) out.push_back(v.tensor.GetDouble(i));
  return out;
}

// Every test compiles into a cache of its own.
inline CompileOptions TestOptions() {
  CompileOptions o;
  o.threads = 2;
  o.cache_dir = ::testing::TempDir() + "/headrace-cache";
  return o;
}
// As the pipeline compile-cpu leaves it.
inline Program WithArenas(Program p) {
  for (const auto& s : std::vector<std::shared_ptr<Sdfg>>(p.sdfgs)) PlaceInArena(&p.Mutable(s->name));
  return p;
}
inline std::unique_ptr<Executable> CompileText(const std::string& text, const Registry& r,
                                               CompileOptions o = TestOptions()) {
  auto p = ParseProgram(text);
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  if (!p.ok()) return nullptr;
  const Program planned = WithArenas(*p);
  const Status verified = Verify(planned);
  EXPECT_TRUE(verified.ok()) << verified.ToString();
  auto e = Compile(planned, o, r);
  EXPECT_TRUE(e.ok()) << e.status().ToString();
  return e.ok() ? std::move(*e) : nullptr;
}
using Arguments = std::vector<std::pair<Name, Value>>;
inline Result<std::vector<Value>> RunText(const std::string& text, const Arguments& inputs,
                                          const std::vector<std::pair<Name, int64_t>>& symbols = {}) {
  Registry r;
  auto e = CompileText(text, r);
  if (!e) return InvalidError("not compiled");
  return e->Run(inputs, symbols);
}

}  // namespace headrace::cpu
