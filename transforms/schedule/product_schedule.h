// The schedule of a product: chunks of rows and columns for threads, blocks of its depth, columns packed side by side, and
// tiles whose sums stay in registers.
//   map i in 0:M, j in 0:N, k in 0:K { C[i, j] += A[i, k] * B[k, j] }
//     →  map i0 in 0:M:192, j0 in 0:N:384 @parallel {
//          local b: f32[12, 256, 32] @worker                 panels: the columns of one tile after the other
//          for k0 in 0:K:256 {
//            for k in k0:+256, j2 in j0:+384:32 { map j in j2:+32 @vector { b[(j2 - j0) // 32, k - k0, j - j2] = B[k, j] } }
//            for i1 in i0:+192:12, j1 in j0:+384:32 {
//              local t: f32[12, 32]
//              …
//              for k in k0:+256 { map r in 0:12 @unroll { map u in 0:32 @vector { t[r, u] = fma(A[i1 + r, k], b[(j1 - j0) // 32, k - k0, u], t[r, u]) } } }
//              map r in 0:12 @unroll { map u in 0:32 @vector { C[i1 + r, j1 + u] += t[r, u] } } } } }
// The rows of a tile stay in the first cache while panels pass them from the second. They are read where they lie if memory runs along the
// depth, else packed: a strip at a time, or some at once where memory runs along the rows. What is converted or computed of rows along the
// depth is packed as the lines that it was.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "transforms/schedule/device.h"
#include "transforms/schedule/elements.h"
#include "transforms/schedule/packed.h"
#include "transforms/schedule/product.h"
#include "transforms/schedule/steps.h"

namespace headrace::schedule {

inline int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

class ProductScheduler {
 public:
  ProductScheduler(Sdfg* s, const Device& d, Product p, Completion completion) : s_(s), d_(d), p_(std::move(p)), completion_(std::move(completion)) {}
  std::optional<std::vector<NodeId>> Run();  // nullopt: it has none, and what was added to the kernel is spoilt
  const std::optional<Packing>& packing() const { return packing_; }
  bool packed() const { return static_cast<bool>(packed_); }

 private:
  using Statements = std::vector<NodeId>;
  // One dimension of the product: its elements, cut into parts.
  struct Cuts {
    Expr count;       // elements
    Expr part;        // elements of a part; 0: there is but one
    int64_t most = 0; // elements of a part, at most
    Name parts;       // index of the first element of a part
    Expr first() const { return AsInt(part) == 0 ? Expr(0) : SymbolExpr(parts); }
    // Of one part, from its first element on.
    Range Within(Name index, const Expr& step) const;
    std::vector<Range> Parts() const;
  };

  // A part of the depth of a block: loops, and what its innermost index is at the first of so many elements of an iteration.
  struct Stretch {
    std::vector<Range> depth;
    Expr last;
    int64_t elements = 1;
  };
  // In what is packed: the dimensions before a group's, and the one behind it.
  struct Place {
    std::vector<Expr> before;
    Expr slot;
  };
  // What rows bring to a step, and the place of its group in what is packed.
  struct Factors {
    std::vector<Expr> rows;
    Expr group;
  };

  void OrderDepth();
  void InOrder(std::vector<Range>* depth) const;
  bool ReadRowsInPlace();  // false: they are packed
  // ---- product_cuts.cc ----
  int64_t BlockRows() const;
  int64_t BlockColumns() const;
  int64_t BlockDepth() const;
  bool CutDepth();
  bool OthersSuffice() const;
  struct Counts {
    int64_t high = 1, wide = 1;  // parts of rows and of columns
  };
  Counts CountsOf(int64_t products) const;
  Expr Grown(int64_t part, int64_t most) const;
  bool CutRows(int64_t least, int64_t most);     // into at least so many parts where products are many, into so many where they are one
  bool CutColumns(int64_t least, int64_t most);  // so
  bool CutRowsAndColumns();
  // ---- product_schedule.cc ----
  // A view in which `ranges` are a dimension each, where the access moves with each of them evenly.
  struct Dimension {
    Expr extent, stride;
  };
  std::optional<Name> View(Name container, const std::vector<Expr>& index, bool flat, const std::vector<Range>& outer,
                           const std::vector<Dimension>& inner);

