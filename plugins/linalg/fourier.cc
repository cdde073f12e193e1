// KISS FFT does lengths with small factors; what is long is cut into such transforms, between which it is asked whether the run is
// cancelled. Other lengths are convolutions of a length that has small factors (Bluestein):
//   Y[k] = conj(c[k]) Σ_t (X[t] conj(c[t])) c[k - t],  c[m] = exp(±πi m²/n).
#include "plugins/linalg/fourier.h"

#include <algorithm>
#include <complex>
#include <kissfft/kissfft.hh>
#include <memory>
#include <vector>

#include "plugins/linalg/cancel.h"

namespace linalg_ops {
namespace {

using Complex = std::complex<double>;
constexpr int64_t kLargeFactor = 30;  // KISS FFT takes n · factor operations for such a factor
constexpr size_t kMostPlans = 16;     // kept by each thread
constexpr int64_t kMostKept = 1 << 24;  // elements of a plan; larger ones go after each call
constexpr int64_t kLong = 1 << 18;    // elements: some milliseconds

int64_t LargestFactor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) largest = p;
  return n > 1 ? n : largest;
}

// Calls f(first, last) for parts of 0:n that take some milliseconds each.
template <typename F>
void InParts(int64_t n, F&& f) {
  for (int64_t first = 0; first < n; first += kLong) {
    LeaveIfCancelled();
    f(first, std::min(n, first + kLong));
  }
}

// A transform of a length with small factors, not scaled.
class Transform {
 public:
  Transform(int64_t n, bool inverse) : n_(n), short_(n) {
    for (int64_t p = 4; short_ > kLong; short_ /= p) {
      while (short_ % p != 0) p = p == 4 ? 2 : p == 2 ? 3 : p + 2;
      factors_.push_back(p);
    }
    shorts_ = std::make_unique<kissfft<double>>(static_cast<size_t>(short_), inverse);
    if (factors_.empty()) return;
    roots_.resize(static_cast<size_t>(n));
    const double turn = (inverse ? 2 : -2) * std::acos(-1.0) / static_cast<double>(n);
    InParts(n, [&](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) roots_[k] = std::polar(1.0, turn * static_cast<double>(k));
    });
  }
  void Run(const Complex* x, Complex* y) const { Run(x, y, n_, 0, 1); }

 private:
  // Of n elements, every `stride`-th one: those of each remainder modulo the factor, joined.
  void Run(const Complex* x, Complex* y, int64_t n, size_t level, int64_t stride) const {
    if (level == factors_.size()) {
      LeaveIfCancelled();
      return shorts_->transform(x, y, 0, 1, static_cast<size_t>(stride));
    }
    const int64_t p = factors_[level], m = n / p;
    for (int64_t q = 0; q < p; ++q) Run(x + q * stride, y + q * m, m, level + 1, stride * p);
    InParts(m, [&](int64_t first, int64_t last) { Join(y, first, last, m, p, stride); });
  }
  // y[k + r m] = Σ_q w^(q (k + r m)) y[k + q m], in place, for k in first:last; w = exp(-2πi / (p m)) is roots_[stride].
  void Join(Complex* y, int64_t first, int64_t last, int64_t m, int64_t p, int64_t stride) const {
    Complex turned[kLargeFactor];
    for (int64_t k = first; k < last; ++k) {
      for (int64_t q = 0; q < p; ++q) turned[q] = Times(y[k + q * m], roots_[q * k * stride]);
      for (int64_t r = 0; r < p; ++r) {
        Complex sum = turned[0];
        for (int64_t q = 1, at = r; q < p; ++q, at = at + r < p ? at + r : at + r - p) sum += Times(turned[q], roots_[at * m * stride]);
        y[k + r * m] = sum;
      }
    }
  }
  // Without what * does for infinities.
  static Complex Times(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }

  int64_t n_, short_;
  std::vector<int64_t> factors_;
  std::vector<Complex> roots_;  // exp(-2πi k / n)
  std::unique_ptr<kissfft<double>> shorts_;
};

