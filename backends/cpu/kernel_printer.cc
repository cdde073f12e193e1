#include "backends/cpu/kernel_printer.h"

#include "backends/cpu/codegen_map_internal.h"
#include "ir/analysis/type_inference.h"
#include "ir/graph/homes.h"
#include "ir/text/printer.h"

namespace headrace::cpu {
namespace {

class KernelPrinter {
 public:
  KernelPrinter(const Sdfg& s, const std::vector<NodeId>& statements, const KernelOptions& o)
      : s_(s), options_(o), statements_(statements), homes_(HomesOf(s, statements)), env_(s), lowerer_(s, true),
        gen_(s, lowerer_, env_, statements.front()) {
    for (NodeId n : statements)
      for (const RawAccess& a : AccessesOf(s, n))
        if (a.write) written_.insert(BaseOf(s, a.container));
  }

  Result<Kernel> Run() {
    Writer w(1);
    for (BlockId b : s_.body)
      if (const auto* let = std::get_if<Assign>(&s_.blocks[b].control)) HR_RETURN_IF_ERROR(Let(*let, w));
    HR_RETURN_IF_ERROR(Statements({}, false, statements_, w));
    Kernel k;
    k.pointers = env_.pointers;
    k.symbols = env_.symbols;
    k.may_fail = env_.may_fail;
    k.parameters = Parameters(false);
    k.text = parts_ + "void $K($P) {\n" + w.text() + "}\n";
    Fill(&k.text, "$P", k.parameters);
    Fill(&k.text, "$A", Parameters(true));
    return k;
  }

 private:
  static void Fill(std::string* text, const std::string& mark, const std::string& by) {
    for (size_t at = 0; (at = text->find(mark, at)) != std::string::npos; at += by.size()) text->replace(at, mark.size(), by);
  }
  std::string Parameters(bool names_only) const {
    std::string p = names_only ? "x" : "hr_x* x";
    for (size_t i = 0; i < env_.pointers.size(); ++i) {
      const Name n = env_.pointers[i];
      const std::string type = std::string(written_.count(n) ? "" : "const ") + StorageType(s_.Get(n).dtype) + "* " +
                               (options_.restrict_pointers ? "__restrict " : "");
      p += ", " + (names_only ? "" : type) + "p" + std::to_string(i);
    }
    for (size_t i = 0; i < env_.symbols.size(); ++i) p += std::string(names_only ? ", n" : ", int64_t n") + std::to_string(i);
    return p;
  }

  Status Unprintable(NodeId n, const std::string& what, const std::string& pass) const {
    Diagnostic d;
    d.code = "E0694";
    d.message = "kernel '" + s_.name.str() + "' can't be printed: " + what;
    d.got = PrintNode(s_, n);
    d.hint = "the pass " + pass + " should have run";
    return Status(std::move(d));
  }

  Status Let(const Assign& let, Writer& w) {
    HR_ASSIGN_OR_RETURN(Expr typed, InferTypes(s_, let.value, DType::kIndex));
    HR_ASSIGN_OR_RETURN(Expr value, lowerer_.Lower(typed));
    const std::string text = gen_.IndexText(value, w), name = env_.OpenIndex(let.symbol);
    w.Line("const int64_t " + name + " = " + Bare(text) + ";");
    outer_.push_back({"int64_t ", name, name});
    return {};
  }

  Status Statements(NodeId owner, bool otherwise, const std::vector<NodeId>& body, Writer& w) {
    for (NodeId n : body) {
      for (const Home& h : homes_)
        if (h.owner == owner && h.otherwise == otherwise && h.first == n) HR_RETURN_IF_ERROR(Declare(n, h.container, w));
      HR_RETURN_IF_ERROR(Statement(n, w));
    }
    return {};
  }

  Status Declare(NodeId n, Name local, Writer& w) {
    const Container& c = s_.Get(local);
    if (c.storage != Storage::kRegister)
      return Unprintable(n, "'" + local.str() + "' lies in memory of kind " + std::string(StorageWord(c.storage)),
                         "choose-schedule, with the description of this device,");
    env_.DeclareRegister(c, w);
    if (in_part_) return {};
    const std::string name = env_.Element(local, "0"), type = StorageType(c.dtype);
    const std::string bare = name.substr(0, name.find('['));
    if (c.shape.empty()) outer_.push_back({type + "& ", bare, bare});
    else outer_.push_back({type + "* ", bare, bare});
    return {};
  }

