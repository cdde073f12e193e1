// IR text: values of constants and attributes. Every dtype; floats keep their bits.
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/text/constant_file.h"
#include "ir/text/parser_program.h"

namespace headrace::internal {
namespace {

constexpr int64_t kMaxFillBytes = int64_t{1} << 30;  // `fill` makes much out of little text

template <typename T>
void Append(std::string& bytes, T v) {
  bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
}

void AppendBits(DType t, uint64_t bits, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&bits), ByteSize(t));  // little-endian
}

// The number of elements, or -1 when it does not fit.
int64_t ElementCount(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) {
    if (__builtin_mul_overflow(n, d, &n)) return -1;
  }
  return n;
}

}  // namespace

// data = element | "[" … "]" (nested or not, row-major) | "fill" "(" element ")" | "file" "(" STRING [ "," INT ] ")"
Tensor ProgramParser::ParseData(DType dtype, const std::vector<int64_t>& shape) {
  const Token at = Peek();
  Newlines within(*this, false);
  if (AtWord("file") && Peek(1).Is("(")) return ParseFileData(dtype, shape);
  Tensor list;
  list.strings = std::make_shared<std::vector<std::string>>();
  std::string bytes;
  const int64_t count = ElementCount(shape);
  const int64_t size = dtype == DType::kString ? 32 : ByteSize(dtype);
  const bool fill = AtWord("fill") && Peek(1).Is("(");
  if (fill) {
    Take();
    Take();
    ParseElement(dtype, list, bytes);
    Expect(")", "after the value");
    if (count < 0 || count > kMaxFillBytes / std::max<int64_t>(size, 1)) Fail(at, "this constant is too large to fill");
  } else if (At("[")) {
    ParseElements(dtype, 0, list, bytes);
  } else {
    ParseElement(dtype, list, bytes);
  }
  if (!ok()) return {};
  const int64_t given = dtype == DType::kString ? list.strings->size() : bytes.size() / size;
  if (!fill && given != count) {
    Fail(at, "the constant has " + (count < 0 ? "too many" : std::to_string(count)) + " elements by its sizes, " +
                 std::to_string(given) + " are given");
    return {};
  }
  Result<Tensor> made = Tensor::Create(dtype, shape);
  if (!made.ok()) {
    Fail(at, made.status().message());
    return {};
  }
  Tensor t = std::move(made).value();
  if (dtype == DType::kString) {
    if (fill) t.strings = std::make_shared<std::vector<std::string>>(count, list.strings->at(0));
    else t.strings = list.strings;
  } else if (fill) {
    for (int64_t i = 0; i < count; ++i) std::memcpy(t.data->data() + i * size, bytes.data(), size);
  } else if (count > 0) {
    std::memcpy(t.data->data(), bytes.data(), bytes.size());
  }
  return t;
}

Tensor ProgramParser::ParseFileData(DType dtype, const std::vector<int64_t>& shape) {
  const Token at = Take();
  Take();
  std::string name = ExpectString("a file name");
  int64_t offset = Accept(",") ? ExpectInt("the offset of the first byte") : 0;
  Expect(")", "after the file");
  if (!ok()) return {};
  const int64_t count = ElementCount(shape);
  const int64_t size = ByteSize(dtype);
  if (dtype == DType::kString) Fail(at, "strings are not read from files");
  if (count < 0 || count > INT64_MAX / std::max<int64_t>(size, 1)) Fail(at, "this constant is too large");
  if (!file_.empty() && file_[0] == '<') Fail(at, "a text that does not come from a file can't name files beside it");
  if (!ok()) return {};
  Result<std::shared_ptr<Buffer>> data = MapFileBeside(file_, name, offset, count * size);
  if (!data.ok()) {
    FailAs(at, data.status().diagnostics()[0]);
    return {};
  }
  Tensor t;
  t.dtype = dtype;
  t.shape = shape;
  t.data = *data;
  return t;
}

void ProgramParser::ParseElements(DType dtype, int depth, Tensor& strings, std::string& bytes) {
  Nesting nesting(*this);
  Take();
  while (ok() && !At("]")) {
    if (At("[")) ParseElements(dtype, depth + 1, strings, bytes);
    else ParseElement(dtype, strings, bytes);
    if (!Accept(",")) break;
  }
  Expect("]", "after the values");
}

void ProgramParser::ParseElement(DType dtype, Tensor& strings, std::string& bytes) {
  if (dtype == DType::kString) {
    strings.strings->push_back(ExpectString("a string"));
  } else if (dtype == DType::kBool) {
    if (AtWord("true") || AtWord("false")) {
      Append<uint8_t>(bytes, Take().raw == "true");
    } else {
      Token at = Peek();
      int64_t v = ExpectInt("true or false");
      if (v != 0 && v != 1) Fail(at, "expected true or false, found " + Shown(at));
      Append<uint8_t>(bytes, v != 0);
    }
  } else if (IsComplex(dtype)) {
    const DType part = dtype == DType::kC64 ? DType::kF32 : DType::kF64;
    const bool pair = Accept("(");
    AppendFloat(part, bytes);
    if (pair) {
      Expect(",", "between the real and the imaginary part");
      AppendFloat(part, bytes);
      Expect(")", "after the imaginary part");
    } else if (part == DType::kF32) {
      Append(bytes, 0.0f);
    } else {
      Append(bytes, 0.0);
    }
  } else if (IsInteger(dtype)) {
    AppendInt(dtype, bytes);
  } else {
    AppendFloat(dtype, bytes);
  }
}

