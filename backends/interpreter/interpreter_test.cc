// Programs in IR text, run and compared with numbers worked out by hand.
#include "backends/interpreter/interpreter.h"

#include <gtest/gtest.h>

#include "ir/parser.h"

namespace headrace {
namespace {

using Arguments = std::vector<std::pair<Name, Value>>;

Tensor Filled(DType t, std::vector<int64_t> shape, std::vector<double> v) {
  Tensor r = *Tensor::Create(t, shape);
  for (size_t i = 0; i < v.size(); ++i) r.SetDouble(static_cast<int64_t>(i), v[i]);
  return r;
}
Value F32(std::vector<int64_t> shape, std::vector<double> v) { return Value(Filled(DType::kF32, shape, v)); }
Value I64(std::vector<int64_t> shape, std::vector<double> v) { return Value(Filled(DType::kI64, shape, v)); }

std::vector<double> Numbers(const Value& v) {
  std::vector<double> r;
  for (int64_t i = 0; i < v.tensor.elements(); ++i) r.push_back(v.tensor.GetDouble(i));
  return r;
}

Result<std::vector<Value>> RunText(const std::string& text, const Arguments& arguments,
                                   const std::vector<std::pair<Name, int64_t>>& symbols = {}, const Registry* registry = nullptr) {
  static const Registry* const kEmpty = new Registry();
  HR_ASSIGN_OR_RETURN(Program p, ParseProgram(text));
  HR_ASSIGN_OR_RETURN(auto e, interpreter::CompileProgram(p, {}, registry ? *registry : *kEmpty));
  return e->Run(arguments, symbols);
}

std::vector<double> First(const std::string& text, const Arguments& arguments) {
  auto r = RunText(text, arguments);
  EXPECT_TRUE(r.ok()) << r.status().ToString();
  return r.ok() && !r->empty() ? Numbers((*r)[0]) : std::vector<double>{};
}

TEST(Interpreter, MatMulAndRelu) {
  EXPECT_EQ(First(R"(
    sdfg mlp(X: f32[N, 2], W: f32[2, 3], Y: f32[N, 3]) {
      transient H: f32[N, 3]
      state {
        map i in 0:N, j in 0:3 { H[i, j] = 0 }
        map i in 0:N, j in 0:3, k in 0:2 { H[i, j] += X[i, k] * W[k, j] }
        map i in 0:N, j in 0:3 { Y[i, j] = max(H[i, j], 0) }
      }
    })", {{"X", F32({2, 2}, {1, 2, 3, -4})}, {"W", F32({2, 3}, {1, 0, 2, 0, 1, -1})}}),
            (std::vector<double>{1, 2, 0, 3, 0, 10}));
}

}  // namespace
}  // namespace headrace
