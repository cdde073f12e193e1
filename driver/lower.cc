// A program through its passes, as the request and its plan have them.
#include "driver/lower.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "driver/pipeline_text.h"

namespace headrace {
namespace {

// "default; my-pass": the word stands for the pipeline that is run where none is given.
std::string WithDefault(const std::string& text, const std::string& pipeline) {
  static const std::string kWord = "default";
  if (text.empty()) return pipeline;
  std::string out = text;
  for (size_t at = 0; (at = out.find(kWord, at)) != std::string::npos;) {
    const size_t before = out.find_last_not_of(" \t\n", at == 0 ? std::string::npos : at - 1);
    const size_t after = out.find_first_not_of(" \t\n", at + kWord.size());
    const bool alone = (at == 0 || before == std::string::npos || out[before] == ';') &&
                       (after == std::string::npos || out[after] == ';' || out[after] == '#');
    if (alone) out.replace(at, kWord.size(), pipeline);
    at += alone ? pipeline.size() : kWord.size();
  }
  return out;
}

bool Applies(const Registry& r, const Program& p, const Sdfg& s, NodeId id, const std::string& implementation) {
  Result<NodeView> v = ViewOf(r, p, s, id);
  if (!v.ok()) return false;
  if (implementation == "pure" && !v->node->defines.empty()) return false;  // a form finds no sizes
  Library asked = *v->node;
  asked.implementation = Name(implementation);
  v->node = &asked;
  return SelectImplementation(r, *v, {}).ok();
}

// Named for this op or node, the implementation is an order: where it can't serve, that is said instead of taking another.
Status Serves(const Registry& r, const Program& p, const Sdfg& s, NodeId id, const std::string& implementation) {
  HR_ASSIGN_OR_RETURN(NodeView v, ViewOf(r, p, s, id));
  for (const ForwardImplementation* i : r.Implementations(v.node->domain.str(), v.node->op.str())) {
    if (i->name != implementation || !i->can_be_applied) continue;
    const std::string why = i->can_be_applied(v);
    if (why.empty()) return {};
    Diagnostic d;
    d.kind = ErrorKind::kUnsupported;
    d.code = "E0321";
    d.node = v.name;
    d.op = v.node->domain.str() + "." + v.node->op.str();
    d.message = "implementation '" + implementation + "' does not apply: " + why;
    d.hint = "--impl " + implementation + " alone takes it where it applies; `headrace ops " + d.op + " MODEL` explains each node";
    return Status(d);
  }
  return {};
}

// The user's choice of implementations, and the plan's, are written onto the nodes, so that the text shows them and passes honour them.
Status WriteImplementations(const Registry& r, const CompileRequest& request, Program& program) {
  std::vector<std::pair<std::string, std::string>> chosen = request.options.implementations;
  chosen.insert(chosen.end(), request.plan.implementations.begin(), request.plan.implementations.end());
  if (chosen.empty()) return {};
  for (auto& shared : program.sdfgs) {
    Sdfg& s = program.Mutable(shared->name);
    for (uint32_t i = 0; i < s.nodes.size(); ++i) {
      const Library* l = std::get_if<Library>(&s.nodes[NodeId{i}].body);
      if (!l || !l->implementation.empty()) continue;
      std::string full = l->domain.str() + "." + l->op.str(), source = s.nodes[NodeId{i}].origin.Label();
      for (const auto& [where, name] : chosen)
        if (where == "*" || where == full || where == l->op.str() || where == source) {
          if (where != "*") HR_RETURN_IF_ERROR(Serves(r, program, s, NodeId{i}, name));
          else if (!Applies(r, program, s, NodeId{i}, name)) continue;
          std::get<Library>(s.nodes.Mutable(NodeId{i}).body).implementation = name;
          break;
        }
    }
  }
  return {};
}

void Warn(const CompileRequest& request, const std::string& text) {
  if (request.warn) request.warn(text);
}

Status CheckPasses(const Registry& r, const CompileRequest& request, const std::vector<PipelineStep>& steps) {
  std::vector<std::string> known;
  for (const Pass* p : r.Passes()) known.push_back(p->name);
  for (const std::string& pass : request.plan.without) {
    if (!r.FindPass(pass)) {
      const std::string close = ClosestWord(pass, known);
      return UsageError("E0468", "the plan leaves out '" + pass + "', and there is no such pass",
                        close.empty() ? "`headrace opt --list` names them" : "did you mean '" + close + "'?");
    }
    if (std::none_of(steps.begin(), steps.end(), [&](const PipelineStep& s) { return s.name == pass; }))
      Warn(request, "the plan's 'without " + pass + "' has no effect: the pipeline has no such pass");
  }
  return {};
}

// Where denormals are kept, they are from the pass on that asks.
std::string PipelineOf(const Registry& r, const CompileRequest& request) {
  const std::string pipeline = WithDefault(request.pipeline, "compile-" + request.backend);
  if (!request.options.keep_denormals) return pipeline;
  std::string kept;
  for (const PipelineStep& s : StepsOf(r, pipeline)) kept += (s.text == "denormals" ? WithOption(s, "mode", "keep") : s.text) + "\n";
  return kept + "denormals{mode=keep}";
}

constexpr const char* kScheduling = "choose-schedule";

// The passes before kernels get their schedules, that one, and the others.
struct Passes {
  std::string before, schedule, rest;
};
Result<Passes> PassesOf(const Registry& r, const CompileRequest& request) {
  const std::vector<PipelineStep> steps = StepsOf(r, PipelineOf(r, request));
  HR_RETURN_IF_ERROR(CheckPasses(r, request, steps));
  Plan kernels;  // what the pass looks at; texts in pipelines have no quotation marks
  for (const Plan::Kernel& k : request.plan.kernels) kernels.kernels.push_back({k.key, k.numbers, ""});
  const std::vector<std::string>& without = request.plan.without;
  Passes out;
  for (const PipelineStep& s : steps) {
    if (std::find(without.begin(), without.end(), s.name) != without.end()) continue;
    const std::string text = s.name == kScheduling && !kernels.empty() ? WithOption(s, "plan", Print(kernels)) : s.text;
    const bool before = s.name != kScheduling && out.schedule.empty();
    (before ? out.before : out.schedule.empty() ? out.schedule : out.rest) += text + "\n";
  }
  return out;
}

PipelineOptions OptionsOf(const CompileRequest& request) {
  PipelineOptions po;
  po.verify = request.options.debug || !request.pipeline.empty();  // passes of anybody's
  po.cancelled = request.options.cancelled;
  const std::string& dump = request.options.dump_dir;
  po.reproducer_dir = !dump.empty() ? dump + "/reproducer" : "/tmp/headrace-reproducer-" + std::to_string(getpid());
  po.also_known = {"default"};
  return po;
}

// Kernels of the plan that the program lacks: it was made for another one, or for other sizes.
void WarnOfKernels(const CompileRequest& request, const Program& kernels, bool schedules) {
  if (request.plan.kernels.empty() || !request.warn) return;
  if (!schedules) return Warn(request, "the plan's kernels have no effect: the pipeline schedules none");
  std::set<std::string> here;
  for (const auto& s : kernels.sdfgs)
    if (s->kernel && s->device.empty()) here.insert(KernelKey(*s));
  for (const Plan::Kernel& k : request.plan.kernels)
    if (!here.count(k.key))
      Warn(request, "the plan's kernel " + k.key + (k.comment.empty() ? "" : " (" + k.comment + ")") + " is not in this program");
}

// What is asked of the program before the pipeline: its precision, then the implementations that serve it so.
Status Prepare(const Registry& r, const CompileRequest& request, Program& program) {
  HR_RETURN_IF_ERROR(Autocast(r, request, program));
  return WriteImplementations(r, request, program);
}

}  // namespace

Status Autocast(const Registry& r, const CompileRequest& request, Program& program) {
  const std::string& to = request.autocast;
  return to.empty() ? Status() : RunPipeline(r, "autocast{to=\"" + to + "\"}", program, OptionsOf(request));
}

Result<Program> LowerToKernels(const Registry& r, Program program, const CompileRequest& request) {
  HR_RETURN_IF_ERROR(Prepare(r, request, program));
  HR_ASSIGN_OR_RETURN(const Passes passes, PassesOf(r, request));
  HR_RETURN_IF_ERROR(RunPipeline(r, passes.before, program, OptionsOf(request)));
  WarnOfKernels(request, program, !passes.schedule.empty());
  return program;
}

Result<Program> OnlySchedule(const Registry& r, Program kernels, const CompileRequest& request) {
  CompileRequest quiet = request;
  quiet.warn = nullptr;  // LowerToKernels has said it
  HR_ASSIGN_OR_RETURN(const Passes passes, PassesOf(r, quiet));
  HR_RETURN_IF_ERROR(RunPipeline(r, passes.schedule, kernels, OptionsOf(request)));
  return kernels;
}

Result<Program> ScheduleKernels(const Registry& r, Program kernels, const CompileRequest& request) {
  CompileRequest quiet = request;
  quiet.warn = nullptr;
  HR_ASSIGN_OR_RETURN(const Passes passes, PassesOf(r, quiet));
  HR_RETURN_IF_ERROR(RunPipeline(r, passes.schedule + passes.rest, kernels, OptionsOf(request)));
  return kernels;
}

Result<Program> LowerProgram(const Registry& r, Program program, const CompileRequest& request) {
  if (request.plan.empty()) {
    HR_RETURN_IF_ERROR(Prepare(r, request, program));
    HR_RETURN_IF_ERROR(RunPipeline(r, PipelineOf(r, request), program, OptionsOf(request)));
    return program;
  }
  HR_ASSIGN_OR_RETURN(Program kernels, LowerToKernels(r, std::move(program), request));
  return ScheduleKernels(r, std::move(kernels), request);
}

}  // namespace headrace
