// The generator of one SDFG's functions, shared by codegen_sdfg.cc (statements, control flow, memory), codegen_call.cc
// (nested SDFGs, external functions) and views.cc.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "backends/cpu/access.h"
#include "backends/cpu/arena_code.h"
#include "backends/cpu/codegen_sdfg.h"
#include "backends/cpu/ctypes.h"
#include "backends/cpu/views.h"
#include "ir/analysis/arena.h"
#include "ir/analysis/type_inference.h"

namespace headrace::cpu {

inline bool IsHandle(const Container& c) { return c.kind == ContainerKind::kSequence || c.dtype == DType::kString; }

class SdfgGen : public LoopEnv {
 public:
  SdfgGen(ProgramNames& names, const Sdfg& s)
      : names_(names),
        s_(s),
        fn_(names.function.at(s.name)),
        frame_("F_" + fn_),
        parameters_(s.parameters.begin(), s.parameters.end()),
        lowerer_(s),
        arena_(s),
        outside_(WithoutPlace(s)),
        inside_(DefinedInside(s)),
        loose_(LooseViews(s)) {}
  Result<SdfgCode> Run();

  // ---- Env ----
  std::string Symbol(Name n) override {
    if (auto it = indices_.find(n); it != indices_.end()) return it->second;
    return "f->" + fields_.Of(n, "");
  }
  std::string Pointer(Name base) override;
  std::string Element(Name base, const std::string& index) override {
    if (auto it = registers_.find(base); it != registers_.end())
      return s_.Get(base).shape.empty() ? it->second : it->second + "[" + index + "]";
    return Pointer(base) + "[" + index + "]";
  }
  std::string Context() override { return "x"; }
  const Assumptions& Known() override { return s_.assumptions; }
  std::string OpenIndex(Name index) override { return indices_[index] = "i" + std::to_string(next_index_++); }
  void CloseIndex(Name index) override { indices_.erase(index); }
  void DeclareRegister(const Container& c, Writer& w) override {
    const std::string name = "r" + std::to_string(registers_.size());
    registers_[c.name] = name;
    const std::string count =
        c.shape.empty() ? "" : "[" + std::to_string(std::max<int64_t>(1, AsInt(NumElements(c)).value_or(1))) + "]";
    w.Line(std::string(StorageType(c.dtype)) + " " + name + count + ";");
  }

 private:
  Status Blocks(const std::vector<BlockId>& body, Writer& w);
  Status Statements(const std::vector<NodeId>& list, Writer& w);
  Status Statement(NodeId n, Writer& w);
  Status EmitLoop(const Loop& l, Writer& w);
  Status EmitConditional(const Conditional& c, Writer& w);
  Status EmitRequire(const Require& r, Writer& w);
  Status EmitNested(const Nested& n, Writer& w);
  Status CheckSizes(const Nested& n, const Sdfg& callee, const std::map<Name, Expr>& bound, Writer& w);
  Status EmitExternal(NodeId id, const Library& l, Writer& w);
  Result<int> BindingOf(NodeId id, const Library& l, const std::string& attributes);
  // Strided containers as arguments: calls get contiguous copies, made before and written back after.
  class StagedArguments {
   public:
    explicit StagedArguments(SdfgGen& g) : g_(g) {}
    // The name of a copy of `container` narrowed by leading indices.
    Result<std::string> Add(Name container, const std::vector<Expr>& index, bool in, bool out, Writer& w);
    void CopyBack(Writer& w);

   private:
    struct Item {
      std::string type, copy;
      std::vector<Name> indices;
      std::vector<Expr> extents;
      Address at;
      bool out = false;
    };
    void Copy(const Item& item, bool back, Writer& w);
    SdfgGen& g_;
    std::vector<Item> items_;
  };
  struct BoundCall {
    std::unordered_map<Name, std::string> pointers;  // by parameter: C++ text
    std::map<Name, Expr> symbols;
  };
  Result<BoundCall> BindArguments(const Nested& n, const Sdfg& callee, StagedArguments* staged, Writer& w);
  // An error of the run where a view that is used reaches outside its base.
  void CheckViews(const std::vector<RawAccess>& accesses, Writer& w);
  void CheckViews(const Expr& e, Writer& w);
  std::string CallIn(const Sdfg& callee, const std::string& call) const;
  Status CallKernel(const Nested& call, const Sdfg& callee, Writer& w);
  Result<const ProgramNames::NamedKernel*> KernelOf(const Sdfg& callee);  // prints it unless it was
  std::string AddKernel(Kernel k, const std::string& comment, bool scheduled, CodeKind kind);  // its name
  Status StatementAsKernel(NodeId n, Writer& w);
  void TakeArena(Writer& w);
  void Allocate(Name n, Writer& w);
  void AllocateFirst(Writer& w);
  void AllocateFor(const std::vector<Name>& symbols, const std::set<Name>& done, Writer& w);
  Result<Expr> Typed(const Expr& e, DType t) {
    HR_ASSIGN_OR_RETURN(Expr typed, InferTypes(s_, e, t));
    return lowerer_.Lower(typed);
  }
  std::string Text(const Expr& e, DType t, Writer& w) {
    ExprCode code(*this, w);
    code.Use(e);
    return code.Value(e, t);
  }
  std::string Shape(const Container& c, Writer& w) {
    std::string s;
    for (const Expr& d : c.shape) s += (s.empty() ? "" : ", ") + Text(d, DType::kIndex, w);
    return s.empty() ? "0" : s;
  }
  std::string Count(const Expr& e, Writer& w) {
    return CountText(e, [&](const Expr& x) { return Text(x, DType::kIndex, w); });
  }
  bool IsParameter(Name n) const { return parameters_.count(n) > 0; }  // sequences keep their kind as parameters
  std::string FrameStruct();
  std::string MainFunction(const std::string& body);
  std::string Leave() const;           // "return …;" out of a statement that failed
  std::string LeaveCall(Name callee);  // … out of one that called a function that failed
  int NewSite(const Origin& o);
  int Append(const std::vector<Origin>& inner, const Origin& otherwise);  // the first one's number
  void Prolog(Writer& w) {
    w.Line("hr_x* const x = f->x;");
    w.Line("char* const arena = f->arena;");
    w.Line("(void)x, (void)arena;");
  }

  ProgramNames& names_;
  const Sdfg& s_;
  std::string fn_, frame_;
  const std::unordered_set<Name> parameters_;
  Lowerer lowerer_;
  ArenaCode arena_;
  std::vector<Name> outside_;  // of the arena: allocated when their sizes are known
  std::set<Name> inside_, loose_, defined_;
  FieldNames fields_;
  std::map<Name, std::string> indices_, registers_;
  int next_index_ = 0, statements_ = 0;
  std::vector<Origin> sites_ = {Origin()};  // of the function that is being printed; [0]: of no statement
  int site_ = 0;                            // the statement's
  bool in_nest_ = false;                    // inside a parallel loop, whose iterations do not say where they failed
  SdfgCode out_;
  std::unordered_map<std::string, std::string> part_of_;  // body → name: equal stretches are one function
};

}  // namespace headrace::cpu
