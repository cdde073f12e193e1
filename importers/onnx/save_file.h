// A file that is written whole or not at all: under a temporary name beside it, synced, renamed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "ir/base/status.h"

namespace headrace::onnx_import {

class FileWriter {
 public:
  explicit FileWriter(std::string path) : path_(std::move(path)) {}
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  ~FileWriter();  // what was not renamed is removed

  Status Open();  // what killed processes left under such a name is removed
  Status Write(std::string_view bytes);
  Status Pad(int64_t alignment);  // zeros up to a multiple
  Status Sync();
  Status Rename();
  Status Failed(int error) const;  // "the file can't be written: No space left on device"

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  int64_t size() const { return size_; }  // of what Write and Pad wrote
  const std::string& path() const { return path_; }

 private:
  std::string path_, temporary_;
  int fd_ = -1;
  int64_t size_ = 0;
};

}  // namespace headrace::onnx_import
