// Loop nests: maps and tasklets → C++ loops, in a kernel or in place.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/cpu/access.h"
#include "backends/cpu/affine.h"
#include "backends/cpu/codegen_expr.h"
#include "backends/cpu/lower.h"

namespace headrace::cpu {

class NestEnv : public Env {
 public:
  virtual std::string OpenIndex(Name index) = 0;  // a C++ name for a map index, until CloseIndex
  virtual void CloseIndex(Name index) = 0;
  virtual void DeclareRegister(const Container& c, Writer& w) = 0;
};

struct LoopDim {
  Name index;
  Expr begin, end, step, trip;
  bool simple = false;    // from 0 by 1: trip == end
  bool disjoint = false;  // iterations that differ in it write different elements
};
LoopDim DimOf(const Range& r);

// The product of two numbers of iterations, or the largest number there is.
inline int64_t Times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

// One statement under loops that may run in any order.
struct PerfectNest {
  std::vector<LoopDim> dims;
  LoweredStmt stmt;
  bool ordered = false;  // some dimension must keep its order: no reordering, no vectors
  // A sum that is scattered: iterations of a dimension meet in one element, which yet moves with the dimension
  // (Y[2*i + k] += …), so no accumulator can stand for it.
  bool Scatters() const;
};

class NestGen {
 public:
  NestGen(const Sdfg& s, Lowerer& lowerer, NestEnv& env, NodeId top)
      : s_(s), lowerer_(lowerer), env_(env), homes_(RegisterHomes(s, top)) {}
  // What a map may hold beside tasklets and maps; unset: nothing.
  std::function<Status(NodeId, Writer&)> call;

  Status Statement(NodeId n, Writer& w);
  Status Body(const std::vector<NodeId>& body, NodeId owner, Writer& w);

  // A map merged with the maps it solely consists of.
  struct Flat {
    std::vector<Range> ranges;
    std::vector<NodeId> body;
    NodeId owner;
  };
  Flat Flatten(NodeId map) const;
  // `sums_apart`: registers of outer maps that the body only accumulates into don't tie iterations together.
  std::vector<LoopDim> Dims(const Flat& f, bool sums_apart = false) const;
  Result<PerfectNest> Perfect(const Flat& f);  // the body is one tasklet; its ranges are pushed on the lowerer
  void SplitDims(PerfectNest* p) const;
  void CollapseDims(PerfectNest* p) const;
  int VectorDim(const PerfectNest& p) const;  // position in dims, -1 = none
  // Plain statements that walk memory by `d`, in any order: they may run in its lanes.
  bool TakesLanes(const std::vector<NodeId>& body, const LoopDim& d) const;
  int64_t Cost(const LoweredStmt& s) const;  // rough scalar operations per execution

  // ---- pieces that kernels are put together from ----
  void OpenLoop(const LoopDim& d, Writer& w, const std::string& pragma = "");
  void CloseLoop(const LoopDim& d, Writer& w);
  // Checks of indices that no iteration over `d` changes are made here, once, and leave `s`; what follows stands in as many
  // braces as it says. (A row of an embedding: one check for the row, not one per element.)
  int OpenChecks(LoweredStmt* s, const LoopDim& d, const std::string& nonempty, Writer& w);
  // The innermost loop over [begin, end): where guards hold on a range, that range runs without them, vectorised, and the
  // rest with them; with `always` even where a mask would do. `emit` writes the body for a value.
  using EmitBody = std::function<void(const Expr& value, const std::string& index)>;
  void SplitLoop(const LoopDim& d, const std::string& begin, const std::string& end, const Expr& value, bool simd,
                 Writer& w, const EmitBody& emit, bool always = false);
  // `value` with what no iteration over `d` changes computed here, before its loop; `written`: what the loop writes.
  Expr Hoist(const Expr& value, const LoopDim& d, const std::set<Name>& written, Writer& w,
             const std::string& nonempty = "");
  void Store(const LoweredStmt& s, Writer& w);  // target op= value
  std::string Combine(WriteOp op, DType t, const std::string& a, const std::string& b) const;
  std::string Identity(WriteOp op, DType t) const;
  bool Vectorisable(const LoweredStmt& s) const;
  // for dims { acc op= value }; acc is a declared local of type Computed(dtype). With `simd` the last dimension runs over an
  // array of partial results, combined by halves: the same order, and so the same bits, whatever the machine's vectors.
  void Reduce(const LoweredStmt& s, const std::vector<LoopDim>& dims, const std::string& acc, bool simd, Writer& w);
  // acc[u] for u in [0, count) over index `v` starting at `v_begin`.
  void ReduceTile(const LoweredStmt& s, const std::vector<LoopDim>& dims, const LoopDim& v, const std::string& v_begin,
                  const std::string& count, int64_t capacity, Writer& w);
  void Loops(const PerfectNest& p, Writer& w);  // all of it, sequential
  std::string IndexText(const Expr& e, Writer& w);
  Env& env() { return env_; }
  NestEnv& nest_env() { return env_; }
  Lowerer& lowerer() { return lowerer_; }
  const Sdfg& sdfg() const { return s_; }
  bool HasHome(NodeId owner) const;
  bool pointers_may_alias = false;  // nothing is read ahead of its time then
  void DeclareRegisters(NodeId owner, Writer& w);

 private:
  void SplitRange(const LoopDim& d, const std::string& begin, const std::string& end, const Expr& value, bool simd,
                  Writer& w, const EmitBody& emit, bool always);
  const Sdfg& s_;
  Lowerer& lowerer_;
  NestEnv& env_;
  std::set<Name> OuterRegisters(const Flat& f) const;
  std::vector<std::pair<NodeId, Name>> homes_;
  std::map<uint32_t, LoweredStmt> prepared_;  // by node: statements whose values had parts hoisted
};

bool HasReport(const LoweredStmt& s);  // may report an error

}  // namespace headrace::cpu
