// WebP by libwebp, lossy and lossless. Alpha is dropped; animations are not decoded.
#include "plugins/image/formats.h"
#include "webp/decode.h"

namespace headrace_image {

void ReadWebp(const Bytes& file, Sink& sink) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK) throw Undecodable("WebP: a damaged header");
  if (features.has_animation) throw Undecodable("WebP: an animation");
  sink.Begin(features.width, features.height, Samples::kRgb);
  const size_t stride = static_cast<size_t>(features.width) * 3, n = stride * static_cast<size_t>(features.height);
  Buffer<uint8_t> rgb = MakeBuffer<uint8_t>(n);
  if (!WebPDecodeRGBInto(file.data(), file.size(), rgb.get(), n, static_cast<int>(stride)))
    throw Undecodable("WebP: damaged data");
  for (int64_t y = 0; y < sink.height(); ++y) sink.Row(y, rgb.get() + static_cast<size_t>(y) * stride);
}

}  // namespace headrace_image
