// What can't be differentiated is an error that says what and where; never a gradient that is quietly wrong.
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

Case Of(const std::string& text, std::vector<Name> outputs, std::vector<Name> inputs) {
  Case c;
  c.text = text;
  c.outputs = std::move(outputs), c.inputs = std::move(inputs);
  return c;
}

const char kSimple[] =
    "sdfg f(A: f64[N], n: i64[N], Y: f64[N], K: i64[N]) {\n map i in 0:N { Y[i] = A[i] * f64(n[i]) }\n map i in 0:N { K[i] = n[i] }\n}";

TEST(Refused, NamesThatAreNotThere) {
  ExpectRefused(Of(kSimple, {"Z"}, {"A"}), {"'Z'"});
  ExpectRefused(Of(kSimple, {"Y"}, {"AA"}), {"'AA'"});
  ExpectRefused(Of(kSimple, {"A"}, {"A"}), {"'A'"});  // an input is no output
  ExpectRefused(Of(kSimple, {"Y"}, {"Y"}), {"'Y'"});
}

TEST(Refused, IntegersHaveNoGradient) {
  ExpectRefused(Of(kSimple, {"K"}, {"A"}), {"'K'", "i64"});
  ExpectRefused(Of(kSimple, {"Y"}, {"n"}), {"'n'", "i64"});
}

TEST(Refused, Sequences) {
  Case c = Of(R"(sdfg f(A: f64[N], Y: f64[N]) {
    sequence S: seq(f64)
    constant at: i64 = 0
    onnx.SequenceConstruct(inputs = A) -> (output_sequence = S)
    onnx.SequenceAt(input_sequence = S, position = at) -> (tensor = Y)
  })",
              {"Y"}, {"A"});
  ExpectRefused(c, {"Sequence", "'S'"});
}

TEST(Refused, FunctionsWithoutARule) {
  Case c = Of(R"(sdfg f(A: f64[N], Y: f64[N]) {
    call.unheard_of(x = A) -> (y = Y)
  })",
              {"Y"}, {"A"});
  ExpectRefused(c, {"unheard_of"});
}

}  // namespace
}  // namespace headrace::autodiff::testing
