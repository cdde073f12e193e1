// ai.onnx.ml: LinearRegressor, LinearClassifier.
#include "plugins/onnx/external/classes.h"
#include "plugins/onnx/external/expand.h"

namespace onnx_ops::external {
namespace {

// Scores of one row: coefficients are one row per target.
std::vector<double> Scores(const Rows& rows, int64_t r, const std::vector<double>& coefficients,
                           const std::vector<double>& intercepts, int64_t targets) {
  std::vector<double> out(static_cast<size_t>(targets));
  for (int64_t t = 0; t < targets; ++t) {
    double sum = intercepts.empty() ? 0 : intercepts[static_cast<size_t>(t)];
    for (int64_t c = 0; c < rows.width; ++c)
      sum += rows.At(r, c) * coefficients[static_cast<size_t>(t * rows.width + c)];
    out[static_cast<size_t>(t)] = sum;
  }
  return out;
}

}  // namespace

HR_ONNX_FUNCTION(onnx_linear_regressor) {
  const Rows rows(call.Tensor("X"));
  const int64_t targets = call.Int("targets", 1);
  const std::vector<double> coefficients = call.FloatList("coefficients"), intercepts = call.FloatList("intercepts");
  Require(targets > 0 && static_cast<int64_t>(coefficients.size()) == targets * rows.width,
          "coefficients must be targets times features");
  Require(intercepts.empty() || static_cast<int64_t>(intercepts.size()) == targets,
          "intercepts must have one value for each target");
  const PostTransform post = PostTransformOf(call.Str("post_transform", "NONE"));
  float* y = call.Make<float>("Y", HR_F32, {rows.n, targets});
  for (int64_t r = 0; r < rows.n; ++r) {
    std::vector<double> s = Scores(rows, r, coefficients, intercepts, targets);
    Apply(post, &s);
    for (double v : s) *y++ = static_cast<float>(v);
  }
}

HR_ONNX_FUNCTION(onnx_linear_classifier) {
  const Rows rows(call.Tensor("X"));
  const std::vector<double> coefficients = call.FloatList("coefficients"), intercepts = call.FloatList("intercepts");
  const int64_t size = static_cast<int64_t>(coefficients.size());
  Require(rows.width > 0 && size > 0 && size % rows.width == 0, "coefficients must be classes times features");
  const int64_t targets = size / rows.width;
  Require(intercepts.empty() || static_cast<int64_t>(intercepts.size()) == targets,
          "intercepts must have one value for each class");
  const Labels labels(call, "classlabels_ints");
  const std::string name = call.Str("post_transform", "NONE");
  const PostTransform post = PostTransformOf(name);
  const bool two = targets == 1 && labels.size() == 2;  // one score is that of the second class
  const bool alone = targets == 1 && !two;
  Require(labels.size() == 0 || alone || labels.size() >= static_cast<size_t>(two ? 2 : targets),
          "there are fewer class labels than scores");
  if (alone) Fail("a classifier with one score and " + std::to_string(labels.size()) + " labels is not defined");
  const int64_t width = two ? 2 : targets;
  std::vector<int64_t> classes;
  std::vector<float> scores;
  for (int64_t r = 0; r < rows.n; ++r) {
    std::vector<double> s = Scores(rows, r, coefficients, intercepts, targets);
    if (two) s.insert(s.begin(), -s[0]);
    Apply(post, &s);
    classes.push_back(std::max_element(s.begin(), s.end()) - s.begin());
    for (double v : s) scores.push_back(static_cast<float>(v));
  }
  labels.Write(call, "Y", classes);
  if (float* z = call.Make<float>("Z", HR_F32, {rows.n, width})) std::copy(scores.begin(), scores.end(), z);
}

void RegisterLinear(Registrar& r) {
  for (const char* f : {"linear_regressor", "linear_classifier"}) AddFunction(r, f);
  Add(r, "ai.onnx.ml.LinearRegressor", "linear_regressor");
  Add(r, "ai.onnx.ml.LinearClassifier", "linear_classifier");
}

}  // namespace onnx_ops::external
