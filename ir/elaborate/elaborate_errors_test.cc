// What a form can get wrong, and what it is told.
#include "ir/elaborate/elaborate_testing.h"
#include "ir/text/parser.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(ElaborateError, NotWritten) {
  EXPECT_EQ(ElaborateText(R"(Z = X)", "X: f32[N] -> Y: f32[N]"),
            R"(error[E0702]: the form never writes the output 'Y'
  hint: the form has no case for these attributes, or misspells the port: another name is a temporary)");
}

TEST(ElaborateError, TooManyIndices) {
  EXPECT_EQ(ElaborateText(R"(Y = X[i, j, k])", "X: f32[N, 3] -> Y: f32[N]"),
            R"(error[E0701]: 'X' has 2 dimensions, but 3 indices are given
  --> <text>:1:5
 1 | Y = X[i, j, k]
   |     ^)");
}

TEST(ElaborateError, PlainAssignmentCantReduce) {
  EXPECT_EQ(ElaborateText(R"(Y[i] = X[i, j])", "X: f32[N, 3] -> Y: f32[N]"),
            R"(error[E0701]: '=' can't reduce over j
  --> <text>:1:1
 1 | Y[i] = X[i, j]
   | ^
  hint: use +=, *=, max= or min=, or index the target with it)");
}

TEST(ElaborateError, RangesMustAgree) {
  EXPECT_EQ(ElaborateText(R"(Y[i] += A[i, k] * B[k])", "A: f32[N, 3], B: f32[4] -> Y: f32[N]"),
            R"(error[E0701]: the range of 'k' is 3 in 'A' and 4 in 'B'
  --> <text>:1:1
 1 | Y[i] += A[i, k] * B[k]
   | ^
  hint: say which one counts: over B)");
}

TEST(ElaborateError, NothingFixesARange) {
  EXPECT_EQ(ElaborateText(R"(Y[i] += A[i + k])", "A: f32[8] -> Y: f32[4]"),
            R"(error[E0701]: nothing fixes the range of 'k'
  --> <text>:1:1
 1 | Y[i] += A[i + k]
   | ^
  hint: use it bare in a read, or add: over k in 0:…)");
}

TEST(ElaborateError, ShapesDontBroadcast) {
  EXPECT_EQ(ElaborateText(R"(Y = A + B)", "A: f32[2, 3], B: f32[4] -> Y: f32[2, 3]"),
            R"(error[E0701]: shapes don't broadcast: 'B' has 4 where 3 is needed ('..', dimension 1 from the right)
  --> <text>:1:1
 1 | Y = A + B
   | ^)");
}

TEST(ElaborateError, TypesDontMix) {
  EXPECT_EQ(ElaborateText(R"(Y = A + B)", "A: f32[2], B: i32[2] -> Y: f32[2]"),
            R"(error[E0701]: values of type f32 and i32 meet in +
  --> <text>:1:1
 1 | Y = A + B
   | ^
  hint: convert one of them: f32(…), i64(…), cast(…))");
}

TEST(ElaborateError, AssignmentToAnotherKind) {
  EXPECT_EQ(ElaborateText(R"(Y = rint(X))", "X: f32[2] -> Y: u8[2]"),
            R"(error[E0701]: a value of type f32 is assigned to one of type u8
  --> <text>:1:1
 1 | Y = rint(X)
   | ^
  hint: convert it: cast(…) or sat(…))");
}

TEST(ElaborateError, NothingThere) {
  EXPECT_EQ(ElaborateText(R"(Y = X + bias)", "X: f32[2], bias: f32 absent -> Y: f32[2]"),
            R"(error[E0701]: there is nothing here: an absent port or unset attribute
  --> <text>:1:5
 1 | Y = X + bias
   |     ^
  hint: give a default with ?:)");
}

TEST(ElaborateError, AxisOutOfRange) {
  EXPECT_EQ(ElaborateText(R"(M[o..] max= X[o.., k@axis])", "X: f32[2, 3] -> M: f32[2]", R"(axis = 2)"),
            R"(error[E0701]: axis 2 is out of range: 'X' has 2 dimensions
  --> <text>:1:20
 1 | M[o..] max= X[o.., k@axis]
   |                    ^)");
}

TEST(ElaborateError, AxesMustBeKnown) {
  EXPECT_EQ(ElaborateText(R"(Y[o.., 0@axes] += X[o.., k..@axes])", "X: f32[2, 3], axes: i64[1] -> Y: f32[2, 1]"),
            R"(error[E0702]: the axes after '@' must be known before the run: axes[0]
  --> <text>:1:26
 1 | Y[o.., 0@axes] += X[o.., k..@axes]
   |                          ^)");
}

TEST(ElaborateError, LengthsOfListsMustBeKnown) {
  EXPECT_EQ(ElaborateText(R"(Y[I[u.., :], s..] = X[u.., s..])", "X: f32[4, 3], I: i64[4, K] -> Y: f32[2, 3]"),
            R"(error[E0702]: ':' needs a dimension of known size, 'I' has K
  --> <text>:1:3
 1 | Y[I[u.., :], s..] = X[u.., s..]
   |   ^
  hint: K must be a number when this is compiled)");
}

TEST(ElaborateError, NamesBeforeADefaultAreDeclared) {
  auto run = [](const char* form) {
    FormContext c = *ParseFormContext("X: f32[2], B: f32 absent -> Y: f32[2]", "alpha = 1.0, beta unset");
    c.declared = true;
    c.elsewhere = {"gamma"};  // an attribute of a later version
    Result<Sdfg> s = Elaborate(*ParseForm(form), c);
    return s.ok() ? std::string("ok") : s.status().ToString();
  };
  EXPECT_EQ(run("Y = X * (alpha ?: 2) + (B ?: 0) + (beta ?: 0) + (gamma ?: 0)"), "ok");
  EXPECT_EQ(run("Y = X + (bta ?: 0)"), R"(error[E0701]: 'bta' is no port or attribute of this op
  --> <text>:1:10
 1 | Y = X + (bta ?: 0)
   |          ^
  hint: did you mean 'beta'?)");
  EXPECT_EQ(run("Y[i] = X[i] + (Bias[i] ?: 0)"), R"(error[E0701]: 'Bias' is no port or attribute of this op
  --> <text>:1:16
 1 | Y[i] = X[i] + (Bias[i] ?: 0)
   |                ^
  hint: what stands before ?: must be declared)");
}

TEST(ElaborateError, UnknownTensor) {
  EXPECT_EQ(ElaborateText(R"(Y[i] = Q[i])", "X: f32[2] -> Y: f32[2]"),
            R"(error[E0701]: 'Q' is not a tensor, list or attribute
  --> <text>:1:8
 1 | Y[i] = Q[i]
   |        ^
  hint: known here: OUT, X, Y, in0, out0)");
}

TEST(ElaborateError, UnknownFunction) {
  EXPECT_EQ(ElaborateText(R"(Y = sine(X))", "X: f32[2] -> Y: f32[2]"),
            R"(error[E0701]: there is no function 'sine'
  --> <text>:1:5
 1 | Y = sine(X)
   |     ^)");
}

TEST(ElaborateError, LengthNotDetermined) {
  EXPECT_EQ(ElaborateText(R"(Y[i] += X[p.., q..])", "X: f32[2, 3] -> Y: f32[2]"),
            R"(error[E0701]: the number of dimensions of a group is not determined here
  --> <text>:1:1
 1 | Y[i] += X[p.., q..]
   | ^
  hint: give it: let rank(p) = …)");
}

}  // namespace
}  // namespace headrace