  Status Statement(NodeId n, Writer& w) {
    const Body& body = s_.nodes[n].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) {
      if (t->guarded) return Unprintable(n, "a write that may be dropped", "resolve-accesses");
      HR_ASSIGN_OR_RETURN(LoweredStmt stmt, lowerer_.Lower(*t));
      w.Open("{");
      gen_.Store(stmt, w);
      w.Close();
      return {};
    }
    if (const auto* i = std::get_if<If>(&body)) return Choice(n, *i, w);
    if (const auto* k = std::get_if<Check>(&body)) return Checked(*k, w);
    const auto* m = std::get_if<Map>(&body);
    if (!m) return Unprintable(n, "a statement of a kind that it has no code for", "choose-schedule");
    switch (m->schedule) {
      case Schedule::kSequential: return Loops(n, *m, "", w);
      case Schedule::kVector: return Loops(n, *m, "#pragma omp simd", w);
      case Schedule::kUnroll: return Loops(n, *m, "#pragma GCC unroll 65534", w);
      case Schedule::kParallel: return Parallel(n, *m, w);
      case Schedule::kHalves: return Halves(n, *m, w);
      default: return Unprintable(n, "a map without a schedule of this device", "choose-schedule");
    }
  }

  Status Choice(NodeId n, const If& i, Writer& w) {
    HR_ASSIGN_OR_RETURN(Expr typed, InferTypes(s_, i.condition, DType::kBool));
    HR_ASSIGN_OR_RETURN(Expr condition, lowerer_.Lower(typed));
    w.Open("{");
    {
      ExprCode code(env_, w);
      code.Use(condition);
      w.Open("if (" + Bare(code.Value(condition, DType::kBool)) + ") {");
    }
    HR_RETURN_IF_ERROR(Statements(n, false, i.body, w));
    w.Close();
    if (!i.otherwise.empty()) {
      w.Open("else {");
      HR_RETURN_IF_ERROR(Statements(n, true, i.otherwise, w));
      w.Close();
    }
    w.Close();
    return {};
  }

  // Where the element is none the run is told so, and this function left.
  Status Checked(const Check& k, Writer& w) {
    Lowerer careful(s_);
    HR_ASSIGN_OR_RETURN(LoweredStmt stmt,
                        careful.Lower(Tasklet{k.container, k.index, k.flat, false, WriteOp::kAssign,
                                              ReadExpr(k.container, k.index, {}, k.flat)}));
    if (!stmt.condition) return {};
    w.Open("{");
    {
      ExprCode code(env_, w);
      code.Use(stmt.condition);
      w.Open("if (!" + code.Value(stmt.condition, DType::kBool) + ") {");
    }
    ExprCode report(env_, w);
    report.Use(stmt.report);
    w.Line("(void)" + report.Value(stmt.report) + ";");
    w.Line("return;");
    w.Close();
    w.Close();
    return {};
  }

  LoopDim DimOf(const Range& r) const {
    LoopDim d;
    d.index = r.index;
    d.begin = r.begin, d.end = r.end, d.step = r.step ? r.step : IntExpr(1);
    d.simple = AsInt(d.begin) == 0 && AsInt(d.step) == 1;
    d.trip = d.simple ? d.end : TripCount(r);
    return d;
  }

