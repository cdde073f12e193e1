#include "training/safetensors.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "training/whole_file.h"

namespace headrace::training {
namespace {

constexpr int64_t kMaxHeader = 100'000'000;  // the format's own bound
// Every file of ours begins so; the checksum is taken with zeros in its own place.
constexpr std::string_view kStart = R"({"__metadata__":{"checksum":"blake2b-256:)";
constexpr size_t kDigits = 64;

constexpr struct {
  const char* name;
  DType dtype;
} kTypes[] = {{"F64", DType::kF64},        {"F32", DType::kF32},       {"F16", DType::kF16},
              {"BF16", DType::kBF16},      {"I64", DType::kI64},       {"I32", DType::kI32},
              {"I16", DType::kI16},        {"I8", DType::kI8},         {"U64", DType::kU64},
              {"U32", DType::kU32},        {"U16", DType::kU16},       {"U8", DType::kU8},
              {"BOOL", DType::kBool},      {"C64", DType::kC64},       {"F8_E4M3", DType::kF8E4M3FN},
              {"F8_E5M2", DType::kF8E5M2}, {"F8_E8M0", DType::kF8E8M0}};

const char* NameOf(DType t) {
  for (const auto& k : kTypes)
    if (k.dtype == t) return k.name;
  return nullptr;
}

DType TypeOf(const std::string& name) {
  for (const auto& k : kTypes)
    if (name == k.name) return k.dtype;
  return DType::kNone;
}

Status Damaged(const std::string& what) {
  Diagnostic d;
  d.code = "E0952";
  d.message = "this is not a complete checkpoint: " + what;
  return Status(d);
}

class Checksum {
 public:
  Checksum() {
    HR_CHECK(sodium_init() >= 0, "sodium_init");
    crypto_generichash_init(&state_, nullptr, 0, kDigits / 2);
  }
  void Add(std::string_view bytes) {
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  std::string Digits() {
    unsigned char hash[kDigits / 2];
    char text[kDigits + 1];
    crypto_generichash_final(&state_, hash, sizeof hash);
    return sodium_bin2hex(text, sizeof text, hash, sizeof hash);
  }

 private:
  crypto_generichash_state state_;
};

// Reads the header's JSON without building a tree: depth, keys and types are known at every place.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  SafetensorsHeader header;
  std::string problem;

  bool null() override { return Misplaced(); }
  bool boolean(bool) override { return Misplaced(); }
  bool number_integer(number_integer_t) override { return Misplaced(); }
  bool number_float(number_float_t, const string_t&) override { return Misplaced(); }
  bool binary(binary_t&) override { return Misplaced(); }
  bool number_unsigned(number_unsigned_t n) override {
    if (place_ != kShape && place_ != kOffsets) return Misplaced();
    if (n > static_cast<uint64_t>(INT64_MAX)) return Fail("a number in its header is too large");
    Entry& e = header.entries.back();
    if (place_ == kShape) return e.shape.push_back(static_cast<int64_t>(n)), true;
    if (offsets_ == 2) return Misplaced();
    (offsets_++ == 0 ? e.begin : e.end) = static_cast<int64_t>(n);
    return true;
  }
  bool string(string_t& s) override {
    if (place_ == kMetadata) return header.metadata[key_] = s, true;
    if (place_ != kEntry || key_ != "dtype") return Misplaced();
    header.entries.back().dtype = TypeOf(s);
    if (header.entries.back().dtype == DType::kNone) return Fail("it has a tensor of unknown type '" + s + "'");
    return true;
  }
  bool key(string_t& k) override {
    key_ = k;
    if (!(place_ == kTop ? names_ : keys_).insert(k).second) return Fail("its header says '" + k + "' twice");
    return true;
  }
  bool start_object(size_t) override {
    if (place_ == kNothing) return place_ = kTop, true;
    if (place_ != kTop) return Misplaced();
    keys_.clear();
    place_ = kMetadata;
    if (key_ == "__metadata__") return true;
    place_ = kEntry;
    header.entries.emplace_back();
    header.entries.back().name = key_;
    return true;
  }
  bool end_object() override {
    if (place_ == kEntry && (keys_.size() != 3 || offsets_ != 2))
      return Fail("its header lacks the type, shape or place of '" + header.entries.back().name + "'");
    offsets_ = 0;
    place_ = place_ == kTop ? kNothing : kTop;
    return true;
  }
  bool start_array(size_t) override {
    if (place_ != kEntry || (key_ != "shape" && key_ != "data_offsets")) return Misplaced();
    place_ = key_ == "shape" ? kShape : kOffsets;
    return true;
  }
  bool end_array() override { return place_ = kEntry, true; }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    return Fail("its header is no JSON from byte " + std::to_string(at));
  }

