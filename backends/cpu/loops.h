// Loops and assignments as C++ text, as they stand.
#pragma once
#include <string>
#include <vector>

#include "backends/cpu/codegen_expr.h"
#include "backends/cpu/lower.h"

namespace headrace::cpu {

// Where loops stand: indices and registers get names as they are opened.
class LoopEnv : public Env {
 public:
  virtual std::string OpenIndex(Name index) = 0;  // a C++ name for a map index, until CloseIndex
  virtual void CloseIndex(Name index) = 0;
  virtual void DeclareRegister(const Container& c, Writer& w) = 0;
};

struct LoopDim {
  Name index;
  Expr begin, end, step, trip;
  bool simple = false;  // from 0 by 1: trip == end
};
LoopDim DimOf(const Range& r);

// A C++ name or expression of type `t`, as a node of an expression.
Expr LocalExpr(const std::string& text, DType t);

class LoopCode {
 public:
  explicit LoopCode(LoopEnv& env) : env_(env) {}
  // `pragma` stands before the loop.
  void Open(const LoopDim& d, Writer& w, const std::string& pragma = "");
  void Close(const LoopDim& d, Writer& w);
  // Over units [begin, end) of all iterations of `dims`, outermost first, with their indices named within; and how many there are.
  void OpenUnits(const std::vector<LoopDim>& dims, Writer& w);
  std::string UnitCount(const std::vector<LoopDim>& dims, Writer& w);
  void Store(const LoweredStmt& s, Writer& w);  // target op= value
  std::string Combine(WriteOp op, DType t, const std::string& a, const std::string& b) const;
  std::string IndexText(const Expr& e, Writer& w);

 private:
  LoopEnv& env_;
};

}  // namespace headrace::cpu
