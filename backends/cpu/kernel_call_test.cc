// Calls of kernels: what is passed to them. What can't be printed or called.
#include "backends/cpu/kernel_testing.h"

namespace headrace::cpu {
namespace {

// Parts of arrays as arguments: rows, views, strided views (copied where the kernel says nothing of strides).
TEST(KernelCalls, PartsOfArrays) {
  ExpectAsInterpreted(R"(
sdfg f(X: f32[6, 4], Y: f32[6, 4], Z: f32[4, 6], inout W: f32[6, 4], V: f32[4]) {
  view last: f32[4] of X offset 20
  view turned: f32[4, 6] of X strides [1, 4]
  view left: f32[6, 2] of W strides [4, 1]
  map i in 0:6 { call row(x = X[i, :], y = Y[i, :], n := 4) }
  call row(x = last, y = V, n := 4)
  call both(x = turned, y = Z, n := 4, m := 6)
  call strided(y = left, n := 6)
}
kernel row(x: f32[n], y: f32[n], n: symbol) for cpu { map i in 0:n @vector { y[i] = x[i] * 3 } }
kernel both(x: f32[n, m], y: f32[n, m], n: symbol, m: symbol) for cpu {
  for i in 0:n { map j in 0:m @vector { y[i, j] = x[i, j] } }
}
kernel strided(y: f32[n, 2] strides [4, 1], n: symbol) for cpu {
  for i in 0:n { map j in 0:2 @vector { y[i, j] = i + j } }
}
)",
                      {{"X", F32({6, 4}, Whole(24))}, {"W", F32({6, 4}, Whole(24, 2))}});
}

// Sizes that can't be compared before the run are compared in it.
TEST(KernelCalls, SizesThatDisagree) {
  auto out = RunText(R"(
sdfg f(X: f32[N], Y: f32[M]) { call k(x = X, y = Y, n := M) }
kernel k(x: f32[n], y: f32[n], n: symbol) for cpu { map i in 0:n @vector { y[i] = x[i] } }
)",
                     {{"X", F32({3}, {1, 2, 3})}}, {{"M", 300}});
  ASSERT_FALSE(out.ok());
  EXPECT_THAT(out.status().ToString(), HasSubstr("E0652"));
}

// What the caller leaves out is a null pointer.
TEST(KernelCalls, AbsentArguments) {
  const std::string text = R"(
sdfg f(X: f32[N], optional B: f32[N], Y: f32[N], Z: f32[N]) {
  call k(x = X, b = B, y = Y, n := N)
  call k(x = X, y = Z, n := N)
}
kernel k(x: f32[n], optional b: f32[n], y: f32[n], n: symbol) {
  map i in 0:n { y[i] = x[i] + (b[i] ?? 7) }
})";
  ExpectAsInterpreted(text, {{"X", F32({3}, {1, 2, 3})}, {"B", F32({3}, {10, 20, 30})}});
  ExpectAsInterpreted(text, {{"X", F32({3}, {1, 2, 3})}});
}

// Whether pointers may overlap is of the kernel: of all its calls.
TEST(KernelCalls, OverlappingArguments) {
  const std::string apart = "call k(x = X, y = Y, n := 4)", overlap = "call k(x = low, y = high, n := 4)";
  const auto program = [](const std::string& calls) {
    return "sdfg f(X: f32[4], Y: f32[4], inout W: f32[8]) {\n view low: f32[4] of W\n view high: f32[4] of W offset 4\n" + calls +
           "\n W[0] = 1 }\n" + R"(
kernel k(x: f32[n], y: f32[n], n: symbol) for cpu { map i in 0:n @vector { y[i] = x[i] + 1 } }
)";
  };
  EXPECT_THAT(SourceOf(program(apart)), HasSubstr("__restrict p1"));
  EXPECT_THAT(SourceOf(program(apart + "\n " + overlap)), Not(HasSubstr("__restrict p1")));
  ExpectAsInterpreted(program(apart + "\n " + overlap), {{"X", F32({4}, Whole(4))}, {"W", F32({8}, Whole(8))}});
}