  Statements Tiles();
  std::optional<int64_t> RowsLeft() const;
  Statements RestOfRows(const Range& tiles);
  Statements Tile(int64_t rows, const Expr& row, const Expr& slot);
  Statements StoreSome(const Range& rows, const std::function<Statements(const Expr&, const Expr&)>& put);
  bool GoesOn() const;
  Expr IsFirstBlock() const;
  Statements Store(Name tile, int64_t rows, const Expr& row);
  Statements StoreEach(int64_t rows, const std::function<Statements(const Expr&, const Expr&)>& put);
  // ---- product_packing.cc ----
  std::vector<Range> DepthLoops() const;
  std::vector<Range> ColumnLoops() const;
  bool TurnsColumns() const;
  bool ReadsLinesOfDepth() const;
  int64_t TurnedAtOnce() const;
  void Columns();  // whether they are packed, and how
  Place PlaceOfColumn(const Expr& begin, const Expr& within) const;
  Statements PackPanels(const Stretch& x);
  Statements PackLines(const Stretch& x);
  Statements PackColumns();
  Statements ClearLastPanel();
  Statements Zeros(const std::vector<Expr>& before, const Expr& slot);
  Statements Pad();
  std::vector<Expr> PlaceOfStrip() const;
  bool RowsGoAlongDepth() const;
  Statements Strip(const Range& row, const Expr& slot);
  Statements PackRows(const Range& tiles);
  void Rows();  // how they are packed
  Expr StripsAreWhole() const;
  Statements PackStrips(const Range& tiles);
  Statements InStrips(const Range& tiles, const Range& columns, const Statements& tile);
  // ---- product_squares.cc ----
  bool TurnsSquares(const Stretch& x) const;
  Statements Squares(const Stretch& x, const Place& place, const Expr& begin);
  Statements PackSquares(const Stretch& x);
  // ---- product_prefetch.cc ----
  struct Block {
    Expr first, column;  // its first term; the first column of a tile
    Expr steps;          // of its depth
  };
  bool AsksAhead() const;
  int64_t StripsOfRows() const;
  Block NextBlock() const;
  Touch PanelAhead(const Block& next, const Expr& place) const;
  Statements Prefetch();
  // ---- product_groups.cc ----
  void ChooseGroup();
  Expr PackedColumns(int64_t k) const;
  Expr LengthOfBlock() const;
  Range GroupsOfBlock() const;
  Expr PlaceOfGroup() const;
  std::vector<Expr> PlaceIn(const std::vector<Expr>& before, const Expr& group, const Expr& slot, const Expr& element) const;
  std::vector<Expr> PlaceInRows(const std::vector<Expr>& before, const Expr& group, const Expr& slot, const Expr& element) const;
  std::vector<Stretch> Stretches() const;
  Statements Copies(const Stretch& x, const Expr& operand, Name to, const std::vector<Expr>& before, const Expr& slot);
  Statements PadGroups(const std::vector<Expr>& before, Name to, const Range& slots);
  Factors InPlace(const Expr& row, std::vector<Range>* depth) const;
  Factors FromStrips(const Expr& slot) const;
  NodeId Step(Name tile, const Factors& f);
  // ---- product_elements.cc: what is done with each result ----
  bool ViewElements();
  std::optional<Name> ViewElement(Name container, bool flat, std::vector<Expr>* index);
  std::optional<Expr> ViewReads(const Expr& e);
  Statements Result(const Expr& row, const Expr& column, const Expr& sum);
  Statements InBlocks();
  Statements Shared(const Statements& body) const;

  Expr Zero() const { return IsFloat(p_.type) ? FloatExpr(0) : IntExpr(0); }
  // For factors: `before`, the groups of a block, and more of them if `apart`, so that what is of one group lies in different sets of a
  // cache; `row`, and what is in a group.
  Name Packed(const std::string& stem, DType type, std::vector<Expr> before, int64_t row, bool apart = false) {
    int64_t groups = Ceil(depth_.most, group_);
    const int64_t bytes = row * group_ * ByteSize(type);
    if (apart && groups * bytes % d_.cache_stride == 0) groups += Ceil(d_.vector_bytes, bytes);
    return schedule::Local(s_, stem, type, PlaceIn(before, Expr(groups), Expr(row), Expr(group_)), Storage::kWorker);
  }
  bool rows_first() const { return p_.columns.size() == 1; }  // a strip of rows meets all columns before the next strip does
  bool LinesPass() const;
  bool Along(const Expr& operand, Name index) const;  // some read of it walks memory by one
  int64_t StepOf(const Expr& operand, Name index) const;
  Name Local(const std::string& stem, std::vector<Expr> shape, Storage storage) {
    return schedule::Local(s_, stem, p_.type, std::move(shape), storage);
  }
  NodeId Put(Name target, std::vector<Expr> index, WriteOp op, Expr value) {
    return schedule::Put(s_, target, std::move(index), op, std::move(value));
  }
  std::vector<Expr> Outer(const std::vector<Name>& names) const;

  Sdfg* s_;
  const Device& d_;
  Product p_;
  Completion completion_;  // of the result at row p_.row.index and column column_
  Name column_;
  Cuts rows_, columns_, depth_;
  DType row_type_ = DType::kNone, column_type_ = DType::kNone;  // of the factors, and of what is packed
  int64_t group_ = 1;             // factors that one step multiplies and adds up
  int64_t tile_rows_ = 0, tile_columns_ = 0;
  int64_t strips_ = 1;     // that are packed at once where a strip of rows meets all columns; i2_: where the first of them begins
  bool lines_ = false;     // rows that are packed stay lines along the depth
  bool in_steps_ = false;  // rows that are read in place lie apart for each step of the depth's first index
  bool goes_on_ = false;  // the first block stores results, others add to them
  int64_t wide_ = 1;     // columns of a part, about
  Expr products_{1};     // that are around this one, as far as their number is not known
  bool ragged_ = false;  // parts of columns end in the middle of a tile
  Name i1_, i2_, j1_, d1_, r_, u_;
  Name tile_row_;  // the index of a tile's rows: r_, but where that counts tiles of one row
  Name in_place_, packed_rows_, packed_columns_, sums_;  // in_place_: the view of the rows
  std::vector<Name> in_place_outer_;
  Expr packed_;  // the read of columns that are panels already; null: they are packed
  bool panels_ = false;  // … into several panels
  std::optional<Packing> packing_;
};

}  // namespace headrace::schedule
