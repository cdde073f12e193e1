// Compare: numpy.testing.assert_allclose's rule for floats, equality for everything else.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>

#include "ir/base/value.h"

namespace headrace {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}

std::string Position(const std::vector<int64_t>& shape, int64_t flat) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return ShapeText(index);
}

std::string Text(double v) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.9g", v);
  return buffer;
}
std::string Text(std::complex<double> v) {
  return Text(v.real()) + (v.imag() < 0 ? " - " : " + ") + Text(std::fabs(v.imag())) + "i";
}

class Comparer {
 public:
  Comparer(double rtol, double atol) : rtol_(rtol), atol_(atol) {}
  Difference result;

  void Values(const Value& got, const Value& expected, const std::string& at) {
    if (got.kind != expected.kind) {
      static const char* const kKinds[] = {"nothing", "a tensor", "a sequence"};
      return Fail(at + "got " + kKinds[got.kind] + ", expected " + kKinds[expected.kind]);
    }
    if (got.kind == Value::kTensor) return Tensors(got.tensor, expected.tensor, at);
    if (got.items.size() != expected.items.size()) {
      return Fail(at + "got a sequence of " + std::to_string(got.items.size()) + " values, expected " +
                  std::to_string(expected.items.size()));
    }
    for (size_t i = 0; i < got.items.size(); ++i)
      Values(got.items[i], expected.items[i], at + "item " + std::to_string(i) + ": ");
  }

 private:
  void Fail(const std::string& where) {
    if (result.ok) result.where = where;
    result.ok = false;
  }

  void Record(double difference, double reference) {
    if (!std::isfinite(difference)) return;
    result.max_abs = std::max(result.max_abs, difference);
    if (reference != 0 && std::isfinite(reference))
      result.max_rel = std::max(result.max_rel, difference / std::fabs(reference));
  }

  template <typename T>
  void Mismatch(const Tensor& shape_of, int64_t i, const T& got, const T& expected, const std::string& at) {
    if (!result.ok) return;  // only the first is named; Position is not free
    Fail(at + Position(shape_of.shape, i) + ": got " + Text(got) + ", expected " + Text(expected));
  }

  void Tensors(const Tensor& a, const Tensor& b, const std::string& at) {
    if (a.dtype != b.dtype)
      return Fail(at + "got type " + std::string(DTypeName(a.dtype)) + ", expected " + std::string(DTypeName(b.dtype)));
    if (a.shape != b.shape) return Fail(at + "got shape " + ShapeText(a.shape) + ", expected " + ShapeText(b.shape));
    const int64_t n = a.elements();
    if (a.dtype == DType::kString) {
      for (int64_t i = 0; i < n && result.ok; ++i) {
        if ((*a.strings)[i] != (*b.strings)[i]) {
          Fail(at + Position(a.shape, i) + ": got \"" + (*a.strings)[i] + "\", expected \"" + (*b.strings)[i] + "\"");
        }
      }
    } else if (IsFloat(a.dtype)) {
      for (int64_t i = 0; i < n; ++i) Floats(a, i, a.GetDouble(i), b.GetDouble(i), at);
    } else if (a.dtype == DType::kC64) {
      for (int64_t i = 0; i < n; ++i)
        Complexes(a, i, a.as<std::complex<float>>()[i], b.as<std::complex<float>>()[i], at);
    } else if (a.dtype == DType::kC128) {
      for (int64_t i = 0; i < n; ++i)
        Complexes(a, i, a.as<std::complex<double>>()[i], b.as<std::complex<double>>()[i], at);
    } else {
      for (int64_t i = 0; i < n; ++i) Integers(a, i, a.GetInt(i), b.GetInt(i), at);
    }
  }

  void Floats(const Tensor& t, int64_t i, double a, double b, const std::string& at) {
    if (std::isnan(a) && std::isnan(b)) return;
    if (a == b) return;  // infinities by sign; -0 is 0
    Record(std::fabs(a - b), b);
    if (!std::isfinite(a) || !std::isfinite(b) || std::fabs(a - b) > atol_ + rtol_ * std::fabs(b))
      Mismatch(t, i, a, b, at);
  }

  void Complexes(const Tensor& t, int64_t i, std::complex<double> a, std::complex<double> b, const std::string& at) {
    const auto nan = [](std::complex<double> v) { return std::isnan(v.real()) || std::isnan(v.imag()); };
    const auto finite = [](std::complex<double> v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); };
    if ((nan(a) && nan(b)) || a == b) return;
    const double difference = std::abs(a - b);
    Record(difference, std::abs(b));
    if (!finite(a) || !finite(b) || difference > atol_ + rtol_ * std::abs(b)) Mismatch(t, i, a, b, at);
  }

  void Integers(const Tensor& t, int64_t i, int64_t a, int64_t b, const std::string& at) {
    if (a == b) return;
    const bool u64 = t.dtype == DType::kU64;
    const double x = u64 ? static_cast<double>(static_cast<uint64_t>(a)) : static_cast<double>(a);
    const double y = u64 ? static_cast<double>(static_cast<uint64_t>(b)) : static_cast<double>(b);
    Record(std::fabs(x - y), y);
    if (!result.ok) return;
    const auto text = [&](int64_t v) { return u64 ? std::to_string(static_cast<uint64_t>(v)) : std::to_string(v); };
    Fail(at + Position(t.shape, i) + ": got " + text(a) + ", expected " + text(b));
  }

  double rtol_, atol_;
};

}  // namespace

Difference Compare(const Value& got, const Value& expected, double rtol, double atol) {
  Comparer c(rtol, atol);
  c.Values(got, expected, "");
  return c.result;
}

}  // namespace headrace
