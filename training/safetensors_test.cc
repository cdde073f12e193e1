// The file format, and every way in which a file can lie.
#include "training/safetensors.h"

#include <sodium.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "gtest/gtest.h"

namespace headrace::training {
namespace {

std::string Path(const std::string& name) { return testing::TempDir() + "/" + std::to_string(getpid()) + name; }

std::string Slurp(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

void Spit(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

Tensor Numbers(DType t, std::vector<int64_t> shape) {
  Tensor out = *Tensor::Create(t, std::move(shape));
  for (int64_t i = 0; i < out.bytes(); ++i)
    out.as<char>()[i] = static_cast<char>(t == DType::kBool ? i % 2 : 37 * i + 5);
  return out;
}

std::string Length(uint64_t n) { return std::string(reinterpret_cast<const char*>(&n), 8); }

// A file of ours with this header: its checksum is right, so only what the header says can be wrong.
std::string Signed(const std::string& header, const std::string& data) {
  std::string all = Length(header.size()) + header + data;
  const size_t at = all.find("blake2b-256:") + 12;
  all.replace(at, 64, 64, '0');
  unsigned char hash[32];
  char digits[65];
  EXPECT_GE(sodium_init(), 0);
  crypto_generichash(hash, 32, reinterpret_cast<const unsigned char*>(all.data()), all.size(), nullptr, 0);
  sodium_bin2hex(digits, 65, hash, 32);
  return all.replace(at, 64, digits);
}

const std::string kSum = R"("checksum":"blake2b-256:)" + std::string(64, '0') + "\"";
std::string WithEntries(const std::string& entries) { return R"({"__metadata__":{)" + kSum + "}," + entries + "}"; }

std::string ProblemOf(const std::string& bytes) {
  const std::string path = Path("problem.safetensors");
  Spit(path, bytes);
  Result<Snapshot> s = ReadSafetensors(path);
  unlink(path.c_str());
  if (s.ok()) return "";
  EXPECT_EQ(s.status().diagnostics()[0].file, path);
  return s.status().diagnostics()[0].code + " " + s.status().message();
}

TEST(Safetensors, TheBytesOfAFile) {
  const std::string path = Path("bytes.safetensors");
  Tensor w = *Tensor::Create(DType::kF32, {2});
  w.SetDouble(0, 1), w.SetDouble(1, -2);
  Tensor b = *Tensor::Create(DType::kI8, {});
  b.SetInt(0, 7);
  ASSERT_TRUE(WriteSafetensors(path, {{{"seed", "4"}}, {{"b", b}, {"w\"", w}}}).ok());
  std::string got = Slurp(path);
  uint64_t length = 0;
  std::memcpy(&length, got.data(), 8);
  const size_t digits = 8 + std::strlen(R"({"__metadata__":{"checksum":"blake2b-256:)");
  got.replace(digits, 64, 64, '0');
  std::string header = R"({"__metadata__":{)" + kSum + R"(,"seed":"4"},)" +
                       R"("b":{"dtype":"I8","shape":[],"data_offsets":[8,9]},)" +
                       R"("w\"":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(length, header.size());
  // The larger elements first, so that they are aligned.
  EXPECT_EQ(got, Length(header.size()) + header + std::string("\0\0\x80\x3f\0\0\0\xc0\x07", 9));
  unlink(path.c_str());
}

TEST(Safetensors, WhatIsWrittenIsReadBack) {
  Snapshot s;
  s.metadata = {{"step", "200"}, {"ключ", "line\nbreak \"quote\" \x01"}, {"", ""}};
  for (DType t :
       {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kI32, DType::kI16, DType::kI8,
        DType::kU8, DType::kU16, DType::kU32, DType::kU64, DType::kBool, DType::kF8E4M3FN, DType::kF8E5M2}) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{}, {3}, {2, 0, 5}, {2, 3, 1}})
      s.tensors.emplace_back(std::string(DTypeName(t)) + "/" + std::to_string(s.tensors.size()), Numbers(t, shape));
  }
  const std::string path = Path("all.safetensors");
  ASSERT_TRUE(WriteSafetensors(path, s).ok());
  Result<Snapshot> back = ReadSafetensors(path);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->metadata, s.metadata);
  ASSERT_EQ(back->tensors.size(), s.tensors.size());
  for (size_t i = 0; i < s.tensors.size(); ++i) {
    const auto& [name, t] = s.tensors[i];
    const auto& [other_name, other] = back->tensors[i];
    EXPECT_EQ(other_name, name);
    EXPECT_EQ(other.dtype, t.dtype);
    EXPECT_EQ(other.shape, t.shape);
    EXPECT_EQ(std::memcmp(other.data->data(), t.data->data(), t.bytes()), 0) << name;
  }
  const Snapshot empty;
  ASSERT_TRUE(WriteSafetensors(path, empty).ok());
  EXPECT_TRUE(ReadSafetensors(path).ok());
  unlink(path.c_str());
}

