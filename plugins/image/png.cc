// PNG by libpng. Palettes and small depths become 8 bits, 16 bits keep their upper 8; alpha is dropped, gamma not applied.
#include <csetjmp>
#include <cstring>

#include "plugins/image/formats.h"
#include "png.h"

namespace headrace_image {
namespace {

struct Png {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const Bytes* file = nullptr;
  size_t at = 0;
  std::jmp_buf jump;
  char text[200] = "";
  Buffer<uint8_t> rows;
  Png() = default;
  Png(const Png&) = delete;
  ~Png() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void Error(png_structp png, png_const_charp what) {
  auto* p = static_cast<Png*>(png_get_error_ptr(png));
  std::strncpy(p->text, what, sizeof p->text - 1);
  std::longjmp(p->jump, 1);
}
void Warning(png_structp, png_const_charp) {}

void ReadBytes(png_structp png, png_bytep to, size_t n) {
  auto* p = static_cast<Png*>(png_get_io_ptr(png));
  if (n > p->file->size() - p->at) Error(png, "the file is cut short");
  std::memcpy(to, p->file->data() + p->at, n);
  p->at += n;
}

// libpng may jump out of here: what needs a destructor belongs to `p`.
void Decode(Png& p, Sink& sink) {
  p.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &p, Error, Warning);
  if (!p.png || !(p.info = png_create_info_struct(p.png))) throw std::bad_alloc();
  png_set_read_fn(p.png, &p, ReadBytes);
  png_set_user_limits(p.png, 0x7fffffff, 0x7fffffff);  // the sink's limit counts
  png_read_info(p.png, p.info);
  const int64_t width = png_get_image_width(p.png, p.info), height = png_get_image_height(p.png, p.info);
  sink.Check(width, height);
  const int type = png_get_color_type(p.png, p.info);
  const bool gray = !(type & PNG_COLOR_MASK_COLOR);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(p.png);
  if (gray && png_get_bit_depth(p.png, p.info) < 8) png_set_expand_gray_1_2_4_to_8(p.png);
  png_set_strip_16(p.png);
  png_set_strip_alpha(p.png);
  const int passes = png_set_interlace_handling(p.png);
  png_read_update_info(p.png, p.info);
  const size_t row = png_get_rowbytes(p.png, p.info);
  if (row != static_cast<size_t>(width) * (gray ? 1 : 3)) Error(p.png, "an unknown kind of pixels");
  sink.Begin(width, height, gray ? Samples::kGray : Samples::kRgb);
  const size_t kept = passes > 1 ? static_cast<size_t>(height) : 1;  // passes of an interlaced image add to its rows
  p.rows = MakeBuffer<uint8_t>(row * kept);
  for (int pass = 0; pass < passes; ++pass)
    for (int64_t y = 0; y < height; ++y) {
      uint8_t* to = p.rows.get() + (passes > 1 ? static_cast<size_t>(y) * row : 0);
      png_read_row(p.png, to, nullptr);
      if (pass + 1 == passes) sink.Row(y, to);
    }
  png_read_end(p.png, nullptr);
}

}  // namespace

void ReadPng(const Bytes& file, Sink& sink) {
  Png p;
  p.file = &file;
  if (setjmp(p.jump)) throw Undecodable(std::string("PNG: ") + p.text);
  Decode(p, sink);
}

}  // namespace headrace_image