// Without a schedule: one statement is printed the way of statements, several are an SDFG like any other.
TEST(KernelCalls, Unscheduled) {
  ExpectAsInterpreted(R"(
sdfg f(X: f32[N, C], Y: f32[N], Z: f32[N]) {
  map i in 0:N { Y[i] = 0 }
  call sum(x = X, y = Y, n := N, c := C)
  call more(y = Y, z = Z, n := N)
}
kernel sum(x: f32[n, c], inout y: f32[n], n: symbol, c: symbol) { map i in 0:n, j in 0:c { y[i] += x[i, j] } }
kernel more(y: f32[n], z: f32[n], n: symbol) {
  let h = n // 2
  map i in 0:n { z[i] = y[i] + h }
  map i in 0:n { z[i] = z[i] * 2 + (y[i - 1] ?? 0) }
})",
                      {{"X", F32({30, 20}, Whole(600))}});
}

std::string Scheduled(const std::string& statement) {
  return "sdfg f(X: f32[N], Y: f32[N], I: i64[N]) { call k(x = X, y = Y, i = I, n := N) }\n"
         "kernel k(x: f32[n], y: f32[n], i: i64[n], n: symbol) for cpu {\n" +
         statement + "\n}";
}

// Nothing is decided here: what a pass should have decided is an error that names it.
TEST(KernelErrors, NameThePass) {
  for (const auto& [statement, pass] : std::vector<std::pair<std::string, std::string>>{
           {"map u in 0:n { y[u] = x[u] }", "choose-schedule"},
           {"map u in 0:n @vector { y[u] = x[u - 1] ?? 0 }", "resolve-accesses"},
           {"for u in 0:n { y[u + 1] ?? = x[u] }", "resolve-accesses"},
           {"map u in 0:n @grid { map t in 0:1 @block { y[u] = x[u] } }", "choose-schedule for cpu"},
           {"map u in 0:n @parallel { map t in 0:1 @parallel { y[u] = x[u] } }", "choose-schedule"},
           {"map u in 0:n, t in 0:u @parallel { y[u] = x[u] }", "choose-schedule"},
           {"map u in 0:n @unroll { y[u] = x[u] }", "choose-schedule"},
           {"local s: f32\n s = 0\n map u in 0:3 @halves { s += x[u] }\n y[0] = s", "choose-schedule"},
           {"local s: f32[n] @shared\n map u in 0:n @vector { s[u] = x[u] }\n map u in 0:n @vector { y[u] = s[u] }",
            "choose-schedule, with the description of this device,"},
           {"transient t: f32[n]\n map u in 0:n @vector { t[u] = x[u] }\n map u in 0:n @vector { y[u] = t[u] }",
            "choose-schedule"}}) {
    const std::string error = ErrorOf(Scheduled(statement));
    EXPECT_THAT(error, HasSubstr("E0694")) << statement;
    EXPECT_THAT(error, HasSubstr("the pass " + pass + " should have run")) << statement;
  }
}

TEST(KernelErrors, SchedulesWithoutADevice) {
  const std::string text = Scheduled("for u in 0:n { y[u] = x[u] }");
  const std::string error = ErrorOf(std::string(text).replace(text.find(" for cpu"), 8, ""));
  EXPECT_THAT(error, HasSubstr("E0694"));
  EXPECT_THAT(error, HasSubstr("kernel k(…) for cpu {"));
}

TEST(KernelErrors, AnEntryThatIsAKernel) {
  EXPECT_THAT(ErrorOf("kernel k(x: f32[4]) for cpu { map i in 0:4 @vector { x[i] = 1 } }"), HasSubstr("E0682"));
}

TEST(KernelErrors, ArgumentsWithOtherStrides) {
  EXPECT_THAT(ErrorOf(R"(
sdfg f(inout W: f32[6, 4]) {
  view left: f32[6, 2] of W strides [4, 1]
  call k(y = left, n := 6)
}
kernel k(y: f32[n, 2] strides [5, 1], n: symbol) for cpu { for i in 0:n { y[i, 0] = i } }
)"),
              HasSubstr("E0683"));
}

}  // namespace
}  // namespace headrace::cpu
