// ai.onnx.ml: Normalizer, Imputer, FeatureVectorizer.
#include <cmath>

#include "plugins/onnx/external/classes.h"
#include "plugins/onnx/external/expand.h"

namespace onnx_ops::external {
// Each row over its largest absolute value, the sum of those, or its length; a row of zeros stays.
HR_ONNX_FUNCTION(onnx_normalizer) {
  const hr_value& x = call.Tensor("X");
  const Rows rows(x);
  const std::string norm = call.Str("norm", "MAX");
  Require(norm == "MAX" || norm == "L1" || norm == "L2", "norm must be MAX, L1 or L2");
  float* y = call.Make<float>("Y", HR_F32, ShapeOf(x));
  for (int64_t r = 0; r < rows.n; ++r) {
    double by = 0;
    for (int64_t c = 0; c < rows.width; ++c) {
      const double a = std::fabs(rows.At(r, c));
      by = norm == "MAX" ? std::fmax(by, a) : by + (norm == "L1" ? a : a * a);
    }
    if (norm == "L2") by = std::sqrt(by);
    for (int64_t c = 0; c < rows.width; ++c)
      y[r * rows.width + c] = static_cast<float>(by == 0 ? rows.At(r, c) : rows.At(r, c) / by);
  }
}

// Elements equal to the replaced value (NaN equals NaN) become the column's imputed one.
HR_ONNX_FUNCTION(onnx_imputer) {
  const hr_value& x = call.Tensor("X");
  const Rows rows(x);
  const Shape shape = ShapeOf(x);
  if (IsFloat(x.dtype)) {
    const std::vector<double> values = call.FloatList("imputed_value_floats");
    Require(values.size() == 1 || static_cast<int64_t>(values.size()) == rows.width,
            "imputed_value_floats must have one value for each column, or one");
    const double gone = call.Float("replaced_value_float", 0);
    void* y = call.Make<void>("Y", x.dtype, shape);
    for (int64_t i = 0; i < rows.n * rows.width; ++i) {
      const double v = ToDouble(x, i);
      const bool replace = v == gone || (v != v && gone != gone);
      Store(x.dtype, y, i, replace ? values[values.size() == 1 ? 0 : static_cast<size_t>(i % rows.width)] : v);
    }
    return;
  }
  const std::vector<int64_t> values = call.IntList("imputed_value_int64s");
  Require(values.size() == 1 || static_cast<int64_t>(values.size()) == rows.width,
          "imputed_value_int64s must have one value for each column, or one");
  Require(x.dtype == HR_I64 || x.dtype == HR_I32, "Imputer needs floats, i32 or i64");
  const int64_t gone = call.Int("replaced_value_int64", 0);
  void* y = call.Make<void>("Y", x.dtype, shape);
  for (int64_t i = 0; i < rows.n * rows.width; ++i) {
    const int64_t v = ToInt(x, i),
                  to = v == gone ? values[values.size() == 1 ? 0 : static_cast<size_t>(i % rows.width)] : v;
    if (x.dtype == HR_I64) static_cast<int64_t*>(y)[i] = to;
    else static_cast<int32_t*>(y)[i] = static_cast<int32_t>(to);
  }
}

// Rows side by side, each input cut or filled with zeros to its width.
HR_ONNX_FUNCTION(onnx_feature_vectorizer) {
  const std::vector<int64_t> widths = call.IntList("inputdimensions");
  const int n = call.Inputs("X");
  Require(static_cast<int>(widths.size()) == n && n > 0, "inputdimensions must have one number for each input");
  int64_t width = 0, height = -1;
  for (int k = 0; k < n; ++k) {
    const hr_value& x = call.Tensor("X", k);
    Require(x.rank == 1 || x.rank == 2, "FeatureVectorizer takes vectors and matrices");
    Require(height < 0 || x.shape[0] == height, "the inputs have different numbers of rows");
    Require(widths[static_cast<size_t>(k)] >= 0 && widths[static_cast<size_t>(k)] < 1 << 30,
            "inputdimensions holds a damaged number");
    height = x.shape[0];
    width += widths[static_cast<size_t>(k)];
  }
  float* y = call.Make<float>("Y", HR_F32, {height, width});
  for (int64_t r = 0; r < height; ++r)
    for (int k = 0; k < n; ++k) {
      const hr_value& x = call.Tensor("X", k);
      const int64_t own = x.rank == 2 ? x.shape[1] : 1;
      for (int64_t c = 0; c < widths[static_cast<size_t>(k)]; ++c)
        *y++ = c < own ? static_cast<float>(ToDouble(x, r * own + c)) : 0.0f;
    }
}

void RegisterFeatures(Registrar& r) {
  for (const char* f : {"normalizer", "imputer", "feature_vectorizer"}) AddFunction(r, f);
  Add(r, "ai.onnx.ml.Normalizer", "normalizer");
  Add(r, "ai.onnx.ml.Imputer", "imputer");
  Add(r, "ai.onnx.ml.FeatureVectorizer", "feature_vectorizer");
}

}  // namespace onnx_ops::external
