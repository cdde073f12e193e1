// PBM, PGM, PPM, as digits (P1 … P3) or bytes (P4 … P6), of any depth up to 16 bits.
#include <cmath>
#include <vector>

#include "plugins/image/formats.h"

namespace headrace_image {
namespace {

bool IsSpace(uint32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

class Reader {
 public:
  explicit Reader(const Bytes& f) : f_(f) {}
  uint32_t Number(uint32_t most) {
    Skip();
    const size_t begin = at_;
    uint64_t v = 0;
    for (; at_ < f_.size() && f_.U8(at_) >= '0' && f_.U8(at_) <= '9'; ++at_) {
      v = v * 10 + (f_.U8(at_) - '0');
      if (v > most) throw Undecodable("PNM: a number is larger than " + std::to_string(most));
    }
    if (at_ == begin) throw Undecodable("PNM: a number is missing");
    return static_cast<uint32_t>(v);
  }
  uint32_t Bit() {  // of P1, where nothing need separate them
    Skip();
    const uint32_t c = f_.U8(at_++);
    if (c != '0' && c != '1') throw Undecodable("PNM: neither 0 nor 1");
    return c - '0';
  }
  size_t Data() {  // behind the one space that ends the header
    if (!IsSpace(f_.U8(at_))) throw Undecodable("PNM: no space behind the header");
    return at_ + 1;
  }

 private:
  void Skip() {
    while (at_ < f_.size() && (IsSpace(f_.U8(at_)) || f_.U8(at_) == '#')) {
      if (f_.U8(at_) == '#')
        while (at_ < f_.size() && f_.U8(at_) != '\n' && f_.U8(at_) != '\r') ++at_;
      else ++at_;
    }
  }
  const Bytes& f_;
  size_t at_ = 2;
};

uint8_t Scaled(uint32_t v, uint32_t most) {
  if (most == 255) return static_cast<uint8_t>(v);
  return static_cast<uint8_t>(std::nearbyint(static_cast<double>(v) / most * 255));
}

}  // namespace

void ReadPnm(const Bytes& f, Sink& sink) {
  const uint32_t kind = f.U8(1) - '0';
  const bool bits = kind == 1 || kind == 4, digits = kind <= 3, colour = kind == 3 || kind == 6;
  Reader r(f);
  const int64_t width = r.Number(0x7fffffff), height = r.Number(0x7fffffff);
  const uint32_t most = bits ? 1 : r.Number(65535);
  if (most == 0) throw Undecodable("PNM: the largest value is 0");
  sink.Check(width, height);
  const size_t samples = static_cast<size_t>(width) * (colour ? 3 : 1), wide = most > 255 ? 2 : 1;
  const size_t stride = bits ? (samples + 7) / 8 : samples * wide;
  const size_t data = digits ? 0 : r.Data();
  // Digits take at least one byte each.
  f.At(data, digits ? samples * static_cast<size_t>(height) : stride * static_cast<size_t>(height));
  sink.Begin(width, height, colour ? Samples::kRgb : Samples::kGray);
  std::vector<uint8_t> row(samples);
  for (int64_t y = 0; y < height; ++y) {
    const size_t from = data + static_cast<size_t>(y) * stride;
    for (size_t x = 0; x < samples; ++x) {
      if (bits) {
        row[x] = (digits ? r.Bit() : f.U8(from + x / 8) >> (7 - x % 8) & 1) ? 0 : 255;
        continue;
      }
      const uint32_t v = digits ? r.Number(most) : wide == 2 ? f.Be16(from + 2 * x) : f.U8(from + x);
      row[x] = Scaled(v > most ? most : v, most);
    }
    sink.Row(y, row.data());
  }
}

}  // namespace headrace_image
