#include "tests/onnx_node/judge.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "driver/samples/samples.h"

namespace headrace {

Judgement JudgeClose(const Value& got, const Value& expected, double rtol, double atol) {
  Difference d = Compare(got, expected, rtol, atol);
  return {d.ok, d.ok ? ""
                     : d.where + "; max |difference| " + std::to_string(d.max_abs) + ", relative " +
                           std::to_string(d.max_rel)};
}

bool IsRandomCase(const std::string& name) {
  static const std::set<std::string> kNames = {"test_bernoulli",
                                               "test_bernoulli_expanded",
                                               "test_bernoulli_double",
                                               "test_bernoulli_double_expanded",
                                               "test_bernoulli_seed",
                                               "test_bernoulli_seed_expanded",
                                               "test_training_dropout",
                                               "test_training_dropout_default",
                                               "test_training_dropout_default_mask",
                                               "test_training_dropout_mask"};
  return kNames.count(name) != 0;
}

Judgement JudgeRandom(const Value& got, const Value& expected) {
  if (got.kind != Value::kTensor || got.tensor.dtype != expected.tensor.dtype) return {false, "another type"};
  if (got.tensor.shape != expected.tensor.shape) return {false, "another shape"};
  int64_t n = got.tensor.elements();
  double lo = INFINITY, hi = -INFINITY, sum = 0, sum_expected = 0, hi_expected = -INFINITY, lo_expected = INFINITY,
         square = 0;
  for (int64_t i = 0; i < n; ++i) {
    double g = got.tensor.GetDouble(i), e = expected.tensor.GetDouble(i);
    if (std::isnan(g)) return {false, "NaN"};
    lo = std::min(lo, g), hi = std::max(hi, g), sum += g, sum_expected += e;
    lo_expected = std::min(lo_expected, e), hi_expected = std::max(hi_expected, e), square += e * e;
  }
  if (n == 0) return {true, ""};
  // Both means are samples of one distribution: six standard errors of their difference.
  double deviation = std::sqrt(std::max(square / n, (hi_expected - lo_expected) * (hi_expected - lo_expected) / 4));
  if (std::abs(sum - sum_expected) / n > 6 * deviation * std::sqrt(2.0 / n) + 1e-12)
    return {false, "mean " + std::to_string(sum / n)};
  double slack = 6 * deviation + 1e-12;
  if (lo < lo_expected - slack || hi > hi_expected + slack)
    return {false, "range " + std::to_string(lo) + " … " + std::to_string(hi)};
  return {true, ""};
}

bool IsOracleCase(const std::string& name) {
  static const std::set<std::string> kNames = {
      // Their expected values were rounded to half precision after every step of another order of steps.
      "test_attention_3d_causal_bf16", "test_attention_3d_causal_bf16_expanded",
      "test_attention_4d_attn_mask_causal_bf16", "test_attention_4d_attn_mask_causal_bf16_expanded",
      "test_attention_4d_causal_bf16", "test_attention_4d_causal_bf16_expanded",
      "test_attention_4d_causal_padded_kv_bf16", "test_attention_4d_causal_padded_kv_bf16_expanded",
      "test_attention_4d_padded_kv_bf16", "test_attention_4d_padded_kv_bf16_expanded",
      // An element is 2e-7 away from its true value, zero, at an absolute tolerance of 1e-7.
      "test_dft_inverse", "test_dft_inverse_opset19"};
  return kNames.count(name) != 0;
}

Result<std::vector<Value>> RunInDouble(const Registry& r, const Program& p, const NamedValues& inputs) {
  HR_ASSIGN_OR_RETURN(Program wide, InDouble(p));
  HR_ASSIGN_OR_RETURN(NamedValues values, InDouble(inputs));
  CompileRequest request;
  request.backend = "interpreter";
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> e, CompileProgram(r, wide, request));
  return e->Run(values);
}

Judgement JudgeAgainstOracle(const Value& got, const Value& expected, const Value& exact) {
  if (got.kind != Value::kTensor || got.tensor.shape != expected.tensor.shape ||
      got.tensor.dtype != expected.tensor.dtype)
    return {false, "another shape or type"};
  double ours = 0, theirs = 0;
  for (int64_t i = 0; i < got.tensor.elements(); ++i) {
    double e = exact.tensor.GetDouble(i);
    double a = std::abs(got.tensor.GetDouble(i) - e), b = std::abs(expected.tensor.GetDouble(i) - e);
    if (std::isnan(a) != std::isnan(b)) return {false, "NaN in one only"};
    ours = std::max(ours, a), theirs = std::max(theirs, b);
  }
  return {ours <= theirs,
          "error against f64 " + std::to_string(ours) + ", the expected value's " + std::to_string(theirs)};
}

}  // namespace headrace
