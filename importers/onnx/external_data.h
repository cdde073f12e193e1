// Files beside a model that hold its tensors' data. The only place that opens a file a model names.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ir/base/status.h"
#include "ir/base/value.h"

namespace headrace::onnx_import {

// A whole file mapped read-only.
struct MappedFile {
  std::shared_ptr<Buffer> bytes;
  std::string_view view() const { return {bytes->data(), static_cast<size_t>(bytes->size())}; }
};
Result<MappedFile> MapFile(const std::string& path);

// Opens files of one folder. A location is refused unless it is a relative path without "..", no component is a symbolic
// link, and it ends at a regular file with exactly one link: so nothing outside the folder can be reached.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::string folder) : folder_(std::move(folder)) {}
  Result<MappedFile> Open(const std::string& location);

 private:
  std::string folder_;
  std::map<std::string, MappedFile> open_;
};

}  // namespace headrace::onnx_import
