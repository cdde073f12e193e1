#include "importers/onnx/save_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace headrace::onnx_import {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Temporary files for `path` of processes that were killed: nobody holds their locks.
void RemoveLeftovers(const std::string& path) {
  const std::string prefix = path.substr(path.rfind('/') + 1) + ".tmp";
  DIR* folder = opendir(FolderOf(path).c_str());
  if (!folder) return;
  while (const dirent* e = readdir(folder)) {
    const std::string name = e->d_name;
    if (name.size() <= prefix.size() || name.compare(0, prefix.size(), prefix) != 0 ||
        name.find_first_not_of("0123456789", prefix.size()) != std::string::npos)
      continue;
    const int fd = openat(dirfd(folder), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(dirfd(folder), name.c_str(), 0);
    close(fd);
  }
  closedir(folder);
}

}  // namespace

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
  RemoveLeftovers(path_);
  const std::string name = path_ + ".tmp" + std::to_string(getpid());
  fd_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) return Failed(errno);
  (void)flock(fd_, LOCK_EX | LOCK_NB);  // held as long as we live
  temporary_ = name;
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
  const int fd = open(FolderOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    (void)fsync(fd);
    close(fd);
  }
  return {};
}

}  // namespace headrace::onnx_import
