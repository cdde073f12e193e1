// .npy files and comparison of values.
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "gtest/gtest.h"
#include "ir/base/npy.h"
#include "ir/base/value.h"

namespace headrace {
namespace {

std::string Path(const std::string& name) {
  return ::testing::TempDir() + "/" + name + std::to_string(getpid()) + ".npy";
}

std::string ReadBytes(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}
std::string WriteBytes(const std::string& bytes) {
  const std::string path = Path("bytes");
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}
// A version 1 file as numpy writes it.
std::string File(std::string header, const std::string& data) {
  header += std::string((64 - (10 + header.size() + 1) % 64) % 64, ' ') + "\n";
  std::string out("\x93NUMPY\1\0", 8);
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}
std::shared_ptr<Buffer> Bytes(const std::string& bytes) {
  std::shared_ptr<Buffer> out = Buffer::Allocate(static_cast<int64_t>(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), out->data());
  return out;
}
std::string ErrorOf(const std::string& bytes) {
  Result<Tensor> t = ReadNpy(WriteBytes(bytes));
  const std::string said = t.ok() ? "read" : t.status().message();
  Result<Tensor> in_memory = ParseNpy(Bytes(bytes), "memory");
  EXPECT_EQ(in_memory.ok() ? "read" : in_memory.status().message(), said);
  EXPECT_TRUE(!in_memory.ok() || !t.ok() || Compare(*in_memory, *t, 0, 0).ok);
  return said;
}

Tensor Counting(DType t, std::vector<int64_t> shape) {
  Tensor out = *Tensor::Create(t, std::move(shape));
  for (int64_t i = 0; i < out.elements(); ++i) out.SetInt(i, i % 2);
  return out;
}

TEST(Tensor, CreateRefusesWhatCannotBe) {
  EXPECT_FALSE(Tensor::Create(DType::kF32, {-1}).ok());
  EXPECT_FALSE(Tensor::Create(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}).ok());
  EXPECT_FALSE(Tensor::Create(DType::kF32, {int64_t{1} << 50}).ok());
  EXPECT_TRUE(Tensor::Create(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40, 0}).ok());
  EXPECT_EQ(Tensor::Create(DType::kF32, {})->elements(), 1);
}

TEST(Tensor, IntegersWrapAtTheirWidth) {
  Tensor t = *Tensor::Create(DType::kI4, {1});
  t.SetInt(0, 9);
  EXPECT_EQ(t.GetInt(0), -7);
  t = *Tensor::Create(DType::kU2, {1});
  t.SetInt(0, -1);
  EXPECT_EQ(t.GetInt(0), 3);
  t = *Tensor::Create(DType::kI8, {1});
  t.SetDouble(0, -3.9);
  EXPECT_EQ(t.GetInt(0), -3);
}

TEST(Tensor, ComplexNumbersAreSetToRealValues) {
  Tensor t = *Tensor::Create(DType::kC64, {2});
  t.as<float>()[3] = 5;
  t.SetInt(0, -7), t.SetDouble(1, 2.5);
  EXPECT_EQ(t.as<float>()[0], -7);
  EXPECT_EQ(t.as<float>()[1], 0);
  EXPECT_EQ(t.as<float>()[2], 2.5);
  EXPECT_EQ(t.as<float>()[3], 0);
  t = *Tensor::Create(DType::kC128, {1});
  t.SetInt(0, 3);
  EXPECT_EQ(t.as<double>()[0], 3);
  EXPECT_EQ(t.as<double>()[1], 0);
}

TEST(Npy, EveryTypeComesBack) {
  for (int i = static_cast<int>(DType::kBool); i < static_cast<int>(DType::kString); ++i) {
    const auto type = static_cast<DType>(i);
    Tensor t = *Tensor::Create(type, {2, 3});
    if (IsComplex(type)) std::memset(t.data->data(), 0, t.bytes());
    else t = Counting(type, {2, 3});
    const std::string path = Path("types");
    ASSERT_TRUE(WriteNpy(path, t).ok()) << DTypeName(type);
    Result<Tensor> back = ReadNpy(path);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(back->dtype, type) << DTypeName(type);
    EXPECT_TRUE(Compare(*back, t, 0, 0).ok) << DTypeName(type);
  }
}

TEST(Npy, Strings) {
  Tensor t = *Tensor::Create(DType::kString, {3});
  *t.strings = {"plain", "", "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"};
  const std::string path = Path("strings");
  ASSERT_TRUE(WriteNpy(path, t).ok());
  EXPECT_NE(ReadBytes(path).find("'<U6'"), std::string::npos);
  EXPECT_EQ(*ReadNpy(path)->strings, *t.strings);
  *t.strings = {"a\xFFz", "b", ""};  // not UTF-8: kept as bytes
  ASSERT_TRUE(WriteNpy(path, t).ok());
  EXPECT_EQ(*ReadNpy(path)->strings, *t.strings);
}

TEST(Npy, ReadsOtherOrders) {
  Result<Tensor> t = ReadNpy(WriteBytes(
      File("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", std::string("\0\1\0\2\0\3\0\4\0\5\0\6", 12))));
  ASSERT_TRUE(t.ok()) << t.status().ToString();
  EXPECT_EQ(t->shape, (std::vector<int64_t>{2, 3}));
  const std::vector<int64_t> expected = {1, 3, 5, 2, 4, 6};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(t->GetInt(i), expected[i]);
}

