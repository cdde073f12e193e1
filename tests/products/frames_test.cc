// Depthwise convolutions and pools of small images that lie one after the other: values, and bits with 1 and 2 threads and on devices
// with other vectors.
#include "tests/products/values.h"

namespace headrace {
namespace {

struct Window {
  int64_t height = 14, width = 14, window = 3, stride = 1, padding = 1, dilation = 1;
  std::string type = "f32";
  int64_t side(int64_t of) const { return (of + 2 * padding - dilation * (window - 1) - 1) / stride + 1; }
};
std::string Str(int64_t n) { return std::to_string(n); }

// `value` of what X has at a place, @.
std::string Of(const Window& x, const std::string& init, const std::string& op, std::string value) {
  const std::string h = Str(x.side(x.height)), w = Str(x.side(x.width)), k = Str(x.window);
  const auto from = [&](const char* point, const char* term) {
    return std::string(point) + "*" + Str(x.stride) + " + " + term + "*" + Str(x.dilation) + " - " + Str(x.padding);
  };
  value.replace(value.find('@'), 1, "X[n, c, " + from("y", "k") + ", " + from("x", "l") + "]");
  const std::string points = "n in 0:2, c in 0:5, y in 0:" + h + ", x in 0:" + w, terms = "k in 0:" + k + ", l in 0:" + k;
  return "sdfg f(X: " + x.type + "[2, 5, " + Str(x.height) + ", " + Str(x.width) + "], W: " + x.type + "[5, " + k + ", " + k + "], Y: " +
         x.type + "[2, 5, " + h + ", " + w + "]) {\n  map " + points + " { Y[n, c, y, x] = " + init + " }\n  map " + points + ", " + terms +
         " { Y[n, c, y, x] " + op + " " + value + " }\n}\n";
}
std::string Depthwise(const Window& x) { return Of(x, "0", "+=", "(@ ?? 0) * W[c, k, l]"); }
std::string Maximum(const Window& x) { return Of(x, "-inf", "max=", "@ ?? -inf"); }

void ExpectFrames(const Window& x) {
  for (const std::string& text : {Depthwise(x), Maximum(x)}) {
    ExpectSameValues(text);
    EXPECT_NE(Scheduled(text).find("local frame"), std::string::npos) << Scheduled(text);
  }
}

TEST(Frames, StridesPaddingAndDilation) {
  for (const Window& x : {Window{}, {14, 14, 3, 2, 1}, {7, 7, 3, 1, 1}, {28, 28, 3, 1, 1}, {14, 15, 5, 2, 2}, {12, 12, 3, 1, 2, 2},
                          {28, 28, 3, 2, 1}, {2, 3, 3, 1, 1}, {20, 9, 5, 1, 4}})
    ExpectFrames(x);
}

TEST(Frames, Types) {
  ExpectFrames({14, 7, 3, 1, 1, 1, "f64"});
  for (const char* type : {"f16", "bf16", "i32"}) ExpectSameValues(Depthwise({14, 14, 3, 1, 1, 1, type}));
}

// Rows that are whole vectors, or long, and windows without borders have other schedules.
TEST(Frames, OtherRows) {
  for (const Window& x : {Window{16, 16, 3, 1, 1}, {14, 40, 3, 1, 1}, {14, 14, 3, 1, 0}}) {
    ExpectSameValues(Depthwise(x));
    EXPECT_EQ(Scheduled(Depthwise(x)).find("local frame"), std::string::npos);
  }
}

TEST(Frames, TheSameBitsOnEveryDevice) {
  for (const Window& x : {Window{}, {7, 7, 3, 1, 1}, {28, 28, 3, 2, 1}, {20, 20, 3, 1, 1}, {14, 14, 3, 1, 1, 1, "f64"}}) ExpectSameBitsOnDevices(Depthwise(x));
}

}  // namespace
}  // namespace headrace
