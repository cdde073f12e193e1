// TIFF by libtiff: the first page, whatever its compression and kind of pixels, as 8 bits. Alpha is dropped.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "plugins/image/formats.h"
#include "tiffio.h"

namespace headrace_image {
namespace {

struct Source {
  const Bytes* file;
  uint64_t at = 0;
  char text[200] = "damaged";
};

tmsize_t Read(thandle_t h, void* to, tmsize_t n) {
  auto* s = static_cast<Source*>(h);
  if (s->at >= s->file->size() || n <= 0) return 0;
  const auto k = std::min<uint64_t>(static_cast<uint64_t>(n), s->file->size() - s->at);
  std::memcpy(to, s->file->data() + s->at, k);
  s->at += k;
  return static_cast<tmsize_t>(k);
}
tmsize_t Write(thandle_t, void*, tmsize_t) { return 0; }
toff_t Seek(thandle_t h, toff_t to, int whence) {
  auto* s = static_cast<Source*>(h);
  s->at = whence == SEEK_SET ? to : whence == SEEK_CUR ? s->at + to : s->file->size() + to;
  return s->at;
}
int Close(thandle_t) { return 0; }
toff_t Size(thandle_t h) { return static_cast<Source*>(h)->file->size(); }
int Error(TIFF*, void* user, const char*, const char* format, va_list values) {
  auto* s = static_cast<Source*>(user);
  std::vsnprintf(s->text, sizeof s->text, format, values);
  return 1;
}
int Warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct Tiff {
  Source source;
  TIFF* file = nullptr;
  TIFFRGBAImage image = {};
  bool begun = false;
  explicit Tiff(const Bytes& f, int64_t largest) : source{&f} {
    TIFFOpenOptions* o = TIFFOpenOptionsAlloc();
    if (!o) throw std::bad_alloc();
    TIFFOpenOptionsSetMaxSingleMemAlloc(o, largest);
    TIFFOpenOptionsSetErrorHandlerExtR(o, Error, &source);
    TIFFOpenOptionsSetWarningHandlerExtR(o, Warning, nullptr);
    file = TIFFClientOpenExt("image", "rm", &source, Read, Write, Seek, Close, Size, nullptr, nullptr, o);
    TIFFOpenOptionsFree(o);
    if (!file) Fail();
  }
  Tiff(const Tiff&) = delete;
  ~Tiff() {
    if (begun) TIFFRGBAImageEnd(&image);
    if (file) TIFFClose(file);
  }
  [[noreturn]] void Fail() const { throw Undecodable(std::string("TIFF: ") + source.text); }
};

// Colours as they are stored: alpha that is not "associated" would be multiplied into them.
void KeepColours(TIFF* f) {
  uint16_t n = 0, *kinds = nullptr;
  if (!TIFFGetFieldDefaulted(f, TIFFTAG_EXTRASAMPLES, &n, &kinds) || n == 0) return;
  const std::vector<uint16_t> associated(n, EXTRASAMPLE_ASSOCALPHA);
  TIFFSetField(f, TIFFTAG_EXTRASAMPLES, n, associated.data());
}

}  // namespace

void ReadTiff(const Bytes& bytes, Sink& sink) {
  Tiff t(bytes, std::max<int64_t>(sink.max_pixels(), 1 << 20) * 16);
  uint32_t width = 0, height = 0;
  TIFFGetField(t.file, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(t.file, TIFFTAG_IMAGELENGTH, &height);
  sink.Check(width, height);
  KeepColours(t.file);
  char why[1024] = "";
  if (!TIFFRGBAImageBegin(&t.image, t.file, /*stop=*/1, why)) throw Undecodable(std::string("TIFF: ") + why);
  t.begun = true;
  t.image.req_orientation = ORIENTATION_TOPLEFT;
  Buffer<uint32_t> raster = MakeBuffer<uint32_t>(static_cast<size_t>(width) * height);
  if (!TIFFRGBAImageGet(&t.image, raster.get(), width, height)) t.Fail();
  sink.Begin(width, height, Samples::kRgb);
  std::vector<uint8_t> rgb(static_cast<size_t>(width) * 3);
  for (uint32_t y = 0; y < height; ++y) {
    const uint32_t* row = raster.get() + static_cast<size_t>(y) * width;
    for (uint32_t x = 0; x < width; ++x) {
      rgb[3 * x] = static_cast<uint8_t>(TIFFGetR(row[x]));
      rgb[3 * x + 1] = static_cast<uint8_t>(TIFFGetG(row[x]));
      rgb[3 * x + 2] = static_cast<uint8_t>(TIFFGetB(row[x]));
    }
    sink.Row(y, rgb.data());
  }
}

}  // namespace headrace_image
