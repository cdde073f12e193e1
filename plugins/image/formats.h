// One function per file format: reads the bytes, tells the sink the size, gives it rows. All throw Undecodable.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

namespace headrace_image {

struct Undecodable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct TooLarge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The file's bytes; reading outside of them throws.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  size_t size() const { return size_; }
  const uint8_t* data() const { return data_; }
  const uint8_t* At(size_t at, size_t n) const {
    if (at > size_ || n > size_ - at) throw Undecodable("the file is cut short");
    return data_ + at;
  }
  uint32_t U8(size_t at) const { return *At(at, 1); }
  uint32_t Le16(size_t at) const { return U8(at) | U8(at + 1) << 8; }
  uint32_t Le32(size_t at) const { return Le16(at) | Le16(at + 2) << 16; }
  uint32_t Be16(size_t at) const { return U8(at) << 8 | U8(at + 1); }
  uint32_t Be32(size_t at) const { return Be16(at) << 16 | Be16(at + 2); }
  bool StartsWith(const char* magic, size_t n, size_t at = 0) const;

 private:
  const uint8_t* data_;
  size_t size_;
};

struct Free {
  void operator()(void* p) const { std::free(p); }
};
// Zeroed; pages that nobody writes cost nothing.
template <typename T>
using Buffer = std::unique_ptr<T[], Free>;
template <typename T>
Buffer<T> MakeBuffer(size_t n) {
  Buffer<T> b(static_cast<T*>(std::calloc(n ? n : 1, sizeof(T))));
  if (!b) throw std::bad_alloc();
  return b;
}

enum class Samples { kGray = 1, kRgb = 3 };

// Where the rows go: converts them to the order that the caller wants.
class Sink {
 public:
  Sink(int32_t order, int64_t max_pixels) : order_(order), max_pixels_(max_pixels) {}
  void Check(int64_t width, int64_t height) const;  // throws TooLarge, or Undecodable when there is nothing
  void Begin(int64_t width, int64_t height, Samples samples);
  void Row(int64_t y, const uint8_t* samples);  // width × 1 or 3 bytes

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  int32_t channels() const;
  int64_t max_pixels() const { return max_pixels_; }
  uint8_t* Release() { return pixels_.release(); }

 private:
  int32_t order_;
  int64_t max_pixels_, width_ = 0, height_ = 0;
  Samples samples_ = Samples::kRgb;
  Buffer<uint8_t> pixels_;
};

void ReadJpeg(const Bytes& file, Sink& sink);
void ReadPng(const Bytes& file, Sink& sink);
void ReadBmp(const Bytes& file, Sink& sink);
void ReadPnm(const Bytes& file, Sink& sink);
void ReadTiff(const Bytes& file, Sink& sink);
void ReadWebp(const Bytes& file, Sink& sink);
void ReadJpeg2000(const Bytes& file, Sink& sink);

}  // namespace headrace_image
