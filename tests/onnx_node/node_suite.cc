// The official ONNX node cases, each in a process of its own: a crash, a hang or a wrong number fails the test; a case
// ends as passed or as unsupported (an error of that kind, with op, type and reason). There is no skip list.
//
// node_suite --cases CASES.tar --backend cpu [--symbolic] [--min-pass N] [--filter TEXT] [--jobs N] [--list]
// --symbolic: every size of every input is a symbol of its own. What shapes decide may then be an error; no number may be wrong.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "driver/compile.h"
#include "tests/onnx_node/judge.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  std::string cases, backend = "cpu", filter, folder, only;
  int jobs = 2, min_pass = 0, timeout = 120;
  bool list = false, symbolic = false;
};

struct Case {
  std::string name;
  std::map<std::string, std::string> files;
};
enum class Outcome { kPass, kRandom, kOracle, kUnsupported, kWrong, kError, kCrash, kHang };
const char* kOutcomeNames[] = {"pass",  "pass (random)", "pass (oracle)", "unsupported",
                               "WRONG", "ERROR",         "CRASH",         "HANG"};
struct Verdict {
  Outcome outcome = Outcome::kCrash;
  std::string text;
  double seconds = 0;
};

// Members of a ustar file (the only format write_cases.py makes).
std::vector<Case> ReadCases(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::map<std::string, Case> cases;
  char header[512];
  while (in.read(header, sizeof header) && header[0]) {
    std::string name(header, strnlen(header, 100)), prefix(header + 345, strnlen(header + 345, 155));
    if (!prefix.empty()) name = prefix + "/" + name;
    size_t size = strtoull(std::string(header + 124, 12).c_str(), nullptr, 8);
    std::string data(size, '\0');
    in.read(data.data(), static_cast<std::streamsize>(size));
    in.ignore(static_cast<std::streamsize>((512 - size % 512) % 512));
    size_t slash = name.find('/');
    Case& c = cases[name.substr(0, slash)];
    c.name = name.substr(0, slash);
    c.files[name.substr(slash + 1)] = std::move(data);
  }
  std::vector<Case> out;
  for (auto& [name, c] : cases) out.push_back(std::move(c));
  return out;
}

Result<std::vector<Value>> ReadValues(const Registry& r, const Case& c, const std::string& folder,
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
Verdict RunCase(const Registry& r, const Case& c, const Flags& f) {
  std::string folder = f.folder + "/" + c.name;
  mkdir(folder.c_str(), 0777);
  for (const auto& [name, data] : c.files) std::ofstream(folder + "/" + name, std::ios::binary) << data;
  Result<std::vector<Value>> inputs = ReadValues(r, c, folder, "input"), expected = ReadValues(r, c, folder, "output");
  if (!inputs.ok()) return FromStatus(inputs.status());
  if (!expected.ok()) return FromStatus(expected.status());
  ImportOptions import;
  import.input_value = [&](const std::string&, int index)->const Tensor *
  { return index < static_cast<int>(inputs->size()) && (*inputs)[index].kind == Value::kTensor
               ? &(*inputs)[index].tensor
               : nullptr;
};
Result<LoadedModel> m = LoadModel(r, folder + (f.symbolic ? "/symbolic.onnx" : "/model.onnx"), import);
if (!m.ok()) return FromStatus(m.status());
const Program& p = m->model.program;
CompileRequest request;
request.backend = f.backend;
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
  Judgement j =
      IsRandomCase(c.name) ? JudgeRandom((*got)[i], (*expected)[i]) : JudgeClose((*got)[i], (*expected)[i], rtol, atol);
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

struct Child {
  pid_t pid = 0;
  int pipe = -1;
  size_t index = 0;
  Clock::time_point start;
  std::string said;
};

Child Start(const Registry& r, const Case& c, size_t index, const Flags& f) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) abort();
  Child child;
  child.index = index, child.start = Clock::now(), child.pipe = fds[0];
  child.pid = fork();
  if (child.pid == 0) {
    setpgid(0, 0);
    rlimit memory{8ull << 30, 8ull << 30};
    if (!getenv("ASAN_OPTIONS")) setrlimit(RLIMIT_AS, &memory);
    Verdict v = RunCase(r, c, f);
    std::string text = std::to_string(static_cast<int>(v.outcome)) + "\n" + v.text;
    for (size_t at = 0; at < text.size();) {
      ssize_t n = write(fds[1], text.data() + at, text.size() - at);
      if (n <= 0) break;
      at += n;
    }
    _exit(0);
  }
  close(fds[1]);
  return child;
}

// Reads until the child is done or out of time.
bool Poll(Child& c, const Flags& f, Verdict& v) {
  pollfd p{c.pipe, POLLIN, 0};
  char buffer[65536];
  bool closed = false;
  while (poll(&p, 1, 0) > 0) {
    ssize_t n = read(c.pipe, buffer, sizeof buffer);
    if (n <= 0) {
      closed = true;
      break;
    }
    c.said.append(buffer, n);
  }
  v.seconds = std::chrono::duration<double>(Clock::now() - c.start).count();
  bool late = v.seconds > f.timeout;
  if (!closed && !late) return false;
  if (late) kill(-c.pid, SIGKILL);
  int status = 0;
  waitpid(c.pid, &status, 0);
  close(c.pipe);
  if (late) v.outcome = Outcome::kHang;
  else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || c.said.empty()) {
    v.outcome = Outcome::kCrash;
    v.text = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit " + std::to_string(WEXITSTATUS(status));
  } else {
    v.outcome = static_cast<Outcome>(atoi(c.said.c_str()));
    v.text = c.said.substr(c.said.find('\n') + 1);
  }
  return true;
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
void WriteXml(const std::vector<Case>& cases, const std::vector<Verdict>& verdicts, const std::string& suite) {
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
  Status s = LoadPlugins(registry);
  if (!s.ok() || !registry.FindImporter("onnx") || !registry.FindBackend(f.backend)) {
    std::cerr << "node_suite: plugins are missing\n" << s.ToString() << "\n";
    return 2;
  }
  std::vector<Case> cases;
  for (Case& c : ReadCases(f.cases))
    if ((f.filter.empty() || c.name.find(f.filter) != std::string::npos) && (f.only.empty() || c.name == f.only))
      cases.push_back(std::move(c));
  if (cases.empty()) {
    std::cerr << "node_suite: no cases\n";
    return 2;
  }
  std::vector<Verdict> verdicts(cases.size());
  std::vector<Child> running;
  size_t next = 0, done = 0;
  while (done < cases.size()) {
    while (next < cases.size() && running.size() < static_cast<size_t>(f.jobs)) {
      running.push_back(Start(registry, cases[next], next, f));
      ++next;
    }
    for (size_t k = 0; k < running.size();) {
      if (Poll(running[k], f, verdicts[running[k].index])) {
        running.erase(running.begin() + static_cast<long>(k));
        ++done;
      } else ++k;
    }
    usleep(2000);
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
