#include "plugins/image/test_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "jpeglib.h"
#include "openjpeg.h"
#include "png.h"
#include "tiffio.h"
#include "webp/encode.h"

namespace headrace_image {
namespace {

using Data = std::vector<uint8_t>;
constexpr size_t kPixels = size_t{kWidth} * kHeight;

// Smooth, so that lossy formats come close; every channel differs.
Data Colours() {
  Data rgb;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x)
      for (int v : {x * 255 / (kWidth - 1), y * 255 / (kHeight - 1), 255 - (x + y) * 8})
        rgb.push_back(static_cast<uint8_t>(v));
  return rgb;
}
// Indices below n, and the pixels that palette(index) makes of them.
Data Indices(int n) {
  Data d;
  for (size_t i = 0; i < kPixels; ++i) d.push_back(static_cast<uint8_t>((i * 7 + i / 5) % static_cast<size_t>(n)));
  return d;
}
Data Rgb(const Data& values, const std::function<std::vector<int>(int)>& colour) {
  Data out;
  for (uint8_t v : values)
    for (int c : colour(v)) out.push_back(static_cast<uint8_t>(c));
  return out;
}
std::vector<int> Palette(int i) { return {i * 16 % 256, 255 - i * 10, i * i % 256}; }
std::function<std::vector<int>(int)> Gray(int times) {
  return [times](int v) { return std::vector<int>(3, v * times); };
}
Data File(const std::function<void(FILE*)>& write) {
  char* text = nullptr;
  size_t n = 0;
  FILE* f = open_memstream(&text, &n);
  write(f);
  std::fclose(f);
  Data out(text, text + n);
  std::free(text);
  return out;
}
void Put(Data* d, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) d->push_back(i < 8 ? static_cast<uint8_t>(v >> 8 * i) : 0);
}

Data Jpeg(const Data& pixels, int components, J_COLOR_SPACE space, bool progressive) {
  return File([&](FILE* f) {
    jpeg_compress_struct c;
    jpeg_error_mgr errors;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = kWidth, c.image_height = kHeight, c.input_components = components, c.in_color_space = space;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 100, TRUE);
    if (progressive) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    for (int y = 0; y < kHeight; ++y) {
      JSAMPROW row = const_cast<uint8_t*>(pixels.data()) + y * kWidth * components;
      jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
  });
}

// `rows`: packed as PNG wants them.
Data Png(const Data& rows, int type, int depth, bool interlaced) {
  return File([&](FILE* f) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, f);
    png_set_IHDR(png, info, kWidth, kHeight, depth, type, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    if (type == PNG_COLOR_TYPE_PALETTE) {
      png_color colours[16];
      png_byte alpha[16];
      for (int i = 0; i < 16; ++i) {
        const std::vector<int> p = Palette(i);
        colours[i] = {static_cast<png_byte>(p[0]), static_cast<png_byte>(p[1]), static_cast<png_byte>(p[2])};
        alpha[i] = static_cast<png_byte>(i * 16);
      }
      png_set_PLTE(png, info, colours, 16);
      png_set_tRNS(png, info, alpha, 16, nullptr);
    }
    png_write_info(png, info);
    std::vector<png_bytep> at;
    for (int y = 0; y < kHeight; ++y)
      at.push_back(const_cast<uint8_t*>(rows.data()) + static_cast<size_t>(y) * (rows.size() / kHeight));
    png_write_image(png, at.data());
    png_write_end(png, nullptr);
    png_destroy_write_struct(&png, &info);
  });
}
// One sample of `bits` bits after the other, each row from a new byte.
Data Packed(const Data& samples, int bits, size_t row_bytes) {
  Data out(row_bytes * kHeight, 0);
  for (size_t i = 0; i < kPixels; ++i) {
    const size_t bit = i % kWidth * static_cast<size_t>(bits);
    out[i / kWidth * row_bytes + bit / 8] |= static_cast<uint8_t>(samples[i] << (8 - bits - static_cast<int>(bit % 8)));
  }
  return out;
}

