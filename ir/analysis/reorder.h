// Another order of a container's elements in memory, its views with it.
#pragma once
#include <vector>

#include "ir/graph/graph.h"

namespace headrace {

// Gives the transient, constant or parameter this order. Its views see the same elements as before:
//   before: transient T: f32[2, 3, 4]                        after (layout [d0, d2, d1]): transient T: f32[2, 3, 4] layout [d0, d2, d1]
//           view V: f32[3, 4] of T offset 12 strides [4, 1]         view V: f32[3, 4] of T offset 12 strides [1, 3]
// False, and nothing changed, where strides can't say so: a view that runs through dimensions which then lie apart.
bool Reorder(Sdfg* s, Name container, const MemoryOrder& order);

// What Reorder may change: the container and its views, as they are.
std::vector<Container> WithViews(const Sdfg& s, Name container);

// Whether Reorder would.
bool CanReorder(const Sdfg& s, Name container, const MemoryOrder& order);

}  // namespace headrace
