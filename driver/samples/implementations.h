// Every way of computing a sample against the pure form on the interpreter: `headrace ops --test` and //tests/ops walk over it.
#pragma once
#include <string>
#include <vector>

#include "driver/samples/samples.h"

namespace headrace {

struct WayOfComputing {
  std::string implementation, backend;
  enum Verdict {
    kReference,      // the pure form on the interpreter: it ran
    kAgrees,         // within the tolerance of its type
    kNotApplicable,  // `detail`: the reason that its condition gives
    kUnchecked,      // `detail`: why nothing can be compared
    kWrong,          // `detail`: where it differs, or the error
  } verdict = kWrong;
  std::string detail;
};

struct WaysOptions {
  std::vector<std::string> backends = {"interpreter", "cpu"};
  bool every_implementation_on_every_backend = true;  // false: beside pure, implementations run on the first alone
  std::string folder;                                 // for models and the compile cache
};

// The pure form on each backend and in f64, then each other implementation. Empty never.
std::vector<WayOfComputing> CheckWays(const Registry& r, const OpSample& s, const WaysOptions& o);

// Ops with a seed: each implementation has a generator of its own.
bool IsRandom(const OpSignature& s);

}  // namespace headrace
