// Shared by the files of the strategy.
#pragma once
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph/homes.h"
#include "transforms/schedule/checks.h"
#include "transforms/schedule/choose_schedule.h"
#include "transforms/schedule/device.h"
#include "transforms/schedule/elements.h"
#include "transforms/schedule/steps.h"

namespace headrace::schedule {

// Dimensions shared out to threads: each unit is worth one's while, and depends on shapes alone.
struct Shared {
  std::vector<Range> units, within;
};
Shared ShareOut(const Sdfg& s, const std::vector<Range>& outer, Expr work, const Device& d);

// What becomes of a sum.
struct Ending {
  Expr initial;                            // the value that it starts at instead of what its element holds; null: the latter
  const Completion* completion = nullptr;  // or all that is done around it for each result
  bool few_terms = false;                  // although nobody knows how many: no parts of them for threads
};

class Scheduler {
 public:
  Scheduler(Sdfg* kernel, const Device& device) : s_(kernel), d_(device) {}
  // "", or why no strategy fits; the kernel is spoilt then.
  std::string Run(bool collapse);  // whether ranges that walk memory as one become one
  std::string Plain(bool share);  // loops as they are written: plain.cc
  const std::optional<Tiles>& tiles() const { return tiles_; }

 private:
  using Statements = std::vector<NodeId>;
  // nullopt: no strategy fits. `Top` makes regions of threads, `Inside` what one thread does.
  std::optional<Statements> Top(NodeId map);
  std::optional<Statements> Inside(NodeId statement);
  std::optional<Statements> InLoop(NodeId loop);
  bool IsLoop(NodeId n) const;
  // ---- loop_blocks.cc ----
  std::optional<Statements> InBlocks(NodeId loop);
  std::optional<Statements> TryInBlocks(NodeId loop);
  int64_t BlockLength(const struct LoopBlocks& b, bool walks, bool keeps) const;
  void KeepBlockOnly(Name array, size_t dimension, int64_t length, Name first, bool lanes, const Statements& maps);
  bool LoopsWalk(NodeId loop, const struct LoopBlocks& b) const;
  Statements WithoutOnce(Statements body) const;

