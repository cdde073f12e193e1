// What the functions in this folder share: a call as seen from inside, with ports and attributes by
// name. Errors are thrown as std::runtime_error and reported through hr_call::fail by
// HR_ONNX_FUNCTION.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugins/api/headrace_plugin.h"

namespace onnx_ops::external {

using Shape = std::vector<int64_t>;

[[noreturn]] void Fail(const std::string& message);
inline void Require(bool holds, const char* message) {
  if (!holds) Fail(message);
}
int64_t Count(const Shape& shape);  // of elements; fails when it overflows
Shape ShapeOf(const hr_value& v);
std::string Text(const Shape& shape);          // "[2, 3]"
int64_t Size(int32_t dtype);                   // bytes of an element
const char* TypeName(int32_t dtype);           // "f32"
bool IsFloat(int32_t dtype);                   // f4 … f64
bool IsUnsigned(int32_t dtype);                // bool counts
int64_t WrapAxis(int64_t axis, int64_t rank);  // fails outside [-rank, rank)
// Everything before, at and after a dimension.
struct Split3 {
  int64_t outer, n, inner;
};
Split3 SplitAt(const Shape& s, int64_t axis);

// Any element as a number; strings and complex numbers fail.
double ToDouble(const hr_value& v, int64_t i);
int64_t ToInt(const hr_value& v, int64_t i);  // of integers and bool; of floats truncated
std::vector<double> Doubles(const hr_value& v);
std::vector<int64_t> Ints(const hr_value& v);
std::string String(const hr_value& v, int64_t i);
void Store(int32_t dtype, void* data, int64_t i,
           double value);  // rounded; f32, f64, f16, bf16 and integers

class Call {
 public:
  explicit Call(hr_call* raw);
  hr_call* raw() const { return raw_; }
  void LeaveIfCancelled() const;  // fails when nobody waits for the result any more

  // Inputs and outputs by port name; a variadic port has several. Null when absent.
  const hr_value* Find(const std::string& port, int index = 0) const;
  const hr_value& Input(const std::string& port, int index = 0) const;  // fails when absent
  const hr_value& Tensor(const std::string& port,
                         int index = 0) const;  // fails unless it is a tensor
  const hr_value& Sequence(const std::string& port) const;
  int64_t Scalar(const std::string& port,
                 int64_t otherwise) const;  // the only element of an integer input
  int Inputs(const std::string& port) const;
  int Output(const std::string& port) const;  // its number, or -1

  // Gives the output its shape and memory (or checks what it has) and returns the memory.
  void* Make(int output, int32_t dtype, const Shape& shape);
  template <typename T>
  T* Make(const std::string& port, int32_t dtype, const Shape& shape) {
    const int o = Output(port);
    return o < 0 ? nullptr : static_cast<T*>(Make(o, dtype, shape));
  }
  void MakeStrings(int output, const Shape& shape, const std::vector<std::string>& strings);
  void Append(int output, const hr_value& item);
  void AppendNothing(int output);  // the output is a sequence, even if nothing is appended

  bool Has(const std::string& attribute) const { return Attribute(attribute) != nullptr; }
  int64_t Int(const std::string& attribute, int64_t otherwise) const;
  double Float(const std::string& attribute, double otherwise) const;
  std::string Str(const std::string& attribute, const std::string& otherwise) const;
  std::vector<int64_t> IntList(const std::string& attribute) const;  // empty when it is not there
  std::vector<double> FloatList(const std::string& attribute) const;
  std::vector<std::string> StrList(const std::string& attribute) const;

 private:
  const hr_attribute* Attribute(const std::string& name) const;
  hr_call* raw_;
  std::vector<std::string> inputs_, outputs_;
};

int32_t Guard(hr_call* call, void (*body)(Call&));
#define HR_ONNX_FUNCTION(symbol)                                                                                      \
  static void symbol##_body(::onnx_ops::external::Call& call);                                                        \
  extern "C" HEADRACE_EXPORT int32_t symbol(hr_call* raw) { return ::onnx_ops::external::Guard(raw, symbol##_body); } \
  static void symbol##_body(::onnx_ops::external::Call& call)

}  // namespace onnx_ops::external
