// ai.onnx.ml: SVMRegressor, SVMClassifier.
#include <cmath>

#include "plugins/onnx/external/classes.h"
#include "plugins/onnx/external/expand.h"

namespace onnx_ops::external {
namespace {

struct Kernel {
  std::string type;
  double gamma = 0, coef0 = 0, degree = 0;
  explicit Kernel(const Call& call) : type(call.Str("kernel_type", "LINEAR")) {
    const std::vector<double> p = call.FloatList("kernel_params");
    if (p.size() >= 3) gamma = p[0], coef0 = p[1], degree = p[2];
    Require(type == "LINEAR" || type == "POLY" || type == "RBF" || type == "SIGMOID", "kernel_type is unknown");
  }
  double operator()(const Rows& rows, int64_t r, const double* v) const {
    double s = 0;
    for (int64_t c = 0; c < rows.width; ++c) {
      const double x = rows.At(r, c);
      s += type == "RBF" ? (x - v[c]) * (x - v[c]) : x * v[c];
    }
    if (type == "POLY") return std::pow(gamma * s + coef0, degree);
    if (type == "SIGMOID") return std::tanh(gamma * s + coef0);
    return type == "RBF" ? std::exp(-gamma * s) : s;
  }
};

// Probabilities of k classes from those of pairs: Wu, Lin and Weng's second method, as libsvm has
// it.
std::vector<double> Couple(size_t k, const std::vector<std::vector<double>>& pair) {
  std::vector<double> p(k, 1.0 / static_cast<double>(k)), qp(k);
  std::vector<std::vector<double>> q(k, std::vector<double>(k));
  for (size_t t = 0; t < k; ++t)
    for (size_t j = 0; j < k; ++j)
      if (j != t) {
        q[t][t] += pair[j][t] * pair[j][t];
        q[t][j] = -pair[j][t] * pair[t][j];
      }
  for (size_t round = 0; round < std::max<size_t>(100, k); ++round) {
    double pqp = 0, worst = 0;
    for (size_t t = 0; t < k; ++t) {
      qp[t] = 0;
      for (size_t j = 0; j < k; ++j) qp[t] += q[t][j] * p[j];
      pqp += p[t] * qp[t];
    }
    for (size_t t = 0; t < k; ++t) worst = std::max(worst, std::fabs(qp[t] - pqp));
    if (worst < 0.005 / static_cast<double>(k)) break;
    for (size_t t = 0; t < k; ++t) {
      const double diff = (-qp[t] + pqp) / q[t][t];
      p[t] += diff;
      pqp = (pqp + diff * (diff * q[t][t] + 2 * qp[t])) / (1 + diff) / (1 + diff);
      for (size_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + diff * q[t][j]) / (1 + diff);
        p[j] /= 1 + diff;
      }
    }
  }
  return p;
}

}  // namespace

HR_ONNX_FUNCTION(onnx_svm_regressor) {
  const Rows rows(call.Tensor("X"));
  Kernel kernel(call);
  const std::vector<double> coefficients = call.FloatList("coefficients"), vectors = call.FloatList("support_vectors"),
                            rho = call.FloatList("rho");
  const int64_t supports = call.Int("n_supports", 0);
  Require(!rho.empty(), "rho is missing");
  Require(PostTransformOf(call.Str("post_transform", "NONE")) == PostTransform::kNone,
          "an SVM regressor has no post_transform");
  if (supports > 0) {
    Require(static_cast<int64_t>(coefficients.size()) == supports &&
                static_cast<int64_t>(vectors.size()) == supports * rows.width,
            "the support vectors do not fit the input");
  } else {
    Require(static_cast<int64_t>(coefficients.size()) == rows.width,
            "coefficients must have one value for each feature");
    kernel.type = "LINEAR";
  }
  float* y = call.Make<float>("Y", HR_F32, {rows.n, 1});
  for (int64_t r = 0; r < rows.n; ++r) {
    double s = rho[0];
    if (supports == 0) s += kernel(rows, r, coefficients.data());
    for (int64_t k = 0; k < supports; ++k)
      s += coefficients[static_cast<size_t>(k)] * kernel(rows, r, vectors.data() + k * rows.width);
    y[r] = static_cast<float>(call.Int("one_class", 0) ? (s > 0 ? 1 : -1) : s);
  }
}

