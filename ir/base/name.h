// Interned identifiers: copying and comparing a Name is copying and comparing 32 bits.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace headrace {

class Name {
 public:
  Name() = default;                                                // the empty name
  Name(std::string_view text);                                     // NOLINT: implicit on purpose; thread-safe
  Name(const char* text) : Name(std::string_view(text)) {}         // NOLINT
  Name(const std::string& text) : Name(std::string_view(text)) {}  // NOLINT
  std::string_view view() const;                                   // valid for the life of the process
  std::string str() const { return std::string(view()); }
  bool empty() const { return id_ == 0; }
  uint32_t id() const { return id_; }
  friend bool operator==(Name a, Name b) { return a.id_ == b.id_; }
  friend bool operator!=(Name a, Name b) { return a.id_ != b.id_; }
  friend bool operator<(Name a, Name b) { return a.view() < b.view(); }  // text order: printing stays deterministic
  template <typename H>
  friend H AbslHashValue(H h, Name n) {
    return H::combine(std::move(h), n.id_);
  }

 private:
  uint32_t id_ = 0;
};

}  // namespace headrace

// Names are numbered as they come up, and asked for in about that order: in a hash table neighbours are to stay neighbours.
template <>
struct std::hash<headrace::Name> {
  size_t operator()(headrace::Name n) const { return n.id(); }
};
