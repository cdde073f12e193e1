#include "transforms/expand_library_nodes.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "transforms/passes.h"
#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// Ops of a domain of the tests' own, expanded from IR text with the ports' shapes filled in.
void AddOp(Registry* r, const std::string& op, const std::string& text, const std::string& reason = "") {
  ForwardImplementation i;
  i.domain = "test";
  i.op = op;
  i.name = "text";
  i.can_be_applied = [reason](const NodeView&) { return reason; };
  i.expand = [text](const NodeView&) { return ParseProgram(text); };
  Status s = r->Add(std::move(i));
  HR_CHECK(s.ok(), s.ToString());
}

const Registry& Ops() {
  static const Registry* r = [] {
    auto* reg = new Registry;
    HR_CHECK(RegisterAll(*reg).ok(), "passes");
    AddOp(reg, "Relu", "sdfg relu(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = max(X[i], 0) } } }");
    AddOp(reg, "Twice", R"(
      sdfg twice(X: f32[N], Y: f32[N]) {
        transient T: f32[N]
        state { test.Relu(X = X) -> (Y = T); test.Relu(X = T) -> (Y = Y) }
      })");
    AddOp(reg, "Scan", R"(
      sdfg scan(X: f32[n], Y: f32[n]) {
        state { map i in 0:n { Y[i] = X[i] } }
        for t in 1:n { state { Y[t] = Y[t] + Y[t - 1] } }
      })");
    AddOp(reg, "Sum",
          "sdfg sum(in_0: f32[n], in_1: f32[n], Y: f32[n]) { state { map i in 0:n { Y[i] = in_0[i] + in_1[i] } } }");
    AddOp(reg, "Norm", R"(
      sdfg norm(x: f32, y: f32) {
        transient s: f32
        state { s = x * x; y = sqrt(s) }
      })");
    AddOp(reg, "Never", "", "only on Sundays");
    return reg;
  }();
  return *r;
}

TEST(ExpandLibraryNodes, OneStateIsSplicedIntoTheState) {
  ExpectPass(R"(
    sdfg f(A: f32[M], B: f32[M]) {
      transient T: f32[M]
      state {
        map i in 0:M { T[i] = A[i] + 1 }
        test.Relu(X = T) -> (Y = B)
      }
    })",
             "expand-library-nodes", R"(
    sdfg f(A: f32[M], B: f32[M]) {
      transient T: f32[M]
      state {
        map i in 0:M { T[i] = A[i] + 1 }
        map i in 0:M { B[i] = max(T[i], 0) }
      }
    })",
             Ops());
}

TEST(ExpandLibraryNodes, ControlFlowSplitsTheState) {
  ExpectPass(R"(
    sdfg f(A: f32[M], B: f32[M], C: f32[M]) {
      state {
        test.Scan(X = A) -> (Y = B)
        map i in 0:M { C[i] = B[i] }
      }
    })",
             "expand-library-nodes", R"(
    sdfg f(A: f32[M], B: f32[M], C: f32[M]) {
      state { map i in 0:M { B[i] = A[i] } }
      for t in 1:M { state { B[t] = B[t] + B[t - 1] } }
      state { map i in 0:M { C[i] = B[i] } }
    })",
             Ops());
}

TEST(ExpandLibraryNodes, ExpansionsAreExpandedAndTheirNamesMadeFresh) {
  ExpectPass(R"(
    sdfg f(i: f32[T], B: f32[T]) {
      state { test.Twice(X = i) -> (Y = B) }
    })",
             "expand-library-nodes", R"(
    sdfg f(i: f32[T], B: f32[T]) {
      transient T_1: f32[T]
      state {
        map i_1 in 0:T { T_1[i_1] = max(i[i_1], 0) }
        map i_1 in 0:T { B[i_1] = max(T_1[i_1], 0) }
      }
    })",
             Ops());
}

TEST(ExpandLibraryNodes, VariadicPortsAreNumbered) {
  ExpectPass("sdfg f(A: f32[4], B: f32[4], C: f32[4]) { state { test.Sum(in = A, in = B) -> (Y = C) } }",
             "expand-library-nodes",
             "sdfg f(A: f32[4], B: f32[4], C: f32[4]) { state { map i in 0:4 { C[i] = A[i] + B[i] } } }", Ops());
}

