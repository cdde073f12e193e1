// Values of constants and attributes as text; floats keep their bits.
#include <cmath>
#include <cstring>

#include "ir/base/spelling.h"
#include "ir/text/printer_internal.h"

namespace headrace::internal {
namespace {

constexpr size_t kColumns = 110;

std::string BitsText(uint64_t bits) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "bits(0x%llx)", static_cast<unsigned long long>(bits));
  return buffer;
}

template <typename T>
T Load(const Tensor& t, int64_t i) {
  T v;
  std::memcpy(&v, t.data->data() + i * static_cast<int64_t>(sizeof v), sizeof v);
  return v;
}

// Only the one NaN that the word `nan` stands for is printed as such.
std::string FloatBits(float v) {
  if (!std::isnan(v)) return FloatText(v);
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits == 0x7fc00000u ? "nan" : BitsText(bits);
}

std::string SmallFloatText(DType type, uint32_t bits) {
  const double v = DecodeFloat(type, bits);
  if (EncodeFloat(type, v) != bits) return BitsText(bits);
  return FloatText(static_cast<float>(v));  // f32 holds every value of the small types
}

std::string ElementText(const Tensor& t, int64_t i) {
  switch (t.dtype) {
    case DType::kString: return StringText((*t.strings)[i]);
    case DType::kBool: return Load<uint8_t>(t, i) ? "true" : "false";
    case DType::kF32: return FloatBits(Load<float>(t, i));
    case DType::kF64: return DoubleText(Load<double>(t, i));
    case DType::kC64: return "(" + FloatBits(Load<float>(t, 2 * i)) + ", " + FloatBits(Load<float>(t, 2 * i + 1)) + ")";
    case DType::kC128:
      return "(" + DoubleText(Load<double>(t, 2 * i)) + ", " + DoubleText(Load<double>(t, 2 * i + 1)) + ")";
    case DType::kU64: return std::to_string(Load<uint64_t>(t, i));
    default: break;
  }
  if (IsInteger(t.dtype)) return std::to_string(t.GetInt(i));
  return SmallFloatText(t.dtype, ByteSize(t.dtype) == 1 ? Load<uint8_t>(t, i) : Load<uint16_t>(t, i));
}

bool AllEqual(const Tensor& t, int64_t n) {
  if (t.dtype == DType::kString) return false;
  const int64_t size = ByteSize(t.dtype);
  return std::memcmp(t.data->data(), t.data->data() + size, (n - 1) * size) == 0;
}

class DataPrinter {
 public:
  DataPrinter(const Tensor& t, int indent) : t_(t), indent_(indent) {}
  std::string Run() {
    const int64_t n = t_.elements();
    if (t_.shape.empty()) return ElementText(t_, 0);
    if (n > 4 && AllEqual(t_, n)) return "fill(" + ElementText(t_, 0) + ")";
    if (n == 0) return "[]";
    List(0);
    return std::move(out_);
  }

 private:
  void List(size_t dim) {
    Put("[");
    for (int64_t i = 0; i < t_.shape[dim]; ++i) {
      if (i > 0) out_ += ",";
      column_ += 2;
      if (dim + 1 < t_.shape.size()) {
        if (i > 0) Space(0);
        List(dim + 1);
      } else {
        std::string element = ElementText(t_, next_++);
        if (i > 0) Space(element.size());
        Put(element);
      }
    }
    Put("]");
  }
  void Put(const std::string& s) {
    out_ += s;
    column_ += s.size();
  }
  void Space(size_t needed) {
    if (column_ + needed + indent_ <= kColumns) {
      out_ += " ";
      return;
    }
    out_ += "\n" + std::string(indent_, ' ');
    column_ = 0;
  }

  const Tensor& t_;
  const int indent_;
  std::string out_;
  size_t column_ = 24;  // what stands before the value on the first line, roughly
  int64_t next_ = 0;
};

}  // namespace

std::string DoubleText(double v) {
  if (!std::isnan(v)) return FloatText(v);
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits == 0x7ff8000000000000ull ? "nan" : BitsText(bits);
}

std::string DataText(const Tensor& t, int indent) { return DataPrinter(t, indent).Run(); }

}  // namespace headrace::internal