Data Tiff(const Data& pixels, int samples, int photometric, int compression, bool tiled) {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string name =
      (folder ? folder : "/tmp") + std::string("/headrace_image_") + std::to_string(getpid()) + ".tif";
  TIFF* t = TIFFOpen(name.c_str(), "w");
  TIFFSetField(t, TIFFTAG_IMAGEWIDTH, kWidth);
  TIFFSetField(t, TIFFTAG_IMAGELENGTH, kHeight);
  TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, samples);
  TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(t, TIFFTAG_PHOTOMETRIC, photometric);
  TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(t, TIFFTAG_COMPRESSION, compression);
  if (samples == 4) {
    uint16_t kind = EXTRASAMPLE_UNASSALPHA;
    TIFFSetField(t, TIFFTAG_EXTRASAMPLES, 1, &kind);
  }
  if (tiled) {
    TIFFSetField(t, TIFFTAG_TILEWIDTH, 16);
    TIFFSetField(t, TIFFTAG_TILELENGTH, 16);
    Data tile(size_t{16} * 16 * static_cast<size_t>(samples), 0);
    for (int y = 0; y < kHeight; ++y)
      std::memcpy(&tile[static_cast<size_t>(y * 16 * samples)], &pixels[static_cast<size_t>(y * kWidth * samples)],
                  static_cast<size_t>(kWidth * samples));
    TIFFWriteTile(t, tile.data(), 0, 0, 0, 0);
  } else {
    for (int y = 0; y < kHeight; ++y)
      TIFFWriteScanline(t, const_cast<uint8_t*>(pixels.data()) + y * kWidth * samples, static_cast<uint32_t>(y), 0);
  }
  TIFFClose(t);
  FILE* f = std::fopen(name.c_str(), "rb");
  Data out(1 << 16);
  out.resize(std::fread(out.data(), 1, out.size(), f));
  std::fclose(f);
  std::remove(name.c_str());
  return out;
}

Data Webp(const Data& rgb, bool lossless) {
  uint8_t* bytes = nullptr;
  const size_t n = lossless ? WebPEncodeLosslessRGB(rgb.data(), kWidth, kHeight, kWidth * 3, &bytes)
                            : WebPEncodeRGB(rgb.data(), kWidth, kHeight, kWidth * 3, 95, &bytes);
  Data out(bytes, bytes + n);
  WebPFree(bytes);
  return out;
}

Data Jpeg2000(const Data& pixels, uint32_t components, OPJ_CODEC_FORMAT format) {
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.numresolution = 3;
  parameters.tcp_numlayers = 1;
  parameters.tcp_rates[0] = 0;
  parameters.cp_disto_alloc = 1;
  std::vector<opj_image_cmptparm_t> kinds(components);
  for (opj_image_cmptparm_t& k : kinds) k.dx = k.dy = 1, k.w = kWidth, k.h = kHeight, k.prec = 8;
  opj_image_t* image =
      opj_image_create(components, kinds.data(), components == 3 ? OPJ_CLRSPC_SRGB : OPJ_CLRSPC_GRAY);
  image->x1 = kWidth, image->y1 = kHeight;
  for (uint32_t k = 0; k < components; ++k)
    for (size_t i = 0; i < kPixels; ++i) image->comps[k].data[i] = pixels[i * components + k];
  Data out;
  opj_codec_t* codec = opj_create_compress(format);
  opj_setup_encoder(codec, &parameters, image);
  struct Target {
    Data bytes;
    size_t at = 0;
  } target;
  opj_stream_t* stream = opj_stream_create(1 << 16, OPJ_FALSE);
  opj_stream_set_user_data(stream, &target, nullptr);
  opj_stream_set_write_function(stream, [](void* from, OPJ_SIZE_T n, void* user) -> OPJ_SIZE_T {
    auto* t = static_cast<Target*>(user);
    t->bytes.resize(std::max(t->bytes.size(), t->at + n));
    std::memcpy(&t->bytes[t->at], from, n);
    t->at += n;
    return n;
  });
  opj_stream_set_skip_function(stream, [](OPJ_OFF_T n, void* user) -> OPJ_OFF_T {
    auto* t = static_cast<Target*>(user);
    t->at += static_cast<size_t>(n);
    t->bytes.resize(std::max(t->bytes.size(), t->at));
    return n;
  });
  opj_stream_set_seek_function(stream, [](OPJ_OFF_T to, void* user) -> OPJ_BOOL {
    static_cast<Target*>(user)->at = static_cast<size_t>(to);
    return OPJ_TRUE;
  });
  opj_start_compress(codec, image, stream);
  opj_encode(codec, stream);
  opj_end_compress(codec, stream);
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  return target.bytes;
}