TEST(ExpandLibraryNodes, ANodeInPlaceGoesThroughACopy) {
  ExpectPass("sdfg f(inout A: f32[4]) { state { test.Scan(X = A) -> (Y = A) } }", "expand-library-nodes", R"(
    sdfg f(inout A: f32[4]) {
      transient A_new: f32[4]
      state { map i in 0:4 { A_new[i] = A[i] } }
      for t in 1:4 { state { A_new[t] = A_new[t] + A_new[t - 1] } }
      state { map i0 in 0:4 { A[i0] = A_new[i0] } }
    })",
             Ops());
}

TEST(ExpandLibraryNodes, InsideAMapTransientsBecomeRegisters) {
  ExpectPass(R"(
    sdfg f(A: f32[M], B: f32[M]) {
      transient a: f32 @register
      transient b: f32 @register
      state {
        map m in 0:M {
          a = A[m]
          test.Norm(x = a) -> (y = b)
          B[m] = b
        }
      }
    })",
             "expand-library-nodes", R"(
    sdfg f(A: f32[M], B: f32[M]) {
      transient a: f32 @register
      transient b: f32 @register
      transient s: f32 @register
      state {
        map m in 0:M {
          a = A[m]
          s = a * a
          b = sqrt(s)
          B[m] = b
        }
      }
    })",
             Ops());
}

TEST(ExpandLibraryNodes, OnlyExpandsTheOpAskedFor) {
  ExpectPass(
      "sdfg f(A: f32[M], B: f32[M], C: f32[M]) { state { test.Relu(X = A) -> (Y = B); test.Scan(X = B) -> (Y = C) } }",
      "expand-library-nodes{only=test.Relu}", R"(
    sdfg f(A: f32[M], B: f32[M], C: f32[M]) {
      state { map i in 0:M { B[i] = max(A[i], 0) }; test.Scan(X = B) -> (Y = C) }
    })",
      Ops());
}

TEST(ExpandLibraryNodes, EverythingUnsupportedIsReportedAtOnce) {
  const char* text =
      "sdfg f(A: f32[M], B: f32[M], C: f32[M]) { state { test.Never(X = A) -> (Y = B); test.Relv(X = B) -> (Y = C) } }";
  ExpectPassError(text, "expand-library-nodes", "text: only on Sundays", Ops());
  ExpectPassError(text, "expand-library-nodes", "unknown op test.Relv", Ops());
}

TEST(ExpandLibraryNodes, AnImplementationThatANodeNamesMustApply) {
  const std::string relu = "sdfg f(A: f32[M], B: f32[M]) {\n  state { test.Relu(X = A) -> (Y = B) impl \"";
  ExpectPass(relu + "text\" }\n}", "expand-library-nodes",
             "sdfg f(A: f32[M], B: f32[M]) { state { map i in 0:M { B[i] = max(A[i], 0) } } }", Ops());
  const std::string unknown = relu + "texd\" }\n}";
  for (const char* part : {"error[E0322]: there is no implementation 'texd'", ":2:", "op: test.Relu", "text: applies",
                           "hint: did you mean 'text'?"})
    ExpectPassError(unknown, "expand-library-nodes", part, Ops());
  const char* never = "sdfg f(A: f32[M], B: f32[M]) { state { test.Never(X = A) -> (Y = B) impl \"text\" } }";
  ExpectPassError(never, "expand-library-nodes", "implementation 'text' does not apply: only on Sundays", Ops());
  const char* unknown_op = "sdfg f(A: f32[M], B: f32[M]) { state { test.Relv(X = A) -> (Y = B) impl \"text\" } }";
  ExpectPassError(unknown_op, "expand-library-nodes", "unknown op test.Relv", Ops());
}

TEST(ExpandLibraryNodes, ExternalCallsStay) {
  ExpectUnchanged("sdfg f(A: f32[M], B: f32[M]) { state { call.sort(X = A) -> (Y = B) } }", "expand-library-nodes",
                  Ops());
}

}  // namespace
}  // namespace headrace::transforms
