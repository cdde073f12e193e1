// Kernels: those of the program, which calls name, and those that statements outside of kernels become.
#include "backends/cpu/code_style.h"
#include "backends/cpu/codegen_sdfg_internal.h"
#include "backends/cpu/kernel_printer.h"
#include "backends/cpu/plain_loops.h"
#include "ir/text/printer.h"

namespace headrace::cpu {
namespace {

std::vector<NodeId> StatementsOf(const Sdfg& s) {
  std::vector<NodeId> out;
  for (BlockId b : s.body)
    if (const auto* state = std::get_if<State>(&s.blocks[b].control))
      for (NodeId n : state->statements)
        if (!std::holds_alternative<std::monostate>(s.nodes[n].body)) out.push_back(n);
  return out;
}

// What only a scheduled kernel may hold.
bool NeedsSchedule(const Body& body) {
  const auto* m = std::get_if<Map>(&body);
  return (m && m->schedule != Schedule::kDefault) || std::holds_alternative<If>(body) || std::holds_alternative<Touch>(body);
}

CodeKind KindOf(const Sdfg& kernel) {
  bool lanes = false;
  ForEachNode(kernel, [&](NodeId n) {
    const auto* m = std::get_if<Map>(&kernel.nodes[n].body);
    lanes |= m && m->schedule == Schedule::kVector;
  });
  return lanes ? CodeKind::kLanes : CodeKind::kLoops;
}

}  // namespace

Status CheckKernel(const Program& p, const Sdfg& kernel) {
  if (kernel.name == p.entry)
    return UnsupportedError("E0682", "the program's entry is a kernel: '" + kernel.name.str() + "'",
                            "put an sdfg before it that calls it");
  Status status;
  if (!kernel.device.empty()) return status;
  ForEachNode(kernel, [&](NodeId n) {
    if (!status.ok() || !NeedsSchedule(kernel.nodes[n].body)) return;
    Diagnostic d;
    d.code = "E0694";
    d.message = "kernel '" + kernel.name.str() + "' has no schedule, and a statement that only scheduled ones have";
    d.got = PrintNode(kernel, n);
    d.hint = "say what it is scheduled for: kernel " + kernel.name.str() + "(…) for cpu {";
    status = Status(std::move(d));
  });
  return status;
}

// A kernel of several statements and no schedule is as any other SDFG.
bool IsOneFunction(const Sdfg& s) {
  if (!s.kernel) return false;
  const std::vector<NodeId> statements = StatementsOf(s);
  return !s.device.empty() || (s.body.size() == 1 && statements.size() == 1 && IsKernel(s, statements[0]));
}

Result<const ProgramNames::NamedKernel*> SdfgGen::KernelOf(const Sdfg& callee) {
  if (const auto it = names_.kernel_named.find(callee.name); it != names_.kernel_named.end()) return &it->second;
  KernelOptions o;
  o.restrict_pointers = !names_.may_alias.count(callee.name);
  Kernel k;
  if (!callee.device.empty()) {
    HR_ASSIGN_OR_RETURN(k, PrintKernel(callee, o));
  } else {
    Lowerer lowerer(callee);
    for (const Range& r : callee.given) lowerer.Push(r);
    HR_ASSIGN_OR_RETURN(k, PlainKernel(callee, StatementsOf(callee)[0], lowerer, o));
  }
  const std::string name = AddKernel(k, Print(callee), !callee.device.empty(), KindOf(callee));
  k.text.clear();
  return &names_.kernel_named.emplace(callee.name, ProgramNames::NamedKernel{name, std::move(k)}).first->second;
}

// A call, with the mode for denormals that the callee is marked for where that is another.
std::string SdfgGen::CallIn(const Sdfg& callee, const std::string& call) const {
  if (callee.flush == s_.flush) return call + ";";
  return "{ hr_denormals_in mode(" + std::string(callee.flush ? "1" : "0") + "); " + call + "; }";
}

Status SdfgGen::CallKernel(const Nested& call, const Sdfg& callee, Writer& w) {
  HR_ASSIGN_OR_RETURN(const ProgramNames::NamedKernel* kernel, KernelOf(callee));
  Writer before(w.indent() + 1);
  StagedArguments staged(*this);
  HR_ASSIGN_OR_RETURN(const BoundCall bound, BindArguments(call, callee, &staged, before));
  HR_RETURN_IF_ERROR(CheckSizes(call, callee, bound.symbols, before));
  std::string text = kernel->name + "(x";
  for (Name p : kernel->kernel.pointers) {
    const auto a = bound.pointers.find(p);
    if (a == bound.pointers.end() && !callee.Get(p).optional)
      return InvalidError("E0683", "call of '" + callee.name.str() + "' has no argument for '" + p.str() + "'");
    text += ", " + (a == bound.pointers.end() ? "nullptr" : a->second);
  }
  for (Name p : kernel->kernel.symbols) {
    const auto a = bound.symbols.find(p);
    if (a == bound.symbols.end())
      return InvalidError("E0683", "call of '" + callee.name.str() + "' has no value for '" + p.str() + "'");
    HR_ASSIGN_OR_RETURN(Expr value, Typed(a->second, DType::kIndex));
    text += ", " + Bare(Text(value, DType::kIndex, before));
  }
  const bool alone = before.text().empty();
  if (!alone) w.Open("{"), w.Raw(before.text());
  w.Line(CallIn(callee, text + ")"));
  staged.CopyBack(w);
  if (!alone) w.Close();
  if (kernel->kernel.may_fail) w.Line("if (x->stop) " + Leave());
  return {};
}

Status SdfgGen::StatementAsKernel(NodeId n, Writer& w) {
  KernelOptions o;
  o.restrict_pointers = !names_.may_alias.count(s_.name);
  HR_ASSIGN_OR_RETURN(Kernel k, PlainKernel(s_, n, lowerer_, o));
  std::string call = AddKernel(k, PrintNode(s_, n), false, CodeKind::kLoops) + "(x";
  for (Name p : k.pointers) call += ", " + Pointer(p);
  for (Name p : k.symbols) call += ", " + Symbol(p);
  w.Line(call + ");");
  if (k.may_fail) w.Line("if (x->stop) " + Leave());
  return {};
}

std::string SdfgGen::AddKernel(Kernel k, const std::string& comment, bool scheduled, CodeKind kind) {
  auto [it, fresh] = names_.kernel_of.emplace(k.text, "k" + std::to_string(names_.kernels.size()));
  if (!fresh) return it->second;
  std::string text = "// ";
  int lines = 0;
  for (size_t i = 0; i < comment.size() && lines < kStyle.comment_lines; ++i) {
    text += comment[i] == '\\' ? '/' : comment[i];
    if (comment[i] == '\n' && i + 1 < comment.size()) text += "// ", ++lines;
  }
  if (text.back() != '\n') text += '\n';
  for (size_t at = 0; (at = k.text.find("$K", at)) != std::string::npos;) k.text.replace(at, 2, it->second);
  names_.kernels.push_back({it->second, k.parameters, text + k.text, scheduled, kind});
  return it->second;
}

}  // namespace headrace::cpu
