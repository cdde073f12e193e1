// Reversal of an SDFG in normal form (normalize.h): forward blocks that leave what is needed, then backward blocks.
//
// Invariant of the backward sweep: when the adjoint of a statement runs, every primal element that it reads holds what it held
// when the statement ran. A statement that overwrites an element which the adjoint of an earlier statement (or its own) reads
// pushes the old box on a tape, one slot per iteration of the loops around it, and the sweep puts it back.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autodiff/backward.h"
#include "autodiff/emit.h"
#include "autodiff/layers.h"
#include "autodiff/plan.h"
#include "ir/analysis/callees.h"
#include "ir/analysis/sets.h"

namespace headrace::autodiff {

// Values that an adjoint reads: a box of a root container over loop variables and sizes.
struct Use {
  Name root;
  Subset subset;
};

// The adjoint of one statement: what stands in its place in the backward sweep.
struct Adjoint {
  std::vector<NodeId> statements;
  std::vector<Use> before;  // primal values as they were when the statement started
  std::vector<Use> after;   // … as it left them (outputs of library nodes)
  bool empty() const { return statements.empty(); }
};

// Which containers carry derivatives: roots and registers that depend on an input and reach an output through floats.
class Activity {
 public:
  Activity(const Program& p, const Sdfg& s, const Registry& r, const std::vector<Name>& outputs,
           const std::vector<Name>& inputs);
  bool operator()(Name container) const;  // views and all

 private:
  const Sdfg& s_;
  std::unordered_set<Name> active_;
};

// A loop around a statement, as tapes see it.
struct Frame {
  Loop loop;                   // as in the forward part
  std::optional<Range> range;  // bounds of symbols, literal step
  Expr iteration;              // 0-based; means the same in both sweeps
  BlockId block;               // the original
};

class Reversal {
 public:
  // `layers`: whose calls have reverses; `added`: inputs whose gradients are added to what the caller passes in.
  Reversal(Program* p, const Registry& r, const Options& o, const ReversedLayers& layers, const std::unordered_set<Name>& added)
      : p_(p), s_(p->MutableEntry()), r_(r), o_(o), layers_(layers), added_(added), names_(s_) {}
  // The entry SDFG of the program becomes the combined one.
  Result<Combined> Run(const std::vector<Name>& outputs, const std::vector<Name>& inputs, BackwardPrograms* out);

 private:
  struct Sides {
    std::vector<BlockId> forward, backward;
  };
  struct Push {
    Name root;
    Subset box;
  };
  using Needed = std::unordered_map<Name, std::vector<Use>>;  // by root

  // ---- adjoints (reverse_statement.cc, reverse_map.cc, reverse_layer.cc) ----
  Name GradientOfContainer(Name container);
  Result<const Adjoint*> AdjointOf(NodeId n);
  Status ReverseLibrary(NodeId n, Adjoint* out);
  void ReverseLayer(NodeId n, const ReversedLayer& layer, Adjoint* out);
  Name GradientOfCall(Name argument, bool added, Adjoint* out, std::vector<NodeId>* add);
  void FindUses(const Adjoint& a, NodeId n, std::vector<Use>* before) const;
  bool NeedsZero(Name root, NodeId n) const;

  // ---- what is overwritten and needed (tape.cc) ----
  Status Analyse(const std::vector<BlockId>& body, Needed* needed);
  Status AnalyseStatement(NodeId n, Needed* needed);
  Needed Project(const Needed& n, const Loop& l, bool whole) const;
  bool RunsAtMostOnce(const Loop& l) const;
  void Order(const std::vector<BlockId>& body, bool in_loop);
  Result<Name> Tape(std::string_view stem, DType t, const std::vector<Expr>& inner, const std::vector<Frame>& frames);
  Result<Expr> Extent(const std::vector<Frame>& frames, size_t k);
  Result<Expr> Largest(const Expr& e, const std::vector<Frame>& frames, size_t until, bool* exact);
  std::vector<Expr> Slot(const std::vector<Frame>& frames, std::vector<Expr> inner = {}) const;
  Status EmitPush(const Push& push, const std::vector<Frame>& frames, BlockList* forward, BlockList* backward);
  void CountTrips(BlockId top, BlockList* prologue);

