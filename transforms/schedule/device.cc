#include "transforms/schedule/device.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "ir/base/closest_word.h"

namespace headrace::schedule {
namespace {

struct Field {
  const char* name;
  int64_t Device::*value;
};
constexpr Field kFields[] = {
    {"vector-bytes", &Device::vector_bytes},
    {"chunk-operations", &Device::chunk_operations},
    {"row-elements", &Device::row_elements},
    {"sum-elements", &Device::sum_elements},
    {"short-sum", &Device::short_sum},
    {"partial-bytes", &Device::partial_bytes},
    {"long-partial-bytes", &Device::long_partial_bytes},
    {"long-sum", &Device::long_sum},
    {"transpose-elements", &Device::transpose_elements},
    {"short-row", &Device::short_row},
    {"middle-sum", &Device::middle_sum},
    {"short-partial-bytes", &Device::short_partial_bytes},
    {"most-choices", &Device::most_choices},
    {"few-results", &Device::few_results},
    {"most-parts", &Device::most_parts},
    {"part-iterations", &Device::part_iterations},
    {"loop-block-bytes", &Device::loop_block_bytes},
    {"rows-together", &Device::rows_together},
    {"tile-rows", &Device::tile_rows},
    {"tile-vectors", &Device::tile_vectors},
    {"tile-sums", &Device::tile_sums},
    {"block-rows", &Device::block_rows},
    {"block-rows-turned", &Device::block_rows_turned},
    {"block-columns", &Device::block_columns},
    {"block-depth", &Device::block_depth},
    {"block-columns-packed", &Device::block_columns_packed},
    {"block-depth-packed", &Device::block_depth_packed},
    {"block-depth-lines", &Device::block_depth_lines},
    {"packed-rows", &Device::packed_rows},
    {"register-square", &Device::register_square},
    {"prefetch-elements", &Device::prefetch_elements},
    {"tile-operations", &Device::tile_operations},
    {"product-parts", &Device::product_parts},
    {"product-part", &Device::product_part},
    {"term-results", &Device::term_results},
    {"term-parts", &Device::term_parts},
    {"term-part", &Device::term_part},
    {"few-columns", &Device::few_columns},
    {"along-results", &Device::along_results},
    {"cache-stride", &Device::cache_stride},
    {"square-elements", &Device::square_elements},
    {"point-rows", &Device::point_rows},
    {"point-terms", &Device::point_terms},
    {"panel-elements", &Device::panel_elements},
    {"columns-span", &Device::columns_span},
    {"strip-elements", &Device::strip_elements},
    {"strip-points", &Device::strip_points},
    {"winograd-channels", &Device::winograd_channels},
    {"winograd-gain", &Device::winograd_gain},
    {"winograd-elements", &Device::winograd_elements},
    {"winograd-tiles", &Device::winograd_tiles},
    {"winograd-span", &Device::winograd_span},
    {"window-rows", &Device::window_rows},
    {"window-vectors", &Device::window_vectors},
    {"window-border-vectors", &Device::window_border_vectors},
    {"window-terms", &Device::window_terms},
    {"channel-sum-gain", &Device::channel_sum_gain},
    {"window-gain", &Device::window_gain},
    {"weight-gradient-loss", &Device::weight_gradient_loss},
    {"turned-element", &Device::turned_element},
    {"copy-share", &Device::copy_share},
    {"symbol-size", &Device::symbol_size},
    {"block-threads", &Device::block_threads},
    {"shared-bytes", &Device::shared_bytes},
    {"stream-moved", &Device::stream_moved},
    {"stream-bytes", &Device::stream_bytes},
    {"stream-line", &Device::stream_line},
    {"bf16-dot", &Device::bf16_dot},
    {"byte-dot", &Device::byte_dot},
};

Status Wrong(const std::string& device, const std::string& what, const std::string& hint) {
  return UsageError("E0369", "device description '" + device + "': " + what, hint);
}

const DeviceText* Known(const std::string& name) {
  const DeviceText* const end = kDevices + kDeviceCount;
  const DeviceText* const found = std::find_if(kDevices, end, [&](const DeviceText& d) { return name == d.name; });
  return found == end ? nullptr : found;
}

Result<const Field*> FindField(const std::string& device, const std::string& name) {
  std::vector<std::string> known;
  for (const Field& f : kFields) {
    if (name == f.name) return &f;
    known.push_back(f.name);
  }
  const std::string close = ClosestWord(name, known);
  return Wrong(device, "unknown property '" + name + "'", close.empty() ? "" : "did you mean '" + close + "'?");
}

}  // namespace

Result<Device> ParseDevice(std::string name, std::string_view text) {
  Device d, like;
  d.name = std::move(name);
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string key, value, rest;
    if (!(words >> key)) continue;
    if (key == "like") {
      words >> value;
      const DeviceText* known = Known(value);
      if (!known) return Wrong(d.name, "there is no '" + value + "' to be like", "name one that comes with Headrace: like cpu");
      HR_ASSIGN_OR_RETURN(like, ParseDevice(value, known->text));
      continue;
    }
    HR_ASSIGN_OR_RETURN(const Field* field, FindField(d.name, key));
    if (d.*field->value != 0) return Wrong(d.name, "'" + key + "' is there twice", "give each property once");
    size_t used = 0;
    if (words >> value && !(words >> rest) && value.size() < 12 && value.find_first_not_of("0123456789") == value.npos)
      d.*field->value = std::stoll(value, &used);
    if (d.*field->value < 1) return Wrong(d.name, "'" + key + "' is no number of 1 or more", "write one: " + key + " 64");
  }
  for (const Field& f : kFields) {
    if (d.*f.value == 0) d.*f.value = like.*f.value;
    if (d.*f.value == 0)
      return Wrong(d.name, "there is no '" + std::string(f.name) + "'", "transforms/schedule/devices/cpu.txt has all");
  }
  return d;
}

