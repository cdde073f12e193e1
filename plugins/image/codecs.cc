// The format by its first bytes, and rows of any format in the order of channels that the caller wants.
#include "plugins/image/codecs.h"

#include <cstdio>
#include <cstring>
#include <new>

#include "plugins/image/formats.h"

namespace headrace_image {

bool Bytes::StartsWith(const char* magic, size_t n, size_t at) const {
  return at + n <= size_ && std::memcmp(data_ + at, magic, n) == 0;
}

void Sink::Check(int64_t width, int64_t height) const {
  if (width <= 0 || height <= 0) throw Undecodable("the image has no pixels");
  if (width > max_pixels_ / height)
    throw TooLarge("the image has " + std::to_string(width) + " x " + std::to_string(height) + " pixels");
}

int32_t Sink::channels() const { return order_ == HR_IMAGE_GRAY ? 1 : 3; }

void Sink::Begin(int64_t width, int64_t height, Samples samples) {
  Check(width, height);
  width_ = width, height_ = height, samples_ = samples;
  pixels_ = MakeBuffer<uint8_t>(static_cast<size_t>(width * height * channels()));
}

void Sink::Row(int64_t y, const uint8_t* in) {
  uint8_t* out = pixels_.get() + y * width_ * channels();
  const bool gray = samples_ == Samples::kGray;
  if (gray == (order_ == HR_IMAGE_GRAY) && order_ != HR_IMAGE_BGR) {
    std::memcpy(out, in, static_cast<size_t>(width_ * channels()));
    return;
  }
  for (int64_t x = 0; x < width_; ++x) {
    if (gray) {
      out[3 * x] = out[3 * x + 1] = out[3 * x + 2] = in[x];
    } else if (order_ == HR_IMAGE_GRAY) {  // ITU-R 601-2 luma in 16 bits, as Pillow rounds it
      out[x] = static_cast<uint8_t>((in[3 * x] * 19595 + in[3 * x + 1] * 38470 + in[3 * x + 2] * 7471 + 0x8000) >> 16);
    } else {
      out[3 * x] = in[3 * x + 2], out[3 * x + 1] = in[3 * x + 1], out[3 * x + 2] = in[3 * x];
    }
  }
}

namespace {

void Read(const Bytes& f, Sink& sink) {
  if (f.StartsWith("\xFF\xD8\xFF", 3)) return ReadJpeg(f, sink);
  if (f.StartsWith("\x89PNG\r\n\x1A\n", 8)) return ReadPng(f, sink);
  if (f.StartsWith("BM", 2)) return ReadBmp(f, sink);
  for (const char* magic : {"II*\0", "MM\0*", "II+\0", "MM\0+"})
    if (f.StartsWith(magic, 4)) return ReadTiff(f, sink);
  if (f.StartsWith("RIFF", 4) && f.StartsWith("WEBP", 4, 8)) return ReadWebp(f, sink);
  if (f.StartsWith("\xFF\x4F\xFF\x51", 4) || f.StartsWith("\0\0\0\x0CjP  \r\n\x87\n", 12)) return ReadJpeg2000(f, sink);
  if (f.size() > 2 && f.U8(0) == 'P' && f.U8(1) >= '1' && f.U8(1) <= '6') return ReadPnm(f, sink);
  throw Undecodable("no JPEG, PNG, BMP, TIFF, WebP, JPEG 2000 or PNM file");
}

}  // namespace
}  // namespace headrace_image

int32_t headrace_decode_image(const uint8_t* data, int64_t size, int32_t order, int64_t max_pixels, hr_image* out) {
  using namespace headrace_image;
  *out = {};
  auto say = [&](int32_t code, const char* what) {
    std::snprintf(out->message, sizeof out->message, "%s", what);
    return code;
  };
  try {
    Sink sink(order, max_pixels);
    Read(Bytes(data, static_cast<size_t>(size)), sink);
    out->height = sink.height(), out->width = sink.width(), out->channels = sink.channels();
    out->pixels = sink.Release();
    return HR_IMAGE_OK;
  } catch (const TooLarge& e) { return say(HR_IMAGE_TOO_LARGE, e.what()); } catch (const std::bad_alloc&) {
    return say(HR_IMAGE_NO_MEMORY, "out of memory");
  } catch (const std::exception& e) { return say(HR_IMAGE_UNDECODABLE, e.what()); }
}

void headrace_free_image(hr_image* image) {
  std::free(image->pixels);
  image->pixels = nullptr;
}
