#include "driver/npz.h"

#include <minizip/zip.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "ir/base/closest_word.h"
#include "ir/base/npy.h"
#include "training/whole_file.h"

namespace headrace {
namespace {

bool EndsWith(const std::string& s, const std::string& end) {
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

bool Append(zipFile zip, const std::string& name, const Tensor& t) {
  constexpr size_t kChunk = 1 << 30;
  const NpyImage image = EncodeNpy(t);
  zip_fileinfo info = {};
  info.dosDate = (1 << 5 | 1) << 16;  // as numpy: the same arrays give the same bytes
  const bool large = image.head.size() + image.Body().size() > 0xF0000000;
  if (zipOpenNewFileInZip64(zip, (name + ".npy").c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0, large) != ZIP_OK)
    return false;
  for (std::string_view part : {std::string_view(image.head), image.Body()})
    for (; !part.empty(); part.remove_prefix(std::min(part.size(), kChunk)))
      if (zipWriteInFileInZip(zip, part.data(), static_cast<unsigned>(std::min(part.size(), kChunk))) != ZIP_OK)
        return false;
  return zipCloseFileInZip(zip) == ZIP_OK;
}

}  // namespace

ArrayPlace ParsePlace(const std::string& text) {
  struct stat st;
  const size_t colon = text.rfind(".npz:");
  if (colon != std::string::npos && colon + 5 < text.size() && stat(text.c_str(), &st) != 0)
    return {text.substr(0, colon + 4), text.substr(colon + 5), true};
  return {text, "", EndsWith(text, ".npz")};
}

Result<Tensor> ArrayFiles::Read(const std::string& text, const std::string& name) {
  const ArrayPlace place = ParsePlace(text);
  if (!place.archive) {
    Result<Tensor> t = ReadNpy(place.path);
    if (!t.ok()) return WithFile(t.status(), place.path);
    return t;
  }
  auto known = archives_.find(place.path);
  if (known == archives_.end()) {
    HR_ASSIGN_OR_RETURN(training::NamedTensors read, training::ReadNpz(place.path));
    known = archives_.emplace(place.path, std::move(read)).first;
  }
  const training::NamedTensors& arrays = known->second;
  const std::string wanted = place.array.empty() ? name : place.array;
  std::vector<std::string> names;
  for (const auto& [n, t] : arrays) {
    if (n == wanted) return t;
    names.push_back(n);
  }
  if (place.array.empty() && arrays.size() == 1) return arrays[0].second;
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  const std::string close = ClosestWord(wanted, names);
  return WithFile(UsageError("E0467", "there is no array '" + wanted + "' in the archive",
                             place.array.empty() ? "it holds " + all + "; @FILE.npz:ARRAY names one"
                             : close.empty()     ? "it holds " + all
                                                 : "did you mean '" + close + "'?"),
                  place.path);
}

Status WriteNpz(const std::string& given, const training::NamedTensors& arrays) {
  std::string path = given;
  if (struct stat st; stat(path.c_str(), &st) == 0) {
    if (!S_ISREG(st.st_mode))
      return WithFile(InvalidError("E0424", "an archive can't be written here: this is not a regular file"), path);
    if (char real[PATH_MAX]; realpath(path.c_str(), real)) path = real;
  }
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  errno = 0;
  zipFile zip = zipOpen64(temporary.c_str(), APPEND_STATUS_CREATE);
  if (!zip) return training::WriteError(path, errno ? errno : EIO);
  bool good = true;
  for (size_t i = 0; i < arrays.size() && good; ++i) good = Append(zip, arrays[i].first, arrays[i].second);
  int failed = good ? 0 : errno;
  if (zipClose(zip, nullptr) != ZIP_OK && good) good = false, failed = errno;
  if (good && rename(temporary.c_str(), path.c_str()) == 0) return {};
  if (good) failed = errno;
  unlink(temporary.c_str());
  return training::WriteError(path, failed ? failed : EIO);
}

}  // namespace headrace