  // What is said of a kernel that no strategy fits: the last reason.
  std::nullopt_t Declined(std::string why) {
    why_ = std::move(why);
    return std::nullopt;
  }
  // What `attempt` gives; where that is nothing, all is as it was before.
  template <typename Attempt>
  std::optional<Statements> Try(const Attempt& attempt) {
    const Sdfg before = *s_;
    const auto homes = homes_;
    const auto collapsed = collapsed_;
    const auto accesses = accesses_;
    auto out = attempt();
    if (!out) *s_ = before, homes_ = homes, collapsed_ = collapsed, accesses_ = accesses;
    return out;
  }
  class PlainStatements;
  bool SumsSmallFloats(NodeId statement) const;
  void Finish(Statements body);
  bool Prepare(Nest* n);  // ranges from 0 by 1 that don't depend on each other
  // Statements without sums, or whose sums are disjoint.
  std::optional<Statements> Elementwise(Nest n, bool share);
  void InMemoryOrder(const Nest& n, std::vector<Range>* outer) const;
  std::optional<Statements> Transposed(const Nest& n, Range lanes, std::vector<Range> outer, size_t across, bool share);
  // ---- transposed.cc ----
  bool IsReadAlong(NodeId id, Name index) const;
  int64_t RegisterSquare(const Tasklet& t, const Range& row, const Range& column) const;
  Statements TurnedSquare(const Tasklet& t, const Range& row, const Range& column, const Expr& rows, const Expr& columns, int64_t side);
  bool IsSum(const Nest& n, const std::vector<bool>& apart) const;
  DType TypeOf(const Tasklet& sum, const Ending& ending) const;  // that it is computed in
  std::optional<Statements> Sum(Nest n, const std::vector<bool>& apart, bool share, const Ending& ending = {});
  // A nest of one sum, alone or with what is done around it for each result: elements.h.
  struct OneSum {
    Nest nest;
    Tasklet sum;
    std::vector<bool> apart;  // of each range of the nest
    Completion completion;
  };
  std::optional<OneSum> OneSumOf(const Nest& n);
  std::optional<Statements> Product(const Nest& n);   // as sums of products have it: products.cc
  std::optional<Statements> InPartsOfTerms(const OneSum& sum, DType type);  // a product: product_terms.cc
  Statements OrThin(const OneSum& sum, const struct Product& p, Statements tiles);
  std::optional<Statements> Windowed(const Nest& n);  // along channels that lie innermost in memory: windowed.cc
  std::optional<Statements> InitialisedSum(const Nest& n, bool share);
  std::optional<Statements> TryInitialisedSum(const Nest& n, bool share);
  std::optional<Statements> SumSideBySide(Nest n, const std::vector<bool>& apart, size_t lane, bool share, const Ending& ending);
  std::optional<Statements> SumAlong(Nest n, const std::vector<bool>& apart, size_t lane, bool share, const Ending& ending);
  std::optional<Statements> CompletedSum(const Nest& n);  // completed_sum.cc
  std::optional<Statements> TryCompletedSum(const Nest& n);
  bool StandApart(const Statements& first, const Statements& around, const Nest& terms) const;
  bool EachForItself(Nest n);
  std::optional<Statements> Rows(Nest n);                           // a body of several statements, maps among them
  std::optional<Statements> SumsWithin(Nest n);  // several statements, sums among them
  // ---- side_by_side.cc ----
  std::optional<std::vector<size_t>> SumsAmong(const Nest& n, const std::vector<bool>& apart) const;
  std::optional<Statements> SumsSideBySide(const Nest& n, const std::vector<bool>& apart);
  Statements SumsOfLanes(const Nest& n, const std::vector<bool>& apart, size_t lane, const std::vector<size_t>& sums, bool share, bool onto);
  std::optional<Statements> SumsInParts(const Nest& n, const std::vector<bool>& apart, size_t lane, const std::vector<size_t>& sums);
  // ---- distributed.cc ----
  std::optional<Statements> Distributed(const Nest& n);
  std::optional<Statements> TryDistributed(const Nest& n);
  std::optional<std::vector<Nest>> PiecesOf(const Nest& n) const;
  Statements WithoutSums(const Statements& body, const std::unordered_map<Name, int>& touches);
  bool KeepApart(Nest n);
  std::vector<Name> PassedOn(const Nest& n, const std::vector<Statements>& pieces) const;
  void SpreadOut(const Statements& body, const std::unordered_map<Name, Name>& arrays, const std::vector<Expr>& place);
  // ---- rows_together.cc ----
  std::optional<Statements> RowsTogether(const Nest& n);
  std::optional<Statements> TryRowsTogether(Nest n);
  int64_t RowsAtOnce(const Nest& n) const;
  // ---- short_rows.cc ----
  std::optional<Statements> ShortRows(const Nest& n);
  std::optional<Statements> TryShortRows(Nest n);
  bool IsShortRow(const Nest& n) const;
  void HoistInRow(Nest* n);
  Statements RowsAcross(const Nest& n, const Range& lane, const Expr& row, const Expr& slot, int64_t side);
  Expr ReadOnce(const Expr& value, Name lane, Statements* before);
  Statements Result(const Tasklet& t, const Expr& sum, const Ending& ending);
  // ---- iterations_in_parts.cc ----
  struct OwnSum;
  std::optional<Statements> IterationsInParts(const Nest& n);
  std::optional<Statements> TryIterationsInParts(Nest n);
  int64_t ElementsOfShort(const Container& c) const;
  Statements MeetingSums(const Nest& n, size_t range);
  Expr IterationsOfPart(const Nest& n, int64_t elements) const;
  OwnSum OwnNumber(const Tasklet& t, const Expr& parts, const Expr& part);
  OwnSum OwnArray(const Tasklet& t, const Expr& parts, const Expr& part, int64_t before);
  std::optional<Statements> AddedUp(const OwnSum& sum);
  std::optional<Statements> OnePart(Nest n);
  // ---- two_phase.cc ----
  Expr Let(const std::string& stem, const Expr& value);
  Expr PartLength(const Range& cut, const Expr& work, int64_t multiple, bool any_number = false) const;
  size_t RangeToCut(const Nest& n, const std::vector<bool>& apart, size_t lane) const;
  std::optional<Statements> TwoPhases(Nest n, std::vector<bool> apart, size_t lane, const Ending& ending);
  // ---- hoist.cc ----
  void NoteRanges(NodeId statement);
  Statements Hoist(Name lane, Statements* body);
  // ---- in_order.cc ----
  std::vector<Question> Questions(const Tasklet& t) const;
  NodeId Asked(const Question& q);
  Statements WithChecks(const Statements& body);
  Statements Walk(const Range& lane, Statements body, bool lanes, bool whole_rows);
  bool LiesSideBySide(const Statements& body, Name lane) const;
  NodeId Enclose(Nest* n, std::vector<Range> inner);
  // ---- dependent.cc ----
  struct Layers {
    std::vector<Range> outer, between, inner;
  };
  std::vector<Range> LinesApart(const Nest& n, const std::vector<bool>& apart) const;
  void LinesFirst(Nest* n, const Layers& layers) const;
  std::optional<Layers> LayersOf(const std::vector<Range>& ranges) const;
  std::optional<Statements> Dependent(Nest n, bool share);
  std::optional<Statements> Mixed(Nest n, const std::vector<bool>& apart);
  std::optional<Statements> InOrder(Nest n, const std::vector<bool>& apart, bool share);
  void CollapseWithin(Nest* n, std::vector<bool>* apart);
  void Merge(Nest* n, size_t outer, size_t inner) {
    const size_t known = s_->order.size();
    Collapse(s_, n, outer, inner);
    collapsed_.insert(s_->order.begin() + static_cast<long>(known), s_->order.end());
  }
  bool MayCollapse(const Nest& n, size_t outer, size_t inner) const;
  bool OfTasklets(const Nest& n) const;
  std::vector<bool> ApartRanges(const Nest& n, const std::unordered_set<Name>& but = {}) const;
  bool IsPrivate(Name local, const Nest& n) const;
  bool IsWrittenFirst(const Statements& body, Name target) const;
  Statements InParts(const Nest& n, const std::vector<Range>& around, const Range& lane, const Statements& body, int64_t partials);
  std::optional<Statements> InPartsOfAll(const Nest& n, const std::vector<Range>& around, const Range& lane, int64_t partials, bool must);
  int64_t Partials(DType t, const Range& lane, const std::vector<Range>& around) const;
  int64_t PartialsOfOne(DType t, const Range& lane, const std::vector<Range>& around) const;
  // ---- choices.cc ----
  std::optional<Statements> BothSides(const Range& lane, const Statements& body);
  Statements Lanes(const Range& lane, const Statements& body, bool whole_rows);
  Expr WorkOf(const std::vector<NodeId>& body) const;

  NodeId Put(Name target, std::vector<Expr> index, WriteOp op, Expr value) {
    return schedule::Put(s_, target, std::move(index), op, std::move(value));
  }
  Name Local(const std::string& stem, DType t, std::vector<Expr> shape = {});

  Sdfg* s_;
  const Device& d_;
  std::string why_;
  std::optional<Tiles> tiles_;
  bool divides_terms_ = false;  // the product at hand is of a part already
  bool collapses_ = true;
  int64_t choices_ = 0;  // that lanes were divided by
  std::unordered_set<Name> collapsed_;        // views that the strategy has made
  std::unordered_map<Name, int> accesses_;    // of what the kernel writes
  std::unordered_map<Name, std::optional<Range>> from_zero_;  // ranges as they are written, by their index
  std::unordered_map<Name, uint32_t> homes_;  // of the registers before anything was moved: the map that they live in
};
Expr TripsOf(const std::vector<Range>& ranges);  // of all together, where known

Expr Combined(WriteOp op, const Expr& a, const Expr& b);
// What a sum, product, maximum or minimum of nothing is; null where the type has none.
Expr IdentityOf(WriteOp op, DType t);

}  // namespace headrace::schedule
