// Statements as code generation sees them: views resolved to their base, every access one linear offset, every bound that
// is not proven made an explicit condition.
#pragma once
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::cpu {

// Calls that only lowering makes (names no program can have):
//   $guard(condition, read, default)   the read happens only if the condition holds
//   $bad(index…, shape…)               reports an index out of range of container `text`; gives 0
//   $present()                         whether optional parameter `text` was given
//   $trip(begin, end, step)            number of iterations
//   $local()                           C++ text: a variable of the generated code
inline constexpr const char* kGuardFn = "$guard";
inline constexpr const char* kBadFn = "$bad";
inline constexpr const char* kPresentFn = "$present";
inline constexpr const char* kTripFn = "$trip";
inline constexpr const char* kLocalFn = "$local";
bool IsFn(const Expr& e, const char* name);

struct LoweredStmt {
  Name target;              // as written
  std::vector<Expr> index;  // lowered, as written
  Name base;                // never a view
  DType dtype = DType::kNone;
  Expr linear;     // offset into base, in elements
  Expr condition;  // null: always in bounds
  Expr report;     // $bad to evaluate when the condition fails; null: the write is dropped
  WriteOp op = WriteOp::kAssign;
  Expr value;  // typed and lowered
};

// An access to a base container: what C code does with it.
struct Address {
  Name base;
  Expr linear;
  Expr condition;
  Expr report = {};  // $bad, for call arguments
};

class Lowerer {
 public:
  // `proven`: every access is known to be inside, as in a scheduled kernel.
  explicit Lowerer(const Sdfg& s, bool proven = false) : s_(s), proven_(proven) {}
  // Ranges of enclosing maps and loops: what proves accesses in bounds.
  void Push(const Range& r) { ranges_.push_back(r); }
  void Pop(size_t n = 1) { ranges_.resize(ranges_.size() - n); }
  size_t depth() const { return ranges_.size(); }

  Result<LoweredStmt> Lower(const Tasklet& t);
  Result<Expr> Lower(const Expr& typed);  // reads become flat and guarded
  // Where an element lies, and what must hold for it to be one of the container's.
  Result<Address> AddressOf(Name container, std::vector<Expr> index, bool flat);
  // What must hold for leading indices of a call's argument, and the report where it doesn't.
  Address Narrowed(Name container, const std::vector<Expr>& index);
  const Sdfg& sdfg() const { return s_; }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  Expr BoundsCondition(const Expr& index, const Expr& extent);

  const Sdfg& s_;
  const bool proven_;
  std::vector<Range> ranges_;
};

Expr BadCall(std::vector<Expr> index_and_shape, const Container& c);
Expr IndexAdd(const Expr& a, const Expr& b);  // symbolic where possible, else a plain node
Expr IndexMul(const Expr& a, const Expr& b);
Expr TripCount(const Range& r);  // ≥ 0 unless the range is empty (then maybe negative)
bool IsContiguous(const Container& c);

}  // namespace headrace::cpu
