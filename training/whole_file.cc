#include "training/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace headrace::training {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// What went wrong, and what to do about it.
std::pair<std::string, std::string> Reason(int number) {
  switch (number) {
    case ENOSPC: return {"no space is left on the device", "make room, or name a folder elsewhere"};
    case EDQUOT: return {"the disk quota is used up", "make room, or name a folder elsewhere"};
    case EFBIG: return {"the file would be larger than this process or file system allows", "see ulimit -f"};
    case EROFS: return {"the file system is read-only", "name a folder that can be written"};
    case EACCES:
    case EPERM: return {"permission denied", "name a folder that can be written"};
    case EIO: return {"the device reports an input/output error", "the disk may be failing: name a folder elsewhere"};
    case ENOTDIR: return {"a part of its path is a file, not a folder", ""};
    case ENOENT: return {"its folder does not exist", ""};
    case EISDIR: return {"this is a folder", ""};
    default: return {std::strerror(number), ""};
  }
}

}  // namespace

Status WriteError(const std::string& path, int number) {
  auto [reason, hint] = Reason(number);
  Diagnostic d;
  d.code = "E0951", d.file = path, d.hint = hint;
  d.message = "can't write here: " + reason;
  return Status(d);
}

bool WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), std::min<size_t>(text.size(), 1 << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

Status SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return WriteError(folder, errno);
  // Some network file systems can't sync a folder and say EINVAL.
  const int failed = fsync(fd) != 0 && errno != EINVAL ? errno : 0;
  close(fd);
  return failed ? WriteError(folder, failed) : Status();
}

namespace {

// A pipe or a device is written to; one must not be replaced by a file.
Status WriteSpecial(const std::string& path, const std::vector<std::string_view>& parts) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return WriteError(path, errno);
  bool good = true;
  for (size_t i = 0; i < parts.size() && good; ++i) good = WriteAll(fd, parts[i]);
  int failed = good ? 0 : errno;
  if (close(fd) != 0 && good) failed = errno;
  return failed ? WriteError(path, failed) : Status();
}

}  // namespace

Status WriteWholeFile(const std::string& given, const std::vector<std::string_view>& parts, bool durable) {
  std::string path = given;
  if (struct stat st; stat(path.c_str(), &st) == 0) {
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) return WriteSpecial(path, parts);
    if (char real[PATH_MAX]; realpath(path.c_str(), real)) path = real;  // what a link names is replaced, not the link
  }
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  // One may lie there from a dead process of the same number.
  int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 && errno == EEXIST && unlink(temporary.c_str()) == 0)
    fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return WriteError(path, errno);
  bool good = true;
  for (size_t i = 0; i < parts.size() && good; ++i) good = WriteAll(fd, parts[i]);
  good = good && (!durable || fsync(fd) == 0);
  int failed = good ? 0 : errno;
  if (close(fd) != 0 && good) failed = errno;
  if (failed == 0 && rename(temporary.c_str(), path.c_str()) != 0) failed = errno;
  if (failed != 0) {
    unlink(temporary.c_str());
    return WriteError(path, failed);
  }
  return durable ? SyncFolder(FolderOf(path)) : Status();
}

}  // namespace headrace::training