 private:
  using Entry = SafetensorsHeader::Entry;
  bool Fail(std::string why) {
    if (problem.empty()) problem = std::move(why);
    return false;
  }
  bool Misplaced() { return Fail("its header has something unexpected at '" + key_ + "'"); }

  enum { kNothing, kTop, kMetadata, kEntry, kShape, kOffsets } place_ = kNothing;
  std::string key_;
  std::set<std::string> names_, keys_;
  int offsets_ = 0;
};

std::string LengthBytes(uint64_t n) {
  std::string s(8, '\0');
  for (int i = 0; i < 8; ++i) s[i] = static_cast<char>(n >> (8 * i) & 0xFF);
  return s;
}

// Largest elements first, so that each tensor lies aligned; otherwise in order.
std::vector<size_t> Layout(const Snapshot& s) {
  std::vector<size_t> order(s.tensors.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return ByteSize(s.tensors[a].second.dtype) > ByteSize(s.tensors[b].second.dtype);
  });
  return order;
}

// The header with zeros for the checksum.
Result<std::string> HeaderOf(const Snapshot& s, const std::vector<size_t>& layout) {
  using Json = nlohmann::ordered_json;  // keys stay in the order they are written here
  std::vector<int64_t> begin(s.tensors.size());
  int64_t at = 0;
  for (size_t i : layout) begin[i] = at, at += s.tensors[i].second.bytes();
  // A tree would look for each key among those before it.
  std::string text(kStart);
  text.append(kDigits, '0') += '"';
  std::set<std::string_view> names = {"__metadata__"};
  try {
    for (const auto& [key, value] : s.metadata) {
      if (key == "checksum") continue;
      text += "," + Json(key).dump() + ":" + Json(value).dump();
    }
    text += "}";
    for (size_t i = 0; i < s.tensors.size(); ++i) {
      const auto& [name, t] = s.tensors[i];
      const char* type = NameOf(t.dtype);
      if (type == nullptr) {
        return UnsupportedError("E0940",
                                "checkpoints can't hold '" + name + "' of type " + std::string(DTypeName(t.dtype)));
      }
      HR_CHECK(names.insert(name).second, "two tensors of a checkpoint have the name " + name);
      const Json entry = {{"dtype", type}, {"shape", t.shape}, {"data_offsets", {begin[i], begin[i] + t.bytes()}}};
      text += "," + Json(name).dump() + ":" + entry.dump();
    }
  } catch (const nlohmann::json::exception&) {
    return UnsupportedError("E0940", "checkpoints can't hold a name or setting that is not UTF-8 text", "rename it");
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  if (static_cast<int64_t>(text.size()) > kMaxHeader)
    return UnsupportedError("E0940", "a checkpoint of " + std::to_string(s.tensors.size()) +
                            " tensors exceeds the format's bounds");
  return text;
}

class InputFile {
 public:
  ~InputFile() {
    if (fd_ >= 0) close(fd_);
  }
  Status Open(const std::string& path) {
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not make us wait
    if (fd_ < 0) return InvalidError("E0939", std::string("can't open the file: ") + std::strerror(errno));
    struct stat st;
    if (fstat(fd_, &st) != 0 || !S_ISREG(st.st_mode)) return Damaged("it is not a regular file");
    size_ = st.st_size;
    return {};
  }
  int64_t size() const { return size_; }
  Status Read(int64_t at, char* to, int64_t bytes) const {
    while (bytes > 0) {
      const ssize_t n = pread(fd_, to, static_cast<size_t>(std::min<int64_t>(bytes, 1 << 30)), at);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return InvalidError("E0939", std::string("can't read the file: ") + std::strerror(errno));
      if (n == 0) return Damaged("it became shorter while it was read");
      to += n, at += n, bytes -= n;
    }
    return {};
  }

 private:
  int fd_ = -1;
  int64_t size_ = 0;
};

Result<Snapshot> Read(const std::string& path) {
  InputFile file;
  HR_RETURN_IF_ERROR(file.Open(path));
  unsigned char start[8];
  if (file.size() < 8) return Damaged("it has " + std::to_string(file.size()) + " bytes");
  HR_RETURN_IF_ERROR(file.Read(0, reinterpret_cast<char*>(start), 8));
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | start[i];
  if (length > static_cast<uint64_t>(std::min(kMaxHeader, file.size() - 8))) return Damaged("its header is cut off");
  std::string text(static_cast<size_t>(length), '\0');
  HR_RETURN_IF_ERROR(file.Read(8, text.data(), static_cast<int64_t>(length)));
  const int64_t data = 8 + static_cast<int64_t>(length);

  HR_ASSIGN_OR_RETURN(SafetensorsHeader header, ParseSafetensorsHeader(text, file.size() - data));
  if (text.compare(0, kStart.size(), kStart) != 0) return Damaged("it has no checksum: another program wrote it");
  const std::string expected = text.substr(kStart.size(), kDigits);
  text.replace(kStart.size(), expected.size(), kDigits, '0');

  std::vector<size_t> order(header.entries.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return header.entries[a].begin < header.entries[b].begin; });
  Checksum checksum;
  checksum.Add(LengthBytes(length));
  checksum.Add(text);
  Snapshot s;
  s.metadata = std::move(header.metadata);
  s.metadata.erase("checksum");
  s.tensors.resize(order.size());
  for (size_t i : order) {
    const SafetensorsHeader::Entry& e = header.entries[i];
    HR_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(e.dtype, e.shape));
    HR_RETURN_IF_ERROR(file.Read(data + e.begin, t.data->data(), e.end - e.begin));
    checksum.Add({t.data->data(), static_cast<size_t>(e.end - e.begin)});
    if (e.dtype == DType::kBool &&
        std::any_of(t.as<uint8_t>(), t.as<uint8_t>() + t.elements(), [](uint8_t b) { return b > 1; }))
      return Damaged("'" + e.name + "' has truth values that are neither 0 nor 1");
    s.tensors[i] = {e.name, std::move(t)};
  }
  if (checksum.Digits() != expected) return Damaged("its checksum differs from its contents'");
  return s;
}

}  // namespace

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json, int64_t data_bytes) {
  if (json.empty() || json[0] != '{') return Damaged("its header is no JSON from byte 1");
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) return Damaged(reader.problem);
  std::vector<const SafetensorsHeader::Entry*> order;
  for (const auto& e : reader.header.entries) {
    int64_t bytes = ByteSize(e.dtype);
    bool fits = true;
    if (std::count(e.shape.begin(), e.shape.end(), 0) > 0) bytes = 0;
    else
      for (int64_t d : e.shape) fits = fits && !__builtin_mul_overflow(bytes, d, &bytes);
    if (!fits || e.end < e.begin || e.end - e.begin != bytes)
      return Damaged("the shape of '" + e.name + "' and its place in the file disagree");
    order.push_back(&e);
  }
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
  int64_t at = 0;
  for (const auto* e : order) {
    if (e->begin != at) return Damaged("the data of '" + e->name + "' does not begin where those before it end");
    at = e->end;
  }
  if (at != data_bytes) {
    return Damaged("its header speaks of " + std::to_string(at) + " bytes of data, it has " +
                   std::to_string(data_bytes));
  }
  return std::move(reader.header);
}

Status WriteSafetensors(const std::string& path, const Snapshot& s) {
  const std::vector<size_t> layout = Layout(s);
  HR_ASSIGN_OR_RETURN(std::string header, HeaderOf(s, layout));
  const std::string length = LengthBytes(header.size());
  std::vector<std::string_view> parts = {length, header};
  for (size_t i : layout) {
    const Tensor& t = s.tensors[i].second;
    parts.emplace_back(t.data->data(), static_cast<size_t>(t.bytes()));
  }
  Checksum checksum;
  for (std::string_view p : parts) checksum.Add(p);
  header.replace(kStart.size(), kDigits, checksum.Digits());
  parts[1] = header;
  return WriteWholeFile(path, parts);
}

Result<Snapshot> ReadSafetensors(const std::string& path) {
  Result<Snapshot> s = Read(path);
  if (!s.ok()) return WithFile(s.status(), path);
  return s;
}

}  // namespace headrace::training
