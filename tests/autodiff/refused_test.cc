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

// It would be taken for ones.
TEST(Refused, GradientsGivenForWhatIsNoOutput) {
  Case c = Of(kSimple, {"Y"}, {"A"});
  c.options.given_gradients = {"Y", "Q"};
  ExpectRefused(c, {"E0810", "a gradient is given for 'Q'", "some of these: Y"});
  c.options.given_gradients = {"A"};
  ExpectRefused(c, {"E0810", "'A'"});
}

TEST(Refused, AMemoryLimitWithoutSizes) {
  Case c = Of("sdfg f(A: f64[N], B: f64[M], L: f64) {\n transient S: f64[N]\n transient T: f64[M]\n L = 0\n"
              " for t in 0:3 { state { map i in 0:N { S[i] = sin(A[i]) }\n map i in 0:M { T[i] = sin(B[i]) } } }\n"
              " map i in 0:N { L += S[i] * S[i] }\n map i in 0:M { L += T[i] * T[i] }\n}",
              {"L"}, {"A", "B"});
  c.options.memory_limit = 1 << 20;
  ExpectRefused(c, {"E0811", "the value of sizes M, N", "sizes={\"M\": 32, \"N\": 32} in Python", "--dim M=32 --dim N=32"});
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
