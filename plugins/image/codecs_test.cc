// Every format's files give their pixels in every order of channels; damaged files and lying headers give none.
#include "plugins/image/codecs.h"

#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <random>

#include "gtest/gtest.h"
#include "plugins/image/test_files.h"

namespace headrace_image {
namespace {

constexpr int64_t kLimit = 1 << 20;

struct Result {
  int32_t code;
  int64_t height, width;
  int32_t channels;
  std::string message;
  std::vector<uint8_t> pixels;
};

Result Decode(const std::vector<uint8_t>& bytes, int32_t order, int64_t limit = kLimit) {
  // A copy of its own, so that reading past its end is seen by the sanitizers.
  std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), exact.get());
  hr_image image;
  Result r;
  r.code = headrace_decode_image(exact.get(), static_cast<int64_t>(bytes.size()), order, limit, &image);
  r.height = image.height, r.width = image.width, r.channels = image.channels, r.message = image.message;
  if (r.code == HR_IMAGE_OK) r.pixels.assign(image.pixels, image.pixels + r.height * r.width * r.channels);
  headrace_free_image(&image);
  return r;
}

const std::vector<TestFile>& Files() {
  static const std::vector<TestFile> files = TestFiles();
  return files;
}

TEST(Codecs, EveryFileGivesItsPixels) {
  for (const TestFile& f : Files()) {
    SCOPED_TRACE(f.name);
    const Result r = Decode(f.bytes, HR_IMAGE_RGB);
    ASSERT_EQ(r.code, HR_IMAGE_OK) << r.message;
    ASSERT_EQ(r.width, kWidth);
    ASSERT_EQ(r.height, kHeight);
    ASSERT_EQ(r.channels, 3);
    ASSERT_EQ(r.pixels.size(), f.rgb.size());
    for (size_t i = 0; i < f.rgb.size(); ++i) ASSERT_NEAR(r.pixels[i], f.rgb[i], f.tolerance) << i;
  }
}

TEST(Codecs, OrdersOfChannels) {
  for (const TestFile& f : Files()) {
    SCOPED_TRACE(f.name);
    const Result rgb = Decode(f.bytes, HR_IMAGE_RGB), bgr = Decode(f.bytes, HR_IMAGE_BGR),
                 gray = Decode(f.bytes, HR_IMAGE_GRAY);
    ASSERT_EQ(bgr.channels, 3);
    ASSERT_EQ(gray.channels, 1);
    for (size_t i = 0; i < gray.pixels.size(); ++i) {
      const int r = rgb.pixels[3 * i], g = rgb.pixels[3 * i + 1], b = rgb.pixels[3 * i + 2];
      ASSERT_EQ(bgr.pixels[3 * i], b);
      ASSERT_EQ(bgr.pixels[3 * i + 2], r);
      ASSERT_EQ(gray.pixels[i], (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16);
    }
  }
}

TEST(Codecs, TheLimitIsAskedBeforeAnythingIsDecoded) {
  for (const TestFile& f : Files()) {
    const Result r = Decode(f.bytes, HR_IMAGE_RGB, kWidth * kHeight - 1);
    EXPECT_EQ(r.code, HR_IMAGE_TOO_LARGE) << f.name;
    EXPECT_EQ(r.message, "the image has 13 x 9 pixels");
    EXPECT_EQ(Decode(f.bytes, HR_IMAGE_RGB, kWidth * kHeight).code, HR_IMAGE_OK) << f.name;
  }
}

TEST(Codecs, CutFilesAreRefused) {
  for (const TestFile& f : Files())
    for (size_t n = 0; n < f.bytes.size() * 3 / 4; ++n) {
      const Result r = Decode({f.bytes.begin(), f.bytes.begin() + static_cast<long>(n)}, HR_IMAGE_RGB);
      EXPECT_EQ(r.code, HR_IMAGE_UNDECODABLE) << f.name << " cut to " << n << " bytes";
      EXPECT_NE(r.message, "");
    }
}

int64_t PeakBytes() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  return int64_t{u.ru_maxrss} * 1024;
}

// Bits flipped, bytes replaced, pieces moved, numbers made huge: an answer within a second, and no memory beyond the limit's.
TEST(Codecs, DamagedFiles) {
  std::mt19937 random(7);
  auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  [[maybe_unused]] const int64_t before = PeakBytes();
  int decoded = 0, refused = 0, large = 0;
  for (const TestFile& f : Files())
    for (int k = 0; k < 200; ++k) {
      std::vector<uint8_t> d = f.bytes;
      const size_t header = std::min<size_t>(d.size(), 200);
      for (size_t times = 1 + below(4); times > 0; --times) {
        const size_t at = below(k % 2 ? header : d.size());
        switch (below(4)) {
          case 0: d[at] ^= static_cast<uint8_t>(1 << below(8)); break;
          case 1: d[at] = static_cast<uint8_t>(below(256)); break;
          case 2:
            for (size_t i = at; i < std::min(at + 4, d.size()); ++i) d[i] = below(2) ? 0xFF : 0x7F;
            break;
          default: std::rotate(d.begin() + static_cast<long>(at), d.begin() + static_cast<long>(at + below(d.size() - at)), d.end());
        }
      }
      const auto start = std::chrono::steady_clock::now();
      const Result r = Decode(d, static_cast<int32_t>(below(3)));
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      EXPECT_LT(seconds, 1.0) << f.name << ", damage " << k;
      (r.code == HR_IMAGE_OK ? decoded : r.code == HR_IMAGE_TOO_LARGE ? large : refused) += 1;
      EXPECT_LE(r.width * r.height, kLimit);
    }
  EXPECT_GT(decoded, 100);
  EXPECT_GT(refused, 1000);
  EXPECT_GT(large, 10);
#ifndef __SANITIZE_ADDRESS__
  EXPECT_LT(PeakBytes() - before, int64_t{64} << 20);
#endif
}

TEST(Codecs, NoImage) {
  EXPECT_EQ(Decode({}, HR_IMAGE_RGB).code, HR_IMAGE_UNDECODABLE);
  const std::string text = "This is no image at all.";
  const Result r = Decode({text.begin(), text.end()}, HR_IMAGE_RGB);
  EXPECT_EQ(r.code, HR_IMAGE_UNDECODABLE);
  EXPECT_EQ(r.message, "no JPEG, PNG, BMP, TIFF, WebP, JPEG 2000 or PNM file");
}

}  // namespace
}  // namespace headrace_image
