#include "ir/text/constant_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace headrace {
namespace {

// Closes on the way out.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

struct Mapping {
  Mapping(void* a, size_t n) : address(a), length(n) {}
  Mapping(const Mapping&) = delete;
  ~Mapping() { munmap(address, length); }
  void* address;
  size_t length;
};

}  // namespace

Result<std::shared_ptr<Buffer>> MapFileBeside(const std::string& beside, const std::string& name, int64_t offset,
                                              int64_t bytes) {
  const std::string shown = "the constant's file \"" + name + "\"";
  if (name.empty() || name[0] == '/' || name.find('\0') != std::string::npos) {
    return InvalidError("E0120", shown + " is not a relative path", "only files in the folder of the text are read");
  }
  const size_t slash = beside.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : beside.substr(0, slash);
  Descriptor at;
  at.fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at.fd < 0) return InvalidError("E0120", "can't open the folder " + folder + ": " + std::strerror(errno));
  // One component at a time: O_NOFOLLOW speaks only of the last one.
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") {
      return InvalidError("E0120",
                          shown + " leaves the folder of the text or has an empty part", "write it without . and ..");
    }
    const bool last = end == name.size();
    int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
    int next = openat(at.fd, part.c_str(), flags);
    if (next < 0) {
      const bool link = errno == ELOOP || (!last && errno == ENOTDIR);
      return InvalidError("E0120", shown + (link ? " goes through a symbolic link or a file"
                                        : std::string(" can't be opened: ") + std::strerror(errno)));
    }
    close(at.fd);
    at.fd = next;
    begin = end + 1;
  }
  struct stat info;
  if (fstat(at.fd, &info) != 0 || !S_ISREG(info.st_mode)) return InvalidError("E0120",
                                                                              shown + " is not a regular file");
  if (info.st_nlink != 1) return InvalidError("E0120", shown + " has other names (hard links)");
  if (offset < 0 || bytes < 0 || offset > info.st_size || bytes > info.st_size - offset) {
    return InvalidError("E0121", shown + " has " + std::to_string(info.st_size) + " bytes; " + std::to_string(bytes) +
                        " are needed at offset " + std::to_string(offset));
  }
  if (bytes == 0) return Buffer::Allocate(0);
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t aligned = offset / page * page;
  const size_t length = static_cast<size_t>(bytes + (offset - aligned));
  void* address = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, at.fd, aligned);
  if (address == MAP_FAILED) return InvalidError("E0122", shown + " can't be mapped: " + std::strerror(errno));
  auto keep = std::make_shared<Mapping>(address, length);
  return Buffer::Wrap(static_cast<char*>(address) + (offset - aligned), bytes, keep, /*writable=*/false);
}

}  // namespace headrace