// `rows` from the bottom, unless top-down; masks for compression 3.
Data Bmp(const std::vector<Data>& rows, int bits, int compression, bool top_down, const std::vector<uint32_t>& masks) {
  Data d = {'B', 'M'};
  const uint32_t palette = bits <= 8 ? 1u << bits : 0, begin = 54 + 4 * (palette + static_cast<uint32_t>(masks.size()));
  Put(&d, 0, 8);
  Put(&d, begin, 4);
  Put(&d, 40, 4);
  Put(&d, kWidth, 4);
  Put(&d, static_cast<uint32_t>(top_down ? -kHeight : kHeight), 4);
  Put(&d, 1, 2);
  Put(&d, static_cast<uint32_t>(bits), 2);
  Put(&d, static_cast<uint32_t>(compression), 4);
  Put(&d, 0, 20);
  for (uint32_t m : masks) Put(&d, m, 4);
  for (uint32_t i = 0; i < palette; ++i) {
    const std::vector<int> p = Palette(static_cast<int>(i));
    for (int k : {2, 1, 0}) Put(&d, static_cast<uint32_t>(p[static_cast<size_t>(k)]), 1);
    Put(&d, 0, 1);
  }
  for (int y = 0; y < kHeight; ++y) {
    Data row = rows[static_cast<size_t>(top_down ? y : kHeight - 1 - y)];
    if (compression == 0 || compression == 3) row.resize((row.size() + 3) / 4 * 4);
    d.insert(d.end(), row.begin(), row.end());
  }
  if (compression == 1 || compression == 2) Put(&d, 0x0100, 2);
  return d;
}
std::vector<Data> Rows(const Data& all) {
  std::vector<Data> rows;
  const size_t n = all.size() / kHeight;
  for (size_t y = 0; y < kHeight; ++y) rows.emplace_back(all.begin() + static_cast<long>(y * n), all.begin() + static_cast<long>((y + 1) * n));
  return rows;
}
// A run of one, the rest as they are, end of line.
std::vector<Data> Runs(const Data& indices, bool half) {
  std::vector<Data> rows;
  for (const Data& row : Rows(indices)) {
    Data d = {1, static_cast<uint8_t>(half ? row[0] << 4 : row[0]), 0, kWidth - 1};
    for (size_t x = 1; x < row.size(); x += half ? 2 : 1)
      d.push_back(static_cast<uint8_t>(half ? row[x] << 4 | (x + 1 < row.size() ? row[x + 1] : 0) : row[x]));
    if (d.size() % 2) d.push_back(0);
    Put(&d, 0, 2);
    rows.push_back(d);
  }
  return rows;
}