TEST(Npy, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf("PK\3\4 not this kind"), "this is not a valid .npy file: it does not start as one");
  EXPECT_EQ(ErrorOf(File("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", "1234")),
            "this is not a valid .npy file: its header promises more elements than the 4 bytes "
            "that follow hold");
  EXPECT_EQ(ErrorOf(File("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "")),
            "this is not a valid .npy file: its header promises more elements than the 0 bytes that "
            "follow hold");
  EXPECT_EQ(ErrorOf(File("{'descr': '|O', 'fortran_order': False, 'shape': (4,), }", "")),
            "elements of numpy type '|O' can't be read");
  EXPECT_EQ(ErrorOf(File("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", "")),
            "this is not a valid .npy file: it holds records, not numbers");
  EXPECT_EQ(ErrorOf(File("{'descr': '<f4', 'shape': (-1,), }", "")),
            "this is not a valid .npy file: its shape is not a tuple of sizes");
  EXPECT_EQ(ErrorOf(File("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000,), }", "")),
            "this is not a valid .npy file: its header promises more elements than the 0 bytes "
            "that follow hold");
  EXPECT_EQ(ReadNpy("/nowhere/x.npy").status().message(), "can't open the file: No such file or directory");
  EXPECT_EQ(ReadNpy(::testing::TempDir()).status().message(), "this is not a regular file");
}

// However a file is cut or bent, the answer is a tensor or an error.
TEST(Npy, SurvivesDamage) {
  const std::string path = Path("damage");
  ASSERT_TRUE(WriteNpy(path, Counting(DType::kF32, {3, 4})).ok());
  const std::string good = ReadBytes(path);
  for (size_t n = 0; n < good.size(); ++n) EXPECT_NE(ErrorOf(good.substr(0, n)), "read") << n;
  for (size_t at = 0; at < 128; ++at) {
    for (int bit : {0, 3, 6}) {
      std::string bent = good;
      bent[at] = static_cast<char>(bent[at] ^ 1 << bit);
      Result<Tensor> t = ReadNpy(WriteBytes(bent));
      EXPECT_TRUE(!t.ok() || t->bytes() <= 48) << at;
      ErrorOf(bent);
    }
  }
}

TEST(Npy, InMemorySharesTheBytes) {
  const std::string path = Path("shared");
  ASSERT_TRUE(WriteNpy(path, Counting(DType::kF32, {3, 4})).ok());
  std::shared_ptr<Buffer> bytes = Bytes(ReadBytes(path));
  Result<Tensor> t = ParseNpy(bytes, "x.npy");
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->data->data(), bytes->data() + 128);
  const char* at = t->data->data();
  bytes.reset();
  EXPECT_EQ(t->as<float>()[1], 1);
  EXPECT_EQ(t->data->data(), at);
}

TEST(Compare, FloatsFollowNumpy) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const auto differs = [](double got, double expected) {
    Tensor a = *Tensor::Create(DType::kF64, {1}), b = *Tensor::Create(DType::kF64, {1});
    a.SetDouble(0, got);
    b.SetDouble(0, expected);
    return !Compare(a, b, 1e-3, 1e-7).ok;
  };
  EXPECT_FALSE(differs(nan, nan));
  EXPECT_TRUE(differs(nan, 1));
  EXPECT_FALSE(differs(inf, inf));
  EXPECT_TRUE(differs(inf, -inf));
  EXPECT_TRUE(differs(1e300, inf));
  EXPECT_FALSE(differs(1.0009, 1));
  EXPECT_TRUE(differs(1.002, 1));
  EXPECT_FALSE(differs(-0.0, 0.0));
  EXPECT_FALSE(differs(9e-8, 0));
  EXPECT_TRUE(differs(2e-7, 0));
}

TEST(Compare, NamesTheFirstDifference) {
  Tensor a = Counting(DType::kI32, {2, 2}), b = Counting(DType::kI32, {2, 2});
  b.SetInt(3, 7);
  const Difference d = Compare(a, b, 1, 1);  // integers are exact whatever the tolerance
  EXPECT_FALSE(d.ok);
  EXPECT_EQ(d.max_abs, 6);
  EXPECT_EQ(d.where, "[1, 1]: got 1, expected 7");
  EXPECT_EQ(Compare(a, Counting(DType::kI64, {2, 2}), 0, 0).where, "got type i32, expected i64");
  EXPECT_EQ(Compare(a, Counting(DType::kI32, {4}), 0, 0).where, "got shape [2, 2], expected [4]");
  EXPECT_EQ(Compare(Value(), a, 0, 0).where, "got nothing, expected a tensor");
  Value s, t;
  s.kind = t.kind = Value::kSequence;
  s.items = {a, a};
  t.items = {a, b};
  EXPECT_EQ(Compare(s, t, 0, 0).where, "item 1: [1, 1]: got 1, expected 7");
}

TEST(Compare, ComplexByMagnitude) {
  Tensor a = *Tensor::Create(DType::kC64, {1}), b = *Tensor::Create(DType::kC64, {1});
  a.as<float>()[0] = 3, a.as<float>()[1] = 4.001f;
  b.as<float>()[0] = 3, b.as<float>()[1] = 4;
  EXPECT_TRUE(Compare(a, b, 1e-3, 0).ok);
  EXPECT_FALSE(Compare(a, b, 1e-4, 0).ok);
}

}  // namespace
}  // namespace headrace
