// .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html. A file from
// outside is not trusted: every length is checked against the file's size before anything is
// allocated or read.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "ir/base/npy.h"

namespace headrace {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr int64_t kMaxHeader = 1 << 20;
constexpr std::string_view kNote = "# headrace: ";  // numpy reads a comment in the header as what it is

// What an array is read from: a file, or bytes that are in memory.
struct File {
  int fd = -1;
  int64_t size = 0;
  std::shared_ptr<Buffer> memory;
  ~File() {
    if (fd >= 0) close(fd);
  }
  bool Read(int64_t at, void* to, int64_t bytes) const {
    if (memory) {
      if (bytes > size - at) return false;
      if (bytes > 0) std::memcpy(to, memory->data() + at, static_cast<size_t>(bytes));
      return true;
    }
    while (bytes > 0) {
      const ssize_t n = pread(fd, to, static_cast<size_t>(std::min<int64_t>(bytes, 1 << 30)), at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      to = static_cast<char*>(to) + n;
      at += n;
      bytes -= n;
    }
    return true;
  }
};

Status Damaged(const std::string& path, const std::string& what) {
  return WithFile(InvalidError("E0110",
                               "this is not a valid .npy file: " + what, "write it again with numpy.save"), path);
}

struct Header {
  std::string descr, note;
  bool fortran = false;
  std::vector<int64_t> shape;
};

// The header is a Python literal of one known form: {'descr': '<f4', 'fortran_order': False,
// 'shape': (2, 3), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}
  std::string problem;

  bool Parse(Header* h) {
    bool descr = false, order = false, shape = false;
    if (!Take('{')) return Fail("its header is not a dictionary");
    while (!Take('}')) {
      std::string key;
      if (!String(&key) || !Take(':')) return Fail("its header is not a dictionary of names");
      if (key == "descr" && !descr) {
        descr = true;
        Skip();
        if (at_ < text_.size() && text_[at_] == '[') return Fail("it holds records, not numbers");
        if (!String(&h->descr)) return Fail("its element type is missing");
      } else if (key == "fortran_order" && !order) {
        order = true;
        if (Word("True")) h->fortran = true;
        else if (!Word("False")) return Fail("fortran_order is neither True nor False");
      } else if (key == "shape" && !shape) {
        shape = true;
        if (!Shape(&h->shape)) return Fail("its shape is not a tuple of sizes");
      } else {
        return Fail("its header has the unexpected key '" + key + "'");
      }
      if (!Take(',') && (at_ >= text_.size() || text_[at_] != '}')) return Fail("its header ends too early");
    }
    if (!descr || !order || !shape) return Fail("its header lacks descr, fortran_order or shape");
    Skip();
    const std::string_view rest = text_.substr(at_);
    if (rest.substr(0, kNote.size()) == kNote) {
      const std::string_view note = rest.substr(kNote.size());
      h->note = std::string(note.substr(0, note.find_first_of(" \n")));
    }
    return true;
  }

 private:
  bool Fail(std::string why) {
    problem = std::move(why);
    return false;
  }
  void Skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool Take(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    Skip();
    return true;
  }
  bool Word(std::string_view w) {
    Skip();
    if (text_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    Skip();
    return true;
  }
  bool String(std::string* out) {
    Skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return false;
    *out = std::string(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return true;
  }
  bool Shape(std::vector<int64_t>* out) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') return false;
      int64_t v = 0;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, text_[at_] - '0', &v)) return false;
      }
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
      out->push_back(v);
      if (out->size() > 64) return false;
      if (!Take(',') && (at_ >= text_.size() || text_[at_] != ')')) return false;
    }
    return true;
  }
  std::string_view text_;
  size_t at_ = 0;
};

// One element in the file.
struct Element {
  DType dtype = DType::kNone;
  int64_t bytes = 0;
  bool swap = false;
  char text = 0;  // 'U' or 'S' for strings
};

