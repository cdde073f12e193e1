// Typed expressions → index programs and vector code.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/interpreter/plan.h"

namespace headrace::interpreter {

int SymbolOf(SdfgPlan& plan, Name n);  // its number, made when new

// Null when `e` reads data, is not integer, or mentions one of `lane_indices`.
std::optional<IndexExpr> CompileIndex(SdfgPlan& plan, const Expr& e, const std::vector<Name>& lane_indices = {});

class ExprCompiler {
 public:
  // `lane_indices`: the block indices of the statement; index k lives in register k.
  ExprCompiler(SdfgPlan& plan, std::vector<Name> lane_indices);
  // Code whose result has type `t` (converted as assignment does). `e` must be typed.
  Status CompileValue(const Expr& e, DType t);
  // An access for the statement's target; its index code is appended to the value's.
  Status CompileTarget(const Tasklet& t, Access* target);
  Code Finish();

 private:
  struct Val {
    RegClass cls = RegClass::kInt;
    DType t = DType::kIndex;
    uint16_t r = 0;
    bool temp = false;
  };
  uint16_t Alloc(int width = 1);
  Val Dot(const std::vector<Val>& args, DType t);
  void Free(const Val& v);
  uint16_t Emit(Opc op, uint16_t a, uint16_t b = 0, uint16_t c = 0, int64_t imm = 0);
  Val Op1(Opc op, const Val& a, DType t, int64_t imm = 0);
  Val Op2(Opc op, const Val& a, const Val& b, DType t);
  Val ConstI(int64_t v, DType t);
  Val ConstF(double v, DType t);
  Val Leaf(Opc op, int64_t bits, DType t);
  Val ToClass(const Val& v, RegClass c);
  Val Normalise(const Val& v, DType t);  // integers back to their width
  Result<Val> Cast(Val v, DType t, bool saturate);
  Result<Val> Value(const Expr& e);
  Result<Val> Binary(const Expr& e);
  Result<Val> Compare(const Expr& e);
  Result<Val> Logic(const Expr& e);
  Result<Val> Select(const Expr& e);
  Result<Val> Call(const Expr& e);
  Result<Val> ComplexCall(const Expr& e, const std::string& name);
  Result<Val> Read(const Expr& e);
  Result<Val> Blend(const Val& c, Val a, Val b, DType t);
  Status CompileAccess(Name container, const std::vector<Expr>& index, bool flat, Access* a);
  bool Affine(const Expr& e, IndexExpr* base, std::vector<IndexExpr>* coef);

  SdfgPlan& plan_;
  std::vector<Name> lanes_;
  Code code_;
  int mask_ = -1;
  int next_ = 0;
  std::vector<uint16_t> free1_, free2_;
  std::map<std::pair<Opc, int64_t>, uint16_t> leaves_;
};

}  // namespace headrace::interpreter
