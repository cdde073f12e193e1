#include "training/data.h"

#include <minizip/unzip.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>

#include "ir/base/npy.h"

namespace headrace::training {
namespace {

constexpr int64_t kMostDeflated = 1032;  // bytes that one byte of deflate can stand for
constexpr int64_t kChunk = 1 << 26;

Status Damaged(const std::string& path, const std::string& what) {
  Diagnostic d;
  d.code = "E0920", d.file = path, d.message = "this is not a valid .npz archive: " + what,
  d.hint = "write it again with numpy.savez";
  return Status(d);
}

struct Close {
  void operator()(void* zip) const { unzClose(zip); }
};

// The bytes of the entry that the archive stands at.
Result<std::shared_ptr<Buffer>> ReadEntry(unzFile zip, const unz_file_info64& info, int64_t file_size,
                                          const std::string& path, const std::string& what) {
  if ((info.flag & 1) != 0) return Damaged(path, what + " is encrypted");
  if (info.compression_method != 0 && info.compression_method != 8)
    return Damaged(path, what + " is compressed by method " + std::to_string(info.compression_method) +
                             ", known are stored and deflated");
  // Nothing is allocated that the file can't hold.
  const uint64_t most = info.compressed_size * (info.compression_method == 0 ? 1 : kMostDeflated);
  if (info.compressed_size > static_cast<uint64_t>(file_size) || info.uncompressed_size > most)
    return Damaged(path, what + " claims to be larger than the file can hold");
  const auto size = static_cast<int64_t>(info.uncompressed_size);
  HR_ASSIGN_OR_RETURN(Tensor memory, Tensor::Create(DType::kU8, {size}));  // errors where there is not enough
  if (unzOpenCurrentFile(zip) != UNZ_OK) return Damaged(path, what + " has a damaged header");
  for (int64_t at = 0; at < size;) {
    const int n = unzReadCurrentFile(zip, memory.as<char>() + at, static_cast<unsigned>(std::min(size - at, kChunk)));
    if (n <= 0) {
      unzCloseCurrentFile(zip);
      return Damaged(path, what + " ends too early or is damaged");
    }
    at += n;
  }
  char more = 0;  // a stream may go on after what it promised; reading on also ends the checksum
  const int rest = unzReadCurrentFile(zip, &more, 1);
  const int closed = unzCloseCurrentFile(zip);
  if (closed == UNZ_CRCERROR) return Damaged(path, what + " has a wrong checksum");
  if (rest != 0 || closed != UNZ_OK) return Damaged(path, what + " is damaged");
  return memory.data;
}

uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

Result<NamedTensors> ReadNpz(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0)
    return WithFile(InvalidError("E0939", std::string("can't open the file: ") + std::strerror(errno)), path);
  if (!S_ISREG(st.st_mode)) return WithFile(InvalidError("E0939", "this is not a regular file"), path);
  const std::unique_ptr<void, Close> zip(unzOpen64(path.c_str()));
  if (!zip) {
    if (FILE* f = std::fopen(path.c_str(), "rb")) std::fclose(f);
    else return WithFile(InvalidError("E0939", std::string("can't open the file: ") + std::strerror(errno)), path);
    return Damaged(path, "it is no zip file, or cut off");
  }
  NamedTensors out;
  unz_global_info64 all = {};
  if (unzGetGlobalInfo64(zip.get(), &all) != UNZ_OK) return Damaged(path, "its directory is damaged");
  std::vector<char> text(1 << 16);
  for (uint64_t i = 0; i < all.number_entry; ++i) {
    if ((i == 0 ? unzGoToFirstFile(zip.get()) : unzGoToNextFile(zip.get())) != UNZ_OK)
      return Damaged(path, "its directory is damaged");
    unz_file_info64 info = {};
    if (unzGetCurrentFileInfo64(zip.get(), &info, text.data(), text.size(), nullptr, 0, nullptr, 0) != UNZ_OK ||
        info.size_filename >= text.size())
      return Damaged(path, "its directory is damaged");
    std::string name(text.data(), info.size_filename);
    if (name.size() < 4 || name.compare(name.size() - 4, 4, ".npy") != 0) continue;  // numpy ignores such, too
    name.resize(name.size() - 4);
    for (const auto& known : out)
      if (known.first == name) return Damaged(path, "array '" + name + "' is in it twice");
    HR_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> bytes,
                        ReadEntry(zip.get(), info, st.st_size, path, "array '" + name + "'"));
    HR_ASSIGN_OR_RETURN(Tensor t, ParseNpy(std::move(bytes), path + "/" + name + ".npy"));
    out.emplace_back(std::move(name), std::move(t));
  }
  if (out.empty()) return Damaged(path, "it holds no arrays");
  return out;
}

std::vector<int64_t> SampleOrder(uint64_t seed, int64_t epoch, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  const uint64_t key = Mix(Mix(seed) ^ static_cast<uint64_t>(epoch));
  for (int64_t i = count - 1; i > 0; --i) {
    const auto bound = static_cast<unsigned __int128>(i) + 1;
    const auto j = static_cast<int64_t>(bound * Mix(key + static_cast<uint64_t>(i)) >> 64);
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  }
  return order;
}

std::vector<int64_t> BatchShape(const Column& c, int64_t count) {
  std::vector<int64_t> shape(c.data.shape.begin() + 1, c.data.shape.end());
  shape.insert(shape.begin() + c.batch_dim, count);
  return shape;
}

void Gather(const Column& c, const std::vector<int64_t>& order, int64_t begin, const Tensor& out) {
  const auto dim = static_cast<size_t>(c.batch_dim);
  const int64_t count = out.shape[dim];
  int64_t outer = 1, inner = ByteSize(c.data.dtype);
  for (size_t d = 0; d < out.shape.size(); ++d)
    if (d != dim) (d < dim ? outer : inner) *= out.shape[d];
  const char* from = c.data.data->data();
  char* to = out.data->data();
  for (int64_t i = 0; i < count; ++i) {
    const char* sample = from + order[static_cast<size_t>(begin + i)] * outer * inner;
    for (int64_t o = 0; o < outer; ++o)
      std::memcpy(to + (o * count + i) * inner, sample + o * inner, static_cast<size_t>(inner));
  }
}

}  // namespace headrace::training
