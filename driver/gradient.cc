#include "driver/gradient.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace headrace {
namespace {

std::string Join(const std::vector<Name>& names) {
  std::string out;
  for (Name n : names) out += (out.empty() ? "" : ", ") + n.str();
  return out;
}

// Where the pass writes what it did.
class ReportFile {
 public:
  ReportFile() {
    const char* tmp = std::getenv("TMPDIR");
    path_ = std::string(tmp && *tmp ? tmp : "/tmp") + "/headrace-gradXXXXXX";
    const int fd = mkstemp(path_.data());
    if (fd >= 0) close(fd);
  }
  ~ReportFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  nlohmann::json Read() const {
    std::ifstream in(path_);
    return nlohmann::json::parse(in, nullptr, false);
  }

 private:
  std::string path_;
};

std::vector<std::pair<Name, Name>> Pairs(const nlohmann::json& list) {
  std::vector<std::pair<Name, Name>> out;
  for (const auto& pair : list) out.emplace_back(Name(pair[0].get<std::string>()), Name(pair[1].get<std::string>()));
  return out;
}

}  // namespace

Result<GradientProgram> Differentiate(const Program& p, const GradientRequest& q, const Registry& r) {
  const Pass* backward = r.FindPass("backward");
  if (!backward) return UsageError("E0446",
                                   "no plugin brings the pass 'backward'", "`headrace plugins` lists what is loaded");
  ReportFile file;
  std::string sizes;
  for (const auto& [n, v] : q.sizes) sizes += (sizes.empty() ? "" : ", ") + n.str() + "=" + std::to_string(v);
  PassOptions options = {{"outputs", Join(q.outputs)},
                         {"inputs", Join(q.inputs)},
                         {"given", Join(q.given)},
                         {"keep-outputs", q.keep_outputs ? "true" : "false"},
                         {"sizes", sizes},
                         {"report", file.path()}};
  if (q.memory_limit) options.emplace_back("memory-limit", std::to_string(*q.memory_limit));
  GradientProgram out;
  out.program = p;
  HR_ASSIGN_OR_RETURN([[maybe_unused]] bool changed, backward->run(out.program, options, r));
  out.report = file.Read();
  HR_CHECK(out.report.is_object(), "the report of the pass 'backward' is not JSON");
  out.input_gradients = Pairs(out.report["input_gradients"]);
  out.output_gradients = Pairs(out.report["output_gradients"]);
  return out;
}

}  // namespace headrace