void ProgramParser::AppendInt(DType dtype, std::string& bytes) {
  const Token at = Peek();
  const bool negative = Accept("-");
  if (Peek().kind != Token::kInt) {
    Fail(Peek(), "expected an integer, found " + Shown(Peek()));
    return;
  }
  uint64_t magnitude = 0;
  const Token digits = Take();
  const uint64_t limit = negative ? -static_cast<uint64_t>(LowestInt(dtype)) : HighestInt(dtype);
  if (!ParseMagnitude(digits.raw, &magnitude) || magnitude > limit) {
    Fail(at, "the number " + std::string(negative ? "-" : "") + std::string(digits.raw.substr(0, 40)) +
                 " does not fit in " + std::string(DTypeName(dtype)));
    return;
  }
  AppendBits(dtype, negative ? -magnitude : magnitude, bytes);
}

// A number, inf, nan, or bits(0x…) for NaNs that are not the usual one.
void ProgramParser::AppendFloat(DType dtype, std::string& bytes) {
  const Token at = Peek();
  if (AtWord("bits") && Peek(1).Is("(")) {
    Take();
    Take();
    uint64_t bits = 0;
    const Token digits = Take();
    if (digits.kind != Token::kInt || !ParseMagnitude(digits.raw, &bits) ||
        (ByteSize(dtype) < 8 && bits >> (8 * ByteSize(dtype)) != 0)) {
      Fail(digits, "expected the bits of one " + std::string(DTypeName(dtype)) + ", found " + Shown(digits));
    }
    AppendBits(dtype, bits, bytes);
    Expect(")", "after the bits");
    return;
  }
  const bool negative = Accept("-");
  const Token t = Take();
  const bool number = t.kind == Token::kFloat || (t.kind == Token::kInt && t.raw.substr(0, 2) != "0x");
  if (!number && !t.IsWord("inf") && !t.IsWord("nan")) {
    Fail(t, "expected a number, found " + Shown(t));
    return;
  }
  double v = number           ? ParseFloat(t.raw)
             : t.raw == "inf" ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  auto too_large = [&] { Fail(at, "the number " + Shown(t) + " does not fit in " + std::string(DTypeName(dtype))); };
  if (dtype == DType::kF32) {  // rounded once, from the decimal
    float f = static_cast<float>(v);
    if (number) {
      auto result = std::from_chars(t.raw.data(), t.raw.data() + t.raw.size(), f);
      if (result.ec == std::errc::result_out_of_range) {
        if (v > 1) too_large();
        f = 0;
      }
    }
    Append(bytes, negative ? -f : f);
  } else if (dtype == DType::kF64) {
    if (number && std::isinf(v)) too_large();
    Append(bytes, negative ? -v : v);
  } else {
    const uint32_t bits = EncodeFloat(dtype, negative ? -v : v);
    if (number && !std::isfinite(DecodeFloat(dtype, bits))) too_large();
    AppendBits(dtype, bits, bytes);
  }
}

// attribute = number | STRING | "true" | "false" | list | ( "ints" | "floats" | "strings" ) "[" "]"
//           | "tensor" type data | "graph" NAME
Attribute ProgramParser::ParseAttribute() {
  Attribute a;
  const Token at = Peek();
  if (AtWord("graph") && Peek(1).kind == Token::kName) {
    Take();
    references_.push_back({NameOf(Peek()), {Peek().line, Peek().column, true}});
    a.value = ExpectName("the name of an sdfg");
    return a;
  }
  if (AtWord("tensor") && Peek(1).kind == Token::kName) {
    Take();
    Container c;
    ParseType(c);
    std::vector<int64_t> shape;
    for (const Expr& d : c.shape) {
      if (!AsInt(d) || *AsInt(d) < 0) Fail(at, "a tensor's sizes are numbers, found " + ToString(d));
      shape.push_back(ok() ? *AsInt(d) : 0);
    }
    if (ok() && c.kind == ContainerKind::kSequence) Fail(at, "expected an element type after 'tensor'");
    if (ok()) a.value = ParseData(c.dtype, shape);
    return a;
  }
  if (AtWord("true") || AtWord("false")) {
    a.value = static_cast<int64_t>(Take().raw == "true");
    return a;
  }
  auto is_float = [this] {
    const Token& t = At("-") ? Peek(1) : Peek();
    return t.kind == Token::kFloat || t.IsWord("inf") || t.IsWord("nan");
  };
  auto real = [this] {
    std::string bytes;
    AppendFloat(DType::kF64, bytes);
    double v = 0;
    if (bytes.size() == sizeof v) std::memcpy(&v, bytes.data(), sizeof v);
    return v;
  };
  enum { kUnknown, kInts, kFloats, kStrings } kind = kUnknown;
  if (Peek(1).Is("["))
    kind = AtWord("ints") ? kInts : AtWord("floats") ? kFloats : AtWord("strings") ? kStrings : kUnknown;
  if (kind != kUnknown) Take();
  if (!Accept("[")) {
    if (Peek().kind == Token::kString) a.value = ExpectString("a string");
    else if (is_float()) a.value = real();
    else a.value = ExpectInt("an attribute's value");
    return a;
  }
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
  while (ok() && !At("]")) {
    if (Peek().kind == Token::kString && (kind == kUnknown || kind == kStrings)) {
      kind = kStrings;
      strings.push_back(ExpectString("a string"));
    } else if (kind == kFloats || (kind != kStrings && is_float())) {
      if (kind != kFloats) floats.assign(ints.begin(), ints.end());
      kind = kFloats;
      floats.push_back(real());
    } else {
      if (kind == kStrings) Fail(Peek(), "expected a string, found " + Shown(Peek()));
      kind = kInts;
      ints.push_back(ExpectInt("a number"));
    }
    if (!Accept(",")) break;
  }
  Expect("]", "after the values");
  if (kind == kFloats) a.value = std::move(floats);
  else if (kind == kStrings) a.value = std::move(strings);
  else a.value = std::move(ints);
  return a;
}

}  // namespace headrace::internal