void AddBmp(std::vector<TestFile>* out) {
  const Data rgb = Colours();
  Data bgr = rgb, bgrx, five, six, masked, five_rgb, six_rgb;
  for (size_t i = 0; i < kPixels; ++i) {
    const uint32_t r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
    std::swap(bgr[3 * i], bgr[3 * i + 2]);
    Put(&bgrx, b | g << 8 | r << 16, 4);
    Put(&masked, g | b << 8 | r << 24, 4);
    Put(&five, b >> 3 | g >> 3 << 5 | r >> 3 << 10, 2);
    Put(&six, b >> 3 | g >> 2 << 5 | r >> 3 << 11, 2);
    for (uint32_t v : {(r >> 3) * 255 / 31, (g >> 3) * 255 / 31, (b >> 3) * 255 / 31}) five_rgb.push_back(static_cast<uint8_t>(v));
    for (uint32_t v : {(r >> 3) * 255 / 31, (g >> 2) * 255 / 63, (b >> 3) * 255 / 31}) six_rgb.push_back(static_cast<uint8_t>(v));
  }
  const Data two = Indices(2), sixteen = Indices(16), many = Indices(200);
  out->push_back({"bmp1", Bmp(Rows(Packed(two, 1, 2)), 1, 0, false, {}), Rgb(two, Palette)});
  out->push_back({"bmp4", Bmp(Rows(Packed(sixteen, 4, 7)), 4, 0, false, {}), Rgb(sixteen, Palette)});
  out->push_back({"bmp8", Bmp(Rows(many), 8, 0, true, {}), Rgb(many, Palette)});
  out->push_back({"bmp_rle8", Bmp(Runs(many, false), 8, 1, false, {}), Rgb(many, Palette)});
  out->push_back({"bmp_rle4", Bmp(Runs(sixteen, true), 4, 2, false, {}), Rgb(sixteen, Palette)});
  out->push_back({"bmp16", Bmp(Rows(five), 16, 0, false, {}), five_rgb});
  out->push_back({"bmp565", Bmp(Rows(six), 16, 3, false, {0xf800, 0x07e0, 0x001f}), six_rgb});
  out->push_back({"bmp24", Bmp(Rows(bgr), 24, 0, false, {}), rgb});
  out->push_back({"bmp32", Bmp(Rows(bgrx), 32, 0, true, {}), rgb});
  out->push_back({"bmp32_masks", Bmp(Rows(masked), 32, 3, false, {0xff000000, 0xff, 0xff00}), rgb});
}

Data Pnm(const std::string& header, const Data& data) {
  Data d(header.begin(), header.end());
  d.insert(d.end(), data.begin(), data.end());
  return d;
}
Data Digits(const Data& samples, const char* between) {
  std::string s;
  for (uint8_t v : samples) s += std::to_string(v) + between;
  return Data(s.begin(), s.end());
}

void AddPnm(std::vector<TestFile>* out) {
  const Data rgb = Colours(), two = Indices(2), gray = Indices(250), fifteen = Indices(16);
  const std::string size = "\n# a comment\n13 9\n";
  Data wide;
  for (uint8_t v : gray) wide.insert(wide.end(), {v, v});
  auto ink = [](int v) { return std::vector<int>(3, v ? 0 : 255); };
  out->push_back({"p1", Pnm("P1" + size, Digits(two, "")), Rgb(two, ink)});
  out->push_back({"p2", Pnm("P2" + size + "15\n", Digits(fifteen, " ")), Rgb(fifteen, Gray(17))});
  out->push_back({"p3", Pnm("P3" + size + "255\n", Digits(rgb, "\n")), rgb});
  out->push_back({"p4", Pnm("P4" + size, Packed(two, 1, 2)), Rgb(two, ink)});
  out->push_back({"p5_16", Pnm("P5" + size + "65535\n", wide), Rgb(gray, Gray(1))});
  out->push_back({"p6", Pnm("P6" + size + "255\n", rgb), rgb});
}

