// A device as schedules see it: the numbers that they are chosen by. Text: one `name value` per line, # begins a comment.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/base/status.h"

namespace headrace::schedule {

struct Device {
  std::string name;
  int64_t vector_bytes = 0, chunk_operations = 0, row_elements = 0, sum_elements = 0, short_sum = 0, partial_bytes = 0,
          long_partial_bytes = 0, long_sum = 0, transpose_elements = 0, few_results = 0, most_choices = 0, short_row = 0,
          middle_sum = 0, short_partial_bytes = 0, most_parts = 0, part_iterations = 0, loop_block_bytes = 0, rows_together = 0, tile_rows = 0, tile_vectors = 0, tile_sums = 0,
          block_rows = 0, block_rows_turned = 0, block_columns = 0, block_depth = 0, block_columns_packed = 0,
          block_depth_packed = 0, block_depth_lines = 0, packed_rows = 0, register_square = 0, prefetch_elements = 0,
          tile_operations = 0, product_parts = 0, product_part = 0, term_results = 0, term_parts = 0, term_part = 0,
          few_columns = 0, along_results = 0, cache_stride = 0, square_elements = 0, point_rows = 0, columns_span = 0,
          point_terms = 0, panel_elements = 0, strip_elements = 0, strip_points = 0, winograd_channels = 0, winograd_gain = 0,
          winograd_elements = 0, winograd_tiles = 0, winograd_span = 0, window_rows = 0, window_vectors = 0,
          window_border_vectors = 0, window_terms = 0,
          channel_sum_gain = 0, window_gain = 0, weight_gradient_loss = 0, turned_element = 0, copy_share = 0, symbol_size = 0,  // layouts
          block_threads = 0, shared_bytes = 0,  // of an accelerator
          stream_moved = 0, stream_bytes = 0, stream_line = 0,  // of memory past the caches
          bf16_dot = 0, byte_dot = 0;           // products that are added to an f32 or i32 at once: dot2, dot4; 1: none are
};

// Each number once, at least 1; those that are missing are of the description that `like NAME` names. Errors: E0369.
Result<Device> ParseDevice(std::string name, std::string_view text);
// Rows of the tiles that so many are cut into, `most` at most: as many in all if they can be nearly as high and have sums enough, else
// one tile is less high.
int64_t RowsOfTiles(int64_t rows, int64_t most, const Device& d);
// The device with these numbers instead of its own. Errors: E0369.
Result<Device> With(Device d, const std::vector<std::pair<std::string, int64_t>>& numbers);
// Products in parts for so many processors, where there are more than the description has parts for. Sums stay whole: the same bits.
Device ForProcessors(Device d, int64_t count);
// What is written stays in a last cache of so many bytes where all that a kernel moves does. The same bits.
Device ForCache(Device d, int64_t bytes);
// The description that comes with Headrace under this name ("cpu"; "cpu_avx2" is one of cpu, too; "host": what HEADRACE_DEVICE
// names, or else the one of this processor, for as many as this process may use), or else that of the file of this name.
Result<Device> FindDevice(const std::string& name_or_file);

struct DeviceText {
  const char* name;
  const char* text;
};
extern const DeviceText kDevices[];  // generated from devices/*.txt
extern const int kDeviceCount;

}  // namespace headrace::schedule
