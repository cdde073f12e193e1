// Kernels that differ in sizes only are one, to which calls give the sizes: the values of each.
#include "tests/products/values.h"

namespace headrace {
namespace {

constexpr char kShared[] = "outline; choose-schedule{device=cpu}; separate-tiles; whole-parts; share-kernels";

size_t Kernels(const std::string& text, const std::string& pipeline) {
  Result<Program> p = ParseProgram(text);
  const Status s = p.ok() ? RunPipeline(Plugins(), pipeline, *p) : p.status();
  EXPECT_TRUE(s.ok()) << s.ToString();
  size_t count = 0;
  for (const auto& k : p->sdfgs) count += k->kernel;
  return count;
}

struct Sized {
  std::string parameters, result, statement;
};
// Both statements in one program; what is compared is the result of the first.
void ExpectShared(const Sized& a, const Sized& b, size_t kernels, const Sizes& sizes = {}) {
  for (const auto& [first, second] : {std::pair{a, b}, {b, a}}) {
    const std::string text = "sdfg f(" + a.parameters + ", " + b.parameters + ", " + first.result + ", " + second.result + ") {\n" + a.statement + b.statement + "}\n";
    ExpectSameValues(text, sizes, kShared);
    EXPECT_EQ(Kernels(text, kShared), kernels) << text;
  }
}

Sized Product(const std::string& at, const std::string& m, const std::string& n, const std::string& k) {
  const std::string point = "[i, j]";
  return {"A" + at + ": f32[" + m + ", " + k + "], B" + at + ": f32[" + k + ", " + n + "]", "C" + at + ": f32[" + m + ", " + n + "]",
          "  map i in 0:" + m + ", j in 0:" + n + " {\n    C" + at + point + " = 1\n    map k in 0:" + k + " { C" + at + point + " += A" + at +
              "[i, k] * B" + at + "[k, j] }\n  }\n"};
}
TEST(Shared, Products) {
  ExpectShared(Product("0", "48", "64", "32"), Product("1", "96", "64", "32"), 1);
  ExpectShared(Product("0", "64", "64", "32"), Product("1", "64", "96", "32"), 2);  // tiles keep their strides
}

// One sum for each channel of images, and what takes it from them.
Sized Centred(const std::string& at, int side, int channels) {
  const std::string s = std::to_string(side), c = std::to_string(channels), image = "N, " + s + ", " + s + ", " + c, y = "n in 0:N, y in 0:" + s + ", x in 0:" + s;
  return {"X" + at + ": f32[" + image + "]", "S" + at + ": f32[" + c + "], Y" + at + ": f32[" + image + "]",
          "  map c in 0:" + c + " {\n    S" + at + "[c] = 0\n    map " + y + " { S" + at + "[c] += X" + at + "[n, y, x, c] }\n  }\n  map " + y + ", c in 0:" + c +
              " { Y" + at + "[n, y, x, c] = X" + at + "[n, y, x, c] - S" + at + "[c] }\n"};
}
TEST(Shared, Images) {
  for (const int64_t n : {0, 1, 3}) ExpectShared(Centred("0", 12, 32), Centred("1", 6, 32), 2, {{"N", n}});
}

// The order of memory turned: of short lines in lanes, of others by squares, which keep their strides.
Sized Turned(const std::string& at, const std::string& rows, const std::string& columns) {
  return {"X" + at + ": f32[" + rows + ", " + columns + "]", "Y" + at + ": f32[" + columns + ", " + rows + "]",
          "  map i in 0:" + rows + ", j in 0:" + columns + " { Y" + at + "[j, i] = X" + at + "[i, j] }\n"};
}
TEST(Shared, OnesThatAreTurned) {
  ExpectShared(Turned("0", "64", "9"), Turned("1", "128", "9"), 1);
  ExpectShared(Turned("0", "64", "48"), Turned("1", "128", "48"), 2);
  ExpectShared(Turned("0", "60", "48"), Turned("1", "64", "41"), 2);
}

}  // namespace
}  // namespace headrace
