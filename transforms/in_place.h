// Statements of maps and tasklets, asked whether what they write may take the place of what they read.
//
//   map i in 0:M {                       T may take the place of X: other rows are other elements, and of a row all that is read
//     map k in 0:N { S max= X[i, k] }    of X comes before, or is the very element that is written then.
//     map k in 0:N { T[i, k] = exp(X[i, k] - S) }
//   }
#pragma once
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::transforms {

class InPlaceNest {
 public:
  InPlaceNest(const Sdfg& s, NodeId top);
  bool plain() const { return plain_; }  // maps and tasklets, nothing else

  // Where a tasklet stands: its place in the bodies of all maps around it, outermost first. Twice that, so that something fits between.
  using Path = std::vector<size_t>;
  // A write that gives each iteration an element of its own.
  struct Write {
    Name target;
    NodeId tasklet, body;  // and the map whose body it stands in
    std::vector<Expr> index;
    Path path;
    NodeId moved_before;   // a constant that is only needed there; invalid: it stands where it does
  };
  const std::vector<Write>& writes() const { return writes_; }
  // The containers, by the names that the statement calls them, that are read in the same body.
  std::vector<Name> ReadAt(const Write& w) const;
  // Is every access of `c`'s array, under that name alone, an element that belongs to the iteration of `w`, and read or written
  // before `w` does? Of the target itself, after.
  bool OnlyBeside(Name c, const Write& w) const;
  // Whether `w` writes all elements of its target.
  bool Covers(const Write& w) const;

 private:
  struct Access {
    Name container, root;
    NodeId tasklet;
    uint32_t path;                   // of the tasklet's statement, in `paths_`
    const std::vector<Expr>* index;  // where the SDFG has it
    bool exact, write;               // exact: at this very index
  };
  struct Level {
    NodeId map;
    size_t at;
  };

  bool Walk(NodeId n);
  void Note(NodeId id);
  Name ArrayOf(Name container);
  bool EachItsOwn(const std::vector<Expr>& index) const;
  void AddLater(const Write& w);
  bool InItsRow(const Access& a, const Write& w) const;
  std::vector<Name> CommonIndices(const Path& a, const Path& b) const;

  const Sdfg& s_;
  NodeId top_;
  bool plain_;
  std::vector<Level> around_;
  std::vector<Write> writes_;
  std::vector<Access> accesses_;
  std::vector<Path> paths_;
  std::array<std::pair<Name, Name>, 16> arrays_ = {};  // by the number of the name that was asked for last: most come again soon
};

// A name for all elements of an array, one after the other: the array itself, or a view of it.
bool IsWhole(const Sdfg& s, Name container);

}  // namespace headrace::transforms
