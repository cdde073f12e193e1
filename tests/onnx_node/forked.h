// Cases out of a tar file, and each run in a process of its own: a crash or a hang ends one case, not the suite.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace headrace {

struct CaseFiles {
  std::string name;
  std::map<std::string, std::string> files;
};
// Members CASE/FILE of a ustar file, by case.
std::vector<CaseFiles> ReadCases(const std::string& path);
// Writes the files of a case into folder/NAME; the path of that.
std::string Unpack(const CaseFiles& c, const std::string& folder);

struct ForkLimits {
  int jobs = 2;               // processes at a time
  double seconds = 120;       // of real time for one case
  int cpu_seconds = 0;        // of processor time; 0 = as many as it likes
  int64_t bytes = 8ll << 30;  // of address space
};
struct Ended {
  enum How { kDone, kCrashed, kLate } how = kCrashed;
  std::string said, signal;
  double seconds = 0;
};
using Say = std::function<void(const std::string&)>;
// Calls run(i, say) for every i in [0, count); what a case said before it ended is kept, however it ended.
std::vector<Ended> RunForked(size_t count, const ForkLimits& limits,
                             const std::function<void(size_t, const Say&)>& run);

}  // namespace headrace
