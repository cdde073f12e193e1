// The SDFG that some equal runs of statements become, and its calls.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "transforms/layer_statements.h"
#include "transforms/uses.h"

namespace headrace::transforms {

struct Layer {
  Sdfg callee;                // with the names of the first run
  std::vector<Nested> calls;  // one for each run, from the first on
  std::vector<Name> inside;   // what the caller no longer has: each run's own containers
};

class LayerMaker {
 public:
  LayerMaker(const Program& p, const Sdfg& s);
  // Of parts `first`, `first` + 1, … of a repeat, as many as are wired alike; nothing where these are less than two.
  std::optional<Layer> Of(const std::vector<LayerStatement>& statements, const Repeat& r, size_t first) const;

 private:
  struct Run;
  Run RunAt(const std::vector<LayerStatement>& statements, size_t begin, size_t size) const;
  bool Bind(const Run& base, Run* run) const;
  Sdfg CalleeOf(const Run& base, const std::vector<Name>& arguments) const;

  const Sdfg& s_;
  UseIndex uses_;
  std::unordered_map<uint32_t, uint32_t> position_;  // of statements
};

}  // namespace headrace::transforms
