// JPEG by libjpeg-turbo: accurate integer DCT and smooth chroma upsampling, its defaults and what ONNX asks for.
#include <csetjmp>
#include <cstdio>

#include "jpeglib.h"
#include "jerror.h"
#include "plugins/image/formats.h"

namespace headrace_image {
namespace {

constexpr int kMaxScans = 500;  // a progressive file of some KB may ask for hours of them

struct Errors {
  jpeg_error_mgr base;
  std::jmp_buf at;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void Leave(j_common_ptr c) {
  auto* e = reinterpret_cast<Errors*>(c->err);
  c->err->format_message(c, e->text);
  std::longjmp(e->at, 1);
}

// Warnings that mean missing or wrong pixels end the decoding; the others don't matter.
void Message(j_common_ptr c, int level) {
  const int code = c->err->msg_code;
  if (level < 0 && (code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_JPEG_EOF ||
                    code == JWRN_MUST_RESYNC || code == JWRN_ARITH_BAD_CODE || code == JWRN_BOGUS_PROGRESSION))
    Leave(c);
}

void Progress(j_common_ptr c) {
  if (reinterpret_cast<j_decompress_ptr>(c)->input_scan_number > kMaxScans) {
    c->err->msg_code = JERR_BAD_PROGRESSION;
    Leave(c);
  }
}

struct Jpeg {
  jpeg_decompress_struct c = {};
  Errors errors = {};
  jpeg_progress_mgr progress = {};
  Jpeg() {
    c.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = Leave;
    errors.base.emit_message = Message;
    progress.progress_monitor = Progress;
  }
  Jpeg(const Jpeg&) = delete;
  ~Jpeg() { jpeg_destroy_decompress(&c); }
};

// a·b / 255, rounded as Pillow rounds it.
int Part(int a, int b) {
  const int t = a * b + 128;
  return ((t >> 8) + t) >> 8;
}

// Inks to light. Adobe's files hold inverted inks.
void FromInks(uint8_t* row, int64_t width, bool inverted) {
  for (int64_t x = 0; x < width; ++x) {
    const int flip = inverted ? 255 : 0, light = 255 - (row[4 * x + 3] ^ flip);
    for (int k = 0; k < 3; ++k) row[3 * x + k] = static_cast<uint8_t>(light - Part(row[4 * x + k] ^ flip, light));
  }
}

// libjpeg may jump out of here: nothing in it needs a destructor.
void Decode(Jpeg& j, const Bytes& file, Sink& sink) {
  jpeg_create_decompress(&j.c);
  j.c.progress = &j.progress;
  jpeg_mem_src(&j.c, file.data(), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&j.c, TRUE);
  const bool inks = j.c.jpeg_color_space == JCS_CMYK || j.c.jpeg_color_space == JCS_YCCK;
  const bool gray = j.c.jpeg_color_space == JCS_GRAYSCALE;
  j.c.out_color_space = inks ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_RGB;
  sink.Begin(j.c.image_width, j.c.image_height, gray ? Samples::kGray : Samples::kRgb);
  jpeg_start_decompress(&j.c);
  JSAMPARRAY row = (*j.c.mem->alloc_sarray)(reinterpret_cast<j_common_ptr>(&j.c), JPOOL_IMAGE,
                                            j.c.output_width * static_cast<JDIMENSION>(j.c.output_components), 1);
  while (j.c.output_scanline < j.c.output_height) {
    const int64_t y = j.c.output_scanline;
    jpeg_read_scanlines(&j.c, row, 1);
    if (inks) FromInks(row[0], sink.width(), j.c.saw_Adobe_marker);
    sink.Row(y, row[0]);
  }
  jpeg_finish_decompress(&j.c);
}

}  // namespace

void ReadJpeg(const Bytes& file, Sink& sink) {
  Jpeg j;
  if (setjmp(j.errors.at)) throw Undecodable(std::string("JPEG: ") + j.errors.text);
  Decode(j, file, sink);
}

}  // namespace headrace_image