class Plan {
 public:
  Plan(int64_t n, bool inverse) : n_(n), inverse_(inverse) {
    if (LargestFactor(n) < kLargeFactor) {
      direct_ = std::make_unique<Transform>(n, inverse);
      return;
    }
    int64_t padded = 1;
    while (padded < 2 * n - 1) padded *= 2;
    forward_ = std::make_unique<Transform>(padded, false);
    backward_ = std::make_unique<Transform>(padded, true);
    chirp_.resize(static_cast<size_t>(n));
    const double pi = std::acos(-1.0), sign = inverse ? -1 : 1;
    uint64_t square = 0;  // m² modulo 2n, an exact integer: large angles would lose digits
    InParts(n, [&](int64_t first, int64_t last) {
      for (int64_t m = first; m < last; ++m) {
        chirp_[m] = std::polar(1.0, sign * pi * static_cast<double>(square) / static_cast<double>(n));
        square = (square + 2 * static_cast<uint64_t>(m) + 1) % (2 * static_cast<uint64_t>(n));
      }
    });
    std::vector<Complex> kernel(static_cast<size_t>(padded));
    for (int64_t m = 0; m < n; ++m) kernel[m] = kernel[(padded - m) % padded] = chirp_[m];
    kernel_.resize(kernel.size());
    forward_->Run(kernel.data(), kernel_.data());
    a_.resize(kernel.size());
    b_.resize(kernel.size());
  }
  int64_t elements() const { return direct_ ? n_ : n_ + 5 * static_cast<int64_t>(kernel_.size()); }
  bool Is(int64_t n, bool inverse) const { return n_ == n && inverse_ == inverse; }

  void Run(const Complex* x, Complex* y) {
    if (direct_) return direct_->Run(x, y);
    for (size_t t = 0; t < chirp_.size(); ++t) a_[t] = x[t] * std::conj(chirp_[t]);
    std::fill(a_.begin() + n_, a_.end(), Complex());
    forward_->Run(a_.data(), b_.data());
    for (size_t k = 0; k < b_.size(); ++k) b_[k] *= kernel_[k];
    backward_->Run(b_.data(), a_.data());
    const double scale = 1.0 / static_cast<double>(a_.size());
    for (size_t k = 0; k < chirp_.size(); ++k) y[k] = a_[k] * std::conj(chirp_[k]) * scale;
  }

 private:
  int64_t n_;
  bool inverse_;
  std::unique_ptr<Transform> direct_, forward_, backward_;
  std::vector<Complex> chirp_, kernel_, a_, b_;
};

thread_local std::vector<std::unique_ptr<Plan>> plans;  // the last one used comes last

Plan& PlanOf(int64_t n, bool inverse) {
  for (size_t k = plans.size(); k-- > 0;)
    if (plans[k]->Is(n, inverse)) {
      std::swap(plans[k], plans.back());
      return *plans.back();
    }
  if (plans.size() >= kMostPlans) plans.erase(plans.begin());
  plans.push_back(std::make_unique<Plan>(n, inverse));
  return *plans.back();
}

template <typename T>
void Rows(int64_t rows, int64_t n, bool inverse, const std::complex<T>* x, std::complex<T>* y) {
  Plan& plan = PlanOf(n, inverse);
  std::vector<Complex> in(static_cast<size_t>(n)), out(static_cast<size_t>(n));
  const double scale = inverse ? 1.0 / static_cast<double>(n) : 1.0;
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    LeaveIfCancelled();
    for (int64_t t = 0; t < n; ++t) in[t] = Complex(x[t]);
    plan.Run(in.data(), out.data());
    for (int64_t k = 0; k < n; ++k) y[k] = std::complex<T>(out[k] * scale);
  }
  if (plan.elements() > kMostKept) plans.pop_back();
}

}  // namespace

void FourierTransforms(bool single, int64_t rows, int64_t n, bool inverse, const void* x, void* y) {
  if (n == 0 || rows == 0) return;
  if (single) Rows(rows, n, inverse, static_cast<const std::complex<float>*>(x), static_cast<std::complex<float>*>(y));
  else Rows(rows, n, inverse, static_cast<const Complex*>(x), static_cast<Complex*>(y));
}

}  // namespace linalg_ops
