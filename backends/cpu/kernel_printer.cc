#include <utility>

#include "backends/cpu/ctypes.h"
#include "backends/cpu/kernel_printer_internal.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "ir/text/printer.h"

namespace headrace::cpu {
namespace {

// Of a function: what it has streamed is seen by others after it.
std::string Ending(bool streams) { return streams ? "  const hr_streamed streamed;\n" : ""; }

void Fill(std::string* text, const std::string& mark, const std::string& by) {
  for (size_t at = 0; (at = text->find(mark, at)) != std::string::npos; at += by.size()) text->replace(at, mark.size(), by);
}

bool Reads(const Expr& e) {
  bool found = false;
  Visit(e, [&](const Expr& x) { return found |= x.Is(ExprKind::kRead), !found; });
  return found;
}

}  // namespace

KernelPrinter::KernelPrinter(const Sdfg& s, const std::vector<NodeId>& statements, const KernelOptions& o)
    : s_(s), options_(o), statements_(statements), homes_(HomesOf(s, statements)), env_(s), lowerer_(s, true),
      code_(env_) {
  env_.reads_stay_in_choices = true;
  env_.flushes = s.flush;
}

Result<Kernel> KernelPrinter::Run() {
  HR_RETURN_IF_ERROR(CheckContainers());
  Writer w(1);
  for (BlockId b : s_.body)
    if (const auto* let = std::get_if<Assign>(&s_.blocks[b].control)) HR_RETURN_IF_ERROR(Let(*let, w));
  HR_RETURN_IF_ERROR(Statements({}, false, statements_, w));
  Kernel k;
  k.pointers = env_.pointers;
  k.symbols = env_.symbols;
  k.may_fail = env_.may_fail;
  k.parameters = env_.Parameters(WrittenBy(s_, statements_), options_);
  k.text = parts_ + "void $K($P) {\n" + Ending(streams_) + w.text() + "}\n";
  Fill(&k.text, "$P", k.parameters);
  Fill(&k.text, "$A", env_.Arguments());
  return k;
}

Status KernelPrinter::Unprintable(NodeId n, const std::string& what, const std::string& pass) const {
  Diagnostic d;
  d.code = "E0694";
  d.message = "kernel '" + s_.name.str() + "' can't be printed: " + what;
  if (n.valid()) d.got = PrintNode(s_, n);
  d.hint = "the pass " + pass + " should have run";
  return Status(std::move(d));
}

Status KernelPrinter::CheckContainers() const {
  for (Name n : s_.order) {
    const Container& c = s_.Get(n);
    if (c.kind != ContainerKind::kParameter && c.kind != ContainerKind::kView && !IsScoped(c.storage))
      return Unprintable({}, "'" + n.str() + "' is neither a parameter nor a local of one of its bodies", "choose-schedule");
    if (c.storage == Storage::kShared || c.storage == Storage::kDevice)
      return Unprintable({}, "'" + n.str() + "' lies in memory of kind " + std::string(StorageWord(c.storage)),
                         "choose-schedule, with the description of this device,");
  }
  return {};
}

Status KernelPrinter::Let(const Assign& let, Writer& w) {
  if (Reads(let.value)) return Unprintable({}, "'" + let.symbol.str() + "' is a size that is read from memory", "outline");
  HR_ASSIGN_OR_RETURN(Expr typed, InferTypes(s_, let.value, DType::kIndex));
  HR_ASSIGN_OR_RETURN(Expr value, lowerer_.Lower(typed));
  const std::string text = code_.IndexText(value, w), name = env_.OpenIndex(let.symbol);
  w.Line("const int64_t " + name + " = " + Bare(text) + ";");
  outer_.push_back({"int64_t ", name});
  return {};
}

Status KernelPrinter::Statements(NodeId owner, bool otherwise, const std::vector<NodeId>& body, Writer& w) {
  const size_t outside = outer_.size();
  std::vector<const Home*> workers;
  for (const Home& h : homes_)
    if (h.owner == owner && h.otherwise == otherwise && s_.Get(h.container).storage == Storage::kWorker) workers.push_back(&h);
  HR_RETURN_IF_ERROR(DeclareWorkers(workers, w));
  for (NodeId n : body) {
    for (const Home& h : homes_)
      if (h.owner == owner && h.otherwise == otherwise && h.first == n && s_.Get(h.container).storage == Storage::kRegister)
        HR_RETURN_IF_ERROR(DeclareRegister(h, w));
    HR_RETURN_IF_ERROR(Statement(n, w));
  }
  outer_.resize(outside);
  return {};
}

// The buffers of one body are one piece of memory.
Status KernelPrinter::DeclareWorkers(const std::vector<const Home*>& homes, Writer& w) {
  if (homes.empty()) return {};
  const std::string memory = "w" + std::to_string(env_.next_temp++);
  std::vector<std::string> begins = {"0"};
  for (size_t i = 0; i < homes.size(); ++i) {
    const Container& c = s_.Get(homes[i]->container);
    const std::string count = CountText(NumElements(c), [&](const Expr& e) { return code_.IndexText(e, w); });
    const std::string end = memory + "_" + std::to_string(i);
    w.Line("const int64_t " + end + " = hr_extend(" + begins.back() + ", " + count + ", " + std::to_string(ByteSize(c.dtype)) + ");");
    begins.push_back(end);
  }
  w.Line("const hr_worker " + memory + "(" + env_.Context() + ", " + begins.back() + ");");
  w.Line("if (!" + memory + ".data) return;");
  for (size_t i = 0; i < homes.size(); ++i) {
    const Container& c = s_.Get(homes[i]->container);
    const std::string name = env_.OpenRegister(c), type = StorageType(c.dtype);
    w.Line(type + "* const __restrict " + name + " = (" + type + "*)" +
           (i == 0 ? memory + ".data" : "(" + memory + ".data + " + begins[i] + ")") + ";");
    if (!in_part_) outer_.push_back({type + "* __restrict ", name});
  }
  return {};
}

Status KernelPrinter::DeclareRegister(const Home& home, Writer& w) {
  const Container& c = s_.Get(home.container);
  for (const Expr& d : c.shape)
    if (!AsInt(d)) return Unprintable(home.first, "register '" + c.name.str() + "' has no fixed size", "choose-schedule");
  env_.DeclareRegister(c, w);
  if (!in_part_) outer_.push_back({std::string(StorageType(c.dtype)) + (c.shape.empty() ? "& " : "* __restrict "), env_.Local(c.name)});
  return {};
}

Status KernelPrinter::Parallel(NodeId n, const Map& m, Writer& w) {
  if (in_part_) return Unprintable(n, "a parallel map inside another one", "choose-schedule");
  std::vector<LoopDim> dims;
  for (const Range& r : m.ranges) {
    for (const Expr& e : {r.begin, r.end, r.step})
      for (const LoopDim& d : dims)
        if (e && Mentions(e, d.index))
          return Unprintable(n, "the indices of a parallel map depend on each other", "choose-schedule");
    dims.push_back(DimOf(r));
  }
  w.Open("{");
  const std::string total = code_.UnitCount(dims, w), part = "$K_part" + std::to_string(next_part_++);
  std::string formals, actuals;
  for (const Outer& o : outer_) formals += ", " + o.type + o.name, actuals += ", " + o.name;
  w.Line("hr_chunks(x, " + total + ", 1, [&](int64_t begin, int64_t end) { " + part + "($A" + actuals + ", begin, end); });");
  Writer inside(1);
  const bool failed_before = std::exchange(env_.may_fail, false);
  const bool streamed_before = std::exchange(streams_, false);
  in_part_ = true;
  code_.OpenUnits(dims, inside);
  const Status body = Statements(n, false, m.body, inside);
  in_part_ = false;
  HR_RETURN_IF_ERROR(body);
  for (const LoopDim& d : dims) env_.CloseIndex(d.index);
  inside.Close();
  if (env_.may_fail) w.Line("if (x->stop) return;");
  env_.may_fail |= failed_before;
  w.Close();
  parts_ += "static void " + part + "($P" + formals + ", int64_t begin, int64_t end) {\n" + Ending(streams_) + inside.text() + "}\n";
  streams_ = streamed_before;
  return {};
}

Result<Kernel> PrintKernel(const Sdfg& kernel, const KernelOptions& o) {
  std::vector<NodeId> statements;
  for (BlockId b : kernel.body)
    if (const auto* st = std::get_if<State>(&kernel.blocks[b].control))
      for (NodeId n : st->statements)
        if (!std::holds_alternative<std::monostate>(kernel.nodes[n].body)) statements.push_back(n);
  if (statements.empty()) {
    Kernel nothing;
    nothing.parameters = "hr_x* x";
    nothing.text = "void $K(hr_x* x) {\n  (void)x;\n}\n";
    return nothing;
  }
  return KernelPrinter(kernel, statements, o).Run();
}

}  // namespace headrace::cpu
