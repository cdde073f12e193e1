// The official ONNX node cases, each in a process of its own: a crash, a hang or a wrong number fails the test; a case
// ends as passed or as unsupported (an error of that kind, with op, type and reason). There is no skip list.
//
// node_suite --cases CASES.tar --backend cpu [--pipeline TEXT] [--symbolic] [--min-pass N] [--filter TEXT] [--jobs N] [--list]
// --symbolic: every size of every input is a symbol of its own. What shapes decide may then be an error; no number may be wrong.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "driver/compile.h"
#include "driver/plugin_path.h"
#include "tests/onnx_node/forked.h"
#include "tests/onnx_node/judge.h"

namespace headrace {
namespace {

struct Flags {
  std::string cases, backend = "cpu", pipeline, filter, folder, only;
  int jobs = 2, min_pass = 0, timeout = 120;
  bool list = false, symbolic = false;
};

enum class Outcome { kPass, kRandom, kOracle, kUnsupported, kWrong, kError, kCrash, kHang };
const char* kOutcomeNames[] = {"pass",  "pass (random)", "pass (oracle)", "unsupported",
                               "WRONG", "ERROR",         "CRASH",         "HANG"};
struct Verdict {
  Outcome outcome = Outcome::kCrash;
  std::string text;
  double seconds = 0;
};

Result<std::vector<Value>> ReadValues(const Registry& r, const CaseFiles& c, const std::string& folder,
                                      const std::string& kind) {
  std::vector<Value> values;
  for (int i = 0; c.files.count(kind + "_" + std::to_string(i) + ".pb"); ++i) {
    HR_ASSIGN_OR_RETURN(Value v,
                        r.FindImporter("onnx")->read_value(folder + "/" + kind + "_" + std::to_string(i) + ".pb"));
    values.push_back(std::move(v));
  }
  return values;
}

Verdict FromStatus(const Status& s) {
  Verdict v;
  v.outcome = s.kind() == ErrorKind::kUnsupported ? Outcome::kUnsupported : Outcome::kError;
  v.text = s.ToString();
  return v;
}

// Runs in the child.
Verdict RunCase(const Registry& r, const CaseFiles& c, const Flags& f) {
  const std::string folder = Unpack(c, f.folder);
  Result<std::vector<Value>> inputs = ReadValues(r, c, folder, "input"), expected = ReadValues(r, c, folder, "output");
  if (!inputs.ok()) return FromStatus(inputs.status());
  if (!expected.ok()) return FromStatus(expected.status());
  ImportOptions import;
  auto given = [&](const std::string&, int index) -> const Tensor* {
    const auto i = static_cast<size_t>(index);
    return i < inputs->size() && (*inputs)[i].kind == Value::kTensor ? &(*inputs)[i].tensor : nullptr;
  };
  import.input_value = given;
  Result<LoadedModel> m = LoadModel(r, folder + (f.symbolic ? "/symbolic.onnx" : "/model.onnx"), import);
  if (!m.ok()) return FromStatus(m.status());
  const Program& p = m->model.program;
  CompileRequest request;
  request.backend = f.backend;
  request.pipeline = f.pipeline;
  request.options.threads = 2;
  request.options.cache_dir = f.folder + "/cache";
  Result<std::unique_ptr<Executable>> compiled = CompileProgram(r, p, request);
  if (!compiled.ok()) return FromStatus(compiled.status());
  std::vector<Name> names = Inputs(p, p.Entry());
  NamedValues values;
  for (size_t i = 0; i < inputs->size() && i < names.size(); ++i) values.emplace_back(names[i], (*inputs)[i]);
  NamedValues wanted;
  std::vector<Name> outputs = Outputs(p, p.Entry());
  for (size_t i = 0; i < expected->size() && i < outputs.size(); ++i) wanted.emplace_back(outputs[i], (*expected)[i]);
  FitValues(p, values);
  FitValues(p, wanted);
  for (size_t i = 0; i < wanted.size(); ++i) (*expected)[i] = wanted[i].second;
  Result<std::vector<Value>> got = (*compiled)->Run(values);
  if (!got.ok()) return FromStatus(got.status());
  Verdict v;
  if (got->size() != expected->size()) {
    v.outcome = Outcome::kWrong;
    v.text = std::to_string(got->size()) + " outputs, expected " + std::to_string(expected->size());
    return v;
  }
  double rtol = 1e-3, atol = 1e-7;
  std::istringstream(c.files.at("tolerance")) >> rtol >> atol;
  v.outcome = Outcome::kPass;
  for (size_t i = 0; i < got->size(); ++i) {
    Judgement j = IsRandomCase(c.name) ? JudgeRandom((*got)[i], (*expected)[i])
                                       : JudgeClose((*got)[i], (*expected)[i], rtol, atol);
    if (!j.ok && IsOracleCase(c.name)) {
      Result<std::vector<Value>> exact = RunInDouble(r, p, values);
      if (exact.ok()) j = JudgeAgainstOracle((*got)[i], (*expected)[i], (*exact)[i]);
      if (j.ok) v.outcome = Outcome::kOracle;
    }
    if (!j.ok) {
      v.outcome = Outcome::kWrong;
      v.text += "output " + std::to_string(i) + ": " + j.text + "\n";
    }
  }
  if (v.outcome == Outcome::kPass && IsRandomCase(c.name)) v.outcome = Outcome::kRandom;
  return v;
}

std::string XmlEscaped(const std::string& s) {
  std::string out;
  for (char c : s)
    if (c == '<') out += "&lt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
  return out;
}

// One <testcase> per case, so that reports count cases.
void WriteXml(const std::vector<CaseFiles>& cases, const std::vector<Verdict>& verdicts, const std::string& suite) {
  const char* path = getenv("XML_OUTPUT_FILE");
  if (!path) return;
  std::ofstream out(path);
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites><testsuite name=\"" << suite << "\" tests=\""
      << cases.size() << "\">\n";
  for (size_t i = 0; i < cases.size(); ++i) {
    const Verdict& v = verdicts[i];
    out << "<testcase name=\"" << cases[i].name << "\" classname=\"" << suite << "\" time=\"" << v.seconds << "\">";
    if (v.outcome == Outcome::kUnsupported) out << "<skipped message=\"" << XmlEscaped(v.text.substr(0, 400)) << "\"/>";
    else if (v.outcome > Outcome::kUnsupported)
      out << "<failure message=\"" << kOutcomeNames[static_cast<int>(v.outcome)] << "\">"
          << XmlEscaped(v.text.substr(0, 4000)) << "</failure>";
    out << "</testcase>\n";
  }
  out << "</testsuite></testsuites>\n";
}

int Main(int argc, char** argv) {
  Flags f;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    auto next = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (a == "--cases") f.cases = next();
    else if (a == "--backend") f.backend = next();
    else if (a == "--pipeline") f.pipeline = next();
    else if (a == "--filter") f.filter = next();
    else if (a == "--only") f.only = next();
    else if (a == "--jobs") f.jobs = std::stoi(next());
    else if (a == "--min-pass") f.min_pass = std::stoi(next());
    else if (a == "--timeout") f.timeout = std::stoi(next());
    else if (a == "--list") f.list = true;
    else if (a == "--symbolic") f.symbolic = true;
    else {
      std::cerr << "node_suite: unknown flag " << a << "\n";
      return 2;
    }
  }
  const char* tmp = getenv("TEST_TMPDIR");
  f.folder = (tmp ? std::string(tmp) : std::string("/tmp")) + "/node_suite_" + std::to_string(getpid());
  mkdir(f.folder.c_str(), 0777);
  Registry registry;
  Status s = LoadPlugins(registry, PluginPath());
  if (!s.ok() || !registry.FindImporter("onnx") || !registry.FindBackend(f.backend)) {
    std::cerr << "node_suite: plugins are missing\n" << s.ToString() << "\n";
    return 2;
  }
  std::vector<CaseFiles> cases;
  for (CaseFiles& c : ReadCases(f.cases))
    if ((f.filter.empty() || c.name.find(f.filter) != std::string::npos) && (f.only.empty() || c.name == f.only))
      cases.push_back(std::move(c));
  if (cases.empty()) {
    std::cerr << "node_suite: no cases\n";
    return 2;
  }
  ForkLimits limits;
  limits.jobs = f.jobs, limits.seconds = f.timeout;
  std::vector<Ended> ends = RunForked(cases.size(), limits, [&](size_t i, const Say& say) {
    Verdict v = RunCase(registry, cases[i], f);
    say(std::to_string(static_cast<int>(v.outcome)) + "\n" + v.text);
  });
  std::vector<Verdict> verdicts;
  for (const Ended& e : ends) {
    Verdict v;
    v.seconds = e.seconds;
    if (e.how == Ended::kLate) v.outcome = Outcome::kHang;
    else if (e.how == Ended::kCrashed || e.said.empty()) v.text = e.signal;
    else v.outcome = static_cast<Outcome>(atoi(e.said.c_str())), v.text = e.said.substr(e.said.find('\n') + 1);
    verdicts.push_back(std::move(v));
  }
  std::map<Outcome, int> counts;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Verdict& v = verdicts[i];
    ++counts[v.outcome];
    if (f.list || v.outcome > Outcome::kUnsupported) {
      std::string text = v.text.substr(0, 1500);
      printf("%s: %s (%.2f s)\n%s%s", cases[i].name.c_str(), kOutcomeNames[static_cast<int>(v.outcome)], v.seconds,
             text.c_str(), text.empty() || text.back() == '\n' ? "" : "\n");
    }
  }
  int passed = counts[Outcome::kPass] + counts[Outcome::kRandom] + counts[Outcome::kOracle];
  int bad = counts[Outcome::kWrong] + (f.symbolic ? 0 : counts[Outcome::kError]) + counts[Outcome::kCrash] +
            counts[Outcome::kHang];
  printf(
      "%zu cases on %s: %d passed (%d random, %d by the oracle), %d unsupported, %d wrong, %d errors, %d crashes, %d hangs\n",
      cases.size(), f.backend.c_str(), passed, counts[Outcome::kRandom], counts[Outcome::kOracle],
      counts[Outcome::kUnsupported], counts[Outcome::kWrong], counts[Outcome::kError], counts[Outcome::kCrash],
      counts[Outcome::kHang]);
  WriteXml(cases, verdicts, "onnx_node_" + f.backend);
  if (passed < f.min_pass) printf("FAILED: %d passed, at least %d must\n", passed, f.min_pass);
  return bad == 0 && passed >= f.min_pass ? 0 : 1;
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) { return headrace::Main(argc, argv); }
