// Where places of the arena lie when it is printed: in slots whose size is known they come to numbers, the others to entries of
// a table that is filled once per run.
#pragma once
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::cpu {

class ArenaCode {
 public:
  explicit ArenaCode(const Sdfg& s);
  std::string Offset(const Container& c) const;  // C++ text, of a container that has a place
  std::string Begin(int slot) const;             // the same
  size_t known_slots() const { return begins_.size() - 1; }
  int64_t known_bytes() const { return begins_.back(); }
  const std::vector<std::pair<int, Expr>>& entries() const { return entries_; }  // of the table: slot and offset

 private:
  std::vector<int64_t> begins_ = {0};  // of the first slots, up to one of unknown size
  std::vector<std::pair<int, Expr>> entries_;
  std::unordered_map<Name, size_t> entry_of_;
};

}  // namespace headrace::cpu
