// headrace bench --profile: where the time of a run goes, statement by statement.
#pragma once
#include <string>
#include <vector>

#include "driver/commands/commands.h"

namespace headrace {

struct ProfiledStatement {
  Origin origin;
  std::string sdfg, text;  // its program, and what it is where the origin has no name
  double runs = 0, seconds = 0;          // in one run of the program
  double operations = 0, bytes = 0;      // likewise (ir/analysis/cost.h); NaN = not known
  double peak_share = 0;                 // of the rate that this machine allows for these operations and bytes; NaN = not known
};
struct ProgramProfile {
  std::vector<ProfiledStatement> statements;  // the longest first
  int runs = 0;                               // that were measured
  double copy_rate = 0, product_rate = 0;     // bytes/s of a large copy and operations/s of a matrix product here; 0 = not measured
};
// The program that `request` makes, with clocks (pass "profile"), run for `seconds`.
Result<ProgramProfile> ProfileProgram(const Registry& r, const Program& p, const CompileRequest& request, const NamedValues& inputs,
                                      const NamedSizes& symbols, double seconds);
void PrintProfile(const ProgramProfile& p);
nlohmann::json ProfileJson(const ProgramProfile& p);

}  // namespace headrace
