// Where the statements of a callee came from, for each call. A callee that was made of equal statements has the origins of the
// first of them, as its first call lists them; another call lists those of its own in the same order.
#pragma once
#include <unordered_map>

#include "ir/graph/graph.h"

namespace headrace::transforms {

class CallOrigins {
 public:
  explicit CallOrigins(const Program& p);
  // What the sources in the callee's statements are called for this call; empty where they are not known to be others.
  std::unordered_map<Name, Name> SourcesOf(const Nested& call, const Origin& origin) const;

 private:
  std::unordered_map<Name, Origin> first_;  // the origin of a callee's first call
};

// The same history, from other sources. The places in files are those of what was renamed, and are left out. `known`: what was
// found for these names, by identity; a callee's statements have much of their history in common.
using KnownOrigins = std::unordered_map<const void*, Origin>;
Origin WithSources(const Origin& o, const std::unordered_map<Name, Name>& names, KnownOrigins* known);

}  // namespace headrace::transforms
