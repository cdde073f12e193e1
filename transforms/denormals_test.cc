// Which sdfgs and kernels may take denormals for zero.
#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

// What computes nothing in f64, c128 and f8e8m0, whatever it passes on; casts to them count. Whole numbers go with the entry.
TEST(Denormals, ByTheTypesOfWhatIsComputed) {
  ExpectPass(R"(
sdfg f(X: f32[N], D: f64[N], H: bf16[N], inout I: i64[N], E: f8e8m0[N], Y: f32[N]) {
  state {
    call single(x = X, y = Y, n := N)
    call double(x = D, y = Y, n := N)
    call half(x = H, y = Y, n := N)
    call inside(x = X, y = Y, n := N)
    call whole(x = I, n := N)
    call scale(x = E, y = Y, n := N)
  }
}
kernel single(x: f32[n], y: f32[n], n: symbol) { map i in 0:n { y[i] = x[i] * 2 } }
kernel double(x: f64[n], y: f32[n], n: symbol) { map i in 0:n { y[i] = f32(x[i] * 2) } }
kernel half(x: bf16[n], y: f32[n], n: symbol) { map i in 0:n { y[i] = f32(x[i]) * 2 } }
kernel inside(x: f32[n], y: f32[n], n: symbol) { map i in 0:n { y[i] = f32(f64(x[i]) * 2) } }
kernel whole(inout x: i64[n], n: symbol) { map i in 0:n { x[i] = x[i] + 1 } }
kernel scale(x: f8e8m0[n], y: f32[n], n: symbol) { map i in 0:n { y[i] = f32(x[i]) * 2 } }
)",
             "denormals", R"(
sdfg f(X: f32[N], D: f64[N], H: bf16[N], inout I: i64[N], E: f8e8m0[N], Y: f32[N]) @flush {
  state {
    call single(x = X, y = Y, n := N)
    call double(x = D, y = Y, n := N)
    call half(x = H, y = Y, n := N)
    call inside(x = X, y = Y, n := N)
    call whole(x = I, n := N)
    call scale(x = E, y = Y, n := N)
  }
}
kernel single(x: f32[n], y: f32[n], n: symbol) @flush { map i in 0:n { y[i] = x[i] * 2 } }
kernel double(x: f64[n], y: f32[n], n: symbol) { map i in 0:n { y[i] = f32(x[i] * 2) } }
kernel half(x: bf16[n], y: f32[n], n: symbol) @flush { map i in 0:n { y[i] = f32(x[i]) * 2 } }
kernel inside(x: f32[n], y: f32[n], n: symbol) { map i in 0:n { y[i] = f32(f64(x[i]) * 2) } }
kernel whole(inout x: i64[n], n: symbol) @flush { map i in 0:n { x[i] = x[i] + 1 } }
kernel scale(x: f8e8m0[n], y: f32[n], n: symbol) { map i in 0:n { y[i] = f32(x[i]) * 2 } }
)");
}

// A number of f64 that only becomes one of f32 is none to be exact with.
TEST(Denormals, NumbersThatAreConverted) {
  ExpectPass("sdfg f(X: f32[N], r: f64, Y: f32[N]) { map i in 0:N { Y[i] = X[i] * f32(r) } }", "denormals",
             "sdfg f(X: f32[N], r: f64, Y: f32[N]) @flush { map i in 0:N { Y[i] = X[i] * f32(r) } }");
  for (const char* value : {"f32(r * 2)", "f32(r > 1 ? r : 1)", "r > 1 ? X[i] : 0"})
    ExpectUnchanged(std::string("sdfg f(X: f32[N], r: f64, Y: f32[N]) { map i in 0:N { Y[i] = ") + value + " } }", "denormals");
  ExpectUnchanged("sdfg f(X: f32[N], Y: f64[N]) { map i in 0:N { Y[i] = X[i] } }", "denormals");
}

// No call changes the mode here.
TEST(Denormals, WholeNumbersGoWithTheEntry) {
  ExpectPass(R"(
sdfg f(X: f32[N], inout I: i64[N], Y: f32[N]) {
  state { call whole(x = I, n := N) ; map i in 0:N { Y[i] = X[i] * 2 } }
}
kernel whole(inout x: i64[n], n: symbol) { map i in 0:n { x[i] = x[i] + 1 } }
)",
             "denormals", R"(
sdfg f(X: f32[N], inout I: i64[N], Y: f32[N]) @flush {
  state { call whole(x = I, n := N) ; map i in 0:N { Y[i] = X[i] * 2 } }
}
kernel whole(inout x: i64[n], n: symbol) @flush { map i in 0:n { x[i] = x[i] + 1 } }
)");
  ExpectUnchanged("sdfg f(I: i64[N], Y: i64[N]) { map i in 0:N { Y[i] = I[i] * 2 } }", "denormals");
}

// An entry that only calls is as its callees are: a program in f64 changes no mode for any of its kernels.
TEST(Denormals, AnEntryOfCallsGoesWithTheCallees) {
  ExpectUnchanged(R"(
sdfg f(X: f64[N], I: i64[N], J: i64[N], Y: f64[N]) {
  for t in 0:N { let n = I[t] ; state { call whole(x = J, t := t, n := n, m := N) ; call double(x = X, y = Y, n := N) } }
}
kernel whole(x: i64[m], t: symbol, n: symbol, m: symbol) { x[0] = n }
kernel double(x: f64[n], y: f64[n], n: symbol) { map i in 0:n { y[i] = x[i] * 2 } }
)",
                  "denormals");
}

// In conditions, sizes and calls of functions, too.
TEST(Denormals, CastsWhereverTheyStand) {
  ExpectUnchanged("sdfg f(X: f32[2], Y: f32) { if f64(X[0]) > 1 { state { Y = 1 } } else { state { Y = X[1] } } }", "denormals");
  ExpectUnchanged("sdfg f(X: f32[2], Y: f32) { let n = i64(f64(X[0])) ; state { Y = X[n] } }", "denormals");
  ExpectUnchanged("sdfg f(X: f32[2], Y: f32) { state { Y = X[i64(f64(X[0]))] } }", "denormals");
}

TEST(Denormals, MarksAreTakenBack) {
  const char marked[] = "sdfg f(X: f32[N], Y: f32[N]) @flush { map i in 0:N { Y[i] = X[i] } }";
  ExpectPass(marked, "denormals{mode=keep}", "sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] } }");
  ExpectUnchanged(marked, "denormals{mode=flush}");
  ExpectPassError(marked, "denormals{mode=kep}", "denormals: mode is flush or keep, not 'kep'");
}

// What measures itself has f64: the statements that measure keep them, the kernels are as before.
TEST(Denormals, OfAProfile) {
  const std::string text = Transformed("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] * 2 } }", "outline; denormals; profile");
  EXPECT_NE(text.find("profile: f64"), std::string::npos) << text;
  EXPECT_EQ(text.find("@flush"), text.rfind("@flush")) << text;
  EXPECT_GT(text.find("@flush"), text.find("kernel")) << text;
}

}  // namespace
}  // namespace headrace::transforms
