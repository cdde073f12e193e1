#include "importers/onnx/wire.h"

#include <cstdio>
#include <cstring>

namespace headrace::onnx_import {
namespace {

// Messages on the way from a model to its tensors; everything else is copied as it is.
enum class Message : uint8_t { kNone, kModel, kTraining, kFunction, kGraph, kNode, kAttribute, kSparse, kTensor };

Message Child(Message parent, uint32_t field) {
  switch (parent) {
    case Message::kModel:
      return field == 7    ? Message::kGraph
             : field == 20 ? Message::kTraining
             : field == 25 ? Message::kFunction
                           : Message::kNone;
    case Message::kTraining: return field == 1 || field == 2 ? Message::kGraph : Message::kNone;
    case Message::kFunction: return field == 7 ? Message::kNode : field == 11 ? Message::kAttribute : Message::kNone;
    case Message::kGraph:
      return field == 1    ? Message::kNode
             : field == 5  ? Message::kTensor
             : field == 15 ? Message::kSparse
                           : Message::kNone;
    case Message::kNode: return field == 5 ? Message::kAttribute : Message::kNone;
    case Message::kAttribute:
      if (field == 5 || field == 10) return Message::kTensor;
      if (field == 6 || field == 11) return Message::kGraph;
      return field == 22 || field == 23 ? Message::kSparse : Message::kNone;
    case Message::kSparse: return field == 1 || field == 2 ? Message::kTensor : Message::kNone;
    default: return Message::kNone;
  }
}

constexpr uint32_t kTensorRawData = 9, kTensorDocString = 12;
constexpr char kMark[] = "\x01taken:";

class Scanner {
 public:
  explicit Scanner(std::string_view bytes) : bytes_(bytes) {}

  Status Copy(Message kind, size_t begin, size_t end, int depth, std::string* out) {
    if (kind == Message::kGraph && ++depth > kMaxGraphDepth) {
      Diagnostic d;
      d.code = "E0503";
      d.message = "subgraphs are nested deeper than " + std::to_string(kMaxGraphDepth) + " levels";
      d.hint = "If, Loop and Scan bodies may hold further ones, but only to this depth";
      return Status(d);
    }
    size_t at = begin;
    while (at < end) {
      const size_t start = at;
      uint64_t key = 0, length = 0;
      if (!Varint(end, &at, &key)) return Damaged(start);
      const uint32_t field = static_cast<uint32_t>(key >> 3);
      if (field == 0 || key >> 3 > 0x1fffffff) return Damaged(start);
      switch (key & 7) {
        case 0: {
          uint64_t ignored;
          if (!Varint(end, &at, &ignored)) return Damaged(start);
          break;
        }
        case 1: at += 8; break;
        case 5: at += 4; break;
        case 2:
          if (!Varint(end, &at, &length) || length > end - at) return Damaged(start);
          at += length;
          break;
        default: return Damaged(start);
      }
      if (at > end) return Damaged(start);
      const Message child = (key & 7) == 2 ? Child(kind, field) : Message::kNone;
      if (kind == Message::kTensor && field == kTensorDocString) continue;
      if (kind == Message::kTensor && field == kTensorRawData && (key & 7) == 2 && length > kInlineRawBytes) {
        std::string mark = kMark + std::to_string(at - length) + ":" + std::to_string(length);
        Tag(kTensorDocString, mark.size(), out);
        *out += mark;
      } else if (child != Message::kNone) {
        std::string inner;
        HR_RETURN_IF_ERROR(Copy(child, at - length, at, depth, &inner));
        Tag(field, inner.size(), out);
        *out += inner;
      } else {
        out->append(bytes_.data() + start, at - start);
      }
    }
    return {};
  }

 private:
  bool Varint(size_t end, size_t* at, uint64_t* value) const {
    *value = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
      const uint8_t byte = static_cast<uint8_t>(bytes_[(*at)++]);
      *value |= uint64_t{byte & 0x7fu} << shift;
      if (!(byte & 0x80)) return true;
    }
    return false;
  }
  static void Tag(uint32_t field, uint64_t length, std::string* out) {
    Put(uint64_t{field} << 3 | 2, out);
    Put(length, out);
  }
  static void Put(uint64_t v, std::string* out) {
    for (; v >= 0x80; v >>= 7) *out += static_cast<char>(v | 0x80);
    *out += static_cast<char>(v);
  }
  Status Damaged(size_t offset) const {
    Diagnostic d;
    d.code = "E0502";
    d.message = "not a whole ONNX model: the data is damaged or cut off at byte " + std::to_string(offset) + " of " +
                std::to_string(bytes_.size());
    d.hint = "fetch or export the file again";
    return Status(d);
  }

  std::string_view bytes_;
};

}  // namespace

Result<std::string> WithoutRawData(std::string_view model) {
  std::string out;
  HR_RETURN_IF_ERROR(Scanner(model).Copy(Message::kModel, 0, model.size(), 0, &out));
  return out;
}

std::optional<RawRange> TakenRange(const onnx::TensorProto& t) {
  const std::string& doc = t.doc_string();
  if (doc.compare(0, sizeof(kMark) - 1, kMark) != 0) return std::nullopt;
  long long offset = 0, length = 0;
  if (std::sscanf(doc.c_str() + sizeof(kMark) - 1, "%lld:%lld", &offset, &length) != 2) return std::nullopt;
  return RawRange{offset, length};
}

}  // namespace headrace::onnx_import
