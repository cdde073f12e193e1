// Pipelines: "name{option=value,…}; name@place; name" → passes run in order, each verified, each replayable.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "ir/base/log.h"
#include "ir/plugin.h"
#include "ir/registry/transformation.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

struct Step {
  std::string name, place;  // place: of a transformation's step, or ""
  PassOptions options;
};

Status SyntaxError(const std::string& text, size_t at, const std::string& message) {
  Diagnostic d;
  d.kind = ErrorKind::kUsage;
  d.code = "E0350";
  d.message = message;
  d.file = "<pipeline>";
  d.line = 1, d.column = static_cast<int>(at) + 1;
  d.source_line = text;
  d.hint = "name{option=value, …}; name; …";
  return Status(d);
}

Result<std::vector<Step>> ParsePipeline(const std::string& text) {
  std::vector<Step> steps;
  size_t i = 0;
  auto skip = [&] {
    while (i < text.size() && (isspace(static_cast<unsigned char>(text[i])) || text[i] == ';')) ++i;
    if (i < text.size() && text[i] == '#')
      while (i < text.size() && text[i] != '\n') ++i;
  };
  auto word = [&] {
    size_t b = i;
    while (i < text.size() && (isalnum(static_cast<unsigned char>(text[i])) || strchr("-_.", text[i]))) ++i;
    return text.substr(b, i - b);
  };
  auto blanks = [&] {
    while (i < text.size() && isspace(static_cast<unsigned char>(text[i]))) ++i;
  };
  for (;;) {
    size_t before;
    do {
      before = i;
      skip();
    } while (i != before);
    if (i >= text.size()) return steps;
    Step step;
    step.name = word();
    if (step.name.empty()) return SyntaxError(text, i, "expected the name of a pass");
    if (i < text.size() && text[i] == '@') {
      const size_t b = ++i;
      while (i < text.size() && !strchr(";{ \t\n", text[i])) ++i;
      step.place = text.substr(b, i - b);
      if (step.place.empty()) return SyntaxError(text, i, "expected a place after '@', such as #3+#4");
    }
    if (i < text.size() && text[i] == '{') {
      ++i;
      for (;;) {
        blanks();
        if (i < text.size() && text[i] == '}') {
          ++i;
          break;
        }
        std::string key = word();
        blanks();
        if (key.empty() || i >= text.size() || text[i] != '=') return SyntaxError(text, i, "expected option=value");
        ++i;
        blanks();
        std::string value;
        if (i < text.size() && text[i] == '"') {
          size_t end = text.find('"', i + 1);
          if (end == std::string::npos) return SyntaxError(text, i, "unterminated string");
          value = text.substr(i + 1, end - i - 1);
          i = end + 1;
        } else {
          size_t b = i;
          while (i < text.size() && !strchr(",}", text[i])) ++i;
          value = text.substr(b, i - b);
          while (!value.empty() && isspace(static_cast<unsigned char>(value.back()))) value.pop_back();
        }
        step.options.emplace_back(key, value);
        blanks();
        if (i < text.size() && text[i] == ',') ++i;
        else if (i >= text.size() || text[i] != '}') return SyntaxError(text, i, "expected ',' or '}'");
      }
    }
    steps.push_back(std::move(step));
    blanks();
    if (i < text.size() && text[i] != ';' && text[i] != '#' && (i == 0 || text[i - 1] != '\n'))
      return SyntaxError(text, i, "expected ';' between passes");
  }
}

// Leaves what is needed to see the failure again: the IR before the pass, the pass, the version.
std::string LeaveReproducer(const PipelineOptions& o, const std::string& step, const std::string& before,
                            const std::string& error) {
  std::string dir = o.reproducer_dir.empty() ? "headrace-reproducer" : o.reproducer_dir;
  mkdir(dir.c_str(), 0777);
  std::ofstream(dir + "/before.sdfg") << before;
  std::ofstream(dir + "/error.txt") << error;
  std::ofstream out(dir + "/replay.sh");
  out << "#!/bin/sh\n# headrace " HEADRACE_VERSION "\nexec headrace opt \"$(dirname \"$0\")/before.sdfg\" --pipeline '"
      << step << "'\n";
  out.flush();
  return out ? dir : "";
}

std::string StepText(const Step& s) {
  std::string text = s.place.empty() ? s.name : s.name + "@" + s.place;
  for (size_t i = 0; i < s.options.size(); ++i)
    text += (i ? ", " : "{") + s.options[i].first + "=\"" + s.options[i].second + "\"";
  return s.options.empty() ? text : text + "}";
}

Status RunSteps(const Registry& r, const std::string& text, Program& p, const PipelineOptions& o, int depth);

// Whether no element was written since one became a copy of the other: what copies share lies at one address.
template <typename Id, typename T>
bool Untouched(const CowTable<Id, T>& a, const CowTable<Id, T>& b) {
  if (a.size() != b.size()) return false;
  for (uint32_t i = 0; i < a.size(); ++i)
    if (&a[Id{i}] != &b[Id{i}]) return false;
  return true;
}

