// How a result is judged. Most cases: numpy.testing's rule at the suite's own tolerance.
#pragma once
#include <string>
#include <vector>

#include "driver/compile.h"

namespace headrace {

struct Judgement {
  bool ok = false;
  std::string text;
};

Judgement JudgeClose(const Value& got, const Value& expected, double rtol, double atol);

// Random by specification: shape, dtype, range and (for enough elements) mean.
bool IsRandomCase(const std::string& name);
Judgement JudgeRandom(const Value& got, const Value& expected);

// The expected value itself misses its tolerance (half-precision attention, DFT near zero): ours must be at least as
// near to the same program carried out in f64 throughout.
bool IsOracleCase(const std::string& name);
Result<std::vector<Value>> RunInDouble(const Registry& r, const Program& p, const NamedValues& inputs);
Judgement JudgeAgainstOracle(const Value& got, const Value& expected, const Value& exact);

}  // namespace headrace
