// Two or more tensors, broadcast as numpy does. Versions before 7 broadcast B only, from `axis`.
#include "plugins/onnx/families.h"

namespace onnx_ops {
namespace {

struct Binary {
  const char *name, *doc, *expression;  // of A and B
  bool legacy;                          // has versions before 7
  const char *out, *sample;
};

const Binary kBinary[] = {
    {"Add", "Sum.", "A + B", true, "C", "A: f32[2, 3]; B: f32[3]"},
    {"Sub", "Difference.", "A - B", true, "C", "A: f32[2, 3]; B: f32[3]"},
    {"Mul", "Product.", "A * B", true, "C", "A: f32[2, 3]; B: f32[2, 1]"},
    {"Div", "Quotient; integers truncate.", "A / B", true, "C", "A: f32[2, 3]; B: f32[3] in [1, 2]"},
    {"And", "Logical and.", "A && B", true, "C", "A: bool[2, 3]; B: bool[3]"},
    {"Or", "Logical or.", "A || B", true, "C", "A: bool[2, 3]; B: bool[3]"},
    {"Xor", "Logical exclusive or.", "A != B", true, "C", "A: bool[2, 3]; B: bool[3]"},
    {"Equal", "Are they equal?", "A == B", true, "C", "A: i32[2, 3] in [0, 3]; B: i32[3] in [0, 3]"},
    {"Greater", "Is A greater?", "A > B", true, "C", "A: f32[2, 3]; B: f32[3]; at 0"},
    {"Less", "Is A less?", "A < B", true, "C", "A: f32[2, 3]; B: f32[3]; at 0"},
    {"GreaterOrEqual", "Is A greater or equal?", "A >= B", false, "C", "A: i32[2, 3] in [0, 3]; B: i32[3] in [0, 3]"},
    {"LessOrEqual", "Is A less or equal?", "A <= B", false, "C", "A: i32[2, 3] in [0, 3]; B: i32[3] in [0, 3]"},
    {"BitwiseAnd", "Bits set in both.", "A & B", false, "C", "A: u8[2, 3]; B: u8[3]"},
    {"BitwiseOr", "Bits set in either.", "A | B", false, "C", "A: u8[2, 3]; B: u8[3]"},
    {"BitwiseXor", "Bits set in one of the two.", "A ^ B", false, "C", "A: u8[2, 3]; B: u8[3]"},
};

// B stands at A's dimensions axis, axis + 1, …; without axis it is aligned at the right.
std::string Legacy(const std::string& out, const std::string& expression) {
  std::string placed;
  for (char c : expression) placed += c == 'A' ? "A[u.., v.., w..]" : c == 'B' ? "B[v..]" : std::string(1, c);
  return "if has(axis) {\n  let rank(u) = axis < 0 ? axis + rank(A) : axis ; let rank(v) = rank(B)\n  " + out +
         "[u.., v.., w..] = " + placed + "\n} else { " + out + " = " + expression + " }";
}

// The sample with other sizes of A and B, and an axis.
std::string LegacySample(const std::string& sample, const std::string& a, const std::string& b, int axis) {
  size_t first = sample.find('['), second = sample.find('[', sample.find("B: "));
  return sample.substr(0, first) + a + sample.substr(sample.find(']') + 1, second - sample.find(']') - 1) + b +
         sample.substr(sample.find(']', second) + 1) + "; attr broadcast = 1, axis = " + std::to_string(axis);
}

}  // namespace

void RegisterBinary(Registrar& r) {
  for (const Binary& b : kBinary) {
    r.op(b.name).Doc(b.doc).Versions(b.legacy ? 7 : 1).Pure(std::string(b.out) + " = " + b.expression).Sample(b.sample);
    if (b.legacy)
      r.op(b.name)
          .Doc(std::string(b.doc) + " B is broadcast from `axis`.")
          .Versions(1, 6)
          .Pure(Legacy(b.out, b.expression))
          .Sample(std::string(b.sample) + "; attr broadcast = 1")
          .Sample(LegacySample(b.sample, "[2, 3, 2]", "[3]", 1))
          .Sample(LegacySample(b.sample, "[2, 3]", "[2]", 0));
  }
  r.op("Pow")
      .Doc("X to the power of Y; the result has the type of X.")
      .Versions(7)
      .Pure("Z = cast(pow(X, Y))")
      .Sample("X: f32[2, 3] in [0.1, 3]; Y: f32[3] in [-2, 2]; at 2");
  r.op("Pow")
      .Doc("X to the power of Y, broadcast from `axis`.")
      .Versions(1, 6)
      .Pure(
          "if has(axis) {\n  let rank(u) = axis < 0 ? axis + rank(X) : axis ; let rank(v) = rank(Y)\n"
          "  Z[u.., v.., w..] = pow(X[u.., v.., w..], Y[v..])\n} else { Z = pow(X, Y) }")
      .Sample("X: f32[2, 3] in [0.1, 3]; Y: f32[3] in [-2, 2]; attr broadcast = 1")
      .Sample("X: f32[2, 3] in [0.1, 3]; Y: f32[2] in [-2, 2]; attr axis = 0, broadcast = 1")
      .Sample("X: f32[2, 3, 2] in [0.1, 3]; Y: f32[3] in [-2, 2]; attr axis = 1, broadcast = 1");
  r.op("BitShift")
      .Doc("Shifts the bits of X by Y places; by less than none all are shifted out.")
      .Pure("Z = direction == \"LEFT\" ? (Y < 0 ? X - X : X << Y) : Y < 0 ? (X < 0 ? ~(X - X) : X - X) : X >> Y")
      .Sample("X: u8[2, 3]; Y: u8[3] in [0, 7]; attr direction = \"LEFT\"")
      .Sample("X: u32[2, 3]; Y: u32[3] in [0, 40]; attr direction = \"RIGHT\"");
  r.op("Mod")
      .Doc("Remainder with the divisor's sign, or of fmod with the dividend's.")
      .Pure(
          "let m = A[..] % B[..]  # a zero has the divisor's sign; hold keeps the derivative\n"
          "C = fmod != 0 ? fmod(A, B) : is_float(A) ? (m == 0 ? (B < 0 ? -0.0 : 0.0) - (hold(m) - m) : m) : A % B")
      .Sample("A: f32[2, 3] in [-10, 10]; B: f32[3] in [1, 5]")
      .Sample("A: f32[2, 3] in [-10, 10]; B: f32[2, 1] in [-5, -1]")
      .Sample("A: i32[2, 3] in [-10, 10]; B: i32[3] in [1, 5]")
      .Sample("A: f32[2, 3] in [-10, 10]; B: f32[3] in [1, 5]; attr fmod = 1")
      .Sample("A: f32[2, 3] in [-10, 10]; B: f32[2, 3] in [-5, -1]; attr fmod = 1")
      .Sample("A: f32[2, 1] in [-10, 10]; B: f32[3] in [1, 5]; attr fmod = 1");
  r.op("Max")
      .Doc("Elementwise maximum of all inputs; NaN wins.")
      .Pure("let m = in0[..]\neach T in data_0 { let m = max(m, T[..]) }\nOUT = m")
      .Sample("data_0: f32[2, 3]; data_0: f32[3]")
      .Sample("data_0: f32[2, 3]; data_0: f32[2, 1]; data_0: f32[]")
      .Sample("data_0: f32[4]");
  r.op("Min")
      .Doc("Elementwise minimum of all inputs; NaN wins.")
      .Pure("let m = in0[..]\neach T in data_0 { let m = min(m, T[..]) }\nOUT = m")
      .Sample("data_0: f32[2, 3]; data_0: f32[3]")
      .Sample("data_0: f32[2, 3]; data_0: f32[2, 1]; data_0: f32[]")
      .Sample("data_0: f32[4]");
  r.op("Sum")
      .Doc("Elementwise sum of all inputs.")
      .Pure("each T in data_0 { sum += T }")
      .Sample("data_0: f32[2, 3]; data_0: f32[3]")
      .Sample("data_0: f32[2, 3]; data_0: f32[2, 1]; data_0: f32[]")
      .Sample("data_0: f32[4]");
  r.op("Mean")
      .Doc("Elementwise mean of all inputs.")
      .Pure("each T in data_0 { mean += T }\nmean = mean / len(data_0)")
      .Sample("data_0: f32[2, 3]; data_0: f32[3]")
      .Sample("data_0: f32[2, 3]; data_0: f32[2, 1]; data_0: f32[]")
      .Sample("data_0: f32[4]");
}

}  // namespace onnx_ops