void AddPng(std::vector<TestFile>* out) {
  const Data rgb = Colours(), gray = Indices(250), two = Indices(2), sixteen = Indices(16);
  Data rgba, deep, gray_alpha;
  for (size_t i = 0; i < kPixels; ++i) {
    rgba.insert(rgba.end(), {rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2], static_cast<uint8_t>(i)});
    gray_alpha.insert(gray_alpha.end(), {gray[i], static_cast<uint8_t>(i)});
  }
  for (uint8_t v : rgb) deep.insert(deep.end(), {v, 0x80});
  out->push_back({"png_rgb", Png(rgb, PNG_COLOR_TYPE_RGB, 8, false), rgb});
  out->push_back({"png_interlaced", Png(rgb, PNG_COLOR_TYPE_RGB, 8, true), rgb});
  out->push_back({"png_rgba", Png(rgba, PNG_COLOR_TYPE_RGB_ALPHA, 8, false), rgb});
  out->push_back({"png_rgb16", Png(deep, PNG_COLOR_TYPE_RGB, 16, false), rgb});
  out->push_back({"png_gray", Png(gray, PNG_COLOR_TYPE_GRAY, 8, false), Rgb(gray, Gray(1))});
  out->push_back({"png_gray_alpha", Png(gray_alpha, PNG_COLOR_TYPE_GRAY_ALPHA, 8, true), Rgb(gray, Gray(1))});
  out->push_back({"png_gray1", Png(Packed(two, 1, 2), PNG_COLOR_TYPE_GRAY, 1, false), Rgb(two, Gray(255))});
  out->push_back({"png_palette", Png(Packed(sixteen, 4, 7), PNG_COLOR_TYPE_PALETTE, 4, false), Rgb(sixteen, Palette)});
}

}  // namespace

std::vector<TestFile> TestFiles() {
  std::vector<TestFile> out;
  const Data rgb = Colours(), gray = Indices(250);
  Data inks, rgba, steps;
  for (size_t i = 0; i < kPixels; ++i) {  // inverted, as Adobe's: light, with no black
    inks.insert(inks.end(), {rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2], 255});
    rgba.insert(rgba.end(), {rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2], 100});
    steps.push_back(static_cast<uint8_t>(i / kWidth * 30));
  }
  out.push_back({"jpeg", Jpeg(rgb, 3, JCS_RGB, false), rgb, 24});
  out.push_back({"jpeg_progressive", Jpeg(rgb, 3, JCS_RGB, true), rgb, 24});
  out.push_back({"jpeg_gray", Jpeg(steps, 1, JCS_GRAYSCALE, false), Rgb(steps, Gray(1)), 3});
  out.push_back({"jpeg_cmyk", Jpeg(inks, 4, JCS_CMYK, false), rgb, 4});
  AddPng(&out);
  AddBmp(&out);
  AddPnm(&out);
  out.push_back({"tiff", Tiff(rgb, 3, PHOTOMETRIC_RGB, COMPRESSION_NONE, false), rgb});
  out.push_back({"tiff_lzw", Tiff(rgb, 3, PHOTOMETRIC_RGB, COMPRESSION_LZW, false), rgb});
  out.push_back({"tiff_tiles", Tiff(rgb, 3, PHOTOMETRIC_RGB, COMPRESSION_ADOBE_DEFLATE, true), rgb});
  out.push_back({"tiff_alpha", Tiff(rgba, 4, PHOTOMETRIC_RGB, COMPRESSION_NONE, false), rgb});
  out.push_back({"tiff_gray", Tiff(gray, 1, PHOTOMETRIC_MINISBLACK, COMPRESSION_PACKBITS, false), Rgb(gray, Gray(1))});
  out.push_back({"webp_lossless", Webp(rgb, true), rgb});
  out.push_back({"webp", Webp(rgb, false), rgb, 40});
  out.push_back({"j2k", Jpeg2000(rgb, 3, OPJ_CODEC_J2K), rgb});
  out.push_back({"jp2_gray", Jpeg2000(gray, 1, OPJ_CODEC_JP2), Rgb(gray, Gray(1))});
  return out;
}

}  // namespace headrace_image
