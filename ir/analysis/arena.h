// The arena of an SDFG: its transients in slots, planned from lifetimes.
//
// Sizes that are numbers share one slot, best fit. So do sizes c·m of one m, such as 256·N and 640·N, as the numbers c: they
// lie at multiples of 64·m, which are aligned for every m. Where rounding up to that would cost more than it saves, arrays of
// equal sizes share slots instead. What gets its size inside the run has no place, and is allocated by then.
#pragma once
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace {

struct ArenaPlan {
  std::vector<Expr> slots;  // bytes
  std::vector<std::pair<Name, ArenaPlace>> places;
};
ArenaPlan PlanArena(const Sdfg& s);
// Puts a plan of `s` where it belongs, in place of one that is there.
void PlaceInArena(Sdfg* s);

Expr BytesOf(const Container& c);
// Is it memory that one run owns: a transient of no iteration's, of elements of fixed size?
bool MayLieInArena(const Container& c);
// Containers in use that would need a place and have none, by first use.
std::vector<Name> WithoutPlace(const Sdfg& s);
// The arena's bytes where they are known before the run and nothing lies outside of it.
std::optional<int64_t> ArenaBytes(const Sdfg& s);

}  // namespace headrace