  // `pragma` is of the innermost loop, whose bounds stand before it.
  Status Loops(NodeId n, const Map& m, const std::string& pragma, Writer& w) {
    std::vector<LoopDim> dims;
    for (const Range& r : m.ranges) dims.push_back(DimOf(r));
    int braces = 0;
    for (size_t i = 0; i < dims.size(); ++i) {
      const bool last = i + 1 == dims.size();
      if (last && !pragma.empty() && !AsInt(dims[i].end)) {
        w.Open("{");
        ++braces;
        const std::string text = gen_.IndexText(dims[i].end, w), end = "end" + std::to_string(env_.next_temp++);
        w.Line("const int64_t " + end + " = " + Bare(text) + ";");
        dims[i].end = LocalExpr(end, DType::kIndex);
      }
      gen_.OpenLoop(dims[i], w, last ? pragma : "");
    }
    HR_RETURN_IF_ERROR(Statements(n, false, m.body, w));
    for (size_t i = dims.size(); i-- > 0;) gen_.CloseLoop(dims[i], w);
    for (; braces > 0; --braces) w.Close();
    return {};
  }

  Status Parallel(NodeId n, const Map& m, Writer& w) {
    if (in_part_) return Unprintable(n, "a parallel map inside another one", "choose-schedule");
    std::vector<LoopDim> dims;
    for (const Range& r : m.ranges) dims.push_back(DimOf(r));
    w.Open("{");
    const std::string total = UnitCount(gen_, dims, w), part = "$K_part" + std::to_string(next_part_++);
    std::string formals, actuals;
    for (const Outer& o : outer_) formals += ", " + o.type + o.name, actuals += ", " + o.value;
    w.Line("hr_chunks(x, " + total + ", 1, [&](int64_t begin, int64_t end) { " + part + "($A" + actuals + ", begin, end); });");
    w.Close();
    Writer inside(1);
    in_part_ = true;
    DecodeUnits(gen_, dims, "", inside);
    const Status body = Statements(n, false, m.body, inside);
    in_part_ = false;
    HR_RETURN_IF_ERROR(body);
    for (const LoopDim& d : dims) env_.CloseIndex(d.index);
    inside.Close();
    parts_ += "static void " + part + "($P" + formals + ", int64_t begin, int64_t end) {\n" + inside.text() + "}\n";
    return {};
  }

  // s op= a[u] over u in 0:n: u and u + n/2 are combined, again and again, then s with what is left.
  Status Halves(NodeId n, const Map& m, Writer& w) {
    const auto* t = m.body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[m.body[0]].body) : nullptr;
    const auto count = m.ranges.size() == 1 ? AsInt(m.ranges[0].end) : std::nullopt;
    if (!t || t->op == WriteOp::kAssign || !count || *count < 1)
      return Unprintable(n, "@halves of more than one accumulation", "choose-schedule");
    HR_ASSIGN_OR_RETURN(LoweredStmt stmt, lowerer_.Lower(*t));
    const DType type = Computed(stmt.dtype);
    const std::string of = "half" + std::to_string(env_.next_temp++), size = std::to_string(*count);
    w.Open("{");
    w.Line(std::string(ValueType(type)) + " " + of + "[" + size + "];");
    LoopDim d = DimOf(m.ranges[0]);
    gen_.OpenLoop(d, w, "#pragma omp simd");
    {
      ExprCode code(env_, w);
      code.Use(stmt.value);
      w.Line(of + "[" + env_.Symbol(d.index) + "] = " + Bare(code.Value(stmt.value, type)) + ";");
    }
    gen_.CloseLoop(d, w);
    for (int64_t half = *count / 2; half > 0; half /= 2) {  // each of known length: they stay in registers
      w.Line("#pragma GCC unroll " + std::to_string(half));
      w.Line("for (int64_t u = 0; u < " + std::to_string(half) + "; ++u) " + of + "[u] = " +
             Bare(gen_.Combine(stmt.op, type, of + "[u]", of + "[u + " + std::to_string(half) + "]")) + ";");
    }
    stmt.value = LocalExpr(of + "[0]", type);
    gen_.Store(stmt, w);
    w.Close();
    return {};
  }

  struct Outer {
    std::string type, name, value;
  };
  const Sdfg& s_;
  const KernelOptions& options_;
  const std::vector<NodeId> statements_;
  const std::vector<Home> homes_;
  KernelEnv env_;
  Lowerer lowerer_;
  NestGen gen_;
  std::set<Name> written_;
  std::vector<Outer> outer_;  // what stands before a parallel map, and is passed on to its function
  std::string parts_;
  int next_part_ = 0;
  bool in_part_ = false;
};

}  // namespace

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