Result<Device> With(Device d, const std::vector<std::pair<std::string, int64_t>>& numbers) {
  for (const auto& [name, value] : numbers) {
    HR_ASSIGN_OR_RETURN(const Field* field, FindField(d.name, name));
    if (field->value == &Device::block_threads && value != d.block_threads)
      return Wrong(d.name, "'" + name + "' can't be another for one kernel: it says what kind of device this is, and results depend on it",
                   "leave it out of the plan");
    d.*field->value = value;
  }
  return d;
}

int64_t RowsOfTiles(int64_t rows, int64_t most, const Device& d) {
  int64_t even = most;
  while (3 * even > 2 * most && rows % even != 0) --even;
  if (rows % even == 0 && even * d.tile_vectors >= d.tile_sums) return even;
  const int64_t tiles = (rows + most - 1) / most;
  return (rows + tiles - 1) / tiles;
}

Device ForProcessors(Device d, int64_t count) {
  if (count <= d.product_parts) return d;
  d.product_parts = count;
  d.product_part = std::max<int64_t>(1, d.product_part / 2);
  return d;
}

Device ForCache(Device d, int64_t bytes) {
  d.stream_moved = std::max(d.stream_moved, bytes + bytes / 4);
  return d;
}

namespace {

// Bytes of the last one that this process works in; 0: nobody says. (sysconf adds up those of a whole AMD processor.)
int64_t LastCache() {
  std::ifstream in("/sys/devices/system/cpu/cpu0/cache/index3/size");  // 32768K
  int64_t size = 0;
  char unit = 0;
  if (!(in >> size >> unit) || size < 0) return 0;
  return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : 0;
}

#if defined(__x86_64__) || defined(__i386__)
// Intel's processors with AVX512_FP16 begin a vdpbf16ps every other cycle, and two fmas of f32 in each: pairs take twice as long there
// (measured on Emerald Rapids: 96 against 188 GFLOP/s of a core).
bool PairsAreFast() {
  return __builtin_cpu_supports("avx512bf16") && !(__builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16"));
}
#endif

// Of the descriptions of cpu: the one for what this processor has, and is fast with.
std::string HostDevice() {
#if defined(__x86_64__) || defined(__i386__)
  if (PairsAreFast()) return "cpu_bf16";
  if (__builtin_cpu_supports("avx512vnni")) return "cpu_vnni";
  if (__builtin_cpu_supports("avx512f")) return "cpu";
#endif
  return "cpu_avx2";
}

// Those that this process may use, of which a container may have fewer than the machine.
int64_t Processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

Result<Device> FindDevice(const std::string& name_or_file) {
  std::string known = "host";
  const bool host = name_or_file == "host";
  const char* const asked = std::getenv("HEADRACE_DEVICE");
  if (host && asked && *asked && asked != name_or_file) return FindDevice(asked);
  const std::string name = host ? HostDevice() : name_or_file;
  if (const DeviceText* text = Known(name)) {
    HR_ASSIGN_OR_RETURN(Device d, ParseDevice(name.substr(0, name.find('_')), text->text));
    return host ? ForCache(ForProcessors(std::move(d), Processors()), LastCache()) : d;
  }
  for (int i = 0; i < kDeviceCount; ++i) known += ", " + std::string(kDevices[i].name);
  std::ifstream in(name);
  if (!in) return Wrong(name, "there is none of this name, and no such file", "devices: " + known);
  std::stringstream all;
  all << in.rdbuf();
  const std::string file = name.substr(name.rfind('/') + 1);
  return ParseDevice(file.substr(0, file.find('.')), all.str());
}

}  // namespace headrace::schedule
