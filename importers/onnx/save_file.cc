#include "importers/onnx/save_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace headrace::onnx_import {

FileWriter::~FileWriter() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status FileWriter::Failed(int error) const {
  Diagnostic d;
  d.code = "E0552";
  d.file = path_;
  d.message = std::string("the file can't be written: ") + std::strerror(error);
  if (error == ENOSPC || error == EDQUOT) d.hint = "free some space, or name a file on another disk";
  return Status(d);
}

Status FileWriter::Open() {
  std::string name = path_ + ".tmp" + std::to_string(getpid());
  unlink(name.c_str());  // of a process that was killed and had the same number
  fd_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) return Failed(errno);
  temporary_ = std::move(name);
  return {};
}

Status FileWriter::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd_, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed(errno);
    bytes.remove_prefix(static_cast<size_t>(n));
    size_ += n;
  }
  return {};
}

Status FileWriter::Pad(int64_t alignment) {
  const int64_t missing = (alignment - size_ % alignment) % alignment;
  return Write(std::string(static_cast<size_t>(missing), '\0'));
}

Status FileWriter::Sync() { return fsync(fd_) == 0 ? Status() : Failed(errno); }

Status FileWriter::Rename() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return Failed(errno);
  temporary_.clear();
  // The new name itself lasts once the folder is synced; file systems that can't do that need not.
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    (void)fsync(fd);
    close(fd);
  }
  return {};
}

}  // namespace headrace::onnx_import
