// KISS FFT does lengths with small factors. Others are convolutions of a length that has them (Bluestein):
//   Y[k] = conj(c[k]) Σ_t (X[t] conj(c[t])) c[k - t],  c[m] = exp(±πi m²/n).
#include "plugins/linalg/fourier.h"

#include <complex>
#include <kissfft/kissfft.hh>
#include <memory>
#include <vector>

namespace linalg_ops {
namespace {

using Complex = std::complex<double>;
constexpr int64_t kLargeFactor = 30;  // KISS FFT takes n · factor operations for such a factor
constexpr size_t kMostPlans = 16;     // kept by each thread

int64_t LargestFactor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) largest = p;
  return n > 1 ? n : largest;
}

class Plan {
 public:
  Plan(int64_t n, bool inverse) : n_(n), inverse_(inverse) {
    if (LargestFactor(n) < kLargeFactor) {
      direct_ = std::make_unique<kissfft<double>>(static_cast<size_t>(n), inverse);
      return;
    }
    int64_t padded = 1;
    while (padded < 2 * n - 1) padded *= 2;
    forward_ = std::make_unique<kissfft<double>>(static_cast<size_t>(padded), false);
    backward_ = std::make_unique<kissfft<double>>(static_cast<size_t>(padded), true);
    chirp_.resize(static_cast<size_t>(n));
    const double pi = std::acos(-1.0), sign = inverse ? -1 : 1;
    uint64_t square = 0;  // m² modulo 2n, an exact integer: large angles would lose digits
    for (int64_t m = 0; m < n; ++m) {
      chirp_[m] = std::polar(1.0, sign * pi * static_cast<double>(square) / static_cast<double>(n));
      square = (square + 2 * static_cast<uint64_t>(m) + 1) % (2 * static_cast<uint64_t>(n));
    }
    std::vector<Complex> kernel(static_cast<size_t>(padded));
    for (int64_t m = 0; m < n; ++m) kernel[m] = kernel[(padded - m) % padded] = chirp_[m];
    kernel_.resize(kernel.size());
    forward_->transform(kernel.data(), kernel_.data());
    a_.resize(kernel.size());
    b_.resize(kernel.size());
  }
  bool Is(int64_t n, bool inverse) const { return n_ == n && inverse_ == inverse; }

  void Run(const Complex* x, Complex* y) {
    if (direct_) return direct_->transform(x, y);
    for (size_t t = 0; t < chirp_.size(); ++t) a_[t] = x[t] * std::conj(chirp_[t]);
    std::fill(a_.begin() + n_, a_.end(), Complex());
    forward_->transform(a_.data(), b_.data());
    for (size_t k = 0; k < b_.size(); ++k) b_[k] *= kernel_[k];
    backward_->transform(b_.data(), a_.data());
    const double scale = 1.0 / static_cast<double>(a_.size());
    for (size_t k = 0; k < chirp_.size(); ++k) y[k] = a_[k] * std::conj(chirp_[k]) * scale;
  }

 private:
  int64_t n_;
  bool inverse_;
  std::unique_ptr<kissfft<double>> direct_, forward_, backward_;
  std::vector<Complex> chirp_, kernel_, a_, b_;
};

Plan& PlanOf(int64_t n, bool inverse) {
  thread_local std::vector<std::unique_ptr<Plan>> plans;  // the last one used comes last
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
    for (int64_t t = 0; t < n; ++t) in[t] = Complex(x[t]);
    plan.Run(in.data(), out.data());
    for (int64_t k = 0; k < n; ++k) y[k] = std::complex<T>(out[k] * scale);
  }
}

}  // namespace

void FourierTransforms(bool single, int64_t rows, int64_t n, bool inverse, const void* x, void* y) {
  if (n == 0 || rows == 0) return;
  if (single) Rows(rows, n, inverse, static_cast<const std::complex<float>*>(x), static_cast<std::complex<float>*>(y));
  else Rows(rows, n, inverse, static_cast<const Complex*>(x), static_cast<Complex*>(y));
}

}  // namespace linalg_ops
