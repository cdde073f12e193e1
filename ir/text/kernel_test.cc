// Kernels in text: print → parse → print is the identity, and what is wrong is said where it stands.
#include <gtest/gtest.h>

#include <string>

#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

// Each is its own print: a local stands before the first statement that uses it, a part of a range is begin:+length.
const char* const kKernels[] = {
    R"(kernel softmax(X: f32[N, C], Y: f32[N, C], N: symbol, C: symbol) for cpu {
  let g = max(1, 65536 // max(1, 31 * C))
  map n0 in 0:N:g @parallel {
    for n in n0:+g {
      local p: f32[64]
      map l in 0:64 @vector { p[l] = -inf }
      local M: f32
      M = -inf
      local S: f32
      S = 0
      for c0 in 0:C:64 {
        map c in c0:+64 @vector { p[c - c0] max= X[n, c] }
      }
      map l in 0:64 @halves { M max= p[l] }
      map l in 0:64 @vector { p[l] = 0 }
      for c0 in 0:C:64 {
        map c in c0:+64 @vector {
          Y[n, c] = exp(X[n, c] - M)
          p[c - c0] += Y[n, c]
        }
      }
      map l in 0:64 @halves { S += p[l] }
      map c in 0:C @vector { Y[n, c] = Y[n, c] / S }
    }
  }
}
)",
    R"(kernel sum(X: f32[N], out Y: f32, N: symbol) for cpu {
  local part: f32[(N + 4095) // 4096] @worker
  map b in 0:N:4096 @parallel {
    local s: f32
    s = 0
    for i in b:+4096 { s += X[i] }
    part[b // 4096] = s
  }
  Y = 0
  for k in 0:(N + 4095) // 4096 { Y += part[k] }
}
)",
    R"(kernel twice(X: f32[N], Y: f32[N], N: symbol) for cpu @flush {
  for i in 0:N { Y[i] = X[i] * 2 }
}
)",
    R"(sdfg f(X: f32[N], Y: f32[N]) @flush {
  state {
    map i in 0:N { Y[i] = X[i] * 2 }
  }
}

kernel unscheduled(X: f32[N], Y: f32[N], N: symbol) @flush {
  map i in 0:N { Y[i] = X[i] * 2 }
}
)",
    R"(kernel stencil(X: f32[N], I: i64[N], Y: f32[N], N: symbol, t: symbol) for cpu {
  assume t in 0:N
  map i0 in 0:N:1024 @parallel {
    for i in i0:+1024 {
      if i > 0 && i < N - 1 {
        Y[i] = X[i - 1] + X[i + 1]
      } else if i == t {
        Y[i] = X[i]
      } else {
        Y[i] = 0
      }
      check X[I[i]]
      prefetch X[i + 16]
      prefetch X.flat[N + i]
      Y[i] += X[I[i]]
    }
  }
}
)",
    R"(kernel lanes(X: f32[N, C], Y: f32[N, C], N: symbol, C: symbol) for gpu {
  map n in 0:N @grid {
    local p: f32[256] @shared
    map t in 0:256 @block {
      p[t] = -inf
      for c in t:C:256 { p[t] max= X[n, c] }
    }
    local M: f32 @shared
    M = -inf
    map t in 0:256 @halves { M max= p[t] }
    map t in 0:256 @block {
      for c in t:C:256 { Y[n, c] = exp(X[n, c] - M) }
    }
  }
}
)",
};

TEST(KernelTextTest, KernelsAreTheirOwnPrint) {
  for (const char* text : kKernels) {
    Result<Program> p = ParseProgram(text);
    ASSERT_TRUE(p.ok()) << p.status().ToString();
    EXPECT_EQ(Print(*p), text);
  }
}

std::string ErrorIn(const std::string& body) {
  Result<Program> p =
      ParseProgram("kernel f(X: f32[N], Y: f32[N], N: symbol) for cpu {\n" + body + "\n}");
  return p.ok() ? "accepted" : p.status().ToString();
}

struct Case {
  const char *body, *message, *hint;
};

