// headrace bench --profile: where the time of a run goes, statement by statement.
#pragma once
#include <string>
#include <vector>

#include "driver/commands/commands.h"

namespace headrace {

struct ProfiledStatement {
  Origin origin;
  std::string sdfg, text;  // its program, and what it is where the origin has no name
  Name kernel;             // that it calls; empty: none
  double runs = 0, seconds = 0;          // in one run of the program
  double operations = 0, bytes = 0;      // likewise (ir/analysis/cost.h); NaN = not known
  double peak_share = 0;                 // of the rate that this machine allows for these operations and bytes; NaN = not known
};
// A program that measures itself.
class Clocked {
 public:
  static constexpr int kColumns = 4;  // of each statement: times run, nanoseconds, operations, bytes
  std::vector<ProfiledStatement> statements;  // in the order of rows; nothing measured yet

  // One run: rows × columns. `outputs`: those of the program.
  Result<std::vector<double>> Run(const NamedValues& inputs, const NamedSizes& symbols, std::vector<Value>* outputs = nullptr) const;

 private:
  friend Result<Clocked> MakeClocked(const Registry& r, Program lowered, const CompileRequest& request);
  std::unique_ptr<Executable> executable_;
  Name table_;  // the parameter that the pass adds
};
// The lowered program with clocks (pass "profile"), compiled.
Result<Clocked> MakeClocked(const Registry& r, Program lowered, const CompileRequest& request);
std::string TitleOf(const ProfiledStatement& s);  // "/3/Conv (onnx.Conv (opset 11))"

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
