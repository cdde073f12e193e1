#include "training/data.h"

#include <minizip/zip.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>

#include "gtest/gtest.h"

namespace headrace::training {
namespace {

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string ReadBytes(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}
std::string WriteBytes(const std::string& bytes) {
  const std::string path = Path("bytes.npz");
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string Npy(const Tensor& t) {
  const std::string path = Path("array.npy");
  EXPECT_TRUE(WriteNpy(path, t).ok());
  return ReadBytes(path);
}

struct Entry {
  std::string name, bytes;
};
std::string Zip(const std::vector<Entry>& entries, bool deflated, bool zip64 = false) {
  std::string path = Path("made.npz");
  unlink(path.c_str());
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  for (const Entry& e : entries) {
    zip_fileinfo info = {};
    EXPECT_EQ(zipOpenNewFileInZip64(zip, e.name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, deflated ? 8 : 0, 6,
                                    zip64 ? 1 : 0),
              ZIP_OK);
    EXPECT_EQ(zipWriteInFileInZip(zip, e.bytes.data(), static_cast<unsigned>(e.bytes.size())), ZIP_OK);
    EXPECT_EQ(zipCloseFileInZip(zip), ZIP_OK);
  }
  EXPECT_EQ(zipClose(zip, nullptr), ZIP_OK);
  return path;
}

Tensor Counting(DType t, std::vector<int64_t> shape) {
  Tensor out = *Tensor::Create(t, std::move(shape));
  for (int64_t i = 0; i < out.elements(); ++i) out.SetInt(i, i);
  return out;
}

std::string ErrorOf(const std::string& path) {
  Result<NamedTensors> data = ReadNpz(path);
  return data.ok() ? "read" : data.status().message();
}

TEST(Npz, PlainCompressedAndLarge) {
  const Tensor x = Counting(DType::kF32, {3, 4}), target = Counting(DType::kI64, {3});
  for (bool deflated : {false, true}) {
    for (bool zip64 : {false, true}) {
      Result<NamedTensors> data =
          ReadNpz(Zip({{"x.npy", Npy(x)}, {"read.me", "no array"}, {"target.npy", Npy(target)}}, deflated, zip64));
      ASSERT_TRUE(data.ok()) << data.status().ToString();
      ASSERT_EQ(data->size(), 2u);
      EXPECT_EQ((*data)[0].first, "x");
      EXPECT_EQ((*data)[1].first, "target");
      EXPECT_TRUE(Compare((*data)[0].second, x, 0, 0).ok);
      EXPECT_TRUE(Compare((*data)[1].second, target, 0, 0).ok);
    }
  }
}

TEST(Npz, SaysWhatIsWrong) {
  const std::string x = Npy(Counting(DType::kF32, {3, 4}));
  EXPECT_EQ(ErrorOf(Path("nowhere.npz")), "can't open the file: No such file or directory");
  EXPECT_EQ(ErrorOf(::testing::TempDir()), "this is not a regular file");
  EXPECT_EQ(ErrorOf(WriteBytes("")), "this is not a valid .npz archive: it is no zip file, or cut off");
  EXPECT_EQ(ErrorOf(WriteBytes(x)), "this is not a valid .npz archive: it is no zip file, or cut off");
  EXPECT_EQ(ErrorOf(Zip({{"read.me", "no array"}}, false)), "this is not a valid .npz archive: it holds no arrays");
  EXPECT_EQ(ErrorOf(Zip({{"x.npy", x}, {"x.npy", x}}, false)),
            "this is not a valid .npz archive: array 'x' is in it twice");
  Result<NamedTensors> data = ReadNpz(Zip({{"x.npy", x.substr(0, x.size() - 1)}}, true));
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.status().message(),
            "this is not a valid .npy file: its header promises more elements than the 47 bytes that follow hold");
  EXPECT_EQ(data.status().diagnostics()[0].file, Path("made.npz") + "/x.npy");
}

TEST(Npz, ChecksumsAreChecked) {
  for (bool deflated : {false, true}) {
    std::string bytes = ReadBytes(Zip({{"x.npy", Npy(Counting(DType::kF32, {64}))}}, deflated));
    const size_t at = deflated ? 60 : 200;  // within the entry's data
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    const std::string error = ErrorOf(WriteBytes(bytes));
    EXPECT_EQ(error.find("this is not a valid .npz archive: array 'x' "), 0u) << error;
  }
}

// A directory that promises petabytes makes nothing be allocated.
TEST(Npz, SizesThatLie) {
  std::string bytes = ReadBytes(Zip({{"x.npy", Npy(Counting(DType::kF32, {64}))}}, true));
  const size_t entry = bytes.find("PK\1\2");
  for (size_t i = 0; i < 4; ++i) bytes[entry + 24 + i] = static_cast<char>(0xF0);
  EXPECT_EQ(ErrorOf(WriteBytes(bytes)),
            "this is not a valid .npz archive: array 'x' claims to be larger than the file can hold");
}

// However an archive is cut or bent, the answer is arrays or an error.
TEST(Npz, SurvivesDamage) {
  const Tensor x = Counting(DType::kF32, {3, 4});
  for (bool deflated : {false, true}) {
    const std::string good = ReadBytes(Zip({{"x.npy", Npy(x)}}, deflated));
    for (size_t n = 0; n + 4 < good.size(); n += 5) EXPECT_NE(ErrorOf(WriteBytes(good.substr(0, n))), "read") << n;
    for (size_t at = 0; at < good.size(); ++at) {
      std::string bent = good;
      bent[at] = static_cast<char>(bent[at] ^ 1 << at % 8);
      Result<NamedTensors> data = ReadNpz(WriteBytes(bent));
      EXPECT_TRUE(!data.ok() || Compare((*data)[0].second, x, 0, 0).ok) << at;  // names, times, versions
    }
  }
}

TEST(SampleOrder, IsAPermutationOfItsSeedAndEpoch) {
  for (int64_t count : {0, 1, 2, 7, 1000}) {
    std::vector<int64_t> order = SampleOrder(3, 5, count);
    EXPECT_EQ(order, SampleOrder(3, 5, count));
    if (count == 1000) {
      EXPECT_NE(order, SampleOrder(3, 6, count));
      EXPECT_NE(order, SampleOrder(4, 5, count));
    }
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(order[i], i);
  }
}

// Every order of four samples comes about equally often.
TEST(SampleOrder, IsFair) {
  std::map<std::vector<int64_t>, int> seen;
  for (int64_t epoch = 0; epoch < 24000; ++epoch) ++seen[SampleOrder(1, epoch, 4)];
  ASSERT_EQ(seen.size(), 24u);
  for (const auto& [order, times] : seen) {
    EXPECT_GT(times, 1000 - 150);
    EXPECT_LT(times, 1000 + 150);
  }
}

TEST(Gather, SamplesGoAlongAnyDimension) {
  Column c;
  c.data = Counting(DType::kI32, {3, 2, 2});
  const std::vector<int64_t> order = {2, 0, 1};
  auto batch = [&](int dim, int64_t begin, int64_t count) {
    c.batch_dim = dim;
    Tensor out = *Tensor::Create(DType::kI32, BatchShape(c, count));
    Gather(c, order, begin, out);
    return std::vector<int>(out.as<int32_t>(), out.as<int32_t>() + out.elements());
  };
  EXPECT_EQ(batch(0, 0, 2), (std::vector<int>{8, 9, 10, 11, 0, 1, 2, 3}));
  EXPECT_EQ(batch(1, 0, 2), (std::vector<int>{8, 9, 0, 1, 10, 11, 2, 3}));
  EXPECT_EQ(batch(2, 0, 2), (std::vector<int>{8, 0, 9, 1, 10, 2, 11, 3}));
  EXPECT_EQ(batch(2, 2, 1), (std::vector<int>{4, 5, 6, 7}));
}

}  // namespace
}  // namespace headrace::training
