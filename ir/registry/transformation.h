// Transformations: one step on a program at one place, that a pass, a person, a tuner or a viewer may take.
//
//   headrace opt f.sdfg --list --of fuse-maps       prints fuse-maps@#1+#3 …
//   headrace opt f.sdfg --apply 'fuse-maps@#1+#3'   does that, and nothing else
//
// A pass of the same name is a strategy over it: all steps that it finds advisable.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/registry/registry.h"

namespace headrace {

// Where a transformation can act: what it names, in the transformation's own order.
struct Match {
  Name sdfg;
  std::vector<NodeId> statements;
  std::vector<BlockId> blocks;
  std::vector<Name> containers;
  std::string note;     // for people: why it is not advised
  bool advised = true;  // worth doing, as far as this step alone shows; passes take such steps only
};
bool SamePlace(const Match& a, const Match& b);

// "#3+#4", "f:#b1+#b2", "T": the SDFG unless it is the entry, then statements, blocks (numbers as Print writes them with
// PrintOptions::ids) and containers.
std::string PlaceText(const Program& p, const Match& m);
// What it names, for people: the first line of each statement and block, containers with type and sizes.
std::vector<std::string> ThingsAt(const Program& p, const Match& m);
// The place that a text names. Errors: E0366.
Result<Match> ParsePlace(const Program& p, std::string_view text);

struct Transformation {
  std::string name, doc;
  std::vector<std::string> options;  // accepted names; the same ones for the pass
  // All places where it can be applied, each on its own, without changing what the program computes.
  std::function<Result<std::vector<Match>>(const Program&, const PassOptions&, const Registry&)> find;
  // At a place that `find` gave for this very program.
  std::function<Status(Program&, const Match&, const PassOptions&, const Registry&)> apply;
  // The pass of the same name, which Registry::Add registers; null: RunAdvised.
  std::function<Result<bool>(Program&, const PassOptions&, const Registry&)> run;
  std::string plugin;
};

// Those of these names; none: all. Errors: E0368.
Result<std::vector<const Transformation*>> TransformationsOf(const Registry& r, const std::vector<std::string>& names);
// Applies `t` at the place that the text names. Errors: E0366 (no such place), E0367 (not one that `t` finds; the hint
// names those near it).
Status ApplyAt(const Transformation& t, std::string_view place, const PassOptions& options, const Registry& r, Program& p);

// What the pass of a transformation without a `run` does: the first advised match, again and again.
Result<bool> RunAdvised(const Transformation& t, Program& p, const PassOptions& o, const Registry& r);

// What a pass asks before each step that it could take; it takes the step where the answer is yes.
using Ask = std::function<bool(const Match&)>;
inline bool IsAdvised(const Match& m) { return m.advised; }  // the answer where a whole pass runs
using Steps = std::function<Result<bool>(Program&, const PassOptions&, const Registry&, const Ask&)>;
// Find, apply and the pass from one function that asks: finding answers no and listens, applying answers yes at one place.
// `kAsksFirst`: it asks before it knows whether it can; finding then tries each place on a copy.
enum class Asking { kWhenSure, kAsksFirst };
Transformation FromSteps(std::string name, std::string doc, std::vector<std::string> options, Steps steps,
                         Asking asking = Asking::kWhenSure);

}  // namespace headrace
