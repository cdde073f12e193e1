// Where containers are used, by position: statements at state level and control expressions numbered in program order.
// Shared by passes that move, rename or remove; built in one walk.
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph/graph.h"
#include "transforms/by_name.h"

namespace headrace {
class Callees;
}

namespace headrace::transforms {

struct Usage {
  std::vector<uint32_t> reads, writes;  // positions, ascending
  bool viewed = false;                  // some use goes through a view
  uint32_t First() const;
  uint32_t Last() const;                                      // First() > Last() when unused
  bool WrittenBetween(uint32_t after, uint32_t until) const;  // a write in (after, until]
};

// A loop body or a branch: what is inside runs any number of times, or not at all.
struct Region {
  uint32_t begin, end;
  int parent;
  bool loop;
};  // positions [begin, end)

class UseIndex {
 public:
  UseIndex(const Program& p, const Sdfg& s);
  const Usage& Of(Name root) const;
  Usage& Mutable(Name root) { return usage_[root]; }
  struct Position {
    NodeId statement;
    BlockId block;
    int region;
  };  // statement invalid: a control expression
  const std::vector<Position>& positions() const { return positions_; }
  const std::vector<Region>& regions() const { return regions_; }
  // All uses lie in the region of `at` (the whole SDFG counts as one).
  bool Inside(const Usage& u, uint32_t at) const;
  // The last position that runs before or between uses of `u` after `at`: a loop around a use runs to its end in between.
  uint32_t LastRound(const Usage& u, uint32_t at) const;

 private:
  void Walk(const Sdfg& s, const std::vector<BlockId>& body, int region, Callees& callees);
  std::vector<Position> positions_;
  std::vector<Region> regions_;
  ByName<Usage> usage_;
};

// How many statements write each container.
std::unordered_map<Name, int> CountWrites(const Program& p, const Sdfg& s);
// Applies container renames to everything in `s` (not to declarations), following chains.
void RenameUses(Sdfg* s, const std::unordered_map<Name, Name>& names);
// Drops statements whose node was emptied, and maps and states left without content.
void RemoveEmptied(Sdfg* s);
// Removes containers for which `dead` says so, in one sweep.
void RemoveContainers(Sdfg* s, const std::unordered_set<Name>& dead);

}  // namespace headrace::transforms
