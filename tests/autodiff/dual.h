// Forward-mode numbers: the reference that gradients are compared with, exact to rounding and independent of the engine.
// A test writes its program once more as C++ over a number type T; Dual<double> gives first derivatives, Dual<Dual<double>>
// second ones.
#pragma once
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace headrace::autodiff::testing {

template <typename T>
struct Dual {
  T v{}, d{};
  Dual() = default;
  Dual(double x) : v(x) {}  // NOLINT: implicit on purpose
  Dual(T value, T derivative) : v(value), d(derivative) {}
  Dual& operator+=(const Dual& o) { return *this = *this + o; }
  Dual& operator-=(const Dual& o) { return *this = *this - o; }
  Dual& operator*=(const Dual& o) { return *this = *this * o; }
  Dual& operator/=(const Dual& o) { return *this = *this / o; }

  friend Dual operator-(const Dual& a) { return {-a.v, -a.d}; }
  friend Dual operator+(const Dual& a, const Dual& b) { return {a.v + b.v, a.d + b.d}; }
  friend Dual operator-(const Dual& a, const Dual& b) { return {a.v - b.v, a.d - b.d}; }
  friend Dual operator*(const Dual& a, const Dual& b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const T q = a.v / b.v;
    return {q, (a.d - q * b.d) / b.v};
  }
  friend bool operator<(const Dual& a, const Dual& b) { return a.v < b.v; }
  friend bool operator>(const Dual& a, const Dual& b) { return b.v < a.v; }
  friend bool operator<=(const Dual& a, const Dual& b) { return !(b.v < a.v); }
  friend bool operator>=(const Dual& a, const Dual& b) { return !(a.v < b.v); }
};

inline double Primal(double x) { return x; }
template <typename T>
double Primal(const Dual<T>& x) {
  return Primal(x.v);
}

using std::cos, std::exp, std::log, std::sin, std::sqrt, std::tanh;
template <typename T>
Dual<T> exp(const Dual<T>& x) {
  const T e = exp(x.v);
  return {e, x.d * e};
}
template <typename T>
Dual<T> log(const Dual<T>& x) {
  return {log(x.v), x.d / x.v};
}
template <typename T>
Dual<T> sin(const Dual<T>& x) {
  return {sin(x.v), x.d * cos(x.v)};
}
template <typename T>
Dual<T> cos(const Dual<T>& x) {
  return {cos(x.v), -(x.d * sin(x.v))};
}
template <typename T>
Dual<T> sqrt(const Dual<T>& x) {
  const T r = sqrt(x.v);
  return {r, x.d / (r + r)};
}
template <typename T>
Dual<T> tanh(const Dual<T>& x) {
  const T t = tanh(x.v);
  return {t, x.d * (T(1) - t * t)};
}
template <typename T>
T Larger(const T& a, const T& b) {
  return a < b ? b : a;
}
template <typename T>
T Smaller(const T& a, const T& b) {
  return b < a ? b : a;
}
template <typename T>
T Square(const T& a) {
  return a * a;
}

// The arrays of a program in C++, row-major.
template <typename T>
struct Memory {
  using Number = T;
  std::map<std::string, std::vector<T>> floats;
  std::map<std::string, std::vector<int64_t>> integers;
  std::vector<T>& operator[](const std::string& name) { return floats[name]; }
  std::vector<int64_t>& Int(const std::string& name) { return integers.at(name); }
  std::vector<T> New(int64_t n) const { return std::vector<T>(static_cast<size_t>(n), T(0.0)); }
};
template <typename M>
using NumberOf = typename std::decay_t<M>::Number;

}  // namespace headrace::autodiff::testing
