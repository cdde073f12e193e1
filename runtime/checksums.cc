#include "runtime/checksums.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#define XXH_INLINE_ALL
#include "xxhash.h"

namespace headrace::runtime {
namespace {

constexpr size_t kDigits = 32;  // of a sum
constexpr char kEnd[] = "# ";   // begins the last line: a comment for xxh128sum

std::string Sum(const void* data, size_t bytes) {
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum, XXH3_128bits(data, bytes));
  std::string out;
  for (unsigned char c : sum.digest) {
    out += "0123456789abcdef"[c >> 4];
    out += "0123456789abcdef"[c & 15];
  }
  return out;
}

// Of a file, mapped: weights are read once from the disk and stay in memory for the program. Nothing, and errno, on failure.
std::optional<std::string> SumOfFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct stat st;
  void* data = nullptr;
  const bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  const size_t bytes = regular ? static_cast<size_t>(st.st_size) : 0;
  if (bytes) data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (!regular || data == MAP_FAILED) return std::nullopt;
  if (bytes) madvise(data, bytes, MADV_SEQUENTIAL);
  std::string sum = Sum(data, bytes);
  if (bytes) munmap(data, bytes);
  return sum;
}

// Names in the folder but for the list itself; nothing when it can't be read.
std::optional<std::set<std::string>> Files(const std::string& folder) {
  DIR* d = opendir(folder.c_str());
  if (!d) return std::nullopt;
  std::set<std::string> names;
  while (const dirent* e = readdir(d)) {
    const std::string name = e->d_name;
    if (name != "." && name != ".." && name != kChecksumsFile) names.insert(name);
  }
  closedir(d);
  return names;
}

struct Listed {
  std::string sum, name;
};
// The list of a file's lines; nothing when the text is not one that WriteChecksums wrote.
std::optional<std::vector<Listed>> ReadList(const std::string& text) {
  const size_t end = text.rfind(kEnd);
  if (end == std::string::npos || text.substr(end) != kEnd + Sum(text.data(), end) + "\n") return std::nullopt;
  std::vector<Listed> out;
  std::stringstream lines(text.substr(0, end));
  for (std::string line; std::getline(lines, line);) {
    if (line.size() < kDigits + 3) return std::nullopt;
    out.push_back({line.substr(0, kDigits), line.substr(kDigits + 2)});
  }
  return out;
}

}  // namespace

std::string WriteChecksums(const std::string& folder) {
  const auto files = Files(folder);
  if (!files) return "cannot read " + folder + ": " + std::strerror(errno);
  std::string text;
  for (const std::string& name : *files) {
    if (name.find('\n') != std::string::npos) return "a file's name has a line break: " + name;
    const auto sum = SumOfFile(folder + "/" + name);
    if (!sum) return "cannot read " + folder + "/" + name;
    text += *sum + "  " + name + "\n";
  }
  text += kEnd + Sum(text.data(), text.size()) + "\n";
  std::ofstream out(folder + "/" + kChecksumsFile, std::ios::binary);
  out << text;
  out.close();
  return out ? "" : "cannot write " + folder + "/" + kChecksumsFile;
}

std::vector<FaultyFile> VerifyChecksums(const std::string& folder) {
  std::ifstream in(folder + "/" + kChecksumsFile, std::ios::binary);
  if (!in) return {{FileFault::kMissing, kChecksumsFile, "is missing"}};
  std::stringstream text;
  text << in.rdbuf();
  const auto list = ReadList(text.str());
  if (!list) return {{FileFault::kDiffers, kChecksumsFile, "is not the list of checksums that was saved"}};
  auto there = Files(folder);
  if (!there) return {{FileFault::kUnreadable, ".", std::string("can't be listed: ") + std::strerror(errno)}};
  std::vector<FaultyFile> out;
  for (const Listed& f : *list) {
    if (there->erase(f.name) == 0) {
      out.push_back({FileFault::kMissing, f.name, "is missing"});
      continue;
    }
    const auto sum = SumOfFile(folder + "/" + f.name);
    if (!sum) out.push_back({FileFault::kUnreadable, f.name, "can't be read"});
    else if (*sum != f.sum)
      out.push_back({FileFault::kDiffers, f.name, "is not the file that was saved: its checksum is another"});
  }
  for (const std::string& name : *there) out.push_back({FileFault::kExtra, name, "is no part of the artifact"});
  return out;
}

}  // namespace headrace::runtime