  // ---- regions (reverse.cc) ----
  Result<Sides> Visit(const std::vector<BlockId>& body, std::vector<Frame>* frames);
  void ClearSizedHere(const std::vector<BlockId>& body, BlockList* list);
  Status VisitState(const State& st, const std::vector<Frame>& frames, BlockList* forward,
                    std::vector<std::vector<BlockId>>* backward);
  Result<Sides> VisitLoop(BlockId b, std::vector<Frame>* frames);
  Result<Sides> VisitConditional(BlockId b, std::vector<Frame>* frames);
  Status VisitLet(BlockId b, const std::vector<Frame>& frames, BlockList* forward,
                  std::vector<std::vector<BlockId>>* backward, std::map<Name, Expr>* lets);
  bool WrittenIn(const std::vector<BlockId>& body, const Expr& e) const;
  bool IsTheSameAgain(const Expr& e) const;  // in the backward sweep: of loop variables, sizes, and what nothing writes
  bool Varies(const Expr& e) const;  // holds a symbol that a `let` inside the current top-level block defines
  void Settle(const std::vector<BlockId>& backward, std::unordered_map<Name, NodeId> zeros);
  void StartAdjoints(const std::vector<Name>& outputs, const std::unordered_set<Name>& passed_in, const BackwardPrograms& programs,
                     const std::vector<BlockId>& backward, BlockList* start);
  Status CheckSizes();
  Name Parameter(Name like, std::string_view stem);
  Status Interface(const std::vector<Name>& outputs, const std::vector<Name>& inputs, BackwardPrograms* out,
                   BlockList* before, BlockList* after, BlockList* start, const std::vector<BlockId>& backward);

  Program* p_;
  Sdfg& s_;
  mutable Callees callees_{*p_};  // only the entry changes
  const Registry& r_;
  const Options& o_;
  const ReversedLayers& layers_;
  const std::unordered_set<Name>& added_;
  FreshNames names_;
  std::optional<Activity> active_;
  std::unordered_map<Name, Name> gradients_;        // container → its adjoint
  std::vector<Name> zeroed_;                        // adjoints of roots, in order of creation: cleared at the start
  std::unordered_map<uint32_t, Adjoint> adjoints_;  // by statement
  std::unordered_map<uint32_t, std::vector<Push>> pushes_;
  std::unordered_map<uint32_t, int> order_;  // statement → position
  std::unordered_map<uint32_t, bool> in_loop_;
  std::unordered_map<Name, int> first_use_;  // root → position of its first statement
  std::unordered_map<Name, Origin> results_;  // root → origin of the last statement that writes it
  std::unordered_set<Name> keep_zero_;       // roots whose adjoint must be right at the very start: inputs
  std::vector<Name> tapes_;
  std::unordered_map<uint32_t, Name> partial_;      // `total += part` of a gradient node → part
  std::unordered_set<uint32_t> cleared_;            // clearing statements that are not needed
  std::unordered_set<Name> cleared_inside_;         // adjoints that a branch clears, where their size is found
  int depth_ = 0;                                   // of regions being visited
  std::unordered_map<Name, int> let_count_;         // how many blocks define a symbol
  std::unordered_set<Name> written_;                // roots that some statement writes
  std::unordered_set<Name> defined_;                // symbols that library nodes define
  BlockId top_;                                     // the top-level block being visited
  std::unordered_map<uint32_t, Name> trip_bounds_;  // loop → symbol with its largest trip count (of `top_`)
  std::vector<std::pair<Name, Expr>> sizes_;        // symbols to define before `top_`
  std::unordered_set<Name> inner_lets_;             // symbols defined inside `top_`
};

// The adjoint statements of a tasklet or map. `zero(root)`: must the adjoint of an overwritten element be cleared.
struct MapContext {
  Sdfg* s;
  FreshNames* names;
  std::function<bool(Name)> active;
  std::function<Name(Name)> gradient;
  std::function<bool(Name root)> zero;
  std::function<void(Name root)> result = nullptr;  // told what the adjoint reads as the statement leaves it; null: it must not
};
Result<std::vector<NodeId>> ReverseMap(const MapContext& c, NodeId statement);

}  // namespace headrace::autodiff
