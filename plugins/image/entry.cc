// ImageDecoder of ONNX. The plugin is light: what decodes lies in libimage_codecs.so, opened at the first image.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "plugins/image/codecs.h"
#include "plugins/onnx/external/call.h"
#include "plugins/onnx/external/expand.h"

namespace {

using headrace_plugin::Node;
using onnx_ops::external::Call;
using onnx_ops::external::Fail;
using onnx_ops::external::Require;

constexpr const char* kCodecs = "libimage_codecs.so";
constexpr int64_t kMaxPixels = int64_t{1} << 28;
constexpr const char* kMaxPixelsVariable = "HEADRACE_MAX_IMAGE_PIXELS";

struct Codecs {
  hr_decode_image decode = nullptr;
  hr_free_image free = nullptr;
};

// The Debian package of a library that the loader misses.
std::string PackageOf(const std::string& error) {
  static const char* const kPackages[][2] = {{"libjpeg.so", "libjpeg62-turbo"},
                                             {"libpng16.so", "libpng16-16"},
                                             {"libtiff.so", "libtiff6"},
                                             {"libwebp.so", "libwebp7"},
                                             {"libopenjp2.so", "libopenjp2-7"}};
  for (const auto& [library, package] : kPackages)
    if (error.rfind(library, 0) == 0) return std::string("; on Debian: apt-get install ") + package;
  return "";
}

std::string OwnFolder() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&OwnFolder), &info) || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Where the codecs may lie: beside this plugin (an artifact), or in lib/ beside the plugins' folder.
std::vector<std::string> CodecsFiles() { return {OwnFolder() + "/" + kCodecs, OwnFolder() + "/../lib/" + kCodecs}; }

// A failure is tried again the next time.
Codecs LoadCodecs() {
  static std::mutex mutex;
  static Codecs codecs;
  const std::lock_guard<std::mutex> lock(mutex);
  if (codecs.decode) return codecs;
  void* library = nullptr;
  std::string why;
  for (const std::string& file : CodecsFiles()) {
    library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library) break;
    const std::string error = dlerror();  // of a file that is there, rather than of one that is not
    if (why.empty() || why.find(kCodecs) != std::string::npos) why = error;
  }
  if (!library) Fail("the image codecs can't be loaded: " + why + PackageOf(why));
  codecs.free = reinterpret_cast<hr_free_image>(dlsym(library, "headrace_free_image"));
  codecs.decode = reinterpret_cast<hr_decode_image>(dlsym(library, "headrace_decode_image"));
  Require(codecs.decode && codecs.free, "libimage_codecs.so is of another version");
  return codecs;
}

int64_t MaxPixels() {
  const char* text = std::getenv(kMaxPixelsVariable);
  if (!text || !*text) return kMaxPixels;
  char* end = nullptr;
  const long long n = std::strtoll(text, &end, 10);
  if (*end || n <= 0) Fail(std::string(kMaxPixelsVariable) + " is '" + text + "', a positive number is expected");
  return n;
}

int32_t OrderOf(const std::string& format) {
  if (format == "RGB") return HR_IMAGE_RGB;
  if (format == "BGR") return HR_IMAGE_BGR;
  if (format == "Grayscale") return HR_IMAGE_GRAY;
  Fail("pixel_format is '" + format + "', it must be RGB, BGR or Grayscale");
}

struct Decoded {
  const Codecs& codecs;
  hr_image image = {};
  ~Decoded() { codecs.free(&image); }
};

}  // namespace

// What an artifact carries beside this plugin.
extern "C" __attribute__((visibility("default"))) const char* const* headrace_files() {
  static const std::string file = [] {
    for (const std::string& f : CodecsFiles())
      if (access(f.c_str(), R_OK) == 0) return f;
    return std::string();
  }();
  static const char* const files[] = {file.empty() ? nullptr : file.c_str(), nullptr};
  return files;
}

// What can't be decoded gives an image without pixels, as ONNX defines it; one that is too large is an error.
HR_ONNX_FUNCTION(onnx_image_decoder) {
  const hr_value& x = call.Tensor("encoded_stream");
  Require(x.dtype == HR_U8 && x.rank == 1, "encoded_stream must be a list of u8");
  const int32_t order = OrderOf(call.Str("pixel_format", "RGB"));
  const int64_t max_pixels = MaxPixels();
  const Codecs codecs = LoadCodecs();
  Decoded d{codecs};
  const int32_t code = codecs.decode(static_cast<const uint8_t*>(x.data), x.shape[0], order, max_pixels, &d.image);
  if (code == HR_IMAGE_TOO_LARGE)
    Fail(std::string(d.image.message) + ", the limit is " + std::to_string(max_pixels) + " (" + kMaxPixelsVariable +
         " sets another)");
  if (code == HR_IMAGE_NO_MEMORY) throw std::bad_alloc();
  const int64_t channels = order == HR_IMAGE_GRAY ? 1 : 3;
  const onnx_ops::external::Shape shape = {d.image.height, d.image.width, channels};
  const int output = call.Output("image");
  hr_value& made = call.raw()->outputs[output];
  if (code != HR_IMAGE_OK && made.kind == HR_TENSOR && made.shape != nullptr)  // no room for "nothing"
    Fail(std::string("the image can't be decoded: ") + d.image.message);
  void* to = call.Make(output, HR_U8, shape);
  if (d.image.pixels) std::memcpy(to, d.image.pixels, static_cast<size_t>(d.image.height * d.image.width * channels));
}

HEADRACE_PLUGIN("image_ops", "1.0") {
  onnx_ops::external::AddFunction(r, "image_decoder");
  onnx_ops::external::Add(r, "ImageDecoder", "image_decoder", [](const Node& n) -> std::string {
    const std::string format = n.attribute("pixel_format", "\"RGB\"");
    const bool known = format == "\"RGB\"" || format == "\"BGR\"" || format == "\"Grayscale\"";
    return known ? "" : "pixel_format is " + format + ", it must be RGB, BGR or Grayscale";
  });
}
