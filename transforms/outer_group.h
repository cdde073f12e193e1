// Statements of one state that can stand in one loop: which, over what, and what that saves.
#pragma once
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/analysis/dataflow.h"
#include "transforms/kernel.h"
#include "transforms/uses.h"

namespace headrace::transforms {

// A size, where symbols count as so much.
double RoughSize(const Expr& e, int64_t symbol_size);
// Which dimension of a container is the leading one: the first that is not 1.
std::optional<size_t> LeadingDimension(const Container& c);

// What stands between statements that become one: `after` them what needs something that they do, `before` them all other. Nullopt: one of
// them needs what has to wait.
struct Between {
  std::vector<uint32_t> before, after;  // positions
};
std::optional<Between> StandAside(const Sdfg& s, const UseIndex& uses, Callees& callees, const std::map<uint32_t, Name>& members);

struct OuterGroup {
  Range range;                             // of the loop; its index is what the first statement calls it
  std::map<uint32_t, Name> members;        // positions (UseIndex), and what each calls the loop's index
  std::vector<Name> own;                   // arrays of which an iteration needs one part
  std::vector<uint32_t> before, after;     // what stands between the members and goes out of their way
};

class OuterGroups {
 public:
  // `symbol_size`: what a size counts as that is not known. The SDFG must stay as it is.
  OuterGroups(const Program& p, const Sdfg& s, int64_t symbol_size);

  // The state whose statements use an array; invalid: there is none.
  BlockId BlockOf(Name array) const;
  // Bytes that one part of an array needs less than all of it.
  double PartsSave(Name array) const;
  // The statements that use an array, two or more, where they can stand in one loop over its leading dimension.
  std::optional<OuterGroup> Around(Name array);
  // With the neighbours that make it save more, and all arrays that lose the dimension for nothing.
  void Grow(OuterGroup* g);

  // Bytes that are no longer in use at once, less those that are read again in each iteration, such as weights.
  double Saved(const OuterGroup& g);
  // Whether half as much as ever, or more, is in use somewhere from the first statement to the last.
  bool IsNearPeak(const OuterGroup& g);
  // Scalar operations of an iteration, for each statement; 0: not known.
  double Operations(const OuterGroup& g);
  const UseIndex& uses() const { return uses_; }

 private:
  double LessInUse(const OuterGroup& g);
  double ReadAgain(const OuterGroup& g);
  bool Join(Name array, OuterGroup* g);
  bool Arrange(OuterGroup* g);
  bool IsLegal(const OuterGroup& g);
  bool Apart(Name root, const OuterGroup& g);
  bool CanStandInside(const Kernel& k, Name index) const;
  bool HasParts(Name array, const Expr& part) const;
  bool IsWrittenAnew(Name array) const;
  Expr PartOf(const Container& c) const;
  Expr PartOf(const KernelAccess& a, Name index) const;
  const Kernel& KernelAt(uint32_t at);
  double Size(const Expr& e) const { return RoughSize(e, symbol_size_); }

  const Program& p_;
  const Sdfg& s_;
  mutable Callees callees_{p_};
  const int64_t symbol_size_;
  const UseIndex uses_;
  std::unordered_map<Name, std::vector<Name>> views_;  // of each array
  std::unordered_map<uint32_t, Kernel> kernels_;       // by position
  std::vector<double> in_use_;                         // bytes, at each position
};

}  // namespace headrace::transforms
