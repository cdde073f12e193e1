#include "plugins/onnx/external/classes.h"

#include <cmath>

namespace onnx_ops::external {
namespace {

// Winitzki's approximation, as onnxruntime and the reference have it.
double InverseErf(double x) {
  const double sign = x < 0 ? -1 : 1, product = (1 - x) * (1 + x);
  if (product == 0) return 0;
  const double log = std::log(product), v = 2 / (3.14159265358979323846 * 0.147) + 0.5 * log;
  return sign * std::sqrt(-v + std::sqrt(v * v - log / 0.147));
}

}  // namespace

double Logistic(double x) {
  const double v = 1 / (1 + std::exp(-std::fabs(x)));
  return x < 0 ? 1 - v : v;
}
double Probit(double p) { return 1.41421356 * InverseErf(2 * p - 1); }

PostTransform PostTransformOf(const std::string& name) {
  static const char* const kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  for (int i = 0; i < 5; ++i)
    if (name == kNames[i]) return static_cast<PostTransform>(i);
  Fail("post_transform \"" + name + "\" is unknown");
}

void Apply(PostTransform t, std::vector<double>* row) {
  if (row->empty()) return;
  if (t == PostTransform::kLogistic)
    for (double& v : *row) v = Logistic(v);
  if (t == PostTransform::kProbit)
    for (double& v : *row) v = Probit(v);
  if (t != PostTransform::kSoftmax && t != PostTransform::kSoftmaxZero) return;
  const double top = *std::max_element(row->begin(), row->end());
  double sum = 0;
  for (double& v : *row) {
    const bool zero = t == PostTransform::kSoftmaxZero && std::fabs(v) <= 1e-7;  // zeros stay (about) zero
    v = zero ? v * std::exp(-top) : std::exp(v - top);
    sum += v;
  }
  for (double& v : *row) v = sum == 0 ? 0.5 : v / sum;
}

void Labels::Write(Call& call, const std::string& port, const std::vector<int64_t>& classes) const {
  const Shape shape = {static_cast<int64_t>(classes.size())};
  for (int64_t c : classes)
    Require(c >= 0 && (size() == 0 || c < static_cast<int64_t>(size())), "there are fewer class labels than classes");
  if (call.Output(port) < 0) return;
  if (!strings.empty()) {
    std::vector<std::string> out;
    for (int64_t c : classes) out.push_back(strings[static_cast<size_t>(c)]);
    return call.MakeStrings(call.Output(port), shape, out);
  }
  int64_t* y = call.Make<int64_t>(port, HR_I64, shape);
  for (size_t i = 0; i < classes.size(); ++i) y[i] = ints.empty() ? classes[i] : ints[static_cast<size_t>(classes[i])];
}

Rows::Rows(const hr_value& v) : n(v.rank == 2 ? v.shape[0] : 1), width(v.rank > 0 ? v.shape[v.rank - 1] : 0), x(v) {
  Require(v.rank == 1 || v.rank == 2, "the input must be a matrix or a vector");
}

}  // namespace onnx_ops::external
