// Building SDFGs from C++, for importers, passes and tests. Text is often shorter: see ParseProgram.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace {

// Appends to one SDFG; blocks open and close like brackets.
class SdfgBuilder {
 public:
  explicit SdfgBuilder(Name name);
  Name Parameter(Name n, DType t, std::vector<Expr> shape, bool inout = false);
  Name Transient(Name stem, DType t, std::vector<Expr> shape, Storage storage = Storage::kArena);  // made unique
  Name Constant(Name stem, Tensor data);
  Name View(Name stem, Name base, std::vector<Expr> shape, Expr offset = {}, std::vector<Expr> strides = {});
  void SetOrigin(Origin o);  // given to everything added from now on
  NodeId Assign(Name target, std::vector<Expr> index, Expr value, WriteOp op = WriteOp::kAssign);
  void OpenMap(std::vector<Range> ranges, Schedule schedule = Schedule::kDefault);
  void CloseMap();
  NodeId AddStatement(Body b, Origin o);  // any statement, e.g. a guarded tasklet
  NodeId AddLibrary(Library l);
  NodeId Call(Nested n);
  void NewState(Name label = {});  // statements go to the current state, opened when needed
  void OpenFor(Name var, Expr begin, Expr end, Expr step = 1);
  void OpenLoop(Loop l);  // body ignored; general form
  void OpenIf(Expr condition);
  void Else(Expr condition = {});  // another branch of the open conditional
  void Close();                    // the innermost loop or conditional
  void Define(Name symbol, Expr value);
  void AddBreak();
  void AddContinue();
  Sdfg& sdfg() { return s_; }
  Sdfg Finish();

 private:
  struct Frame;
  Name Fresh(Name stem);  // Sdfg::FreshName without looking through the blocks
  Sdfg s_;
  std::unordered_set<Name> symbols_;            // sizes and loop variables so far
  std::unordered_map<Name, int64_t> numbered_;  // stem → how many names it has given
  Origin origin_;
  std::vector<std::shared_ptr<Frame>> open_;
};

Program MakeProgram(Sdfg entry);

}  // namespace headrace
