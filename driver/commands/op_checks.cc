#include "driver/commands/op_checks.h"

#include <cstdlib>
#include <filesystem>

#include "driver/samples/gradients.h"
#include "driver/samples/implementations.h"

namespace headrace {
namespace {

using autodiff::InputVerdict;
using autodiff::Verdict;

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// One line; of what went wrong all that is known, indented.
struct Line {
  std::string what, how, text;
  bool wrong = false;
};

Line LineOf(const WayOfComputing& w, const std::string& reference) {
  Line line{w.implementation, w.backend, "", w.verdict == WayOfComputing::kWrong};
  switch (w.verdict) {
    case WayOfComputing::kReference: line.text = "runs"; break;
    case WayOfComputing::kAgrees: line.text = "agrees with pure on the " + reference; break;
    case WayOfComputing::kNotApplicable: line.text = "does not apply: " + w.detail; break;
    case WayOfComputing::kUnchecked: line.text = "not compared: " + w.detail; break;
    case WayOfComputing::kWrong: line.text = "WRONG: " + w.detail; break;
  }
  return line;
}

Line LineOf(const InputVerdict& v) {
  Line line{"gradient " + v.input, v.rule, "", false};
  const std::string elements = std::to_string(v.compared) + (v.compared == 1 ? " element" : " elements");
  const std::string kinks = v.kinks == 0 ? "" : ", " + std::to_string(v.kinks) + " at kinks between the slopes of both sides";
  switch (v.verdict) {
    case Verdict::kChecked: line.text = "agrees with differences in f64: " + elements + kinks; break;
    case Verdict::kZero: line.text = "zero, as differences are" + (v.detail.empty() ? "" : ": " + v.detail); break;
    case Verdict::kKink: line.text = "kinks only: between the slopes of both sides"; break;
    case Verdict::kRefused:  // a rule that was written must serve its samples
      line.wrong = v.rule != "derived";
      line.text = (line.wrong ? "WRONG: " : "there is none: ") + v.detail;
      break;
    case Verdict::kWrong: line.wrong = true, line.text = "WRONG: " + v.detail; break;
  }
  return line;
}

// Models and compiled samples, gone afterwards.
class Scratch {
 public:
  Scratch() : path_(std::filesystem::temp_directory_path() / "headrace-ops-XXXXXX") {
    if (!mkdtemp(path_.data())) path_.clear();
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Tester {
 public:
  Tester(const Registry& r, const Common& c, std::string folder) : r_(r), c_(c) {
    options_.folder = folder_ = std::move(folder);
    options_.backends = {"interpreter"};
    const Backend* cpu = r.FindBackend("cpu");
    const Status ready = !cpu ? UsageError("E0435", "the backend is not loaded") : cpu->ready ? cpu->ready({}) : Status();
    if (ready.ok()) options_.backends.push_back("cpu");
    else Note(c.out, "cpu is not tested: " + FirstLine(ready.ToString()));
  }

  void Sample(const OpSample& s) {
    ++samples_;
    const std::string title = s.Label() + ": " + s.text;
    if (!c_.out.json) printf("%s\n", title.c_str());
    for (const WayOfComputing& w : CheckWays(r_, s, options_)) Say(title, LineOf(w, options_.backends.front()));
    if (IsRandom(*s.signature)) return;
    for (const InputVerdict& v : autodiff::CheckGradients(r_, s, options_.backends.back(), folder_)) Say(title, LineOf(v));
  }
  void Malformed(const Status& s) {
    Say("", {"sample", "", "WRONG: " + s.ToString(), true});
  }
  int Finish() {
    if (c_.out.json) PrintJson({{"samples", samples_}, {"checks", checks_}, {"wrong", wrong_}, {"lines", json_}});
    else printf("%d samples, %d checks: %s\n", samples_, checks_, wrong_ == 0 ? "all agree" : (std::to_string(wrong_) + " wrong").c_str());
    return wrong_ == 0 ? kExitOk : kExitMismatch;
  }

 private:
  void Say(const std::string& title, const Line& line) {
    ++checks_;
    wrong_ += line.wrong;
    if (c_.out.json) {
      json_.push_back({{"sample", title}, {"what", line.what}, {"how", line.how}, {"result", line.text}, {"wrong", line.wrong}});
      return;
    }
    std::string text = line.wrong ? line.text : FirstLine(line.text);
    for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 5) text.replace(at, 1, "\n    ");
    printf("  %-16s %-12s %s\n", line.what.c_str(), line.how.c_str(), text.c_str());
    fflush(stdout);
  }

  const Registry& r_;
  const Common& c_;
  std::string folder_;
  WaysOptions options_;
  int samples_ = 0, checks_ = 0, wrong_ = 0;
  nlohmann::json json_ = nlohmann::json::array();
};

Status NoSamples(const Registry& r, const std::string& pattern) {
  std::vector<std::string> names;
  bool known = false;
  for (const OpSignature* s : r.Ops()) {
    names.push_back(s->name);
    known = known || MatchesOp(pattern, s->domain, s->name);
  }
  const std::string close = ClosestWord(pattern.substr(pattern.rfind('.') + 1), names);
  if (known) return UsageError("E0451", "'" + pattern + "' has no samples: nothing can be tested", "write one: .Sample(\"X: f32[2, 3]\") (docs/plugins.md)");
  return UsageError("E0441", "no op matches '" + pattern + "'", close.empty() ? "`headrace ops` lists all" : "did you mean '" + close + "'?");
}

}  // namespace

bool MatchesOp(const std::string& pattern, const std::string& domain, const std::string& op) {
  if (pattern.empty() || pattern == op || pattern == domain + "." + op) return true;
  const std::string stem = pattern.substr(0, pattern.size() - 1);
  return pattern.back() == '*' && (op.rfind(stem, 0) == 0 || (domain + "." + op).rfind(stem, 0) == 0);
}

int TestOps(const Registry& r, const std::string& pattern, const Common& c) {
  if (pattern.empty()) return Fail(c.out, UsageError("E0452", "--test wants an op", "for example: headrace ops --test Softplus"));
  Scratch scratch;
  if (scratch.path().empty()) return Fail(c.out, UsageError("E0424", "no folder can be made for temporary files", "set $TMPDIR"));
  Tester tester(r, c, scratch.path());
  bool any = false;
  for (const OpDefinition* d : r.Definitions()) {
    if (!MatchesOp(pattern, d->domain, d->name)) continue;
    for (int i = 0; i < static_cast<int>(d->samples.size()); ++i) {
      any = true;
      Result<OpSample> s = ParseSample(r, *d, i);
      if (s.ok()) tester.Sample(*s);
      else tester.Malformed(s.status());
      if (Interrupted()) return kExitInterrupted;
    }
  }
  return any ? tester.Finish() : Fail(c.out, NoSamples(r, pattern));
}

int ExplainChoice(const Registry& r, const std::string& pattern, const ModelFlags& model, const Common& c) {
  Result<ImportOptions> import = model.Import();
  if (!import.ok()) return Fail(c.out, import.status());
  Result<CompileRequest> request = model.Compile(c);
  if (!request.ok()) return Fail(c.out, request.status());
  Result<LoadedModel> m = ReadModel(r, model.model, *import);
  if (!m.ok()) return Fail(c.out, m.status());
  nlohmann::json nodes = nlohmann::json::array();
  for (const auto& sdfg : m->model.program.sdfgs)
    ForEachNode(*sdfg, [&](NodeId id) {
      const auto* l = std::get_if<Library>(&sdfg->nodes[id].body);
      if (!l || !MatchesOp(pattern, l->domain.str(), l->op.str())) return;
      Result<NodeView> v = ViewOf(r, m->model.program, *sdfg, id);
      if (!v.ok()) return void(Fail(c.out, v.status()));
      Result<const ForwardImplementation*> chosen = SelectImplementation(r, *v, request->options);
      const std::string name = v->name.empty() ? l->op.str() : v->name, full = l->domain.str() + "." + l->op.str();
      nlohmann::json node = {{"node", name}, {"op", full}, {"chosen", chosen.ok() ? (*chosen)->name : ""}};
      if (!c.out.json) printf("%s (%s)\n", name.c_str(), full.c_str());
      for (const ForwardImplementation* i : r.Implementations(l->domain.str(), l->op.str())) {
        std::string why;
        if (l->version > 0 && (l->version < i->since_version || l->version > i->until_version)) why = "it serves other versions of the op";
        else if (i->can_be_applied) why = i->can_be_applied(*v);
        node["implementations"].push_back({{"name", i->name}, {"plugin", i->plugin}, {"why_not", why}});
        const bool taken = chosen.ok() && *chosen == i;
        if (!c.out.json)
          printf("  %-16s %-20s %s\n", i->name.c_str(), i->plugin.c_str(),
                 taken ? "chosen" : why.empty() ? "applies" : ("does not apply: " + why).c_str());
      }
      nodes.push_back(std::move(node));
    });
  if (c.out.json) PrintJson(nodes);
  else if (nodes.empty()) printf("%s has no node of %s\n", model.model.c_str(), pattern.c_str());
  return kExitOk;
}

}  // namespace headrace
