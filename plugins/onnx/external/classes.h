// What the classifiers of ai.onnx.ml share: labels, and what is done to scores at the end.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "plugins/onnx/external/call.h"

namespace onnx_ops::external {

enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
PostTransform PostTransformOf(const std::string& name);
void Apply(PostTransform t, std::vector<double>* row);
double Logistic(double x);
double Probit(double p);

// Class labels from attributes: integers or strings; without either the classes' numbers.
struct Labels {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  Labels(const Call& call, const std::string& ints_name)
      : ints(call.IntList(ints_name)), strings(call.StrList("classlabels_strings")) {}
  size_t size() const { return std::max(ints.size(), strings.size()); }
  // One label per row; `classes` are numbers of labels.
  void Write(Call& call, const std::string& port, const std::vector<int64_t>& classes) const;
};

// Rows of a matrix of numbers; a vector is one row.
struct Rows {
  int64_t n, width;
  const hr_value& x;
  explicit Rows(const hr_value& v);
  double At(int64_t row, int64_t column) const { return ToDouble(x, row * width + column); }
};

}  // namespace onnx_ops::external
