// Private to the verifier: the reporting that its parts share.
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/verify/verify_known.h"

namespace headrace::verify {

// One use of a container inside a statement, with the maps around it.
struct Use {
  NodeId node;  // the tasklet, call or library node
  Name root;    // after views
  Name container;
  std::vector<Expr> index;  // empty with `whole`
  bool flat = false, guarded = false, whole = false, write = false, conditional = false;
  WriteOp op = WriteOp::kAssign;
  std::vector<uint32_t> maps;  // the maps around it, outermost first (node ids): common prefix = common iterations
  // In scheduled kernels: what is known to hold where it is evaluated, and accesses that were checked before.
  std::vector<Expr> conditions;
  std::vector<Checked> checked;
};

class Report {
 public:
  Report(const Sdfg& s, std::vector<Diagnostic>* out) : s_(s), out_(out) {}
  bool Full() const { return out_->size() >= 20; }
  bool None() const { return out_->empty(); }
  // `id` may be invalid: then `place` names what is wrong.
  Diagnostic& Add(const char* code, std::string message, NodeId id, std::string place, std::string hint);
  // What is wrong with a part of a statement from text: moves the place from the statement to that part.
  void PointAt(int line, int column, Diagnostic* d) const;
  // Control flow that is being looked at: the place of what has no node.
  void InBlock(const Origin* block) { block_ = block; }

 private:
  const Origin* PlaceOf(NodeId id, const std::string& name) const;

  const Origin* block_ = nullptr;
  bool from_text_ = false;  // the last error is about a statement as the user wrote it, not about what a form became
  const Sdfg& s_;
  std::vector<Diagnostic>* out_;
  Diagnostic dropped_;
};

inline bool IsScheduled(const Sdfg& s) { return s.kernel && !s.device.empty(); }
inline std::string Quoted(Name n) { return "'" + n.str() + "'"; }

std::string Closest(const Sdfg& s, Name n);          // a hint: the container that was meant, or how to declare it
std::string Listed(const std::vector<Name>& names);  // "a, b, c"
bool HasExit(const Sdfg& s, const std::vector<BlockId>& body);  // a break somewhere
void CheckDeclarations(const Sdfg& s, Report* report);
void CheckLayout(const Sdfg& s, const Container& c, Report* report);
void CheckArgumentLayout(const Sdfg& caller, const Container& c, const Sdfg& f, const Argument& a, const NameMap& sizes,
                         NodeId id, Report* report);
void CheckArena(const Sdfg& s, Report* report);  // of a body without errors
void CheckBody(const Program& p, const Sdfg& s, std::vector<Diagnostic>* out);

// ---- calls ----
// Who writes what, through maps and calls.
class Writers {
 public:
  Writers(const Program* p, const Sdfg& s) : p_(p), s_(s) {}
  void Roots(const std::vector<BlockId>& body, std::unordered_set<Name>* out);  // adds what the body may write
  void Roots(NodeId id, std::unordered_set<Name>* out);
  bool Writes(Name callee, Name port);

 private:

  const Program* p_;
  const Sdfg& s_;
  std::unordered_map<Name, std::unordered_set<Name>> outputs_;  // by callee
};

// Every parameter and symbol of the callee is bound, each once.
void CheckAllBound(const Nested& n, const Sdfg& f, NodeId id, Report* report);
// Element type and rank of what is bound; false when the ranks differ.
bool CheckArgumentType(const Container& c, const Container& formal, const Nested& n, const Argument& a, NodeId id,
                       Report* report);
// `sizes`: what the callee's symbols are bound to.
void CheckArgumentSizes(const Sdfg& caller, const Container& c, const Sdfg& f, const Argument& a, const NameMap& sizes,
                        NodeId id, Report* report);
// Arguments don't alias: what the callee writes may be bound once only.
void CheckAliases(const Sdfg& caller, const Nested& n, const Sdfg& f, const std::function<bool(Name)>& writes, NodeId id, Report* report);

// Schedules of a kernel: each kind of map stands where it can run (verify_kernel.cc).
void CheckSchedule(const Sdfg& kernel, Report* report);

// What lives in a body of a scheduled kernel has a value where it is read (verify_values.cc).
void CheckValues(const Sdfg& kernel, Report* report);

// Uses of containers whose strides have two elements in one place, by where they lie in memory; nothing where there is none.
std::vector<Use> InMemory(const Sdfg& s, const std::vector<Use>& uses);

// The index lies in the part that begins at `part`'s index: from a range's index on, it is less than a step of that range beyond it, and that range begins at `part` or at a range that does. Steps that are multiples of each other keep such stretches in one part.
bool LiesInPart(const Expr& index, const Range& part, const std::vector<Range>& all, const Assumptions& as);

// Races between the iterations of one outermost map, and accesses outside their container.
void CheckNest(const Sdfg& s, const std::vector<Use>& uses, Report* report);

// All ranges of the maps in `maps`, outermost first.
std::vector<Range> RangesOf(const Sdfg& s, const std::vector<uint32_t>& maps);

}  // namespace headrace::verify
