// JPEG 2000 by openjp2: code streams and JP2 files, gray, RGB and YCC, components of any depth and subsampling.
#include <algorithm>
#include <cstring>
#include <vector>

#include "openjpeg.h"
#include "plugins/image/formats.h"

namespace headrace_image {
namespace {

struct Source {
  const Bytes* file;
  size_t at = 0;
};

OPJ_SIZE_T Read(void* to, OPJ_SIZE_T n, void* user) {
  auto* s = static_cast<Source*>(user);
  const size_t k = std::min<size_t>(n, s->file->size() - s->at);
  if (k == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, s->file->data() + s->at, k);
  s->at += k;
  return k;
}
OPJ_OFF_T Skip(OPJ_OFF_T n, void* user) {
  auto* s = static_cast<Source*>(user);
  if (n < 0 || static_cast<uint64_t>(n) > s->file->size() - s->at) return -1;
  s->at += static_cast<size_t>(n);
  return n;
}
OPJ_BOOL Seek(OPJ_OFF_T to, void* user) {
  auto* s = static_cast<Source*>(user);
  if (to < 0 || static_cast<uint64_t>(to) > s->file->size()) return OPJ_FALSE;
  s->at = static_cast<size_t>(to);
  return OPJ_TRUE;
}
void Quiet(const char*, void*) {}

struct Jpeg2000 {
  opj_codec_t* codec = nullptr;
  opj_stream_t* stream = nullptr;
  opj_image_t* image = nullptr;
  Jpeg2000() = default;
  Jpeg2000(const Jpeg2000&) = delete;
  ~Jpeg2000() {
    opj_image_destroy(image);
    opj_stream_destroy(stream);
    opj_destroy_codec(codec);
  }
};

// The size that the code stream claims, before openjp2 makes room for its tiles and components.
void CheckClaim(const Bytes& f, const Sink& sink) {
  static const uint8_t kStart[] = {0xFF, 0x4F, 0xFF, 0x51};
  const uint8_t* end = f.data() + f.size();
  const uint8_t* found = std::search(f.data(), end, kStart, kStart + 4);
  if (found == end) throw Undecodable("JPEG 2000: no code stream");
  const size_t at = static_cast<size_t>(found - f.data()) + 8;  // behind the length and the capabilities
  const int64_t width = int64_t{f.Be32(at)} - f.Be32(at + 8), height = int64_t{f.Be32(at + 4)} - f.Be32(at + 12);
  sink.Check(width, height);
  const int64_t tile_width = f.Be32(at + 16), tile_height = f.Be32(at + 20), components = f.Be16(at + 32);
  if (tile_width == 0 || tile_height == 0 || components == 0) throw Undecodable("JPEG 2000: tiles of no size");
  sink.Check(width * std::max<int64_t>(1, components / 4), height);
  // openjp2 keeps some KB for each tile, before it reads any.
  const int64_t tiles = (width / tile_width + 2) * (height / tile_height + 2);
  if (tiles > static_cast<int64_t>(f.size()) + 16) throw Undecodable("JPEG 2000: more tiles than bytes");
}

// One sample as 8 bits, rounded and clamped as Pillow does it.
int Sample(const opj_image_comp_t& c, int64_t x, int64_t y) {
  const int64_t cx = std::min<int64_t>(x / c.dx, int64_t{c.w} - 1), cy = std::min<int64_t>(y / c.dy, int64_t{c.h} - 1);
  int64_t v = c.data[cy * c.w + cx];
  if (c.sgnd) v += int64_t{1} << (c.prec - 1);
  if (c.prec > 8) v = (v + (int64_t{1} << (c.prec - 9))) >> (c.prec - 8);
  else v <<= 8 - c.prec;
  return static_cast<int>(std::clamp<int64_t>(v, 0, 255));
}

// Full-range YCbCr of JFIF.
void FromYcc(uint8_t* p) {
  const double y = p[0], cb = p[1] - 128, cr = p[2] - 128;
  const double rgb[3] = {y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb};
  for (int k = 0; k < 3; ++k) p[k] = static_cast<uint8_t>(std::clamp(rgb[k] + 0.5, 0.0, 255.0));
}

void Emit(const opj_image_t& image, Sink& sink) {
  const uint32_t n = image.numcomps >= 3 ? 3 : 1;
  for (uint32_t k = 0; k < n; ++k) {
    const opj_image_comp_t& c = image.comps[k];
    if (!c.data || c.w == 0 || c.h == 0 || c.dx == 0 || c.dy == 0 || c.prec == 0 || c.prec > 31)
      throw Undecodable("JPEG 2000: a component without samples");
  }
  const int64_t width = int64_t{image.x1} - image.x0, height = int64_t{image.y1} - image.y0;
  sink.Begin(width, height, n == 3 ? Samples::kRgb : Samples::kGray);
  std::vector<uint8_t> row(static_cast<size_t>(width) * n);
  const bool ycc = n == 3 && (image.color_space == OPJ_CLRSPC_SYCC || image.color_space == OPJ_CLRSPC_EYCC);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      uint8_t* to = row.data() + x * n;
      for (uint32_t k = 0; k < n; ++k) to[k] = static_cast<uint8_t>(Sample(image.comps[k], x, y));
      if (ycc) FromYcc(to);
    }
    sink.Row(y, row.data());
  }
}

}  // namespace

void ReadJpeg2000(const Bytes& file, Sink& sink) {
  CheckClaim(file, sink);
  Source source{&file};
  Jpeg2000 j;
  j.codec = opj_create_decompress(file.U8(0) == 0xFF ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  j.stream = opj_stream_create(1 << 16, OPJ_TRUE);
  if (!j.codec || !j.stream) throw std::bad_alloc();
  opj_stream_set_read_function(j.stream, Read);
  opj_stream_set_skip_function(j.stream, Skip);
  opj_stream_set_seek_function(j.stream, Seek);
  opj_stream_set_user_data(j.stream, &source, nullptr);
  opj_stream_set_user_data_length(j.stream, file.size());
  opj_set_error_handler(j.codec, Quiet, nullptr);
  opj_set_warning_handler(j.codec, Quiet, nullptr);
  opj_set_info_handler(j.codec, Quiet, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  const bool read = opj_setup_decoder(j.codec, &parameters) && opj_decoder_set_strict_mode(j.codec, OPJ_TRUE) &&
                    opj_read_header(j.stream, j.codec, &j.image);
  if (!read) throw Undecodable("JPEG 2000: a damaged header");
  sink.Check(int64_t{j.image->x1} - j.image->x0, int64_t{j.image->y1} - j.image->y0);
  if (!opj_decode(j.codec, j.stream, j.image) || !opj_end_decompress(j.codec, j.stream))
    throw Undecodable("JPEG 2000: damaged data");
  Emit(*j.image, sink);
}

}  // namespace headrace_image