// Whether a copy has all that places in the arena were shown to hold by; a mark on the SDFG, as of its mode for denormals, is none of it.
bool SameForPlaces(const Sdfg& a, const Sdfg& b) {
  const auto same_bounds = [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.lo == y.second.lo && x.second.hi == y.second.hi;
  };
  const auto &of_a = a.assumptions.bounds, &of_b = b.assumptions.bounds;
  return a.body == b.body && a.order == b.order && std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), same_bounds) &&
         Untouched(a.nodes, b.nodes) && Untouched(a.blocks, b.blocks) &&
         std::all_of(a.order.begin(), a.order.end(), [&](Name n) { return a.Find(n) == b.Find(n); });
}

// Places in the arena that the pass found, not made, and that no longer hold.
void DropStalePlaces(const Program& before, Program* p) {
  for (const std::shared_ptr<Sdfg>& s : std::vector<std::shared_ptr<Sdfg>>(p->sdfgs)) {
    const Sdfg* old = before.Find(s->name);
    if (old == s.get() || s->arena != (old ? old->arena : std::vector<Expr>())) continue;
    if ((old && SameForPlaces(*old, *s)) || VerifyArena(*s).ok()) continue;
    Sdfg& stale = p->Mutable(s->name);
    stale.arena.clear();
    for (Name n : stale.order) stale.Mutable(n).place = {};
  }
}

// The whole pass, or one step of its transformation.
Result<bool> Take(const Registry& r, const Step& step, const Pass& pass, Program& p) {
  if (step.place.empty()) return pass.run(p, step.options, r);
  const Transformation* t = r.FindTransformation(step.name);
  if (!t)
    return UsageError("E0368", "pass '" + step.name + "' has no single steps",
                      "without '@" + step.place + "' it runs as a whole; `headrace opt FILE --list` names those with steps");
  HR_RETURN_IF_ERROR(ApplyAt(*t, step.place, step.options, r, p));
  return true;
}

Status RunStep(const Registry& r, const Step& step, Program& p, const PipelineOptions& o, int depth) {
  const Pass* pass = r.FindPass(step.name);
  if (!pass) {
    if (const Pipeline* pipeline = r.FindPipeline(step.name)) {
      if (depth > 16) return UsageError("E0352", "pipeline '" + step.name + "' contains itself");
      if (!step.options.empty())
        return UsageError("E0354", "'" + step.name + "' is a pipeline, and has no option '" + step.options[0].first + "'",
                          "options are those of its passes, which `headrace opt --list` names");
      return RunSteps(r, pipeline->text, p, o, depth + 1);
    }
    std::vector<std::string> names;
    for (const Pass* x : r.Passes()) names.push_back(x->name);
    for (const Pipeline* x : r.Pipelines()) names.push_back(x->name);
    names.insert(names.end(), o.also_known.begin(), o.also_known.end());
    std::string close = ClosestWord(step.name, names);
    return UsageError("E0353", "unknown pass '" + step.name + "'",
                      close.empty() ? "`headrace opt --list` names them" : "did you mean '" + close + "'?");
  }
  for (const auto& [key, value] : step.options)
    if (std::find(pass->options.begin(), pass->options.end(), key) == pass->options.end()) {
      std::string close = ClosestWord(key, pass->options);
      return UsageError("E0354", "pass '" + step.name + "' has no option '" + key + "'",
                        close.empty() ? "" : "did you mean '" + close + "'?");
    }
  if (o.cancelled && o.cancelled()) return InterruptedError();
  Program before = p;  // a copy is cheap; it becomes the reproducer if the pass fails us
  const auto start = std::chrono::steady_clock::now();
  Result<bool> changed = Take(r, step, *pass, p);
  if (LogsOn(LogTopic::kPasses)) {
    char took[32];
    std::snprintf(took, sizeof took, ", %.1f ms",
                  std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    Log(LogTopic::kPasses,
        StepText(step) + (!changed.ok() ? ": failed" : *changed ? ": changed" : ": no change") + took);
  }
  if (changed.ok() && *changed) DropStalePlaces(before, &p);
  Status trouble = changed.status();
  bool ours = !trouble.ok() && trouble.kind() == ErrorKind::kInternal;
  if (trouble.ok() && o.verify) {
    trouble = Verify(p);
    ours = !trouble.ok();
  }
  if (ours) {
    std::string dir = LeaveReproducer(o, StepText(step), Print(before), trouble.ToString());
    Diagnostic d;
    d.kind = ErrorKind::kInternal;
    d.code = "E0351";
    d.message = "pass '" + step.name + "' failed on a valid program; this is a bug in " +
                (pass->plugin.empty() ? "headrace" : "plugin '" + pass->plugin + "'");
    d.got = trouble.ToString();
    if (!dir.empty()) d.hint = "please report it with the folder " + dir;
    return Status(d);
  }
  if (!trouble.ok()) return trouble;
  if (o.log) o.log->push_back((step.place.empty() ? step.name : step.name + "@" + step.place) + (*changed ? "" : " (no change)"));
  return {};
}

Status RunSteps(const Registry& r, const std::string& text, Program& p, const PipelineOptions& o, int depth) {
  HR_ASSIGN_OR_RETURN(std::vector<Step> steps, ParsePipeline(text));
  for (const Step& s : steps) HR_RETURN_IF_ERROR(RunStep(r, s, p, o, depth));
  return {};
}

}  // namespace

Status RunPipeline(const Registry& r, const std::string& text, Program& p, const PipelineOptions& o) {
  return RunSteps(r, text, p, o, 0);
}

}  // namespace headrace