TEST(Safetensors, WhatTheFormatCantHoldIsSaid) {
  const std::string path = Path("never.safetensors");
  EXPECT_EQ(WriteSafetensors(path, {{}, {{"w", Numbers(DType::kI4, {2})}}}).message(),
            "checkpoints can't hold 'w' of type i4");
  EXPECT_EQ(WriteSafetensors(path, {{}, {{"\xff", Numbers(DType::kI8, {2})}}}).message(),
            "checkpoints can't hold a name or setting that is not UTF-8 text");
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(Safetensors, EveryTruncationAndEveryChangedByteIsFound) {
  const std::string path = Path("whole.safetensors");
  Snapshot s = {
      {{"step", "200"}, {"seed", "7"}},
      {{"a", Numbers(DType::kF32, {5})}, {"flag", Numbers(DType::kBool, {3})}, {"b", Numbers(DType::kI64, {2, 2})}}};
  ASSERT_TRUE(WriteSafetensors(path, s).ok());
  const std::string good = Slurp(path);
  unlink(path.c_str());
  EXPECT_EQ(ProblemOf(good), "");
  for (size_t n = 0; n < good.size(); n += n < 16 ? 1 : 13) {
    EXPECT_EQ(ProblemOf(good.substr(0, n)).substr(0, 5), "E0952") << "cut to " << n;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit : {1, 2, 0x80}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ bit);
      EXPECT_EQ(ProblemOf(bad).substr(0, 5), "E0952") << "bit " << bit << " of byte " << i;
    }
  }
  EXPECT_EQ(ProblemOf(good + "x").substr(0, 5), "E0952");
}

TEST(Safetensors, EveryLieOfTheHeaderIsFound) {
  const std::string good = R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  ASSERT_EQ(ProblemOf(Signed(WithEntries(good), std::string(8, 'x'))), "");
  const struct {
    std::string entries, problem;
    size_t data = 8;
  } cases[] = {
      {R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,16]})",
       "the shape of 'w' and its place in the file disagree"},
      {R"("w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]})", "the shape of 'w' and its place"},
      {R"("w":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,0]})",
       "the shape of 'w' and its place"},
      {R"("w":{"dtype":"I8","shape":[1099511627776],"data_offsets":[0,1099511627776]})",
       "its header speaks of 1099511627776 bytes of data, it has 8"},
      {R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})",
       "the data of 'v' does not begin where those before it end", 4},
      {R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"v":{"dtype":"I8","shape":[3],"data_offsets":[5,8]})",
       "the data of 'v' does not begin where"},
      {R"("w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})", "the data of 'w' does not begin where"},
      {R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})", "its header speaks of 4 bytes of data, it has 8"},
      {good + "," + good, "its header says 'w' twice"},
      {R"("w":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})", "its header says 'dtype' twice"},
      {R"("__metadata__":{},)" + good, "its header says '__metadata__' twice"},
      {R"("w":{"dtype":"F32","shape":[2]})", "its header lacks the type, shape or place of 'w'"},
      {R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0]})", "its header lacks the type, shape or place of 'w'"},
      {R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]})", "something unexpected at 'data_offsets'"},
      {R"("w":{"dtype":"F12","shape":[2],"data_offsets":[0,8]})", "it has a tensor of unknown type 'F12'"},
      {R"("w":{"dtype":32,"shape":[2],"data_offsets":[0,8]})", "something unexpected at 'dtype'"},
      {R"("w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]})", "something unexpected at 'shape'"},
      {R"("w":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})", "something unexpected at 'shape'"},
      {R"("w":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]})", "something unexpected at 'shape'"},
      {R"("w":{"dtype":"F32","shape":18446744073709551615,"data_offsets":[0,8]})", "something unexpected at 'shape'"},
      {R"("w":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]})",
       "a number in its header is too large"},
      {R"("w":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]})", "something unexpected at 'shape'"},
      {R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1})", "something unexpected at 'more'"},
      {R"("w":[])", "something unexpected at 'w'"},
      {R"("w":null)", "something unexpected at 'w'"},
      {R"("w":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]})", "truth values that are neither 0 nor 1"},
      {R"("w":)" + std::string(100000, '['), "something unexpected at 'w'"},
      {R"("w":)" + std::string(100000, '{'), "its header is no JSON"},
      {"\"\xff\":" + good.substr(4), "its header is no JSON"},
      {"\"\xed\xa0\x80\":" + good.substr(4), "its header is no JSON"},
      {good + "}x", "its header is no JSON"},
      {"\"w\":", "its header is no JSON"},
  };
  for (const auto& c : cases) {
    const std::string problem = ProblemOf(Signed(WithEntries(c.entries), std::string(c.data, 'x')));
    EXPECT_EQ(problem.find("E0952 this is not a complete checkpoint: "), 0u) << c.entries.substr(0, 200);
    EXPECT_NE(problem.find(c.problem), std::string::npos) << c.entries.substr(0, 200) << "\n" << problem;
  }
  const std::string data(8, 'x'), plain = "{" + good + "}";
  EXPECT_NE(ProblemOf(Length(plain.size()) + plain + data).find("it has no checksum"), std::string::npos);
  EXPECT_NE(ProblemOf(Length(~0ull) + plain + data).find("its header is cut off"), std::string::npos);
  EXPECT_NE(ProblemOf(Length(0) + data).find("its header is no JSON"), std::string::npos);
  EXPECT_NE(ProblemOf("abc").find("it has 3 bytes"), std::string::npos);
  for (const char* metadata : {"[]", "null", "{\"a\":1}", "{\"a\":{}}", "{\"a\":\"b\",\"a\":\"b\"}"}) {
    const std::string header = std::string("{\"__metadata__\":") + metadata + "," + good + "}";
    EXPECT_EQ(ProblemOf(Length(header.size()) + header + data).substr(0, 5), "E0952") << metadata;
  }
}

