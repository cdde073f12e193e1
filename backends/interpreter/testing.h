// What the interpreter's tests share: values from numbers, programs from text.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "backends/interpreter/interpreter.h"
#include "ir/text/parser.h"

namespace headrace::testing {

using Arguments = std::vector<std::pair<Name, Value>>;
using Numbers = std::vector<double>;

inline Value Make(DType t, std::vector<int64_t> shape, const Numbers& v) {
  Tensor r = *Tensor::Create(t, shape);
  for (size_t i = 0; i < v.size(); ++i) r.SetDouble(static_cast<int64_t>(i), v[i]);
  return Value(r);
}
inline Value F32(std::vector<int64_t> shape, const Numbers& v) { return Make(DType::kF32, shape, v); }
inline Value I64(std::vector<int64_t> shape, const Numbers& v) { return Make(DType::kI64, shape, v); }
inline Value Strings(std::vector<int64_t> shape, const std::vector<std::string>& v) {
  Tensor r = *Tensor::Create(DType::kString, shape);
  *r.strings = v;
  return Value(r);
}

inline Numbers NumbersOf(const Value& v) {
  Numbers r;
  for (int64_t i = 0; i < v.tensor.elements(); ++i) r.push_back(v.tensor.GetDouble(i));
  return r;
}

inline Result<std::vector<Value>> RunText(const std::string& text, const Arguments& arguments,
                                          const std::vector<std::pair<Name, int64_t>>& symbols = {},
                                          const Registry* registry = nullptr, const CompileOptions& options = {}) {
  static const Registry* const kEmpty = new Registry();
  HR_ASSIGN_OR_RETURN(Program p, ParseProgram(text));
  HR_ASSIGN_OR_RETURN(auto e, interpreter::CompileProgram(p, options, registry ? *registry : *kEmpty));
  return e->Run(arguments, symbols);
}

// The first output, as numbers.
inline Numbers First(const std::string& text, const Arguments& arguments,
                     const std::vector<std::pair<Name, int64_t>>& symbols = {}) {
  auto r = RunText(text, arguments, symbols);
  EXPECT_TRUE(r.ok()) << r.status().ToString() << text;
  return r.ok() && !r->empty() ? NumbersOf((*r)[0]) : Numbers{};
}

inline std::string ErrorOf(const std::string& text, const Arguments& arguments,
                           const std::vector<std::pair<Name, int64_t>>& symbols = {}) {
  auto r = RunText(text, arguments, symbols);
  return r.ok() ? "no error" : r.status().message();
}

}  // namespace headrace::testing
