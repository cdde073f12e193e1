// Files of named tensors: https://huggingface.co/docs/safetensors (8 bytes of header length, JSON header, data). Ours carry
// in their metadata a checksum (BLAKE2b) of header and data, so that a file with one changed bit is told from a good one.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "ir/base/value.h"

namespace headrace::training {

struct Snapshot {
  std::map<std::string, std::string> metadata;          // step, seed, what the run was started with
  std::vector<std::pair<std::string, Tensor>> tensors;  // by name, in order
};

// Whole or not at all: errors name the file and the reason (no space, read-only), and nothing is left behind.
Status WriteSafetensors(const std::string& path, const Snapshot& s);
// Errors say what is wrong: too short, a header that is no JSON or tells lies, an unknown type, another checksum or none.
// A file's own words are not trusted: nothing is allocated that its size does not cover.
Result<Snapshot> ReadSafetensors(const std::string& path);

// What the header says, in its order; checked: the tensors fill the `data_bytes` after the header without gap or overlap.
struct SafetensorsHeader {
  struct Entry {
    std::string name;
    DType dtype = DType::kNone;
    std::vector<int64_t> shape;
    int64_t begin = 0, end = 0;  // bytes from the header's end
  };
  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;
};
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json, int64_t data_bytes);

}  // namespace headrace::training