HR_ONNX_FUNCTION(onnx_svm_classifier) {
  const Rows rows(call.Tensor("X"));
  Kernel kernel(call);
  const Labels labels(call, "classlabels_ints");
  const std::vector<double> coefficients = call.FloatList("coefficients"), vectors = call.FloatList("support_vectors"),
                            rho = call.FloatList("rho"), a = call.FloatList("prob_a"), b = call.FloatList("prob_b");
  const std::vector<int64_t> per_class = call.IntList("vectors_per_class");
  const size_t classes = labels.size();
  Require(classes >= 2, "an SVM classifier needs at least two class labels");
  std::vector<int64_t> start;
  int64_t supports = 0;
  for (int64_t n : per_class) {
    Require(n >= 0, "vectors_per_class holds a negative number");
    start.push_back(supports);
    supports += n;
  }
  const size_t pairs = classes * (classes - 1) / 2;
  if (supports > 0) {
    Require(per_class.size() == classes && static_cast<int64_t>(vectors.size()) == supports * rows.width &&
                static_cast<int64_t>(coefficients.size()) == supports * static_cast<int64_t>(classes - 1) &&
                rho.size() >= pairs,
            "the support vectors do not fit the input and the classes");
    Require(a.size() == b.size() && (a.empty() || a.size() >= pairs),
            "prob_a and prob_b must have one value for each pair of classes");
  } else {
    Require(static_cast<int64_t>(coefficients.size()) == static_cast<int64_t>(classes) * rows.width && !rho.empty(),
            "coefficients must be classes times features");
    kernel.type = "LINEAR";
  }
  if (rho.size() == 1 && classes > 2) Fail("an SVM classifier of more than two classes needs a rho for each pair");
  const PostTransform post = PostTransformOf(call.Str("post_transform", "NONE"));
  const bool probabilities = supports > 0 && !a.empty();
  const bool positive = std::all_of(coefficients.begin(), coefficients.end(), [](double c) { return c >= 0; });
  std::vector<int64_t> chosen;
  std::vector<std::vector<double>> scores;
  for (int64_t r = 0; r < rows.n; ++r) {
    std::vector<double> row, votes(classes);
    if (supports == 0) {
      for (size_t c = 0; c < classes; ++c)
        row.push_back(rho[0] + kernel(rows, r, coefficients.data() + static_cast<int64_t>(c) * rows.width));
    } else {
      std::vector<double> k;
      for (int64_t v = 0; v < supports; ++v) k.push_back(kernel(rows, r, vectors.data() + v * rows.width));
      for (size_t i = 0; i < classes; ++i)
        for (size_t j = i + 1; j < classes; ++j) {
          double s = rho[row.size()];
          for (int64_t v = start[i]; v < start[i] + per_class[i]; ++v)
            s += coefficients[static_cast<size_t>(static_cast<int64_t>(j - 1) * supports + v)] *
                 k[static_cast<size_t>(v)];
          for (int64_t v = start[j]; v < start[j] + per_class[j]; ++v)
            s += coefficients[static_cast<size_t>(static_cast<int64_t>(i) * supports + v)] * k[static_cast<size_t>(v)];
          row.push_back(s);
          votes[s > 0 ? i : j] += 1;
        }
    }
    if (probabilities) {
      std::vector<std::vector<double>> pair(classes, std::vector<double>(classes));
      size_t at = 0;
      for (size_t i = 0; i < classes; ++i)
        for (size_t j = i + 1; j < classes; ++j, ++at) {
          pair[i][j] = std::min(std::max(1 - Logistic(row[at] * a[at] + b[at]), 1e-7), 1 - 1e-7);
          pair[j][i] = 1 - pair[i][j];
        }
      row = Couple(classes, pair);
    }
    const std::vector<double>& by = supports > 0 ? votes : row;
    size_t best = static_cast<size_t>(std::max_element(by.begin(), by.end()) - by.begin());
    if (rho.size() == 1 && classes == 2 && !probabilities && positive && by[best] >= 0.5) best = 1;
    chosen.push_back(static_cast<int64_t>(best));
    if (row.size() == 1) row = post == PostTransform::kProbit ? row : std::vector<double>{-row[0], row[0]};
    Apply(post, &row);
    scores.push_back(std::move(row));
  }
  labels.Write(call, "Y", chosen);
  const int64_t width = scores.empty() ? static_cast<int64_t>(classes) : static_cast<int64_t>(scores[0].size());
  if (float* z = call.Make<float>("Z", HR_F32, {rows.n, width}))
    for (const auto& row : scores)
      for (double v : row) *z++ = static_cast<float>(v);
}

void RegisterVectorMachines(Registrar& r) {
  for (const char* f : {"svm_regressor", "svm_classifier"}) AddFunction(r, f);
  Add(r, "ai.onnx.ml.SVMRegressor", "svm_regressor");
  Add(r, "ai.onnx.ml.SVMClassifier", "svm_classifier");
}

}  // namespace onnx_ops::external