bool ElementOf(const Header& h, Element* out) {
  const std::string& d = h.descr;
  if (d.size() < 2) return false;
  const bool order = d[0] == '<' || d[0] == '>' || d[0] == '|' || d[0] == '=';
  const char kind = d[order ? 1 : 0];
  int64_t n = 0;
  const size_t digits = order ? 2 : 1;
  if (digits >= d.size() || d.size() > digits + 9) return false;
  for (size_t i = digits; i < d.size(); ++i) {
    if (d[i] < '0' || d[i] > '9') return false;
    n = n * 10 + (d[i] - '0');
  }
  out->swap = d[0] == '>';
  out->bytes = n;
  if (kind == 'U' || kind == 'S') {
    out->dtype = DType::kString;
    out->text = kind;
    out->bytes = kind == 'U' ? n * 4 : n;
    return true;
  }
  static constexpr struct {
    char kind;
    int bytes;
    DType dtype;
  } kTypes[] = {
      {'b', 1, DType::kBool}, {'i', 1, DType::kI8},    {'i', 2, DType::kI16}, {'i', 4, DType::kI32},
      {'i', 8, DType::kI64},  {'u', 1, DType::kU8},    {'u', 2, DType::kU16}, {'u', 4, DType::kU32},
      {'u', 8, DType::kU64},  {'f', 2, DType::kF16},   {'f', 4, DType::kF32}, {'f', 8, DType::kF64},
      {'c', 8, DType::kC64},  {'c', 16, DType::kC128}, {'V', 2, DType::kBF16}};  // how numpy writes ml_dtypes.bfloat16
  for (const auto& t : kTypes) {
    if (t.kind != kind || t.bytes != n) continue;
    out->dtype = t.dtype;
    const auto noted = ParseDType(h.note);
    if (noted && *noted != DType::kString && ByteSize(*noted) == n && (kind == 'u' || kind == 'i')) out->dtype = *noted;
    return true;
  }
  return false;
}

void AppendUtf8(uint32_t c, std::string* out) {
  if (c < 0x80) {
    *out += static_cast<char>(c);
  } else if (c < 0x800) {
    *out += static_cast<char>(0xC0 | c >> 6);
    *out += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    *out += static_cast<char>(0xE0 | c >> 12);
    *out += static_cast<char>(0x80 | (c >> 6 & 63));
    *out += static_cast<char>(0x80 | (c & 63));
  } else {
    *out += static_cast<char>(0xF0 | c >> 18);
    *out += static_cast<char>(0x80 | (c >> 12 & 63));
    *out += static_cast<char>(0x80 | (c >> 6 & 63));
    *out += static_cast<char>(0x80 | (c & 63));
  }
}

// Code points, or false for what is not UTF-8.
bool DecodeUtf8(const std::string& s, std::vector<uint32_t>* out) {
  for (size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    const int extra = c < 0x80 ? 0 : (c & 0xE0) == 0xC0 ? 1 : (c & 0xF0) == 0xE0 ? 2 : (c & 0xF8) == 0xF0 ? 3 : -1;
    if (extra < 0 || i + extra >= s.size()) return false;
    uint32_t v = extra == 0 ? c : c & (0x3F >> extra);
    for (int k = 1; k <= extra; ++k) {
      const auto x = static_cast<unsigned char>(s[i + k]);
      if ((x & 0xC0) != 0x80) return false;
      v = v << 6 | (x & 63);
    }
    if (v > 0x10FFFF) return false;
    out->push_back(v);
    i += 1 + extra;
  }
  return true;
}

Status ReadStrings(const File& file, int64_t at, const Element& e, Tensor* t, const std::string& path) {
  std::vector<char> bytes(e.bytes);
  for (std::string& s : *t->strings) {
    if (!file.Read(at, bytes.data(), e.bytes)) return Damaged(path, "it can't be read to its end");
    at += e.bytes;
    if (e.text == 'S') {
      s.assign(bytes.data(), bytes.size());
      s.resize(s.find_last_not_of('\0') + 1);
      continue;
    }
    std::vector<uint32_t> points(e.bytes / 4);
    std::memcpy(points.data(), bytes.data(), bytes.size());
    while (!points.empty() && points.back() == 0) points.pop_back();
    for (uint32_t c : points) {
      if (e.swap) c = __builtin_bswap32(c);
      if (c > 0x10FFFF) return Damaged(path, "a string holds something that is no character");
      AppendUtf8(c, &s);
    }
  }
  return {};
}

void SwapBytes(char* data, int64_t count, int64_t bytes) {
  for (int64_t i = 0; i < count; ++i) std::reverse(data + i * bytes, data + (i + 1) * bytes);
}

