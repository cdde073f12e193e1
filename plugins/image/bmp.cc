// BMP: palettes of 1, 4 and 8 bits, also run-length coded; 16, 24 and 32 bits, also with masks. Alpha is dropped.
#include <algorithm>
#include <array>
#include <vector>

#include "plugins/image/formats.h"

namespace headrace_image {
namespace {

enum Compression { kRgb = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3, kAlphaBitFields = 6 };

struct Header {
  int64_t width = 0, height = 0;
  bool top_down = false;
  uint32_t bits = 0, compression = kRgb;
  size_t pixels = 0;  // where they begin
  std::array<uint32_t, 3> masks = {};
  std::vector<std::array<uint8_t, 3>> palette;
};

void ReadPalette(const Bytes& f, size_t at, size_t entry, uint32_t used, Header* h) {
  const size_t all = size_t{1} << h->bits, n = used == 0 ? all : std::min<size_t>(used, all);
  h->palette.assign(all, {});
  for (size_t i = 0; i < n; ++i) {
    const uint8_t* bgr = f.At(at + i * entry, 3);
    h->palette[i] = {bgr[2], bgr[1], bgr[0]};
  }
}

Header ReadHeader(const Bytes& f) {
  Header h;
  h.pixels = f.Le32(10);
  const uint32_t size = f.Le32(14);
  uint32_t used = 0;
  size_t palette = 14 + size_t{size};
  if (size == 12) {
    h.width = f.Le16(18), h.height = f.Le16(20), h.bits = f.Le16(24);
  } else if (size >= 40 && size <= 124) {
    h.width = static_cast<int32_t>(f.Le32(18)), h.height = static_cast<int32_t>(f.Le32(22));
    h.top_down = h.height < 0;
    if (h.top_down) h.height = -h.height;
    h.bits = f.Le16(28), h.compression = f.Le32(30), used = f.Le32(46);
    if (h.compression == kBitFields || h.compression == kAlphaBitFields) {
      for (size_t k = 0; k < 3; ++k) h.masks[k] = f.Le32(54 + 4 * k);
      if (size == 40) palette += h.compression == kBitFields ? 12 : 16;
    }
  } else {
    throw Undecodable("BMP: an unknown header of " + std::to_string(size) + " bytes");
  }
  const bool run = (h.compression == kRle8 && h.bits == 8) || (h.compression == kRle4 && h.bits == 4);
  const bool masked = h.masks[0] || h.masks[1] || h.masks[2];
  const bool plain = h.compression == kRgb && (h.bits == 1 || h.bits == 4 || h.bits == 8 || h.bits == 16 ||
                                               h.bits == 24 || h.bits == 32);
  if (!run && !plain && !(masked && (h.bits == 16 || h.bits == 32)))
    throw Undecodable("BMP: " + std::to_string(h.bits) + " bits with compression " + std::to_string(h.compression));
  if (h.bits == 16 && h.compression == kRgb) h.masks = {0x7c00, 0x03e0, 0x001f};
  if (h.bits == 32 && h.compression == kRgb) h.masks = {0xff0000, 0xff00, 0xff};
  if (h.bits <= 8) ReadPalette(f, palette, size == 12 ? 3 : 4, used, &h);
  return h;
}

uint8_t Masked(uint32_t value, uint32_t mask) {
  if (mask == 0) return 0;
  const uint32_t low = mask & (~mask + 1), top = mask / low;
  return static_cast<uint8_t>(uint64_t{(value & mask) / low} * 255 / top);
}

// Run-length coded indices, bottom row first; what no run names is index 0.
std::vector<uint8_t> ReadRuns(const Bytes& f, const Header& h) {
  std::vector<uint8_t> out(static_cast<size_t>(h.width * h.height), 0);
  const bool half = h.bits == 4;
  int64_t x = 0, y = 0;
  auto put = [&](uint32_t index) {
    if (x >= h.width || y >= h.height) throw Undecodable("BMP: a run leaves the image");
    out[static_cast<size_t>(y * h.width + x++)] = static_cast<uint8_t>(index);
  };
  auto nibble = [&](uint32_t byte, uint32_t i) { return half ? (i % 2 == 0 ? byte >> 4 : byte & 15) : byte; };
  for (size_t at = h.pixels;;) {
    const uint32_t n = f.U8(at), what = f.U8(at + 1);
    at += 2;
    if (n > 0) {
      for (uint32_t i = 0; i < n; ++i) put(nibble(what, i));
    } else if (what == 0) {
      x = 0, ++y;
    } else if (what == 1) {
      return out;
    } else if (what == 2) {
      x += f.U8(at), y += f.U8(at + 1);
      at += 2;
    } else {
      for (uint32_t i = 0; i < what; ++i) put(nibble(f.U8(at + (half ? i / 2 : i)), i));
      const size_t bytes = half ? (what + 1) / 2 : what;
      at += bytes + bytes % 2;
    }
  }
}

void Pixels(const Header& h, const uint8_t* in, uint8_t* rgb) {
  for (int64_t x = 0; x < h.width; ++x, rgb += 3) {
    if (h.bits <= 8) {
      const int64_t per = 8 / h.bits;
      const uint32_t shift = static_cast<uint32_t>(per - 1 - x % per) * h.bits;
      const auto& colour = h.palette[in[x / per] >> shift & ((1u << h.bits) - 1)];
      std::copy(colour.begin(), colour.end(), rgb);
    } else if (h.bits == 24) {
      rgb[0] = in[3 * x + 2], rgb[1] = in[3 * x + 1], rgb[2] = in[3 * x];
    } else {
      uint32_t v = 0;
      for (uint32_t k = 0; k < h.bits / 8; ++k) v |= uint32_t{in[x * (h.bits / 8) + k]} << 8 * k;
      for (size_t k = 0; k < 3; ++k) rgb[k] = Masked(v, h.masks[k]);
    }
  }
}

}  // namespace

void ReadBmp(const Bytes& f, Sink& sink) {
  Header h = ReadHeader(f);
  sink.Check(h.width, h.height);
  std::vector<uint8_t> indices;
  const bool runs = h.compression == kRle8 || h.compression == kRle4;
  const size_t stride = (static_cast<size_t>(h.width) * h.bits + 31) / 32 * 4;
  if (runs) {
    indices = ReadRuns(f, h);
    h.bits = 8;  // a byte each from here on
    h.palette.resize(256);
  } else {
    f.At(h.pixels, stride * static_cast<size_t>(h.height - 1) + (static_cast<size_t>(h.width) * h.bits + 7) / 8);
  }
  sink.Begin(h.width, h.height, Samples::kRgb);
  std::vector<uint8_t> rgb(static_cast<size_t>(h.width) * 3);
  for (int64_t y = 0; y < h.height; ++y) {
    const size_t stored = static_cast<size_t>(h.top_down ? y : h.height - 1 - y);
    Pixels(h, runs ? indices.data() + stored * static_cast<size_t>(h.width) : f.data() + h.pixels + stored * stride,
           rgb.data());
    sink.Row(y, rgb.data());
  }
}

}  // namespace headrace_image
