// The codecs' shared object as the plugin sees it: one function, opened by dlopen when a model decodes its first image.
#pragma once
#include <stddef.h>
#include <stdint.h>

extern "C" {

enum { HR_IMAGE_RGB = 0, HR_IMAGE_BGR = 1, HR_IMAGE_GRAY = 2 };
enum { HR_IMAGE_OK = 0, HR_IMAGE_UNDECODABLE = 1, HR_IMAGE_TOO_LARGE = 2, HR_IMAGE_NO_MEMORY = 3 };

typedef struct hr_image {
  int64_t height, width;
  int32_t channels;
  uint8_t* pixels;  // height × width × channels, to be given to headrace_free_image
  char message[256];
} hr_image;

// Decodes a whole file in memory. Nothing larger than max_pixels is decoded, nor memory for it asked for.
typedef int32_t (*hr_decode_image)(const uint8_t* data, int64_t size, int32_t order, int64_t max_pixels, hr_image* out);
typedef void (*hr_free_image)(hr_image* image);

__attribute__((visibility("default"))) int32_t headrace_decode_image(const uint8_t* data, int64_t size, int32_t order,
                                                                     int64_t max_pixels, hr_image* out);
__attribute__((visibility("default"))) void headrace_free_image(hr_image* image);
}