// Random edits of a header: it is refused, or what it says covers the data exactly.
TEST(Safetensors, WhatPassesIsConsistent) {
  std::mt19937 random(3);
  const std::string words[] = {"0", "4", "8",  "9",     "-",   "[",   "]",  "{",       "}",
                               ",", ":", "\"", "\"w\"", "1e9", "F64", "I8", "\\u0000", "shape"};
  int accepted = 0;
  for (int i = 0; i < 60000; ++i) {
    std::string header = R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                         R"("v":{"dtype":"I8","shape":[2,4],"data_offsets":[8,16]}})";
    for (int edits = 1 + random() % 3; edits > 0; --edits) {
      const size_t at = random() % header.size(), n = random() % 4;
      switch (random() % 3) {
        case 0: header[at] = static_cast<char>(random()); break;
        case 1: header.replace(at, n, words[random() % std::size(words)]); break;
        default: header.insert(at, header.substr(random() % header.size(), n)); break;
      }
    }
    Result<SafetensorsHeader> h = ParseSafetensorsHeader(header, 16);
    if (!h.ok()) continue;
    ++accepted;
    int64_t bytes = 0;
    for (const auto& e : h->entries) {
      int64_t size = ByteSize(e.dtype);
      for (int64_t d : e.shape) size *= d;
      EXPECT_EQ(size, e.end - e.begin) << header;
      bytes += size;
    }
    EXPECT_EQ(bytes, 16) << header;
  }
  EXPECT_GT(accepted, 100);
}

// ---- writing where it can't be written ----

TEST(Safetensors, AFailedWriteLeavesTheOldFileAndNothingElse) {
  const std::string folder = Path("full"), path = folder + "/w.safetensors";
  ASSERT_EQ(mkdir(folder.c_str(), 0777), 0);
  ASSERT_TRUE(WriteSafetensors(path, {{}, {{"w", Numbers(DType::kF32, {4})}}}).ok());
  const std::string before = Slurp(path);
  // A limit on the size of files stands for a full disk: the write stops halfway.
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old, small;
  getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = 10000;
  setrlimit(RLIMIT_FSIZE, &small);
  const Status s = WriteSafetensors(path, {{}, {{"w", Numbers(DType::kF32, {5000})}}});
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.diagnostics()[0].code, "E0951");
  EXPECT_TRUE(std::filesystem::equivalent(s.diagnostics()[0].file, path)) << s.diagnostics()[0].file;
  EXPECT_EQ(s.message(), "can't write here: the file would be larger than this process or file system allows");
  EXPECT_EQ(Slurp(path), before);
  unlink(path.c_str());
  EXPECT_EQ(rmdir(folder.c_str()), 0) << "something was left behind";
}

TEST(Safetensors, WhyAFileCantBeWritten) {
  Spit(Path("file"), "");
  EXPECT_EQ(WriteSafetensors(Path("file") + "/w", {}).message(),
            "can't write here: a part of its path is a file, not a folder");
  EXPECT_EQ(WriteSafetensors(Path("nowhere") + "/w", {}).message(), "can't write here: its folder does not exist");
  EXPECT_EQ(WriteSafetensors("/proc/w", {}).diagnostics()[0].code, "E0951");
  unlink(Path("file").c_str());
}

}  // namespace
}  // namespace headrace::training