TEST(KernelTextTest, MessagesSayWhatIsWrongAndWhatToDo) {
  const Case cases[] = {
      {"map i in 0:N @parallell { Y[i] = 1 }", "unknown schedule 'parallell'", "did you mean 'parallel'?"},
      {"map i in 0:+4 @vector { Y[i] = 1 }", "a part, begin:+length, begins at the index of a range around it",
       "write its bounds: i in a:b"},
      {"for i in 0:N { if i > 0 Y[i] = 1 }", "to open the body", ""},
      {"check X[0] ?? 0", "'check' is followed by the access that it speaks of", ""},
      {"prefetch X[0] ?? 0", "'prefetch' is followed by the element that it speaks of", ""},
      {"assume t in 0:N", "'t' is not a symbol that the kernel is given", "declare it: t: symbol"},
      {"local s: f32\nlocal s: f32\ns = 0\nY[0] = s", "there is already a local 's' in this kernel",
       "names are of the whole kernel"},
      {"while X[0] > 0 { Y[0] = 1 }", "a kernel is a list of statements", "in a kernel stand let, for, if, map, check"},
  };
  for (const Case& c : cases) {
    const std::string error = ErrorIn(c.body);
    EXPECT_NE(error.find(c.message), std::string::npos) << c.body << "\n" << error;
    EXPECT_NE(error.find(c.hint), std::string::npos) << c.body << "\n" << error;
  }
}

TEST(KernelTextTest, OneMark) {
  const Result<Program> p = ParseProgram("sdfg f(X: f32[N], Y: f32[N]) @flsh { map i in 0:N { Y[i] = X[i] } }");
  ASSERT_FALSE(p.ok());
  EXPECT_EQ(p.status().diagnostics()[0].message, "expected flush after '@', found 'flsh'");
  EXPECT_EQ(p.status().diagnostics()[0].hint, "an sdfg has one mark: @flush");
}

// A kernel is given every symbol by name, those of its parameters' shapes, too; outside of kernels a shape says enough.
TEST(KernelTextTest, SizesAreDeclaredOnce) {
  EXPECT_TRUE(ParseProgram("kernel f(X: f32[N], N: symbol) { X[0] = 1 }").ok());
  for (const char* text : {"kernel f(X: f32[N], N: symbol, N: symbol) { X[0] = 1 }",
                           "sdfg f(X: f32[N], N: symbol) { X[0] = 1 }"}) {
    Result<Program> p = ParseProgram(text);
    ASSERT_FALSE(p.ok()) << text;
    EXPECT_NE(p.status().ToString().find("a second parameter 'N'"), std::string::npos) << p.status().ToString();
  }
}

// Wherever locals are written, they are printed before their first use, and that text is its own print.
TEST(KernelTextTest, LocalsMoveToTheirFirstUse) {
  const char* const text =
      "kernel f(Y: f32[N], N: symbol) for cpu { local a: f32 ; local b: f32[4]\n"
      "for i in 0:N { a = 1 ; if i > 2 { b[0] = a ; Y[i] = b[0] } else { Y[i] = a } } }";
  Result<Program> p = ParseProgram(text);
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  const std::string printed = Print(*p);
  EXPECT_EQ(printed, R"(kernel f(Y: f32[N], N: symbol) for cpu {
  for i in 0:N {
    local a: f32
    a = 1
    if i > 2 {
      local b: f32[4]
      b[0] = a
      Y[i] = b[0]
    } else {
      Y[i] = a
    }
  }
}
)");
  EXPECT_EQ(Print(*ParseProgram(printed)), printed);
}

TEST(KernelTextTest, LocalsBelongToKernels) {
  Result<Program> p = ParseProgram("sdfg f(Y: f32) {\n  local s: f32\n  s = 1\n  Y = s\n}");
  ASSERT_FALSE(p.ok());
  const std::string error = p.status().ToString();
  EXPECT_NE(error.find("expected a statement, found 'local'"), std::string::npos) << error;
  EXPECT_NE(error.find("locals are of kernels; here write transient"), std::string::npos) << error;
}

}  // namespace
}  // namespace headrace
