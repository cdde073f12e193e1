#include "importers/onnx/external_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace headrace::onnx_import {
namespace {

struct Fd {
  int fd = -1;
  explicit Fd(int f) : fd(f) {}
  Fd(Fd&& o) noexcept : fd(o.fd) { o.fd = -1; }
  Fd& operator=(Fd&& o) noexcept {
    std::swap(fd, o.fd);
    return *this;
  }
  ~Fd() {
    if (fd >= 0) close(fd);
  }
};

struct Mapping {
  void* data = nullptr;
  size_t size = 0;
  ~Mapping() {
    if (data) munmap(data, size);
  }
};

Result<MappedFile> Map(int fd, int64_t size) {
  auto mapping = std::make_shared<Mapping>();
  if (size > 0) {
    void* data = mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return InvalidError("E0512",
                                                std::string("the file can't be mapped: ") + std::strerror(errno));
    mapping->data = data;
    mapping->size = static_cast<size_t>(size);
  }
  static char empty = 0;
  char* data = size > 0 ? static_cast<char*>(mapping->data) : &empty;
  return MappedFile{Buffer::Wrap(data, size, mapping, /*writable=*/false)};
}

Status Refused(const std::string& location, const std::string& why) {
  Diagnostic d;
  d.code = "E0510";
  d.message = "external data '" + location + "' is refused: " + why;
  d.hint = "external data must be a regular file inside the model's folder, named by a relative path";
  return Status(d);
}

Status LinkedElsewhere(const std::string& location, const struct stat& st) {
  return Refused(location,
                 "the file has " + std::to_string(st.st_nlink) + " links, and a hard link may lead outside the folder");
}

}  // namespace

Result<MappedFile> MapFile(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.fd < 0) return WithFile(InvalidError("E0512",
                                              "the file can't be opened: " + std::string(std::strerror(errno))), path);
  struct stat st;
  if (fstat(fd.fd, &st) != 0) return WithFile(InvalidError("E0512", std::strerror(errno)), path);
  if (!S_ISREG(st.st_mode)) return WithFile(InvalidError("E0512", "not a regular file"), path);
  Result<MappedFile> m = Map(fd.fd, st.st_size);
  if (!m.ok()) return WithFile(m.status(), path);
  return m;
}

Result<MappedFile> ExternalFiles::Open(const std::string& location) {
  auto known = open_.find(location);
  if (known != open_.end()) return known->second;
  if (location.empty()) return Refused(location, "the location is empty");
  if (location[0] == '/') return Refused(location, "the path is absolute");
  if (location.find('\0') != std::string::npos) return Refused(location, "the path holds a zero byte");
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= location.size();) {
    size_t end = std::min(location.find('/', begin), location.size());
    std::string part = location.substr(begin, end - begin);
    if (part == "..") return Refused(location, "the path leaves the model's folder ('..')");
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
    begin = end + 1;
  }
  if (parts.empty() || location.back() == '/') return Refused(location, "the path names a folder");
  Fd folder(open(folder_.empty() ? "." : folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.fd < 0)
    return Refused(location, std::string("the model's folder can't be opened: ") + std::strerror(errno));
  struct stat st;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    // Looked at before it is opened: opening a device or a pipe can have effects.
    if (fstatat(folder.fd, parts[i].c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
      return Refused(location, std::string("'") + parts[i] + "': " + std::strerror(errno));
    if (S_ISLNK(st.st_mode)) return Refused(location, "'" + parts[i] + "' is a symbolic link");
    if (!last && !S_ISDIR(st.st_mode)) return Refused(location, "'" + parts[i] + "' is not a folder");
    if (last && S_ISDIR(st.st_mode)) return Refused(location, "the path names a folder");
    if (last && !S_ISREG(st.st_mode)) return Refused(location, "it is not a regular file");
    if (last && st.st_nlink != 1) return LinkedElsewhere(location, st);
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY);
    Fd next(openat(folder.fd, parts[i].c_str(), flags));
    if (next.fd < 0) return Refused(location, std::string("'") + parts[i] + "': " + std::strerror(errno));
    folder = std::move(next);
  }
  if (fstat(folder.fd, &st) != 0) return Refused(location, std::strerror(errno));
  if (!S_ISREG(st.st_mode)) return Refused(location, "it is not a regular file");
  if (st.st_nlink != 1) return LinkedElsewhere(location, st);
  Result<MappedFile> m = Map(folder.fd, st.st_size);
  if (!m.ok()) return m.status();
  open_[location] = *m;
  return m;
}

}  // namespace headrace::onnx_import