// Column-major → row-major.
template <typename Move>
void Reorder(const std::vector<int64_t>& shape, Move&& move) {
  const size_t rank = shape.size();
  std::vector<int64_t> index(rank), stride(rank, 1);
  for (size_t d = 1; d < rank; ++d) stride[d] = stride[d - 1] * shape[d - 1];
  int64_t n = 1, from = 0;
  for (int64_t d : shape) n *= d;
  for (int64_t to = 0; to < n; ++to) {
    move(to, from);
    for (size_t d = rank; d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
}

Result<Tensor> Read(const File& file, const std::string& path) {
  unsigned char start[12];
  if (file.size < 10 || !file.Read(0, start, 10) || std::memcmp(start, kMagic, 6) != 0)
    return Damaged(path, "it does not start as one");
  const int version = start[6];
  if (version < 1 || version > 3)
    return Damaged(path, "its version is " + std::to_string(version) + ", known are 1 to 3");
  int64_t length = start[8] | start[9] << 8, at = 10;
  if (version > 1) {
    if (!file.Read(10, start + 10, 2)) return Damaged(path, "its header is cut off");
    length |= static_cast<int64_t>(start[10]) << 16 | static_cast<int64_t>(start[11]) << 24;
    at = 12;
  }
  if (length > kMaxHeader || length > file.size - at) return Damaged(path, "its header is cut off");
  std::string text(static_cast<size_t>(length), '\0');
  if (!file.Read(at, &text[0], length)) return Damaged(path, "its header is cut off");
  at += length;

  Header header;
  HeaderParser parser(text);
  if (!parser.Parse(&header)) return Damaged(path, parser.problem);
  Element element;
  if (!ElementOf(header, &element)) {
    return WithFile(UnsupportedError("E0111", "elements of numpy type '" + header.descr + "' can't be read",
                                     header.descr.find('O') != std::string::npos
                                         ? "objects are pickled Python: save an array of numbers or strings"
                                         : "convert the array before saving it"),
                    path);
  }
  // Nothing is allocated that the file does not hold.
  int64_t count = 1, bytes = 0;
  const bool empty = std::count(header.shape.begin(), header.shape.end(), 0) > 0;
  bool fits = true;
  if (empty) {
    count = 0;
  } else {
    for (int64_t d : header.shape) fits &= !__builtin_mul_overflow(count, d, &count);
  }
  fits = fits && !__builtin_mul_overflow(count, element.bytes, &bytes) && bytes <= file.size - at;
  if (element.text != 0 && element.bytes == 0)
    fits = fits && count <= file.size;  // '<U0': nothing in the file bounds the count
  if (!fits) {
    return Damaged(path, "its header promises more elements than the " + std::to_string(file.size - at) +
                             " bytes that follow hold");
  }
  Tensor t;
  if (file.memory && element.text == 0 && at % 16 == 0) {  // nothing is copied
    t.dtype = element.dtype, t.shape = header.shape;
    t.data = Buffer::Wrap(file.memory->data() + at, bytes, file.memory);
  } else {
    HR_ASSIGN_OR_RETURN(t, Tensor::Create(element.dtype, header.shape));
  }
  if (element.text != 0) {
    HR_RETURN_IF_ERROR(ReadStrings(file, at, element, &t, path));
  } else {
    const bool there = file.memory && t.data->data() == file.memory->data() + at;
    if (!there && !file.Read(at, t.data->data(), bytes)) return Damaged(path, "it can't be read to its end");
    if (element.swap) {
      const bool complex = IsComplex(element.dtype);
      SwapBytes(t.data->data(), complex ? count * 2 : count, complex ? element.bytes / 2 : element.bytes);
    }
    if (element.dtype == DType::kBool) {
      for (int64_t i = 0; i < count; ++i) t.as<uint8_t>()[i] = t.as<uint8_t>()[i] != 0;
    } else if (IsInteger(element.dtype) && BitWidth(element.dtype) < 8) {
      for (int64_t i = 0; i < count; ++i) t.SetInt(i, t.GetInt(i));  // a byte may say more than the type holds
    }
  }
  if (!header.fortran || header.shape.size() < 2 || count == 0) return t;
  HR_ASSIGN_OR_RETURN(Tensor out, Tensor::Create(element.dtype, header.shape));
  Reorder(header.shape, [&](int64_t to, int64_t from) {
    if (element.text != 0) (*out.strings)[to] = std::move((*t.strings)[from]);
    else std::memcpy(out.data->data() + to * element.bytes, t.data->data() + from * element.bytes, element.bytes);
  });
  return out;
}

}  // namespace

Result<Tensor> ReadNpy(const std::string& path) {
  File file;
  file.fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not make us wait
  if (file.fd < 0) return WithFile(InvalidError("E0112",
                                                std::string("can't open the file: ") + std::strerror(errno)), path);
  struct stat st;
  if (fstat(file.fd, &st) != 0 || !S_ISREG(st.st_mode))
    return WithFile(InvalidError("E0112", "this is not a regular file"), path);
  file.size = st.st_size;
  return Read(file, path);
}

Result<Tensor> ParseNpy(std::shared_ptr<Buffer> bytes, const std::string& name) {
  File file;
  file.size = bytes->size();
  file.memory = std::move(bytes);
  return Read(file, name);
}

namespace {

// Strings as fixed-width text: UTF-32, or bytes when one of them is not UTF-8.
std::string PackStrings(const std::vector<std::string>& strings, std::string* descr) {
  std::vector<std::vector<uint32_t>> all(strings.size());
  bool utf8 = true;
  size_t longest = 1, bytes = 1;
  for (size_t i = 0; i < strings.size() && utf8; ++i) utf8 = DecodeUtf8(strings[i], &all[i]);
  for (const auto& points : all) longest = std::max(longest, points.size());
  for (const std::string& s : strings) bytes = std::max(bytes, s.size());
  std::string out;
  if (!utf8) {
    *descr = "|S" + std::to_string(bytes);
    for (std::string s : strings) {
      s.resize(bytes);
      out += s;
    }
    return out;
  }
  *descr = "<U" + std::to_string(longest);
  for (auto& points : all) {
    points.resize(longest);
    out.append(reinterpret_cast<const char*>(points.data()), longest * 4);
  }
  return out;
}

std::string DescrOf(DType t) {
  const std::string size = std::to_string(ByteSize(t));
  const std::string order = ByteSize(t) == 1 ? "|" : "<";
  if (t == DType::kBool) return "|b1";
  if (IsInteger(t)) return order + (IsSigned(t) ? "i" : "u") + size;
  if (IsComplex(t)) return order + "c" + size;
  if (t == DType::kF16 || t == DType::kF32 || t == DType::kF64) return order + "f" + size;
  return order + "u" + size;  // types that numpy has no name for
}

bool NumpyKnows(DType t) {
  if (t == DType::kBool || IsComplex(t) || t == DType::kString) return true;
  if (IsInteger(t)) return BitWidth(t) >= 8;
  return t == DType::kF16 || t == DType::kF32 || t == DType::kF64;
}

bool WriteAll(std::FILE* f, const std::string& head, const char* data, size_t bytes) {
  return std::fwrite(head.data(), 1, head.size(), f) == head.size() && std::fwrite(data, 1, bytes, f) == bytes;
}

}  // namespace

std::string_view NpyImage::Body() const {
  if (tensor.dtype == DType::kString) return packed;
  return {tensor.data->data(), static_cast<size_t>(tensor.bytes())};
}

NpyImage EncodeNpy(const Tensor& t) {
  NpyImage image;
  image.tensor = t;
  std::string descr;
  if (t.dtype == DType::kString) image.packed = PackStrings(*t.strings, &descr);
  else descr = DescrOf(t.dtype);
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t d : t.shape) header += std::to_string(d) + (t.shape.size() == 1 ? "," : ", ");
  if (t.shape.size() > 1) header.resize(header.size() - 2);
  header += "), }";
  if (!NumpyKnows(t.dtype)) header += " " + std::string(kNote) + std::string(DTypeName(t.dtype));
  const bool large = header.size() + 1 + 64 > 65535;
  const size_t prefix = large ? 12 : 10;
  header.append((64 - (prefix + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string head(kMagic, 6);
  head += large ? '\2' : '\1';
  head += '\0';
  for (size_t i = 0; i < (large ? 4u : 2u); ++i) head += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  head += header;
  image.head = std::move(head);
  return image;
}

Status WriteNpy(const std::string& path, const Tensor& t) {
  const NpyImage image = EncodeNpy(t);
  // Written beside the target and renamed, so that nobody ever sees half a file; but a pipe or
  // device is written to.
  struct stat st;
  const bool special = stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode);
  const std::string temporary = special ? path : path + ".tmp" + std::to_string(getpid());
  std::FILE* f = std::fopen(temporary.c_str(), "wb");
  if (f == nullptr) return WithFile(InvalidError("E0113",
                                                 std::string("can't write the file: ") + std::strerror(errno)), path);
  const std::string_view body = image.Body();
  const bool written = WriteAll(f, image.head, body.data(), body.size());
  const bool closed = std::fclose(f) == 0;
  if (!written || !closed || (!special && std::rename(temporary.c_str(), path.c_str()) != 0)) {
    const std::string why = std::strerror(errno);
    if (!special) std::remove(temporary.c_str());
    return WithFile(InvalidError("E0113", "can't write the file: " + why), path);
  }
  return {};
}

}  // namespace headrace
