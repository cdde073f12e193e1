// What the windows of some points read, laid out in a worker's buffer with what lies outside of the container: whoever reads the
// buffer asks for nothing. Dimensions stay in the order of memory; what lies between steps is left out.
//   X[y + k - 1, x + l - 1, c] ?? 0  for y in y0:+4, x in 0:56, k in 0:3, l in 0:3, c in 0:64
//     →  local a: f32[6, 58, 64] @worker
//        for q0 in 0:6, q1 in 0:58 {
//          if q0 + y0 - 1 >= 0 && … { map q2 in 0:64 @vector { a[q0, q1, q2] = X[q0 + y0 - 1, q1 - 1, q2] } }
//          else { map q2 in 0:64 @vector { a[q0, q1, q2] = 0 } }
//        }
// Beside an element may lie those of the places that follow it, for who multiplies several at once:
//   local a: f32[6, 57, 64, 2] @worker  …  a[q0, q1, q2, 0] = X[q0 + y0 - 1, q1 - 1, q2] ; a[q0, q1, q2, 1] = X[q0 + y0 - 1, q1, q2]
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/channels.h"
#include "transforms/schedule/device.h"

namespace headrace::schedule {

// An index that moves within a strip: `length` values from `begin` on, of which the last may lie beyond the container.
struct Moving {
  Name index;
  Expr begin;
  int64_t length = 1;
  bool ragged = false;
};

class Strip {
 public:
  // Nullopt where the read does not move evenly with one of them.
  // `innermost`: what moves by this index alone lies side by side; none: as in memory.
  static std::optional<Strip> Of(const Sdfg& s, const WindowRead& read, const std::vector<Moving>& moving, Name innermost = {});

  // Beside each element those for the following values of `term`, `count` in all. False: that is no step forward in one dimension across
  // memory, and nothing has changed.
  bool PutBeside(const Sdfg& s, Name term, int64_t count);
  int64_t elements() const;  // without those beside them
  void Declare(Sdfg* s, DType type, const Device& d, int64_t group = 1);  // what lies side by side may be read in whole groups
  std::vector<NodeId> Fill(Sdfg* s) const;
  // Of the buffer, where these indices have these values; `beside`: which of the elements that lie there.
  Expr Read(const NameMap& indices, int64_t beside = 0) const;

 private:
  struct Dimension {
    size_t of = 0;  // the container's
    int64_t extent = 1, step = 1;
    Expr first;  // the container's index at which it begins
    bool below = false, above = false;
    std::vector<std::pair<Moving, int64_t>> moving;  // and by how much
  };
  // What goes to one place of the buffer, and the conditions of its being inside; that of the lanes' dimension apart.
  struct Element {
    std::vector<Expr> slot, source;
    Expr inside, in_lane;
  };
  size_t Lane(const Sdfg& s) const;  // the dimension of neighbours in memory
  Element At(const Sdfg& s, const std::vector<Range>& places, int64_t beside) const;

  WindowRead read_;
  std::vector<Dimension> dimensions_;  // neighbours in memory last, but for `innermost`
  size_t moved_ = 0;                   // the dimension in which elements that lie beside each other are apart,
  int64_t count_ = 1, apart_ = 0;      // how many they are, and by how many places
  Name buffer_;
};

}  // namespace headrace::schedule
